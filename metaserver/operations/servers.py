"""Annotation servers: a team registers, tests, changes and retires its own.

A team also says whether curators' requests are sent to a server.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from metaserver.base.conformance import StepState
from metaserver.base.errors import InputError, Refusal, RefusedError, counted
from metaserver.base.plans import PhaseLimits
from metaserver.base.records import (
    NO_ACCESS,
    AuthKind,
    RegisteredServer,
    Server,
    ServerName,
    ServerSettings,
    settings_of,
)
from metaserver.base.states import PhaseState, Role
from metaserver.base.structs import convert
from metaserver.exchange.http.urls import (
    address,
    check_url,
    completed,
    completed_options,
    shown,
    shown_options,
)
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.operations.access import AccessChange, access_of, secret_state
from metaserver.operations.caller import Caller
from metaserver.operations.conformance import Tested, TestState, newest_test, tests
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import (
    END,
    NAME_HELP,
    PASSWORD,
    NewName,
    OneServer,
    ServerField,
    changing,
    require_one_of,
)
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.store import runs, servers, teams
from metaserver.tasks.plugin import answered_tasks

Auth = Annotated[
    AuthKind, Meta(title="Credentials", description="How the hub proves its identity to the server")
]
AuthName = Annotated[
    str,
    Meta(
        max_length=200,
        title="User or name",
        description="The user's name (basic), or the name of the header, of the parameter or of the"
        " member",
    ),
]
Secret = Annotated[
    str,
    Meta(
        max_length=4_000,
        description="Password, token or key. It is stored encrypted and never shown again;"
        " leave it empty to keep the stored value.",
        extra=PASSWORD,
    ),
]
Certificate = Annotated[
    str,
    Meta(
        pattern=rf"^(?:(?:[0-9A-Fa-f]{{2}}:?){{31}}[0-9A-Fa-f]{{2}})?{END}",
        description="The SHA-256 of the server's certificate, if no public authority signed it",
    ),
]

NAMES = 100  # most names of servers of a team, those of retired ones included


class RegisterServer(ServerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new server."""

    server: Annotated[
        NewName,
        Meta(
            title="Name",
            description="Its name here and on the boards, which cannot be changed later:"
            f" {NAME_HELP}",
        ),
    ]
    auth: Auth = AuthKind.NONE
    auth_name: AuthName = ""
    secret: Secret = ""
    certificate: Certificate = ""
    serves_curators: Annotated[
        bool,
        Meta(
            title="Serve curators",
            description="Curators of databases may also send it articles; challenges come first"
            " (docs/curators.md). You can withdraw this at any time.",
        ),
    ] = False
    team: Annotated[str | None, Meta(description="The server's team; required of organisers")] = (
        None
    )


@changing(ServerSettings)
class ServerChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a server."""

    server: ServerField
    auth: Auth | None = None
    auth_name: AuthName | None = None
    secret: Secret | None = None
    certificate: Certificate | None = None


class LaneProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A server's progress in a phase; `eta` is in seconds."""

    phase: str
    state: str
    note: str
    done: int
    given_up: int
    total: int
    in_flight: int
    eta: float | None


class ServerDetail(ServerSettings, frozen=True, kw_only=True):
    """A server as its team and organisers see it.

    `tested` is its newest test's state, for any phase, and `reasons` are the problems found;
    `tests` has an entry for each phase that is not over. `testing`: a test is under way.

    `serves_curators`: curators' requests are sent to it (`servers serve-curators`).

    In `url` and `options`, *** replaces user info, query and fragment: these can be written, not
    read. `secret` says only whether a secret is "set", "none" is, or it is "needed", again if the
    hub has lost its key; likewise `callback_key` for the key that it calls the hub back with, empty
    if its protocol needs no key.
    """

    server: str
    team: str | None
    auth: AuthKind
    auth_name: str
    secret: str
    certificate: str
    callback_key: str
    serves_curators: bool
    retired: bool
    tested: TestState
    tested_for: str
    reasons: tuple[str, ...]
    tests: tuple[Tested, ...]
    testing: bool
    phases: tuple[LaneProgress, ...]


def detail(
    hub: HubContext, registered: RegisteredServer, challenge: str | None = None
) -> ServerDetail:
    """Return a server's fields that its team sees; with a `challenge`, as it is in its phases."""
    phases = hub.phases.scheduler.phases.values()
    names = {one.name for one in phases if challenge in (None, one.phase.challenge)}
    server, newest = registered.server, newest_test(hub, registered, names)
    return ServerDetail(
        server=server.name,
        team=registered.team,
        **_shown(server),
        auth=server.access.auth,
        auth_name=server.access.name,
        secret=secret_state(server.access, locked=hub.phases.scheduler.locked.locks(registered)),
        certificate=server.access.certificate,
        callback_key=_key_state(registered),
        serves_curators=registered.serves_curators,
        retired=registered.retired_at is not None,
        tested=newest.state,
        tested_for=newest.phase,
        reasons=newest.reasons,
        tests=tuple(one for one in tests(hub, registered) if one.phase in names),
        testing=hub.servers.conformance.under_way(server.name) is not None,
        phases=tuple(one for one in _progress(hub, server.name) if one.phase in names),
    )


