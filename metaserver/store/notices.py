"""Queries for notices to teams that wait to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.records import TeamName
from metaserver.store.tables import notices, teams

TRIES = 5  # of a batch, before its notices are given up


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A notice about an event on a team's server at `at` (Unix seconds): down, up, finished."""

    id: int = 0
    team: TeamName
    at: float
    subject: str
    event: str
    message: str


async def add(connection: AsyncConnection, notice: Notice) -> None:
    """Add a notice to those that wait, unless its team has retired."""
    team = sa.select(
        teams.c.id, *map(sa.literal, (notice.at, notice.subject, notice.event, notice.message, 0))
    ).where(teams.c.name == notice.team, teams.c.retired_at.is_(None))
    columns = ["team_id", "at", "subject", "event", "message", "failures"]
    await connection.execute(sa.insert(notices).from_select(columns, team))


async def waiting(connection: AsyncConnection) -> Sequence[Notice]:
    """Return the notices neither sent nor given up, oldest first."""
    query = (
        sa.select(notices, teams.c.name.label("team"))
        .join(teams, teams.c.id == notices.c.team_id)
        .where(notices.c.sent_at.is_(None), notices.c.failures < TRIES)
        .order_by(notices.c.id)
    )
    return [
        Notice(
            id=row.id,
            team=TeamName(row.team),
            at=row.at,
            subject=row.subject,
            event=row.event,
            message=row.message,
        )
        for row in await connection.execute(query)
    ]


async def sent(connection: AsyncConnection, ids: Sequence[int], at: float) -> None:
    """Record that notices were sent at `at` (Unix seconds)."""
    await connection.execute(sa.update(notices).where(notices.c.id.in_(ids)).values(sent_at=at))


async def failed(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Record a failure to send notices."""
    more = notices.c.failures + 1
    await connection.execute(sa.update(notices).where(notices.c.id.in_(ids)).values(failures=more))
