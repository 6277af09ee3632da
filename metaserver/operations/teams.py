"""Teams: participants in challenges."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from typing import Annotated

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.plans import NoticePlan
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.exchange.http.urls import MASK, check_url, shown_webhook
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import EMAIL, END, NAME_HELP, NewName, TeamField, Text, Title
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.phases.mail import ADDRESS, MAX_ADDRESS
from metaserver.phases.runtime import Part
from metaserver.store import servers, sign_ups, teams
from metaserver.store.teams import Team

Email = Annotated[
    str,
    Meta(
        pattern=rf"^({ADDRESS})?{END}",
        max_length=MAX_ADDRESS,
        title="E-mail",
        description="The e-mail address at which the organisers can reach the team",
        extra=EMAIL,
    ),
]
TeamTitle = Annotated[
    Title,
    Meta(title="Name of the team", description="The team's full name, shown beside its runs"),
]


HOST_HELP = "The organisers' own team: its runs are marked as baselines (only organisers set this)"


class NewTeam(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new team."""

    team: Annotated[
        NewName,
        Meta(title="Name", description=f"Its name, which cannot be changed later: {NAME_HELP}"),
    ]
    title: TeamTitle = ""
    email: Email = ""


class TeamChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a team."""

    team: TeamField
    title: TeamTitle | None = None
    email: Email | None = None
    host: Annotated[bool | None, Meta(description=HOST_HELP)] = None


class OneTeam(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team by name."""

    team: TeamField


class NoticeChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team's notice channels; neither: no notices."""

    team: TeamField
    webhook: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="A URL that is sent a JSON message when a server is down, up again or"
            " finished; empty: none. Only its host is shown again: sent back, it keeps the URL.",
        ),
    ] = ""
    email: Annotated[
        bool,
        Meta(
            title="Send an e-mail to the team's address as well",
            description="Also send notices to the team's e-mail address, if the hub can send mail",
        ),
    ] = False


class NoticeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A team's notice channels; `webhook` shows only its host, the rest is ***.

    `secret` signs notices to the webhook: empty without a webhook, and if it was not changed.
    """

    webhook: str
    email: bool
    secret: str


class TeamDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A team as organisers and its members see it."""

    team: str
    title: Text
    email: str
    host: bool
    created_at: float
    retired_at: float | None

    @classmethod
    def of(cls, team: Team) -> TeamDetail:
        """Return a team's fields that its members see."""
        return convert(team, cls, team=team.name)


@operation("Teams.create", "POST /teams", Role.ORGANISER)
async def create(hub: HubContext, caller: Caller, request: NewTeam) -> TeamDetail:
    """Create a team. Give it a token next: `tokens create`."""
    async with hub.store.writing() as connection:
        try:
            await teams.add(connection, TeamName(request.team), request.title, request.email)
        except sa.exc.IntegrityError as error:
            raise RefusedError(
                Refusal.STATE, f"the team name {request.team!r} is taken", field="team"
            ) from error
        await audit_log(connection, caller, "teams.create", request.team, title=request.title)
    return TeamDetail.of(await hub.team(request.team))


@operation("Teams.list", "GET /teams", Role.ORGANISER, scope=Scope.OWN)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[TeamDetail]:
    """Return all teams by name, including retired teams.

    The organiser of one challenge sees those that signed up for it or have runs in its phases, and
    the organisers' own.
    """
    async with hub.store.reading() as connection:
        listed = await teams.list_all(connection)
        if caller.challenge is not None:
            there = await sign_ups.teams_of(connection, caller.challenge)
            there |= _teams_in(hub, caller.challenge)
            listed = [team for team in listed if team.host or team.name in there]
    return [TeamDetail.of(team) for team in listed]


def _teams_in(hub: HubContext, challenge: str) -> set[str]:
    """Return the teams with servers or uploads in a challenge's phases."""
    return {
        team
        for running in hub.phases.scheduler.phases.values()
        if running.phase.challenge == challenge
        for team in (
            *(server.team for server in running.servers.values()),
            *(upload.team for upload in running.uploads),
        )
        if team
    }


@operation("Teams.get", "GET /teams/{team}", Role.TEAM)
async def get(hub: HubContext, caller: Caller, request: OneTeam) -> TeamDetail:
    """Return a team; a team sees only itself."""
    _require_own(caller, request.team)
    return TeamDetail.of(await hub.team(request.team))


