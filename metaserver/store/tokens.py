"""Tokens for the interfaces, and the page sessions that begin with them. ¶

A token is 256 random bits. Only its SHA-256 digest is stored; it cannot be inverted, so no slow
hash is needed, and a look-up's duration reveals nothing about the token.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.base.viewer import Session, Token
from metaserver.store.database import insert
from metaserver.store.tables import sessions, teams, tokens

PREFIX = "bcms_"
FORM = re.compile(rf"{PREFIX}[{''.join(role[0] for role in Role)}][A-Za-z0-9_-]{{43}}")
"""A token's form, also used to keep tokens out of logs: prefix, role, 32 bytes."""

TOUCH_SECONDS = 60.0
"""The minimum time between two updates of `used_at`: reads must not cause many writes."""


def digest(secret: str) -> str:
    """Return the digest that is stored for a token or a cookie."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


async def issue(
    connection: AsyncConnection,
    role: Role,
    label: str,
    *,
    team_id: int | None = None,
    expires_at: float | None = None,
    parent: int | None = None,
) -> tuple[int, str]:
    """Issue a token; return its id and the token itself, which cannot be shown again.

    A token with a parent must not be valid longer than its parent: see `last_moment`.
    """
    secret = f"{PREFIX}{role[0]}{secrets.token_urlsafe(32)}"
    row = {
        "digest": digest(secret),
        "role": role.value,
        "team_id": team_id,
        "label": label,
        "created_at": time.time(),
        "expires_at": expires_at,
        "parent_id": parent,
    }
    return await insert(connection, tokens, row), secret


async def find(connection: AsyncConnection, secret: str, now: float) -> Token | None:
    """Return a valid token (not expired or revoked, no retired team), or None."""
    if not FORM.fullmatch(secret):
        return None
    query = _tokens().where(tokens.c.digest == digest(secret), _is_valid(now))
    row = (await connection.execute(query)).first()
    return None if row is None else _token(row)


def last_moment(parent: Token | None, expires_at: float | None) -> float | None:
    """Return the time a token expires, at `expires_at` but no later than its parent."""
    if parent is None or parent.expires_at is None:
        return expires_at
    return parent.expires_at if expires_at is None else min(parent.expires_at, expires_at)


async def get_valid(connection: AsyncConnection, token_id: int, now: float) -> Token | None:
    """Return a token by its id, None if it is invalid or expired."""
    query = _tokens().where(tokens.c.id == token_id, _is_valid(now))
    row = (await connection.execute(query)).first()
    return None if row is None else _token(row)


async def get(connection: AsyncConnection, token_id: int) -> Token | None:
    """Return a token by its id, valid or not."""
    row = (await connection.execute(_tokens().where(tokens.c.id == token_id))).first()
    return None if row is None else _token(row)


async def list_all(connection: AsyncConnection, team_id: int | None = None) -> Sequence[Token]:
    """Return all tokens, or a team's, in issuing order, including revoked tokens."""
    query = _tokens().order_by(tokens.c.id)
    if team_id is not None:
        query = query.where(tokens.c.team_id == team_id)
    return [_token(row) for row in await connection.execute(query)]


async def list_valid(
    connection: AsyncConnection, now: float, *, ended: int, team_id: int | None = None
) -> Sequence[Token]:
    """Return all valid tokens, or a team's, and the newest `ended` of the others, by id."""
    chosen = _tokens() if team_id is None else _tokens().where(tokens.c.team_id == team_id)
    ended_tokens = chosen.where(sa.not_(_is_valid(now))).order_by(tokens.c.id.desc()).limit(ended)
    valid = (await connection.execute(chosen.where(_is_valid(now)))).all()
    rows = [*valid, *(await connection.execute(ended_tokens))]
    return [_token(row) for row in sorted(rows, key=lambda row: row.id)]


async def count(connection: AsyncConnection, team_id: int | None, now: float) -> int:
    """Return the number of a team's valid tokens (None: without a team)."""
    query = _tokens().where(tokens.c.team_id.is_not_distinct_from(team_id), _is_valid(now))
    counted = sa.select(sa.func.count()).select_from(query.subquery())
    return int((await connection.execute(counted)).scalar_one())


