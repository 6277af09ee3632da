"""Tokens: what opens the interfaces. They are shown once, when they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.errors import Refusal, RefusedError
from metaserver.lifecycle import Role
from metaserver.operations.caller import Caller
from metaserver.operations.fields import END, TeamField
from metaserver.operations.service import Service, noted
from metaserver.operations.table import Nothing, operation
from metaserver.store import tokens
from metaserver.store.tokens import Token

MOST = 100
"""Tokens that hold, of one team, and of no team."""

DAY = 86_400.0  # seconds

Label = Annotated[
    str,
    Meta(
        max_length=100,
        pattern=rf"^[^\x00-\x1f\x7f]*{END}",
        description="Who or what holds it",
    ),
]
Days = Annotated[float, Meta(gt=0, le=3650, description="It holds so many days; none: for ever")]


class NewToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to be made."""

    role: Annotated[Role, Meta(description="What its holder may do")] = Role.TEAM
    label: Label = ""
    team: TeamField | None = None
    days: Days | None = None


class OneToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token by its id."""

    id: Annotated[int, Meta(ge=1, description="The token's id, as in the list")]


class TokenDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it may be shown: all but itself; times are Unix seconds."""

    id: int
    role: Role
    team: str | None
    label: str
    created_at: float
    expires_at: float | None
    used_at: float | None
    revoked_at: float | None

    @classmethod
    def of(cls, token: Token) -> TokenDetail:
        """Return what is shown of a token."""
        return cls(
            id=token.id,
            role=token.role,
            team=token.team,
            label=token.label,
            created_at=token.created_at,
            expires_at=token.expires_at,
            used_at=token.used_at,
            revoked_at=token.revoked_at,
        )


class IssuedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token, `token` itself among it: nobody can show it again."""

    token: str
    id: int
    role: Role
    team: str | None
    label: str
    expires_at: float | None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Whose token this is."""

    name: str
    role: Role
    team: str | None


@operation("Tokens.create", "POST /tokens", Role.TEAM)
async def create(service: Service, caller: Caller, given: NewToken) -> IssuedToken:
    """Make a token. A team makes them for itself, as team or reader; an organiser any.

    It is shown this once: only its digest is kept.
    """
    name = _owner(caller, given)
    team_id = None if name is None else (await service.team(name)).id
    now = service.clock()
    expires_at = None if given.days is None else now + given.days * DAY
    async with service.store.writing() as connection:
        if await tokens.count(connection, team_id, now) >= MOST:
            raise RefusedError(Refusal.STATE, f"{MOST} tokens hold already: revoke some")
        token_id, secret = await tokens.issue(
            connection, given.role, given.label, team_id=team_id, expires_at=expires_at
        )
        await noted(
            connection,
            caller,
            "tokens.create",
            f"token {token_id}",
            role=given.role.value,
            team=name,
            label=given.label,
            days=given.days,
        )
    return IssuedToken(
        token=secret,
        id=token_id,
        role=given.role,
        team=name,
        label=given.label,
        expires_at=expires_at,
    )


@operation("Tokens.list", "GET /tokens", Role.TEAM)
async def list_(service: Service, caller: Caller, _given: Nothing) -> Sequence[TokenDetail]:
    """Return the team's tokens, to organisers all: what is known of them, never themselves."""
    of = None if caller.organiser else (await service.team(caller.team or "")).id
    async with service.store.reading() as connection:
        known = await tokens.every(connection, of)
    return [TokenDetail.of(token) for token in known]


@operation("Tokens.revoke", "POST /tokens/{id}/revoke", Role.TEAM)
async def revoke(service: Service, caller: Caller, given: OneToken) -> None:
    """Let a token hold no longer; who signed in with it is signed out."""
    async with service.store.writing() as connection:
        token = await tokens.get(connection, given.id)
        if token is None or not (caller.organiser or token.team == caller.team is not None):
            raise RefusedError(Refusal.UNKNOWN, f"there is no token {given.id}", field="id")
        if token.revoked_at is not None:
            raise RefusedError(Refusal.STATE, f"token {given.id} is revoked already", field="id")
        await tokens.revoke(connection, given.id, service.clock())
        await noted(connection, caller, "tokens.revoke", f"token {given.id}", team=token.team)


@operation("Tokens.whoami", "GET /whoami", Role.READER)
async def whoami(_service: Service, caller: Caller, _given: Nothing) -> Identity:
    """Tell whose token this is."""
    assert caller.role is not None
    return Identity(name=caller.name, role=caller.role, team=caller.team)


def _owner(caller: Caller, given: NewToken) -> str | None:
    """Return the team that a new token is for; `RefusedError` where the caller may not make it."""
    if caller.organiser:
        if given.role is Role.TEAM and given.team is None:
            raise RefusedError(Refusal.INVALID, "is required for a team's token", field="team")
        if given.role is Role.ORGANISER and given.team is not None:
            raise RefusedError(Refusal.INVALID, "an organiser is of no team", field="team")
        return given.team
    if given.role is Role.ORGANISER:
        raise RefusedError(Refusal.NOT_YOURS, "only organisers make such tokens", field="role")
    if given.team not in (None, caller.team):
        raise RefusedError(Refusal.NOT_YOURS, "that is not your team", field="team")
    return caller.team
