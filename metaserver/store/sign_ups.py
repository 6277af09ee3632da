"""Queries for sign-ups and their one-time links; only the links' digests are stored."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.phases import LINK_SECONDS, LinkKind, SignUp, SignUpState
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import challenges, one_time_links, sign_ups, teams
from metaserver.store.tokens import digest

NAMES = 10
"""How many taken team names may be tried with one link: more would show which there are."""

_state, _LINKS = sign_ups.c.state, one_time_links.c


class NewLink(NamedTuple):
    """A one-time link: its secret, which cannot be shown again."""

    kind: LinkKind
    secret: str
    expires_at: float


class FoundLink(NamedTuple):
    """A usable one-time link; `tries` are the taken team names that it was tried with."""

    kind: LinkKind
    sign_up: SignUp
    tries: int


async def add(connection: AsyncConnection, challenge_id: int, now: float, **values: Any) -> int:
    """Store a sign-up; return its id. `values` are columns."""
    texts = dict.fromkeys(("team", "people", "affiliation", "terms_version"), "")
    row = {"challenge_id": challenge_id, "created_at": now, "failures": 0, **texts, **values}
    return await insert(connection, sign_ups, row)


async def change(connection: AsyncConnection, sign_up: int, **values: Any) -> None:
    """Change a sign-up's columns; without any, nothing."""
    if values:
        query = sa.update(sign_ups).where(sign_ups.c.id == sign_up)
        await connection.execute(query.values(**values))


async def mailed(connection: AsyncConnection, sign_up: SignUp, **values: Any) -> None:
    """Change a sign-up's columns after its e-mail, unless it has gone on meanwhile."""
    same = sa.and_(sign_ups.c.id == sign_up.id, _state == sign_up.state)
    await connection.execute(sa.update(sign_ups).where(same).values(**values))


async def get(connection: AsyncConnection, sign_up: int) -> SignUp | None:
    """Return a sign-up by its id."""
    return await read_first(connection, _sign_ups().where(sign_ups.c.id == sign_up), SignUp)


async def list_all(connection: AsyncConnection, challenge: str, limit: int) -> Sequence[SignUp]:
    """Return a challenge's sign-ups, the newest first."""
    query = _sign_ups().where(challenges.c.name == challenge)
    rows = await connection.execute(query.order_by(sign_ups.c.id.desc()).limit(limit))
    return [read_row(row, SignUp) for row in rows]


async def count(
    connection: AsyncConnection,
    states: Collection[SignUpState],
    *,
    challenge_id: int | None = None,
    mailbox: str | None = None,
    origin: str | None = None,
    since: float = 0.0,
) -> int:
    """Count the sign-ups in some states: in a challenge, from a mailbox, since a moment.

    `mailbox` is an address as `phases.mail.canonical` returns it; all its spellings count.
    """
    query = sa.select(sa.func.count()).where(_state.in_(states), sign_ups.c.created_at >= since)
    if challenge_id is not None:
        query = query.where(sign_ups.c.challenge_id == challenge_id)
    if origin is not None:
        query = query.where(sign_ups.c.origin == origin)
    if mailbox is not None:
        local, _, host = mailbox.rpartition("@")
        email = sa.func.lower(sign_ups.c.email)
        tagged = email.startswith(f"{local}+", autoescape=True)
        there = email.endswith(f"@{host}", autoescape=True)
        query = query.where(sa.or_(email == mailbox, sa.and_(tagged, there)))
    return int((await connection.execute(query)).scalar_one())


async def count_waiting(connection: AsyncConnection) -> dict[str, int]:
    """Return how many sign-ups wait for an organiser, by challenge."""
    return await _by_challenge(connection, _state == SignUpState.WAITING)


async def count_automatic(connection: AsyncConnection, since: float) -> dict[str, int]:
    """Return how many teams came in without an organiser since a moment, by challenge."""
    entered = sa.and_(sign_ups.c.automatic, sign_ups.c.decided_at >= since)
    return await _by_challenge(connection, entered)


async def _by_challenge(
    connection: AsyncConnection, condition: sa.ColumnElement[bool]
) -> dict[str, int]:
    query = (
        sa.select(challenges.c.name, sa.func.count())
        .join(sign_ups, sign_ups.c.challenge_id == challenges.c.id)
        .where(condition)
        .group_by(challenges.c.name)
    )
    return {row[0]: row[1] for row in await connection.execute(query)}


