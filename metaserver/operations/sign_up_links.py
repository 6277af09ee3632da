"""Sign-ups' one-time links: what each is for, and what is done with it, once.

Looking at a link does not use it up: mail scanners open every link that they find.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import (
    AUTOMATIC_A_DAY,
    DAY,
    Challenge,
    LinkKind,
    SignUp,
    SignUpMode,
    SignUpState,
)
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.sign_ups import (
    Accepted,
    Affiliation,
    People,
    TeamNamed,
    let_in,
    require_terms,
    taken,
)
from metaserver.operations.table import operation
from metaserver.operations.tokens import IssuedToken
from metaserver.phases.mail import canonical
from metaserver.store import people, phases, sign_ups, teams, tokens

Secret = Annotated[str, Meta(max_length=100, description="The last part of the link")]
LABEL = "first"
"""The label for a team's first token."""

_IN = (SignUpState.APPROVED, SignUpState.JOINED)


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
    """A one-time link: its purpose, and what was written at sign-up."""

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
    """A sign-up's state once its link was used.

    `secret` is for the link to the team's first token; empty while it waits for approval.
    """

    state: SignUpState
    team: str
    secret: str


@operation("SignUps.look", "POST /sign-up-links/look", None)
async def look(hub: HubContext, _caller: Caller, request: OneLink) -> LinkDetail:
    """Return what a one-time link is for, without using it up."""
    async with hub.store.reading() as connection:
        kind, sign_up, challenge, _ = await _found(connection, request.secret, hub.clock())
    return convert(
        sign_up,
        LinkDetail,
        kind=kind,
        challenge=challenge.name,
        title=challenge.title,
        terms=challenge.page.terms,
        terms_version=challenge.page.terms_version,
    )


@operation("SignUps.confirm", "POST /sign-up-links/confirm", None)
async def confirm(hub: HubContext, caller: Caller, request: Confirmation) -> SignUpProgress:
    """Confirm a sign-up, or accept an invitation, with the link that was sent."""
    async with hub.store.writing() as connection:
        progress = await _confirmed(connection, caller, request, hub.clock())
    if isinstance(progress, RefusedError):
        raise progress
    return progress


async def _confirmed(
    connection: AsyncConnection, caller: Caller, request: Confirmation, now: float
) -> SignUpProgress | RefusedError:
    """Use a link; a refusal that is returned, not raised, is to be remembered in the store."""
    kind, sign_up, challenge, tries = await _found(connection, request.secret, now)
    if kind is LinkKind.TOKEN:
        raise _dead()
    if tries >= sign_ups.NAMES:
        message = f"{tries} team names that are taken were tried with this link, which is the limit"
        raise RefusedError(Refusal.STATE, f"{message}: ask the organisers for another link")
    values = _corrected(sign_up, challenge, kind, request)
    name = values.get("team", sign_up.team)
    if await teams.is_taken(connection, name):
        await sign_ups.count_try(connection, request.secret)
        return taken(name)
    await _use(connection, request.secret, now)
    await sign_ups.change(connection, sign_up.id, **values)
    sign_up = await _again(connection, sign_up)
    secret, invited = "", kind is LinkKind.INVITATION
    if invited or await _enters(connection, sign_up, challenge, now):
        await let_in(connection, sign_up, sign_up.team, now, mail_due=False, automatic=not invited)
        secret = (await sign_ups.make_link(connection, sign_up.id, LinkKind.TOKEN, now)).secret
        team = await teams.get(connection, TeamName(sign_up.team))
        if caller.person is not None and team is not None:
            joining = partial(people.join, connection, caller.person, Role.TEAM, now)
            await joining(team_id=team.id, owner=True)
    else:
        await sign_ups.change(connection, sign_up.id, state=SignUpState.WAITING, mail_due=False)
    await audit_log(
        connection,
        caller,
        "sign-ups.confirm",
        f"sign-up {sign_up.id}",
        team=sign_up.team,
        kind=kind,
    )
    sign_up = await _again(connection, sign_up)
    return SignUpProgress(state=sign_up.state, team=sign_up.team, secret=secret)


async def _enters(
    connection: AsyncConnection, sign_up: SignUp, challenge: Challenge, now: float
) -> bool:
    """Return whether a sign-up comes in without an organiser, as the challenge is now.

    Each team has its own uploads: so only a few teams per day come in by themselves, and one per
    mailbox.
    """
    match challenge.page.sign_up:
        case SignUpMode.CODE:
            knows = await sign_ups.code_of(connection, sign_up.id) == challenge.code
        case mode:
            knows = mode is SignUpMode.AUTOMATIC
    entered = await sign_ups.count_automatic(connection, now - DAY)
    mailbox = canonical(sign_up.email)
    theirs = await sign_ups.count(connection, _IN, challenge_id=challenge.id, mailbox=mailbox)
    return knows and not theirs and entered.get(challenge.name, 0) < AUTOMATIC_A_DAY


@operation("SignUps.token", "POST /sign-up-links/token", None)
async def token(hub: HubContext, caller: Caller, request: OneLink) -> IssuedToken:
    """Return a team's first token, for the link that was sent: it is shown only once."""
    now = hub.clock()
    async with hub.store.writing() as connection:
        kind, sign_up, *_ = await _found(connection, request.secret, now)
        team = await teams.get(connection, TeamName(sign_up.team))
        if kind is not LinkKind.TOKEN or team is None or team.retired_at is not None:
            raise _dead()
        await _use(connection, request.secret, now)
        token_id, secret = await tokens.issue(connection, Role.TEAM, LABEL, team_id=team.id)
        await sign_ups.change(connection, sign_up.id, state=SignUpState.JOINED, mail_due=False)
        subject = f"token {token_id}"
        await audit_log(connection, caller, "sign-ups.token", subject, team=team.name)
    return IssuedToken(
        token=secret, id=token_id, role=Role.TEAM, team=team.name, label=LABEL, expires_at=None
    )


def _corrected(
    sign_up: SignUp, challenge: Challenge, kind: LinkKind, request: Confirmation
) -> dict[str, str]:
    """Return a sign-up's changes; `RefusedError` if something is missing."""
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
) -> tuple[LinkKind, SignUp, Challenge, int]:
    link_found = await sign_ups.find_link(connection, secret, now)
    if link_found is None or link_found.sign_up.state is SignUpState.DECLINED:
        raise _dead()
    challenge = await phases.get_challenge(connection, link_found.sign_up.challenge)
    if challenge is None:
        raise _dead()
    return link_found.kind, link_found.sign_up, challenge, link_found.tries


async def _use(connection: AsyncConnection, secret: str, now: float) -> None:
    if not await sign_ups.use_link(connection, secret, now):
        raise _dead()


async def _again(connection: AsyncConnection, sign_up: SignUp) -> SignUp:
    newest = await sign_ups.get(connection, sign_up.id)
    assert newest is not None
    return newest


def _dead() -> RefusedError:
    message = "this link has been used, has expired, or was replaced by a newer link"
    return RefusedError(Refusal.UNKNOWN, message)
