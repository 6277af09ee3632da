"""Queries for teams."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.plans import NoticePlan
from metaserver.base.records import TeamName
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import (
    lanes,
    offline_runs,
    phases,
    servers,
    sign_ups,
    teams,
    uploads,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """A stored team; `retired_at` is set once it no longer takes part.

    `host`: it is the organisers', and its runs are baselines.
    """

    id: int
    name: TeamName
    title: str = ""
    email: str = ""
    host: bool = False
    notices: NoticePlan = field(default_factory=NoticePlan)
    created_at: float = 0.0
    retired_at: float | None = None


async def add(connection: AsyncConnection, name: TeamName, title: str, email: str) -> int:
    """Store a new team; return its id. Its name must be unused."""
    row = {"name": name, "title": title, "email": email, "created_at": time.time()}
    return await insert(connection, teams, row)


async def change(connection: AsyncConnection, name: TeamName, **values: Any) -> None:
    """Change a team's columns; `notices` is a `NoticePlan`."""
    if "notices" in values:
        values["notices"] = msgspec.json.encode(values["notices"])
    await connection.execute(sa.update(teams).where(teams.c.name == name).values(**values))


async def get(connection: AsyncConnection, name: TeamName) -> Team | None:
    """Return a team by name."""
    return await read_first(connection, sa.select(teams).where(teams.c.name == name), _team)


async def is_taken(connection: AsyncConnection, name: str) -> bool:
    """Return whether a team has this name, or differs only in letter case."""
    query = sa.select(sa.func.count()).where(sa.func.lower(teams.c.name) == name.lower())
    return bool((await connection.execute(query)).scalar_one())


async def list_all(connection: AsyncConnection) -> Sequence[Team]:
    """Return all teams by name."""
    return [_team(row) for row in await connection.execute(sa.select(teams).order_by(teams.c.name))]


async def of_challenge(connection: AsyncConnection, challenge_id: int) -> Sequence[Team]:
    """Return a challenge's teams by name, and teams in no challenge yet.

    A team takes part if it signed up, or has a server or an uploaded file in one of its phases.
    """
    taking_part = _taking_part().subquery()
    its = sa.select(taking_part.c.team_id).where(taking_part.c.challenge_id == challenge_id)
    any_one = sa.select(taking_part.c.team_id)
    query = sa.select(teams).where(
        teams.c.retired_at.is_(None), sa.or_(teams.c.id.in_(its), teams.c.id.not_in(any_one))
    )
    return [_team(row) for row in await connection.execute(query.order_by(teams.c.name))]


def _taking_part() -> sa.CompoundSelect[Any]:
    """Return the query for teams with the challenges that they take part in."""
    signed_up = sa.select(sign_ups.c.team_id, sign_ups.c.challenge_id)
    started = (
        sa.select(servers.c.team_id, phases.c.challenge_id)
        .join(lanes, lanes.c.server_id == servers.c.id)
        .join(phases, phases.c.id == lanes.c.phase_id)
    )
    uploaded = [
        sa.select(files.c.team_id, phases.c.challenge_id).join(
            phases, phases.c.id == files.c.phase_id
        )
        for files in (uploads, offline_runs)
    ]
    chosen_teams = (
        query.where(query.selected_columns.team_id.is_not(None)) for query in (signed_up, started)
    )
    return sa.union(*chosen_teams, *uploaded)


def _team(row: sa.Row[Any]) -> Team:
    notices = msgspec.json.decode(row.notices, type=NoticePlan) if row.notices else NoticePlan()
    return read_row(row, Team, notices=notices)
