"""Queries for challenges' announcements."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.phases import Announcement
from metaserver.store.database import insert
from metaserver.store.tables import announcements


async def add(
    connection: AsyncConnection, challenge_id: int, at: float, title: str, text: str
) -> int:
    """Store an announcement; return its id."""
    row = {"challenge_id": challenge_id, "at": at, "title": title, "text": text}
    return await insert(connection, announcements, row)


async def list_newest(
    connection: AsyncConnection, challenge_id: int, limit: int
) -> Sequence[Announcement]:
    """Return a challenge's announcements, the newest first."""
    query = (
        sa.select(announcements)
        .where(announcements.c.challenge_id == challenge_id)
        .order_by(announcements.c.id.desc())
        .limit(limit)
    )
    return [
        Announcement(id=row.id, at=row.at, title=row.title, text=row.text)
        for row in await connection.execute(query)
    ]