@operation("Teams.update", "PATCH /teams/{team}", Role.TEAM)
async def update(hub: HubContext, caller: Caller, request: TeamChange) -> TeamDetail:
    """Change a team's title or address; organisers say whether its runs are baselines."""
    _require_own(caller, request.team)
    await hub.team(request.team)
    if request.host is not None and not caller.organiser:
        raise RefusedError(Refusal.NOT_YOURS, "may be changed only by organisers", field="host")
    fields = ("title", "email", "host")
    values = {name: value for name in fields if (value := getattr(request, name)) is not None}
    if values:
        async with hub.store.writing() as connection:
            await teams.change(connection, TeamName(request.team), **values)
            await audit_log(connection, caller, "teams.update", request.team, **values)
    team = await hub.team(request.team)
    for running in hub.phases.scheduler.phases.values():
        await running.reload(Part.TEAMS, team.name)
    return TeamDetail.of(team)


@operation("Teams.getNotices", "GET /teams/{team}/notices", Role.TEAM)
async def get_notices(hub: HubContext, caller: Caller, request: OneTeam) -> NoticeDetail:
    """Return where the team gets notices about its servers; the webhook's secret is not shown."""
    _require_own(caller, request.team)
    plan = (await hub.team(request.team)).notices
    return NoticeDetail(webhook=shown_webhook(plan.webhook), email=plan.email, secret="")


@operation("Teams.notices", "PUT /teams/{team}/notices", Role.TEAM)
async def set_notices(hub: HubContext, caller: Caller, request: NoticeChange) -> NoticeDetail:
    """Set a team's notice channels: a server is down, up again or finished.

    Returns the secret that signs notices to the webhook: it is shown only once. The masked webhook
    (https://HOST/***) keeps the stored webhook and its secret.
    """
    _require_own(caller, request.team)
    team = await hub.team(request.team)
    plan = _with_webhook(team.notices, request)
    if request.email and not team.email:
        raise RefusedError(
            Refusal.INVALID, "the team has no e-mail address yet: enter one first", field="email"
        )
    webhook, is_new = shown_webhook(plan.webhook), plan.secret != team.notices.secret
    async with hub.store.writing() as connection:
        await teams.change(connection, team.name, notices=plan)
        detail = {"webhook": webhook, "email": plan.email}
        await audit_log(connection, caller, "teams.notices", team.name, **detail)
    return NoticeDetail(webhook=webhook, email=plan.email, secret=plan.secret if is_new else "")


def _with_webhook(stored: NoticePlan, request: NoticeChange) -> NoticePlan:
    """Return the plan to be stored; `RefusedError` for an unusable webhook."""
    if not request.webhook:
        return NoticePlan(email=request.email)
    if request.webhook == shown_webhook(stored.webhook):
        return msgspec.structs.replace(stored, email=request.email)
    try:
        check_url(request.webhook, "webhook")
    except InputError as error:
        raise RefusedError(Refusal.INVALID, error.message, field="webhook") from error
    if MASK in request.webhook:
        message = (
            f"{MASK} stands for the stored webhook only while the address is the same:"
            " enter the whole URL"
        )
        raise RefusedError(Refusal.INVALID, message, field="webhook")
    return NoticePlan(
        webhook=request.webhook, secret=secrets.token_urlsafe(32), email=request.email
    )


@operation("Teams.retire", "POST /teams/{team}/retire", Role.ORGANISER)
async def retire(hub: HubContext, caller: Caller, request: OneTeam) -> None:
    """Retire a team: its tokens become invalid, its servers are paused, its runs stay."""
    team = await hub.team(request.team)
    async with hub.store.reading() as connection:
        registered_servers = await servers.list_all(connection, team.name)
    for registered in registered_servers:
        name = registered.server.name
        note = functools.partial(audit_log, caller=caller, action="servers.pause", subject=name)
        await hub.phases.scheduler.lanes.leave(registered, note)
    async with hub.store.writing() as connection:
        await teams.change(connection, team.name, retired_at=hub.clock())
        await audit_log(connection, caller, "teams.retire", request.team)


def _require_own(caller: Caller, team: str) -> None:
    if not caller.viewer.owns(team):
        raise RefusedError(Refusal.UNKNOWN, "you may do this only for your own team", field="team")
