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

from metaserver.base.states import Role
from metaserver.base.viewer import Person, Session, Token
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import challenges, persons, sessions, teams, tokens

PREFIX = "bcms_"
FORM = re.compile(rf"{PREFIX}[{''.join(role[0] for role in Role)}][A-Za-z0-9_-]{{43}}")
"""A token's form, also used to keep tokens out of logs: prefix, role, 32 bytes."""

_TITLE = sa.func.coalesce(challenges.c.title, "").label("challenge_title")

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
    person: int | None = None,
    owner: bool = False,
    challenge: str | None = None,
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
        "person_id": person,
        "owner": owner,
        "challenge": challenge,
    }
    return await insert(connection, tokens, row), secret


async def find(connection: AsyncConnection, secret: str, now: float) -> Token | None:
    """Return a valid token (not expired or revoked, no retired team), or None."""
    if not FORM.fullmatch(secret):
        return None
    query = _tokens().where(tokens.c.digest == digest(secret), _is_valid(now))
    return await read_first(connection, query, _token)


def last_moment(parent: Token | None, expires_at: float | None) -> float | None:
    """Return the time a token expires, at `expires_at` but no later than its parent."""
    if parent is None or parent.expires_at is None:
        return expires_at
    return parent.expires_at if expires_at is None else min(parent.expires_at, expires_at)


async def get_valid(connection: AsyncConnection, token_id: int, now: float) -> Token | None:
    """Return a token by its id, None if it is invalid or expired."""
    query = _tokens().where(tokens.c.id == token_id, _is_valid(now))
    return await read_first(connection, query, _token)


async def get(connection: AsyncConnection, token_id: int) -> Token | None:
    """Return a token by its id, valid or not."""
    return await read_first(connection, _tokens().where(tokens.c.id == token_id), _token)


async def list_all(connection: AsyncConnection, team_id: int | None = None) -> Sequence[Token]:
    """Return all tokens, or a team's, in issuing order, including revoked tokens."""
    query = _tokens().order_by(tokens.c.id)
    if team_id is not None:
        query = query.where(tokens.c.team_id == team_id)
    return [_token(row) for row in await connection.execute(query)]


async def list_valid(
    connection: AsyncConnection,
    now: float,
    *,
    ended: int,
    team_id: int | None = None,
    challenge: str | None = None,
) -> Sequence[Token]:
    """Return all valid tokens and the newest `ended` of the others, by id: of a team or challenge.

    `challenge` chooses the tokens of its organisers.
    """
    chosen = _tokens() if team_id is None else _tokens().where(tokens.c.team_id == team_id)
    chosen = chosen if challenge is None else chosen.where(tokens.c.challenge == challenge)
    ended_tokens = chosen.where(sa.not_(_is_valid(now))).order_by(tokens.c.id.desc()).limit(ended)
    valid = (await connection.execute(chosen.where(_is_valid(now)))).all()
    rows = [*valid, *(await connection.execute(ended_tokens))]
    return [_token(row) for row in sorted(rows, key=lambda row: row.id)]


async def count(
    connection: AsyncConnection, team_id: int | None, challenge: str | None, now: float
) -> int:
    """Return the number of valid tokens of a team and challenge, without memberships.

    None counts those without a team, or without a challenge.
    """
    of_team = tokens.c.team_id.is_not_distinct_from(team_id)
    of_challenge = tokens.c.challenge.is_not_distinct_from(challenge)
    query = _tokens().where(of_team, of_challenge, tokens.c.person_id.is_(None), _is_valid(now))
    counted = sa.select(sa.func.count()).select_from(query.subquery())
    return int((await connection.execute(counted)).scalar_one())


