"""Queries for alerts to organisers, their channels, and notices to teams that wait to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.findings import Alert, ChannelKind
from metaserver.base.records import TeamName
from metaserver.store.database import insert, read_row
from metaserver.store.tables import alerts, channels, notices, teams

TRIES = 5
"""How often sending a message may fail before its alerts or notices are given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertChannel:
    """An address that alerts are sent to.

    `sent_up_to` is the id of the last alert sent or given up; `error` is why the last message could
    not be sent, or empty.
    """

    id: int = 0
    kind: ChannelKind
    address: str
    secret: str = ""
    created_at: float
    sent_up_to: int = 0
    failures: int = 0
    error: str = ""


async def add(connection: AsyncConnection, new_alerts: Sequence[Alert]) -> None:
    """Store alerts, in their order; the store gives them their ids."""
    rows = [msgspec.structs.asdict(alert) for alert in new_alerts]
    for row in rows:
        del row["id"]
    if rows:
        await connection.execute(sa.insert(alerts), rows)


async def list_alerts(connection: AsyncConnection, *, limit: int) -> Sequence[Alert]:
    """Return the newest alerts, newest first."""
    query = sa.select(alerts).order_by(alerts.c.id.desc()).limit(limit)
    return await _alerts(connection, query)


async def last_alerts(connection: AsyncConnection) -> Sequence[Alert]:
    """Return each condition's last alert."""
    newest = sa.select(sa.func.max(alerts.c.id)).group_by(
        alerts.c.kind, alerts.c.phase, alerts.c.subject
    )
    query = sa.select(alerts).where(alerts.c.id.in_(newest)).order_by(alerts.c.id)
    return await _alerts(connection, query)


async def after(connection: AsyncConnection, last: int) -> Sequence[Alert]:
    """Return the alerts after an id, oldest first."""
    query = sa.select(alerts).where(alerts.c.id > last).order_by(alerts.c.id)
    return await _alerts(connection, query)


async def newest_id(connection: AsyncConnection) -> int:
    """Return the newest alert's id; 0 without alerts."""
    return int((await connection.execute(sa.select(sa.func.max(alerts.c.id)))).scalar() or 0)


async def delete_before(connection: AsyncConnection, at: float) -> None:
    """Delete alerts that are older than `at` (Unix seconds)."""
    await connection.execute(sa.delete(alerts).where(alerts.c.at < at))


async def _alerts(connection: AsyncConnection, query: sa.Select[Any]) -> Sequence[Alert]:
    return [Alert(**row) for row in (await connection.execute(query)).mappings()]


# -- channels --------------------------------------------------------------------------------------


async def add_channel(connection: AsyncConnection, channel: AlertChannel) -> int:
    """Store a new channel, which is sent later alerts alone; return its id."""
    row = asdict(channel) | {"sent_up_to": await newest_id(connection)}
    del row["id"]
    return await insert(connection, channels, row)


async def list_channels(connection: AsyncConnection) -> Sequence[AlertChannel]:
    """Return all channels, oldest first."""
    rows = await connection.execute(sa.select(channels).order_by(channels.c.id))
    return [read_row(row, AlertChannel) for row in rows]


async def delete_channel(connection: AsyncConnection, channel: int) -> None:
    """Delete a channel."""
    await connection.execute(sa.delete(channels).where(channels.c.id == channel))


async def sent(connection: AsyncConnection, channel: int, last: int) -> None:
    """Record that a channel was sent the alerts up to an id."""
    values = {"sent_up_to": last, "failures": 0, "error": ""}
    await connection.execute(sa.update(channels).where(channels.c.id == channel).values(**values))


async def failed(connection: AsyncConnection, channel: AlertChannel, last: int, why: str) -> None:
    """Record a failure to send the alerts up to an id; the last try gives them up."""
    given_up = channel.failures + 1 >= TRIES
    values = {
        "failures": 0 if given_up else channel.failures + 1,
        "sent_up_to": last if given_up else channel.sent_up_to,
        "error": why[:500],
    }
    await connection.execute(
        sa.update(channels).where(channels.c.id == channel.id).values(**values)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A notice about an event on a team's server at `at` (Unix seconds): down, up, finished."""

    id: int = 0
    team: TeamName
    at: float
    subject: str
    event: str
    message: str


async def add_notice(connection: AsyncConnection, notice: Notice) -> None:
    """Add a notice to those that wait, unless its team has retired."""
    team = sa.select(
        teams.c.id, *map(sa.literal, (notice.at, notice.subject, notice.event, notice.message, 0))
    ).where(teams.c.name == notice.team, teams.c.retired_at.is_(None))
    columns = ["team_id", "at", "subject", "event", "message", "failures"]
    await connection.execute(sa.insert(notices).from_select(columns, team))


async def waiting_notices(connection: AsyncConnection) -> Sequence[Notice]:
    """Return the notices neither sent nor given up, oldest first."""
    query = (
        sa.select(notices, teams.c.name.label("team"))
        .join(teams, teams.c.id == notices.c.team_id)
        .where(notices.c.sent_at.is_(None), notices.c.failures < TRIES)
        .order_by(notices.c.id)
    )
    return [read_row(row, Notice) for row in await connection.execute(query)]


async def notices_sent(connection: AsyncConnection, ids: Sequence[int], at: float) -> None:
    """Record that notices were sent at `at` (Unix seconds)."""
    await connection.execute(sa.update(notices).where(notices.c.id.in_(ids)).values(sent_at=at))


async def notices_failed(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Record a failure to send notices."""
    more = notices.c.failures + 1
    await connection.execute(sa.update(notices).where(notices.c.id.in_(ids)).values(failures=more))
