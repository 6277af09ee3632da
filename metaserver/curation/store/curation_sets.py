"""Queries for sets of articles: their seats, the curations in these, and rulings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.curations import CurationStanding, SetPlan
from metaserver.base.records import PhaseName
from metaserver.curation.store.curations import EventEntry
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import (
    curation_events,
    curation_rulings,
    curation_seats,
    curation_sets,
    curations,
    phases,
    tokens,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetEntry:
    """A set of articles of a phase's corpus. Times are Unix seconds."""

    id: int
    name: str
    title: str
    phase: PhaseName
    plan: SetPlan
    created_at: float
    closed_at: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeatEntry:
    """An article for a curator; `state` is None, and `curation` too, until it is opened."""

    position: int
    token_id: int
    label: str
    seat: int
    place: int
    curation: str | None = None
    state: CurationStanding | None = None
    active_ms: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RulingEntry:
    """A ruling on a disagreement, and its outcome then; the item of ACT is empty."""

    task: str
    position: int
    item: tuple[str, ...]
    choice: str
    outcome: str
    adjudicator: str
    at: float


async def add(
    connection: AsyncConnection,
    *,
    name: str,
    title: str,
    phase_id: int,
    plan: SetPlan,
    now: float,
    seats: Iterable[Mapping[str, int]],
) -> int:
    """Store a new set with its seats; return its id."""
    row = {
        "name": name,
        "title": title,
        "phase_id": phase_id,
        "plan": msgspec.json.encode(plan),
        "created_at": now,
    }
    key = await insert(connection, curation_sets, row)
    rows = [{"set_id": key, **seat} for seat in seats]
    await connection.execute(sa.insert(curation_seats), rows)
    return key


async def get(connection: AsyncConnection, name: str) -> SetEntry | None:
    """Return a set by its name; None if there is none."""
    return await read_first(connection, _sets().where(curation_sets.c.name == name), _set)


async def list_all(connection: AsyncConnection) -> Sequence[SetEntry]:
    """Return all sets, newest first."""
    return [_set(row) for row in await connection.execute(_sets())]


async def seats(
    connection: AsyncConnection, set_id: int, token_id: int | None = None
) -> Sequence[SeatEntry]:
    """Return a set's seats, or a token's in its order."""
    query: sa.Select[Any] = (
        sa.select(
            curation_seats.c.position,
            curation_seats.c.token_id,
            tokens.c.label,
            curation_seats.c.seat,
            curation_seats.c.place,
            curation_seats.c.curation_id.label("curation"),
            curations.c.state,
            sa.func.coalesce(curations.c.active_ms, 0).label("active_ms"),
        )
        .join(tokens, tokens.c.id == curation_seats.c.token_id)
        .outerjoin(curations, curations.c.id == curation_seats.c.curation_id)
        .where(curation_seats.c.set_id == set_id)
        .order_by(curation_seats.c.position, curation_seats.c.seat)
    )
    if token_id is not None:
        query = query.where(curation_seats.c.token_id == token_id)
        query = query.order_by(None).order_by(curation_seats.c.place)
    return [read_row(row, SeatEntry) for row in await connection.execute(query)]


async def take_seat(
    connection: AsyncConnection, set_id: int, position: int, token_id: int, curation: str
) -> None:
    """Keep which curation is that of a seat."""
    await connection.execute(
        sa.update(curation_seats)
        .where(
            curation_seats.c.set_id == set_id,
            curation_seats.c.position == position,
            curation_seats.c.token_id == token_id,
        )
        .values(curation_id=curation)
    )


async def move(
    connection: AsyncConnection,
    set_id: int,
    holder: int,
    to: int,
    moved: Sequence[SeatEntry],
    plan: SetPlan,
) -> None:
    """Give some seats of a token to another, at its order's end, and keep the new plan."""
    order = curation_seats.c.set_id == set_id
    last = sa.select(sa.func.max(curation_seats.c.place)).where(
        order, curation_seats.c.token_id == to
    )
    highest = (await connection.execute(last)).scalar_one_or_none()
    first = 0 if highest is None else highest + 1
    for place, seat in enumerate(moved, start=first):
        await connection.execute(
            sa.update(curation_seats)
            .where(
                order,
                curation_seats.c.position == seat.position,
                curation_seats.c.token_id == holder,
            )
            .values(token_id=to, place=place)
        )
    keys = [seat.curation for seat in moved if seat.curation is not None]
    await connection.execute(
        sa.update(curations).where(curations.c.id.in_(keys)).values(token_id=to)
    )
    await connection.execute(
        sa.update(curation_sets)
        .where(curation_sets.c.id == set_id)
        .values(plan=msgspec.json.encode(plan))
    )