async def has_organiser(connection: AsyncConnection, now: float) -> bool:
    """Return whether an organiser of the hub can sign in: with a token, or as a person."""
    of_hub = sa.and_(tokens.c.role == Role.ORGANISER.value, tokens.c.challenge.is_(None))
    query = _tokens().where(of_hub, _is_valid(now)).limit(1)
    return (await connection.execute(query)).first() is not None


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
    already. A person stays signed in, and acts by no membership.
    """
    ids = _family(token_id) if made_with_it else [token_id]
    revoked = await connection.execute(
        sa.update(tokens)
        .where(tokens.c.id.in_(ids), tokens.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(tokens.c.id)
    )
    revoked_ids = sorted(revoked.scalars())
    theirs = sessions.c.token_id.in_(ids)
    alone = sa.and_(theirs, sessions.c.person_id.is_(None))
    await connection.execute(sa.delete(sessions).where(alone))
    await connection.execute(sa.update(sessions).where(theirs).values(token_id=None))
    return revoked_ids


async def revoke_organisers(connection: AsyncConnection, challenge: str, now: float) -> None:
    """Revoke what the organisers of one challenge hold, with all that was issued with it."""
    query = sa.select(tokens.c.id).where(tokens.c.challenge == challenge)
    for token_id in (await connection.execute(query)).scalars().all():
        await revoke(connection, token_id, now, made_with_it=True)


def _family(token_id: int) -> sa.Select[Any]:
    """Select the ids of a token and all tokens issued with it, directly or not."""
    family = sa.select(tokens.c.id).where(tokens.c.id == token_id).cte(recursive=True)
    children = sa.select(tokens.c.id).join(family, tokens.c.parent_id == family.c.id)
    return sa.select(family.union(children).c.id)


# -- sessions --------------------------------------------------------------------------------------


async def begin_session(
    connection: AsyncConnection,
    token: Token | None,
    now: float,
    seconds: float,
    person: Person | None = None,
) -> tuple[str, Session]:
    """Begin a session; return its cookie's value, which is always new, and the session."""
    cookie = secrets.token_urlsafe(32)
    ends = last_moment(token, now + seconds)
    assert ends is not None
    session = Session(
        token=token,
        csrf=secrets.token_urlsafe(32),
        created_at=now,
        expires_at=ends,
        person=person,
    )
    await connection.execute(
        sa.insert(sessions).values(
            digest=digest(cookie),
            token_id=None if token is None else token.id,
            person_id=None if person is None else person.id,
            csrf=session.csrf,
            created_at=now,
            expires_at=session.expires_at,
        )
    )
    return cookie, session


async def find_session(connection: AsyncConnection, cookie: str, now: float) -> Session | None:
    """Return a cookie's session; None unless it and its token are valid.

    A person's session holds without a valid membership too; it then has no token.
    """
    query = (
        sa.select(
            tokens,
            teams.c.name.label("team"),
            sessions.c.csrf,
            sessions.c.created_at.label("begun"),
            sessions.c.expires_at.label("to"),
            *(column.label(f"of_{column.name}") for column in persons.c),
            _TITLE,
            _is_valid(now).label("valid"),
        )
        .select_from(
            sessions.outerjoin(tokens, tokens.c.id == sessions.c.token_id)
            .outerjoin(teams, teams.c.id == tokens.c.team_id)
            .outerjoin(challenges, challenges.c.name == tokens.c.challenge)
            .outerjoin(persons, persons.c.id == sessions.c.person_id)
        )
        .where(
            sessions.c.digest == digest(cookie),
            sessions.c.expires_at > now,
            sa.or_(sa.and_(tokens.c.id.is_not(None), _is_valid(now)), persons.c.id.is_not(None)),
        )
    )
    row = (await connection.execute(query)).first()
    if row is None:
        return None
    person = None
    if row.of_id is not None:
        person = Person(
            id=row.of_id,
            email=row.of_email,
            name=row.of_name,
            orcid=row.of_orcid,
            created_at=row.of_created_at,
        )
    return Session(
        token=_token(row) if row.id is not None and row.valid else None,
        csrf=row.csrf,
        created_at=row.begun,
        expires_at=row.to,
        person=person,
    )


async def end_session(connection: AsyncConnection, cookie: str) -> None:
    """End a session, if any."""
    await connection.execute(sa.delete(sessions).where(sessions.c.digest == digest(cookie)))


async def purge_sessions(connection: AsyncConnection, now: float) -> None:
    """Delete the expired sessions."""
    await connection.execute(sa.delete(sessions).where(sessions.c.expires_at <= now))


async def memberships(
    connection: AsyncConnection,
    now: float,
    *,
    person_id: int | None = None,
    team_id: int | None = None,
) -> Sequence[Token]:
    """Return the valid memberships of a person, of a team, or all, the last used first."""
    query = _tokens().where(tokens.c.person_id.is_not(None), _is_valid(now))
    if person_id is not None:
        query = query.where(tokens.c.person_id == person_id)
    if team_id is not None:
        query = query.where(tokens.c.team_id == team_id)
    used = sa.func.coalesce(tokens.c.used_at, 0.0)
    return [
        _token(row) for row in await connection.execute(query.order_by(used.desc(), tokens.c.id))
    ]


def _tokens() -> sa.Select[Any]:
    return sa.select(tokens, teams.c.name.label("team"), _TITLE).select_from(
        tokens.outerjoin(teams, teams.c.id == tokens.c.team_id).outerjoin(
            challenges, challenges.c.name == tokens.c.challenge
        )
    )


def _is_valid(now: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        tokens.c.revoked_at.is_(None),
        sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now),
        teams.c.retired_at.is_(None),
    )


def _token(row: sa.Row[Any]) -> Token:
    return read_row(row, Token, parent=row.parent_id, person=row.person_id)