async def teams_of(connection: AsyncConnection, challenge: str) -> set[str]:
    """Return the names of the teams that a challenge's sign-ups became."""
    query = sa.select(teams.c.name).select_from(
        sign_ups.join(teams, teams.c.id == sign_ups.c.team_id).join(
            challenges, challenges.c.id == sign_ups.c.challenge_id
        )
    )
    found = await connection.execute(query.where(challenges.c.name == challenge))
    return set(found.scalars())


async def code_of(connection: AsyncConnection, sign_up: int) -> str | None:
    """Return the digest of a sign-up's invitation code."""
    query = sa.select(sign_ups.c.code).where(sign_ups.c.id == sign_up)
    digest: str | None = (await connection.execute(query)).scalar_one()
    return digest


async def due(connection: AsyncConnection, now: float) -> Sequence[SignUp]:
    """Return the sign-ups whose mail is to be sent by now, oldest first."""
    query = _sign_ups().where(_is_due(now)).order_by(sign_ups.c.id)
    return [read_row(row, SignUp) for row in await connection.execute(query)]


async def is_due(connection: AsyncConnection, sign_up: int, now: float) -> bool:
    """Return whether a sign-up's mail is to be sent by now."""
    query = sa.select(sa.func.count()).where(sign_ups.c.id == sign_up, _is_due(now))
    return bool((await connection.execute(query)).scalar_one())


def _is_due(now: float) -> sa.ColumnElement[bool]:
    later = sa.func.coalesce(sign_ups.c.mail_at, 0.0) > now
    return sa.and_(sign_ups.c.mail_due, ~later)


async def purge(connection: AsyncConnection, now: float, seconds_kept: float) -> None:
    """Delete unconfirmed sign-ups whose link is over.

    If the hub could never send the link, the sign-up is deleted after `seconds_kept`.
    """
    good = sa.select(_LINKS.sign_up_id).where(_LINKS.used_at.is_(None), _LINKS.expires_at > now)
    link_sent = sa.and_(sign_ups.c.mailed_at.is_not(None), sign_ups.c.id.not_in(good))
    unsent = sa.and_(sign_ups.c.created_at < now - seconds_kept, sign_ups.c.id.not_in(good))
    expired = sa.and_(_state == SignUpState.UNCONFIRMED, sa.or_(link_sent, unsent))
    ids = sa.select(sign_ups.c.id).where(expired)
    await connection.execute(sa.delete(one_time_links).where(_LINKS.sign_up_id.in_(ids)))
    await connection.execute(sa.delete(sign_ups).where(expired))


# -- links -----------------------------------------------------------------------------------------


async def make_link(
    connection: AsyncConnection, sign_up: int, kind: LinkKind, now: float
) -> NewLink:
    """Make a sign-up's link; its earlier links no longer work."""
    await connection.execute(sa.delete(one_time_links).where(_LINKS.sign_up_id == sign_up))
    secret, ends = secrets.token_hex(32), now + LINK_SECONDS[kind]  # never begins with "-"
    row = {"digest": digest(secret), "sign_up_id": sign_up, "kind": kind, "expires_at": ends}
    await connection.execute(sa.insert(one_time_links).values(**row))
    return NewLink(kind, secret, ends)


async def find_link(connection: AsyncConnection, secret: str, now: float) -> FoundLink | None:
    """Return what a link is for, and its sign-up; None if it is used, over, or unknown."""
    query = (
        _sign_ups()
        .add_columns(_LINKS.kind, _LINKS.tries)
        .join(one_time_links, _LINKS.sign_up_id == sign_ups.c.id)
        .where(_is_good(secret, now))
    )
    row = (await connection.execute(query)).first()
    return None if row is None else FoundLink(LinkKind(row.kind), read_row(row, SignUp), row.tries)


async def count_try(connection: AsyncConnection, secret: str) -> None:
    """Count a team's name that was tried with a link, and is taken."""
    query = sa.update(one_time_links).where(_LINKS.digest == digest(secret))
    await connection.execute(query.values(tries=_LINKS.tries + 1))


async def use_link(connection: AsyncConnection, secret: str, now: float) -> bool:
    """Use a link; return False if it cannot be used."""
    query = sa.update(one_time_links).where(_is_good(secret, now)).values(used_at=now)
    return bool((await connection.execute(query)).rowcount)


def _is_good(secret: str, now: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        _LINKS.digest == digest(secret), _LINKS.used_at.is_(None), _LINKS.expires_at > now
    )


def _sign_ups() -> sa.Select[Any]:
    return sa.select(sign_ups, challenges.c.name.label("challenge")).select_from(
        sign_ups.join(challenges, challenges.c.id == sign_ups.c.challenge_id)
    )