def _shown(server: Server) -> dict[str, Any]:
    """Return what a team said of its server, without the secrets in it."""
    url, options = shown(server.url), shown_options(server.options)
    return settings_of(server) | {"url": url, "options": options}


def _key_state(registered: RegisteredServer) -> str:
    protocol = installed_protocols().get(registered.server.protocol)
    if protocol is None or not protocol.calls_back:
        return ""
    return "set" if registered.has_callback_key else "none"


def _progress(hub: HubContext, name: ServerName) -> Sequence[LaneProgress]:
    return [
        convert(status, LaneProgress, phase=running.name)
        for running in hub.phases.scheduler.phases.values()
        if name in running.servers
        for status in [running.boards.server_monitor.status(name)]
    ]


@operation("Servers.register", "POST /servers", Role.TEAM)
async def register(hub: HubContext, caller: Caller, request: RegisterServer) -> ServerDetail:
    """Register an annotation server. Test it next for a phase, then start it there."""
    team = await hub.team_for(caller, request.team, "server")
    server = _checked(
        Server(
            name=ServerName(request.server),
            access=await access_of(hub, NO_ACCESS, convert(request, AccessChange), request.url),
            **settings_of(request)
            | {"url": _url(request.url), "options": _options(request.options)},
        )
    )
    async with hub.store.writing() as connection:
        theirs = await servers.list_all(connection, team.name)
        limit = _servers_a_team(hub)
        if sum(server.retired_at is None for server in theirs) >= limit:
            raise RefusedError(
                Refusal.STATE,
                f"a team may have {counted(limit, 'server')} (limits.servers):"
                " retire a server first",
            )
        if len(theirs) >= NAMES:  # a retired server keeps its name for ever
            raise RefusedError(
                Refusal.STATE,
                f"a team may use {NAMES} names of servers, retired servers included: change an"
                " existing server instead",
            )
        message = f"the name {server.name!r} is taken: choose another name"
        if await runs.is_offline(connection, server.name):
            raise RefusedError(Refusal.STATE, message, field="server")
        try:
            number = await servers.add(connection, server, team.id)
            await servers.serve_curators(connection, number, request.serves_curators)
        except sa.exc.IntegrityError as error:
            raise RefusedError(Refusal.STATE, message, field="server") from error
        await audit_log(
            connection,
            caller,
            "servers.register",
            server.name,
            team=team.name,
            serves_curators=request.serves_curators,
            **_audit_details(server),
        )
    return detail(hub, await hub.server(caller, server.name))


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The address of a server that may not be registered yet."""

    url: Annotated[str, Meta(max_length=2_000, description="The address that it listens at")]
    protocol: Annotated[str, Meta(max_length=32, description="The protocol that it speaks")] = (
        "xmlrpc"
    )


class AddressAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a server answers at an address, and what it says of itself, or the problem."""

    answers: bool
    message: str


@operation("Servers.look", "POST /server-address", Role.TEAM)
async def look(hub: HubContext, caller: Caller, request: ServerAddress) -> AddressAnswer:
    """Ask the server at an address for its state, as a test does first. Nothing is stored.

    One address at a time is tried for a team.
    """
    given = ServerSettings(url=_url(request.url), protocol=request.protocol)
    server = _checked(Server(name=ServerName("new"), access=NO_ACCESS, **settings_of(given)))
    limits = hub.settings.http_limits()
    seen = await hub.servers.conformance.look(server, limits, caller.team or "")
    for step in seen.steps:
        if step.state is StepState.FAILED:
            return AddressAnswer(answers=False, message=f"{step.name}: {step.message}")
    title = installed_protocols()[server.protocol].title
    return AddressAnswer(answers=True, message=f"answers {title}: {seen.steps[-1].message}")


@operation("Servers.list", "GET /servers", Role.TEAM, scope=Scope.OWN)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[ServerDetail]:
    """Return the team's servers; for organisers all teams' servers.

    The organiser of one challenge sees those that were started in its phases, and baselines.
    """
    async with hub.store.reading() as connection:
        stored = await servers.list_all(connection, None if caller.organiser else caller.team)
        if caller.challenge is not None:
            hosts = {team.name for team in await teams.list_all(connection) if team.host}
            there = servers_in(hub, caller.challenge)
            stored = [one for one in stored if one.team in hosts or one.server.name in there]
    return [detail(hub, registered, caller.challenge) for registered in stored]


def servers_in(hub: HubContext, challenge: str) -> Mapping[ServerName, RegisteredServer]:
    """Return the servers that were started in a challenge's phases."""
    phases = hub.phases.scheduler.phases.values()
    its_phases = [running for running in phases if running.phase.challenge == challenge]
    return {name: server for running in its_phases for name, server in running.servers.items()}


