"""Tokens: credentials for the interfaces. They are shown once, when they are created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import DAY
from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.base.viewer import Token
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import seen_challenge
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import END, GREATEST, ChallengeField, TeamField
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.store import teams, tokens

MOST = 100
"""The maximum number of valid tokens per team, without a team, and of a challenge."""

OF_NO_TEAM = frozenset({Role.CURATOR, Role.ORGANISER})
"""Roles whose tokens have no team; only organisers create them."""

TOKEN_PREFIX = tokens.PREFIX
"""How tokens begin, which no other first parameter of a call does."""

Label = Annotated[
    str,
    Meta(
        max_length=100,
        pattern=rf"^[^\x00-\x1f\x7f]*{END}",
        title="Label",
        description="Person or program that uses the token: “Ana's laptop”, “nightly script”. The"
        " audit"
        " log shows it as an organiser's name.",
    ),
]
Days = Annotated[
    float,
    Meta(
        gt=0,
        le=3650,
        title="Days",
        description="Days until the token expires, at most as long as the token that creates it;"
        " empty: as"
        " long as that.",
    ),
]


OfChallenge = Annotated[
    ChallengeField,
    Meta(
        title="Of",
        description="The challenge that an organiser is of; none: the whole hub",
        extra={"input": "choice"},
    ),
]


class NewToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to be created."""

    role: Annotated[Role, Meta(title="May do", description="The role of its holder")] = Role.TEAM
    label: Label = ""
    team: TeamField | None = None
    days: Days | None = None
    challenge: OfChallenge | None = None


class RevokedToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to be revoked."""

    id: Annotated[int, Meta(ge=1, le=GREATEST, description="The token's id, as in the list")]
    made_with_it: Annotated[
        bool,
        Meta(
            description="Also revoke all tokens that were created with it, and in turn with these"
        ),
    ] = False


class TokenQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of tokens: all valid tokens, and the newest others."""

    team: TeamField | None = None
    ended: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="How many revoked or expired tokens to return, the newest first",
        ),
    ] = 200


class TokenDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret; times are Unix seconds.

    `parent` is the id of the token that it was created with, if the caller may see that. `person`
    is the id of the person whose membership it is: `memberships` changes and ends it.
    """

    id: int
    role: Role
    team: str | None
    label: str
    created_at: float
    expires_at: float | None
    used_at: float | None
    revoked_at: float | None
    parent: int | None
    person: int | None = None
    challenge: str | None = None
    challenge_title: str = ""


class IssuedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token with its secret, `token`, which cannot be shown again."""

    token: str
    id: int
    role: Role
    team: str | None
    label: str
    expires_at: float | None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A token's holder."""

    name: str
    role: Role
    team: str | None
    challenge: str | None


@operation("Tokens.create", "POST /tokens", Role.TEAM, scope=Scope.CHALLENGE)
async def create(hub: HubContext, caller: Caller, request: NewToken) -> IssuedToken:
    """Create a token. A team creates its own (team or reader), an organiser any.

    The organiser of one challenge creates those of its organisers.

    It is shown only once: only its digest is stored. It expires at the latest with the token that
    creates it.
    """
    name = _owner(caller, request)
    require_organiser_of(request.role, request.challenge)
    if request.challenge is not None:
        await seen_challenge(hub, caller, request.challenge)
    team_id = None if name is None else (await hub.team(name)).id
    now = hub.clock()
    async with hub.store.writing() as connection:
        parent = await _parent(connection, caller, now)
        ends = None if request.days is None else now + request.days * DAY
        expires_at = tokens.last_moment(parent, ends)
        if await tokens.count(connection, team_id, request.challenge, now) >= MOST:
            raise RefusedError(
                Refusal.STATE,
                f"there are {MOST} valid tokens already, which is the limit: revoke a token first",
            )
        token_id, secret = await tokens.issue(
            connection,
            request.role,
            request.label,
            team_id=team_id,
            expires_at=expires_at,
            parent=caller.token_id,
            challenge=request.challenge,
        )
        await audit_log(
            connection,
            caller,
            "tokens.create",
            f"token {token_id}",
            role=request.role.value,
            team=name,
            challenge=request.challenge,
            label=request.label,
            days=request.days,
            made_with=caller.token_id,
        )
    return IssuedToken(
        token=secret,
        id=token_id,
        role=request.role,
        team=name,
        label=request.label,
        expires_at=expires_at,
    )


