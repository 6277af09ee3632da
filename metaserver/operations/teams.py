"""Teams: who takes part."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from typing import Annotated

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from metaserver.client.urls import MASK, check_url, shown_webhook
from metaserver.model.errors import InputError, Refusal, RefusedError
from metaserver.model.plans import NoticePlan
from metaserver.model.records import TeamName
from metaserver.model.servers import RegisteredServer
from metaserver.model.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import END, NewName, TeamField, Text, Title
from metaserver.operations.table import Nothing, operation
from metaserver.store import servers, teams
from metaserver.store.teams import Team

_PART = r'[^@\s,;:<>()\[\]"\\]+'  # of one address, and of nothing else that a mail may be sent to
Email = Annotated[
    str,
    Meta(pattern=rf"^({_PART}@{_PART})?{END}", max_length=254, description="Its e-mail address"),
]


class NewTeam(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team that takes part from now on."""

    team: NewName
    title: Title = ""
    email: Email = ""


class TeamChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change of a team."""

    team: TeamField
    title: Title | None = None
    email: Email | None = None


class OneTeam(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team by name."""

    team: TeamField


class NoticeChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a team is to be told; neither: not at all."""

    team: TeamField
    webhook: Annotated[str, Meta(max_length=2_000, description="A URL to post to; none: off")] = ""
    email: Annotated[bool, Meta(description="To the team's address")] = False


class NoticeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """How a team is told: of `webhook` its host, the rest is ***.

    `secret` signs what is sent to it: empty without one, and where one is kept as it was.
    """

    webhook: str
    email: bool
    secret: str


class TeamDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A team as organisers and its members see it."""

    team: str
    title: Text
    email: str
    created_at: float
    retired_at: float | None

    @classmethod
    def of(cls, team: Team) -> TeamDetail:
        """Return what is shown of a team."""
        return cls(
            team=team.name,
            title=team.title,
            email=team.email,
            created_at=team.created_at,
            retired_at=team.retired_at,
        )


@operation("Teams.create", "POST /teams", Role.ORGANISER)
async def create(hub: HubContext, caller: Caller, request: NewTeam) -> TeamDetail:
    """Let a team take part. Give it a token next: `tokens create`."""
    async with hub.store.writing() as connection:
        try:
            await teams.add(connection, TeamName(request.team), request.title, request.email)
        except sa.exc.IntegrityError as error:
            raise RefusedError(
                Refusal.STATE, f"there is a team {request.team!r} already", field="team"
            ) from error
        await audit_log(connection, caller, "teams.create", request.team, title=request.title)
    return TeamDetail.of(await hub.team(request.team))


@operation("Teams.list", "GET /teams", Role.ORGANISER)
async def list_(hub: HubContext, _caller: Caller, _given: Nothing) -> Sequence[TeamDetail]:
    """Return all teams by name, retired ones too."""
    async with hub.store.reading() as connection:
        return [TeamDetail.of(team) for team in await teams.list_all(connection)]


@operation("Teams.get", "GET /teams/{team}", Role.TEAM)
async def get(hub: HubContext, caller: Caller, request: OneTeam) -> TeamDetail:
    """Return one team: a team sees itself alone."""
    _need_own(caller, request.team)
    return TeamDetail.of(await hub.team(request.team))


@operation("Teams.update", "PATCH /teams/{team}", Role.TEAM)
async def update(hub: HubContext, caller: Caller, request: TeamChange) -> TeamDetail:
    """Change a team's title or address."""
    _need_own(caller, request.team)
    await hub.team(request.team)
    values = {
        name: value for name in ("title", "email") if (value := getattr(request, name)) is not None
    }
    if values:
        async with hub.store.writing() as connection:
            await teams.change(connection, TeamName(request.team), **values)
            await audit_log(connection, caller, "teams.update", request.team, **values)
    return TeamDetail.of(await hub.team(request.team))


@operation("Teams.notices", "PUT /teams/{team}/notices", Role.TEAM)
async def set_notices(hub: HubContext, caller: Caller, request: NoticeChange) -> NoticeDetail:
    """Say how the team wants to be told that a server is down, up again or finished.

    Returns the secret that signs what is sent to the webhook: it is shown this once. The webhook as
    it is shown (https://HOST/***) keeps the one that there is, and its secret.
    """
    _need_own(caller, request.team)
    team = await hub.team(request.team)
    plan = _with_webhook(team.notices, request)
    if request.email and not team.email:
        raise RefusedError(Refusal.INVALID, "the team has no address to send to", field="email")
    webhook, new = shown_webhook(plan.webhook), plan.secret != team.notices.secret
    async with hub.store.writing() as connection:
        await teams.change(connection, team.name, notices=plan)
        told = {"webhook": webhook, "email": plan.email}
        await audit_log(connection, caller, "teams.notices", team.name, **told)
    return NoticeDetail(webhook=webhook, email=plan.email, secret=plan.secret if new else "")


def _with_webhook(kept: NoticePlan, request: NoticeChange) -> NoticePlan:
    """Return the plan to be kept; `RefusedError` for a webhook of no use."""
    if not request.webhook:
        return NoticePlan(email=request.email)
    if request.webhook == shown_webhook(kept.webhook):
        return msgspec.structs.replace(kept, email=request.email)
    try:
        check_url(request.webhook, "webhook")
    except InputError as error:
        raise RefusedError(Refusal.INVALID, error.message, field="webhook") from error
    if MASK in request.webhook:
        message = f"{MASK} stands for what is kept, and that is another address: write it anew"
        raise RefusedError(Refusal.INVALID, message, field="webhook")
    return NoticePlan(
        webhook=request.webhook, secret=secrets.token_urlsafe(32), email=request.email
    )


@operation("Teams.retire", "POST /teams/{team}/retire", Role.ORGANISER)
async def retire(hub: HubContext, caller: Caller, request: OneTeam) -> None:
    """End a team's part: its tokens hold no longer, its servers rest, its runs stay."""
    team = await hub.team(request.team)
    for registered in await _servers(hub, team):
        name = registered.server.name
        note = functools.partial(audit_log, caller=caller, action="servers.pause", subject=name)
        await hub.dispatcher.lanes.leave(registered, note)
    async with hub.store.writing() as connection:
        await teams.change(connection, team.name, retired_at=hub.clock())
        await audit_log(connection, caller, "teams.retire", request.team)


async def _servers(hub: HubContext, team: Team) -> Sequence[RegisteredServer]:
    async with hub.store.reading() as connection:
        return await servers.list_all(connection, team.name)


def _need_own(caller: Caller, team: str) -> None:
    if not caller.organiser and caller.team != team:
        raise RefusedError(Refusal.UNKNOWN, "that is not your team", field="team")
