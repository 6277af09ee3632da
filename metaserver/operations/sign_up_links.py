"""One-time links of sign-ups: what each is for, and what is done with it, once.

To look at a link uses nothing up: scanners of mail open every link that they find.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.model.challenges import LinkKind, SignUp, SignUpMode, SignUpState
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.phases import Challenge
from metaserver.model.records import TeamName
from metaserver.model.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.sign_ups import (
    Accepted,
    Affiliation,
    People,
    TeamNamed,
    let_in,
    require_terms,
)
from metaserver.operations.table import operation
from metaserver.operations.tokens import IssuedToken
from metaserver.store import phases, sign_ups, teams, tokens

Secret = Annotated[str, Meta(max_length=100, description="The last part of the link")]
LABEL = "first"
"""The label of a team's first token."""


class OneLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A one-time link."""

    secret: Secret


class Confirmation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to be used; the other fields correct what was written at the sign-up.

    An invitation needs team, people and terms.
    """

    secret: Secret
    team: TeamNamed | None = None
    people: People | None = None
    affiliation: Affiliation | None = None
    terms: Accepted = ""


class LinkDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A one-time link: its purpose, and what was written at the sign-up."""

    kind: LinkKind
    challenge: str
    title: str
    team: str
    people: str
    email: str
    affiliation: str
    terms: str
    terms_version: str


class SignUpProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a sign-up once its link was used.

    `secret` is that of the link to the team's first token; empty while it waits for approval.
    """

    state: SignUpState
    team: str
    secret: str


@operation("SignUps.look", "POST /sign-up-links/look", None)
async def look(hub: HubContext, _caller: Caller, request: OneLink) -> LinkDetail:
    """Return what a one-time link is for; this uses nothing up."""
    async with hub.store.reading() as connection:
        kind, one, challenge = await _found(connection, request.secret, hub.clock())
    return LinkDetail(
        kind=kind,
        challenge=challenge.name,
        title=challenge.title,
        team=one.team,
        people=one.people,
        email=one.email,
        affiliation=one.affiliation,
        terms=challenge.page.terms,
        terms_version=challenge.page.terms_version,
    )


@operation("SignUps.confirm", "POST /sign-up-links/confirm", None)
async def confirm(hub: HubContext, caller: Caller, request: Confirmation) -> SignUpProgress:
    """Confirm a sign-up, or accept an invitation, with the link that was sent."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        kind, one, challenge = await _found(connection, request.secret, now)
        if kind is LinkKind.TOKEN:
            raise _dead()
        values = _corrected(one, challenge, kind, request)
        await _use(connection, request.secret, now)
        await sign_ups.change(connection, one.id, **values)
        one = await _again(connection, one)
        enters = kind is LinkKind.INVITATION or challenge.page.sign_up in (
            SignUpMode.AUTOMATIC,
            SignUpMode.CODE,
        )
        secret = ""
        if enters:
            await let_in(connection, one, one.team, now, mail_due=False)
            secret = (await sign_ups.make_link(connection, one.id, LinkKind.TOKEN, now)).secret
        else:
            await _require_free(connection, one.team)
            await sign_ups.change(connection, one.id, state=SignUpState.WAITING, mail_due=False)
        await audit_log(
            connection, caller, "sign-ups.confirm", f"sign-up {one.id}", team=one.team, kind=kind
        )
        one = await _again(connection, one)
    return SignUpProgress(state=one.state, team=one.team, secret=secret)


@operation("SignUps.token", "POST /sign-up-links/token", None)
async def token(hub: HubContext, caller: Caller, request: OneLink) -> IssuedToken:
    """Return a team's first token, for the link that was sent: it is shown only once."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        kind, one, _challenge = await _found(connection, request.secret, now)
        team = await teams.get(connection, TeamName(one.team))
        if kind is not LinkKind.TOKEN or team is None or team.retired_at is not None:
            raise _dead()
        await _use(connection, request.secret, now)
        token_id, secret = await tokens.issue(connection, Role.TEAM, LABEL, team_id=team.id)
        await sign_ups.change(connection, one.id, state=SignUpState.JOINED, mail_due=False)
        subject = f"token {token_id}"
        await audit_log(connection, caller, "sign-ups.token", subject, team=team.name)
    return IssuedToken(
        token=secret, id=token_id, role=Role.TEAM, team=team.name, label=LABEL, expires_at=None
    )


def _corrected(
    one: SignUp, challenge: Challenge, kind: LinkKind, request: Confirmation
) -> dict[str, str]:
    """Return what a sign-up is changed to; `RefusedError` where something is missing."""
    values = {
        name: value
        for name in ("team", "people", "affiliation")
        if (value := getattr(request, name)) is not None
    }
    if kind is LinkKind.INVITATION:
        for name in ("team", "people"):
            if not values.get(name):
                raise RefusedError(Refusal.INVALID, "is required", field=name)
        require_terms(challenge, request.terms)
        values["terms_version"] = challenge.page.terms_version
    return values


async def _found(
    connection: AsyncConnection, secret: str, now: float
) -> tuple[LinkKind, SignUp, Challenge]:
    found = await sign_ups.find_link(connection, secret, now)
    challenge = (
        None if found is None else await phases.get_challenge(connection, found[1].challenge)
    )
    if found is None or challenge is None or found[1].state is SignUpState.DECLINED:
        raise _dead()
    return *found, challenge


async def _use(connection: AsyncConnection, secret: str, now: float) -> None:
    if not await sign_ups.use_link(connection, secret, now):
        raise _dead()


async def _again(connection: AsyncConnection, one: SignUp) -> SignUp:
    found = await sign_ups.get(connection, one.id)
    assert found is not None
    return found


async def _require_free(connection: AsyncConnection, team: str) -> None:
    if await teams.get(connection, TeamName(team)) is not None:
        message = f"there is a team {team!r} already: choose another name"
        raise RefusedError(Refusal.STATE, message, field="team")


def _dead() -> RefusedError:
    message = "this link was used, is too old, or was replaced by a newer one"
    return RefusedError(Refusal.UNKNOWN, message)