@operation("Servers.get", "GET /servers/{server}", Role.TEAM)
async def get(hub: HubContext, caller: Caller, request: OneServer) -> ServerDetail:
    """Return a server with its progress in each phase."""
    return detail(hub, await hub.server(caller, request.server))


@operation("Servers.update", "PATCH /servers/{server}", Role.TEAM)
async def update(hub: HubContext, caller: Caller, request: ServerChange) -> ServerDetail:
    """Change a server that is not at work. It must be tested again, for each phase.

    *** in the URL keeps the stored secrets, if scheme, host and port are the same.
    """
    registered = await hub.server_in_use(caller, request.server)
    if hub.phases.scheduler.lanes.at_work(registered):
        raise RefusedError(
            Refusal.STATE, "the server is being sent articles: pause it before you change it"
        )
    values = {name: value for name, value in settings_of(request).items() if value is not None}
    if "url" in values:
        values["url"] = _url(values["url"], registered.server.url)
    stored = registered.server
    url = values.get("url", stored.url)
    moved = address(url) != address(stored.url)
    if "options" in values:
        values["options"] = _options(values["options"], stored.options, moved=moved)
    elif moved and shown_options(stored.options) != stored.options:
        message = (
            "contain an address whose secret was stored for the old host: enter the options again"
        )
        raise RefusedError(Refusal.INVALID, message, field="options")
    change = convert(request, AccessChange)
    values["access"] = await access_of(hub, stored.access, change, url, moved=moved)
    server = _checked(msgspec.structs.replace(registered.server, **values))
    async with hub.store.writing() as connection:
        await servers.change(connection, registered.id, server)
        await audit_log(connection, caller, "servers.update", server.name, **_audit_details(server))
    changed = await hub.server(caller, request.server)
    await hub.phases.scheduler.lanes.changed(changed)
    return detail(hub, changed)


@operation("Servers.retire", "POST /servers/{server}/retire", Role.TEAM)
async def retire(hub: HubContext, caller: Caller, request: OneServer) -> None:
    """Take a server out of use. Its runs stay on the boards, its name stays taken."""
    registered = await hub.server_in_use(caller, request.server)
    note = functools.partial(
        audit_log, caller=caller, action="servers.pause", subject=request.server
    )
    await hub.phases.scheduler.lanes.leave(registered, note)
    async with hub.store.writing() as connection:
        await servers.retire(connection, registered.id)
        await audit_log(connection, caller, "servers.retire", request.server)


def _checked(server: Server) -> Server:
    """Return the server if its settings are usable; `RefusedError` names the field."""
    for task in server.tasks:
        require_one_of(task, answered_tasks(), "tasks")
    require_one_of(server.protocol, installed_protocols(), "protocol")
    try:
        installed_protocols()[server.protocol].check(server)
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, str(error), field="options") from error
    return server


def _url(url: str, stored: str = "") -> str:
    """Return the URL to store in place of `stored`; `RefusedError` for an unusable URL."""
    try:
        return completed(check_url(url, "url"), stored, "url")
    except InputError as error:
        raise RefusedError(Refusal.INVALID, error.message, field="url") from error


def _options(options: str, stored: str = "", *, moved: bool = False) -> str:
    """Return the options to store in place of `stored`; `RefusedError` for unusable options."""
    try:
        return completed_options(options.strip(), stored, "options", moved=moved)
    except InputError as error:
        raise RefusedError(Refusal.INVALID, error.message, field="options") from error


def _servers_a_team(hub: HubContext) -> int:
    """Return the largest number of servers a team that any phase which is not over allows."""
    plans = [
        running.phase.plan.limits.servers
        for running in hub.phases.scheduler.phases.values()
        if running.state is not PhaseState.CLOSED
    ]
    return max(plans, default=PhaseLimits().servers)


def _audit_details(server: Server) -> dict[str, object]:
    """Return a server's details for the audit log."""
    return {
        **_shown(server),
        "auth": server.access.auth,
        "auth_name": server.access.name,
        "secret": secret_state(server.access),
        "certificate": server.access.certificate,
    }


class Consent(OneServer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server, and whether it serves curators."""

    serve: Annotated[bool, Meta(description="Whether curators' requests are sent to it")]


@operation("Servers.serveCurators", "PUT /servers/{server}/curators", Role.TEAM)
async def serve_curators(hub: HubContext, caller: Caller, request: Consent) -> ServerDetail:
    """Agree that curators' requests are sent to a server, or withdraw that at any time.

    Once it is withdrawn, requests under way to it are dropped; the answers that it gave stay.
    """
    registered = await hub.server_in_use(caller, request.server)
    async with hub.store.writing() as connection:
        await servers.serve_curators(connection, registered.id, request.serve)
        await audit_log(
            connection, caller, "servers.serve-curators", request.server, serve=request.serve
        )
    if not request.serve:
        for hook in hub.servers.withdrawn:
            hook(registered.server.name)
    return detail(hub, await hub.server(caller, request.server))