@operation("Tokens.list", "GET /tokens", Role.TEAM, scope=Scope.OWN)
async def list_(hub: HubContext, caller: Caller, request: TokenQuery) -> Sequence[TokenDetail]:
    """Return the team's tokens (for organisers all teams' or a team's), without their secrets.

    All valid tokens are returned, and the newest revoked or expired tokens. The organiser of one
    challenge sees those of its organisers.
    """
    name = request.team if caller.organiser else caller.team or ""
    if caller.challenge is not None:
        name = None  # its organisers have no team
    if request.team not in (None, name):
        raise caller.not_your_team()
    async with hub.store.reading() as connection:
        team = None if name is None else await teams.get(connection, TeamName(name))
        if name is not None and team is None:
            raise RefusedError(Refusal.UNKNOWN, f"there is no team {name!r}", field="team")
        of = None if team is None else team.id
        listed = await tokens.list_valid(
            connection, hub.clock(), ended=request.ended, team_id=of, challenge=caller.challenge
        )
    ids = {token.id for token in listed}
    return [
        convert(token, TokenDetail, parent=token.parent if token.parent in ids else None)
        for token in listed
    ]


@operation("Tokens.revoke", "POST /tokens/{id}/revoke", Role.TEAM, scope=Scope.TOKEN)
async def revoke(hub: HubContext, caller: Caller, request: RevokedToken) -> None:
    """Revoke a token; sessions that were opened with it end.

    If a token leaked, also revoke all created with it: `made_with_it`.
    """
    async with hub.store.writing() as connection:
        token = await tokens.get(connection, request.id)
        if token is None or not caller.viewer.owns(token.team):
            raise RefusedError(Refusal.UNKNOWN, f"there is no token {request.id}", field="id")
        if token.person is not None:
            message = (
                f"token {request.id} belongs to a person's membership: end the membership instead"
            )
            raise RefusedError(Refusal.STATE, message, field="id")
        revoked = await tokens.revoke(
            connection, request.id, hub.clock(), made_with_it=request.made_with_it
        )
        if not revoked:
            raise RefusedError(Refusal.STATE, f"token {request.id} is revoked already", field="id")
        subject, other_ids = (
            f"token {request.id}",
            [token_id for token_id in revoked if token_id != request.id] or None,
        )
        await audit_log(
            connection, caller, "tokens.revoke", subject, team=token.team, others=other_ids
        )


@operation("Tokens.whoami", "GET /whoami", Role.READER)
async def whoami(_hub: HubContext, caller: Caller, _request: Nothing) -> Identity:
    """Return the token's holder."""
    assert caller.role is not None
    role = caller.role if caller.challenge is None else Role.ORGANISER
    return Identity(name=caller.name, role=role, team=caller.team, challenge=caller.challenge)


def require_organiser_of(role: Role, challenge: str | None) -> None:
    """Raise `RefusedError` if another than an organiser is to be of one challenge."""
    if challenge is not None and role is not Role.ORGANISER:
        message = "only an organiser's token can be limited to one challenge"
        raise RefusedError(Refusal.INVALID, message, field="challenge")


async def _parent(connection: AsyncConnection, caller: Caller, now: float) -> Token | None:
    """Return the caller's token; `RefusedError` if it has become invalid since the request."""
    if caller.token_id is None:
        return None
    parent = await tokens.get_valid(connection, caller.token_id, now)
    if parent is None:
        raise RefusedError(Refusal.TOKEN, "this token has been revoked, or has expired")
    return parent


def _owner(caller: Caller, request: NewToken) -> str | None:
    """Return a new token's team; `RefusedError` if the caller may not create it."""
    if caller.organiser:
        if request.role is Role.TEAM and request.team is None:
            raise RefusedError(Refusal.INVALID, "is required for a team's token", field="team")
        if request.role in OF_NO_TEAM and request.team is not None:
            message = f"must be empty: a token with the role {request.role} belongs to no team"
            raise RefusedError(Refusal.INVALID, message, field="team")
        return request.team
    if request.role in OF_NO_TEAM:
        raise RefusedError(
            Refusal.NOT_YOURS, "only organisers may create tokens with this role", field="role"
        )
    if request.team not in (None, caller.team):
        raise caller.not_your_team()
    return caller.team
