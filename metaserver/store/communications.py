"""Queries for communications: requests that servers answer later by callbacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.communications import CallingServer, Communication, Exchanged
from metaserver.base.records import ArticleId, ServerName
from metaserver.store.database import read_first, read_row
from metaserver.store.tables import communications, servers, teams
from metaserver.store.tokens import digest

LARGE: Final = frozenset({communications.c.body, communications.c.document})
"""The columns read only when needed."""


async def set_key(connection: AsyncConnection, server_id: int, secret: str) -> None:
    """Store the digest of a server's callback key, replacing the previous digest."""
    await connection.execute(
        sa.update(servers).where(servers.c.id == server_id).values(callback_key=digest(secret))
    )


async def server_of(connection: AsyncConnection, secret: str) -> CallingServer | None:
    """Return the server in use with a callback key, or None."""
    query = (
        sa.select(servers.c.id, servers.c.name)
        .outerjoin(teams, teams.c.id == servers.c.team_id)
        .where(
            servers.c.callback_key == digest(secret),
            servers.c.retired_at.is_(None),
            teams.c.retired_at.is_(None),
        )
    )
    row = (await connection.execute(query)).first()
    return None if row is None else CallingServer(id=row.id, name=row.name)


async def identity(connection: AsyncConnection, name: ServerName) -> tuple[int, bool] | None:
    """Return a server's id and whether it has a callback key; None if not registered."""
    query = sa.select(servers.c.id, servers.c.callback_key).where(servers.c.name == name)
    row = (await connection.execute(query)).first()
    return None if row is None else (row.id, row.callback_key is not None)


async def add(
    connection: AsyncConnection, communication: Communication, document: bytes | None = None
) -> None:
    """Store a new communication; `IntegrityError` if its id is taken.

    `document` is what its server fetches, compressed; None: everything was sent.
    """
    about = communication.about
    row = {
        "id": communication.id,
        "server_id": communication.server_id,
        "scope": about.scope,
        "article": about.article,
        "number": about.number,
        "opened_at": communication.opened_at,
        "expires_at": communication.expires_at,
        "document": document,
    }
    await connection.execute(sa.insert(communications).values(**row))


async def begun(
    connection: AsyncConnection, server_id: int, about: Exchanged, now: float
) -> Communication | None:
    """Return the communication of an attempt that can be gone on with: open, or answered."""
    c = communications.c
    query = (
        sa.select(communications)
        .where(
            c.server_id == server_id,
            c.scope == about.scope,
            c.article == about.article,
            c.number == about.number,
            c.closed_at.is_(None),
            sa.or_(c.expires_at > now, c.body.is_not(None)),
        )
        .order_by(c.opened_at.desc())
    )
    return await read_first(connection, query, _communication)


async def get(connection: AsyncConnection, server_id: int, id_: int) -> Communication | None:
    """Return a server's communication; None for an unknown id as for another server's."""
    c = communications.c
    query: sa.Select[Any] = sa.select(
        *(column for column in c if column not in LARGE), sa.null().label("body")
    ).where(c.id == id_, c.server_id == server_id)
    return await read_first(connection, query, _communication)


async def document(connection: AsyncConnection, id_: int) -> bytes | None:
    """Return what an open communication's server may fetch, compressed, or None."""
    c = communications.c
    return await connection.scalar(sa.select(c.document).where(c.id == id_))


async def fetched(
    connection: AsyncConnection,
    server_id: int,
    articles: Collection[str],
    now: float,
    awaited: Collection[int],
) -> Mapping[str, bytes]:
    """Return what a server may fetch of these articles, compressed: of open communications.

    Those that are `awaited` are open whatever their time.
    """
    c = communications.c
    query = sa.select(c.article, c.document).where(
        c.server_id == server_id,
        c.article.in_(articles),
        c.document.is_not(None),
        c.closed_at.is_(None),
        sa.or_(c.expires_at > now, c.id.in_(awaited)),
    )
    return {row.article: row.document for row in await connection.execute(query)}


async def acknowledge(connection: AsyncConnection, id_: int, now: float) -> None:
    """Store that the server has the request."""
    c = communications.c
    await connection.execute(
        sa.update(communications).where(c.id == id_).values(acknowledged_at=now)
    )


async def answered(connection: AsyncConnection, ids: Collection[int]) -> Sequence[Communication]:
    """Return the communications that have a callback."""
    c = communications.c
    query = sa.select(communications).where(c.id.in_(ids), c.body.is_not(None))
    return [_communication(row) for row in await connection.execute(query)]


async def answer(
    connection: AsyncConnection, id_: int, form: str, packed: bytes, now: float
) -> bool:
    """Store an open communication's callback, compressed; return whether it was open."""
    c = communications.c
    changed = await connection.execute(
        sa.update(communications)
        .where(c.id == id_, c.answered_at.is_(None), c.closed_at.is_(None))
        .values(answered_at=now, format=form, body=packed, document=None)
    )
    return bool(changed.rowcount)


async def close_earlier(
    connection: AsyncConnection, server_id: int, about: Exchanged, now: float
) -> None:
    """Close open communications from earlier attempts for the same article."""
    c = communications.c
    await connection.execute(
        sa.update(communications)
        .where(
            c.server_id == server_id,
            c.scope == about.scope,
            c.article == about.article,
            c.number < about.number,
            c.answered_at.is_(None),
            c.closed_at.is_(None),
        )
        .values(closed_at=now, document=None)
    )


async def close(connection: AsyncConnection, id_: int, now: float) -> bool:
    """Close a communication that was not answered; return whether it was open."""
    c = communications.c
    changed = await connection.execute(
        sa.update(communications)
        .where(c.id == id_, c.answered_at.is_(None), c.closed_at.is_(None))
        .values(closed_at=now, document=None)
    )
    return bool(changed.rowcount)


async def forget(
    connection: AsyncConnection, *, expired_before: float, answered: tuple[float, float]
) -> None:
    """Delete communications that expired before a time, and bodies answered within a span."""
    c = communications.c
    await connection.execute(sa.delete(communications).where(c.expires_at < expired_before))
    first, last = answered
    await connection.execute(
        sa.update(communications)
        .where(c.body.is_not(None), c.answered_at >= first, c.answered_at < last)
        .values(body=None)
    )


def _communication(row: sa.Row[Any]) -> Communication:
    about = Exchanged(article=ArticleId(row.article), number=row.number, scope=row.scope)
    return read_row(row, Communication, about=about, format=row.format or "", packed=row.body)