async def set_of(connection: AsyncConnection, curation: str) -> SetEntry | None:
    """Return the set that a curation is in; None if it is in none."""
    query = _sets().join(curation_seats, curation_seats.c.set_id == curation_sets.c.id)
    return await read_first(connection, query.where(curation_seats.c.curation_id == curation), _set)


async def names_of(connection: AsyncConnection, curation_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the names of the sets that curations are in, by curation."""
    query = (
        sa.select(curation_seats.c.curation_id, curation_sets.c.name)
        .join(curation_sets, curation_sets.c.id == curation_seats.c.set_id)
        .where(curation_seats.c.curation_id.in_(curation_ids))
    )
    return {row.curation_id: row.name for row in await connection.execute(query)}


async def finished_logs(
    connection: AsyncConnection, set_id: int
) -> Mapping[str, Sequence[EventEntry]]:
    """Return the events of a set's submitted curations, by curation; even without events."""
    of_set = (
        sa.select(curations.c.id)
        .join(curation_seats, curation_seats.c.curation_id == curations.c.id)
        .where(
            curation_seats.c.set_id == set_id,
            curations.c.state == CurationStanding.SUBMITTED.value,
        )
    )
    keys = (await connection.execute(of_set)).scalars().all()
    logs: dict[str, list[EventEntry]] = {key: [] for key in keys}
    query = (
        sa.select(curation_events)
        .where(curation_events.c.curation_id.in_(of_set))
        .order_by(curation_events.c.curation_id, curation_events.c.seq)
    )
    for row in await connection.execute(query):
        logs[row.curation_id].append(read_row(row, EventEntry))
    return logs


async def rulings(connection: AsyncConnection, set_id: int, task: str) -> Sequence[RulingEntry]:
    """Return the rulings on a set's disagreements on a task."""
    query = sa.select(curation_rulings).where(
        curation_rulings.c.set_id == set_id, curation_rulings.c.task == task
    )
    return [
        RulingEntry(
            task=row.task,
            position=row.position,
            item=tuple(row.item.split()),
            choice=row.choice.partition(" ")[0],
            outcome=row.choice.partition(" ")[2],
            adjudicator=row.adjudicator,
            at=row.at,
        )
        for row in await connection.execute(query)
    ]


async def rule(connection: AsyncConnection, set_id: int, ruling: RulingEntry) -> None:
    """Store a ruling in the place of an earlier one."""
    key = {
        "set_id": set_id,
        "task": ruling.task,
        "position": ruling.position,
        "item": " ".join(ruling.item),
    }
    same = [curation_rulings.c[name] == value for name, value in key.items()]
    await connection.execute(sa.delete(curation_rulings).where(*same))
    choice = f"{ruling.choice} {ruling.outcome}"
    more = {"choice": choice, "adjudicator": ruling.adjudicator, "at": ruling.at}
    await connection.execute(sa.insert(curation_rulings).values(**key, **more))


async def close(connection: AsyncConnection, set_id: int, now: float | None) -> None:
    """Close a set, or open it again (None)."""
    query = sa.update(curation_sets).where(curation_sets.c.id == set_id)
    await connection.execute(query.values(closed_at=now))


async def delete(connection: AsyncConnection, set_id: int) -> None:
    """Delete a set with its seats, rulings and curations."""
    of_set = curation_seats.c.set_id == set_id
    result = await connection.execute(
        sa.select(curation_seats.c.curation_id).where(
            of_set, curation_seats.c.curation_id.is_not(None)
        )
    )
    keys = result.scalars().all()
    await connection.execute(sa.delete(curation_rulings).where(curation_rulings.c.set_id == set_id))
    await connection.execute(sa.delete(curation_seats).where(of_set))
    for key in keys:
        of_it = curation_events.c.curation_id == key
        await connection.execute(sa.delete(curation_events).where(of_it))
        await connection.execute(sa.delete(curations).where(curations.c.id == key))
    await connection.execute(sa.delete(curation_sets).where(curation_sets.c.id == set_id))


def _sets() -> sa.Select[Any]:
    return (
        sa.select(curation_sets, phases.c.name.label("phase"))
        .join(phases, phases.c.id == curation_sets.c.phase_id)
        .order_by(curation_sets.c.id.desc())
    )


def _set(row: sa.Row[Any]) -> SetEntry:
    return read_row(row, SetEntry, plan=msgspec.json.decode(row.plan, type=SetPlan))