async def touch(connection: AsyncConnection, token: Token, now: float) -> None:
    """Record that a token was used at `now` (Unix seconds)."""
    await connection.execute(sa.update(tokens).where(tokens.c.id == token.id).values(used_at=now))


def must_touch(token: Token, now: float) -> bool:
    """Return whether a token's use must be recorded."""
    return token.used_at is None or now - token.used_at >= TOUCH_SECONDS


async def revoke(
    connection: AsyncConnection, token_id: int, now: float, *, made_with_it: bool = False
) -> Sequence[int]:
    """Revoke a token and end the sessions that began with it; return the ids revoked.

    `made_with_it` also revokes all tokens issued with it, directly or not, even if it is revoked
    already.
    """
    ids = _family(token_id) if made_with_it else [token_id]
    revoked = await connection.execute(
        sa.update(tokens)
        .where(tokens.c.id.in_(ids), tokens.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(tokens.c.id)
    )
    revoked_ids = sorted(revoked.scalars())
    await connection.execute(sa.delete(sessions).where(sessions.c.token_id.in_(ids)))
    return revoked_ids


def _family(token_id: int) -> sa.Select[Any]:
    """Select the ids of a token and all tokens issued with it, directly or not."""
    family = sa.select(tokens.c.id).where(tokens.c.id == token_id).cte(recursive=True)
    children = sa.select(tokens.c.id).join(family, tokens.c.parent_id == family.c.id)
    return sa.select(family.union(children).c.id)


# -- sessions --------------------------------------------------------------------------------------


async def begin_session(
    connection: AsyncConnection, token: Token, now: float, seconds: float
) -> tuple[str, Session]:
    """Begin a session; return its cookie's value, which is always new, and the session."""
    cookie = secrets.token_urlsafe(32)
    ends = now + seconds
    session = Session(
        token=token,
        csrf=secrets.token_urlsafe(32),
        created_at=now,
        expires_at=ends if token.expires_at is None else min(ends, token.expires_at),
    )
    await connection.execute(
        sa.insert(sessions).values(
            digest=digest(cookie),
            token_id=token.id,
            csrf=session.csrf,
            created_at=now,
            expires_at=session.expires_at,
        )
    )
    return cookie, session


async def find_session(connection: AsyncConnection, cookie: str, now: float) -> Session | None:
    """Return a cookie's session; None unless it and its token are valid."""
    query = (
        _tokens()
        .join(sessions, sessions.c.token_id == tokens.c.id)
        .add_columns(
            sessions.c.csrf, sessions.c.created_at.label("begun"), sessions.c.expires_at.label("to")
        )
        .where(sessions.c.digest == digest(cookie), sessions.c.expires_at > now, _is_valid(now))
    )
    row = (await connection.execute(query)).first()
    if row is None:
        return None
    return Session(token=_token(row), csrf=row.csrf, created_at=row.begun, expires_at=row.to)


async def end_session(connection: AsyncConnection, cookie: str) -> None:
    """End a session, if any."""
    await connection.execute(sa.delete(sessions).where(sessions.c.digest == digest(cookie)))


async def purge_sessions(connection: AsyncConnection, now: float) -> None:
    """Delete the expired sessions."""
    await connection.execute(sa.delete(sessions).where(sessions.c.expires_at <= now))


def _tokens() -> sa.Select[Any]:
    return sa.select(tokens, teams.c.name.label("team")).select_from(
        tokens.outerjoin(teams, teams.c.id == tokens.c.team_id)
    )


def _is_valid(now: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        tokens.c.revoked_at.is_(None),
        sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now),
        teams.c.retired_at.is_(None),
    )


def _token(row: sa.Row[Any]) -> Token:
    return Token(
        id=row.id,
        role=Role(row.role),
        team=None if row.team is None else TeamName(row.team),
        team_id=row.team_id,
        label=row.label,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        revoked_at=row.revoked_at,
        parent=row.parent_id,
    )
