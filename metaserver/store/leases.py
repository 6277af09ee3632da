"""Queries for leases of lanes: orders, who holds them, which processes live, which one leads.

A lane that is due and free is offered by a ticket, which names its epoch. Whoever takes it
raises the epoch in the same statement, so that one of several takers has it; the epoch then fences
off all earlier holders (`writer`). A process holds its lanes for as long as it renews its row in
`workers`, by the clock of the database alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from metaserver.base.lanes import LaneKey, LaneOrder, LaneReport, LaneRest, Ticket
from metaserver.base.states import Control, ProcessRole
from metaserver.store.database import read_row
from metaserver.store.reader import of_lane
from metaserver.store.tables import lanes, leader, servers, workers

LEASE_SECONDS = 5.0
"""A process that was not seen for this long has lost its lanes."""
GONE_SECONDS = 60.0
"""A lost process' row is deleted after this time."""
MOST_SAID = 500
"""The maximum length of what a process says is wrong, in characters."""
ALONE = 1e18
"""The time at which the only process of a store is seen last: its leases do not run out."""


class database_now(FunctionElement[float]):  # noqa: N801 (an SQL function)
    """The database's clock, in Unix seconds."""

    type = sa.Double()
    inherit_cache = True


@compiles(database_now)
def _now(_element: Any, _compiler: Any, **_given: Any) -> str:
    return "extract(epoch from clock_timestamp())"


@compiles(database_now, "sqlite")
def _now_of_sqlite(_element: Any, _compiler: Any, **_given: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


class LeaseCounts(NamedTuple):
    """A process' counts since its start, or several processes' together.

    `taken_over`: lanes taken from a process whose lease had run out; `turns`: lanes ended so that
    others have their share; `refused`: attempts that came after their lane was taken; `missed`:
    failed lease renewals.
    """

    taken_over: int = 0
    turns: int = 0
    refused: int = 0
    missed: int = 0


NOTHING = LeaseCounts()


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A process of a hub, as it is stored.

    `up` and `idle` are the times since its start, and since it was seen, in seconds. `blocked` says
    why it can store nothing, `lacks` what keeps it from working some lanes, so that it has no share
    of them; each empty if nothing does. `key` is the digest of the key that opens credentials.
    """

    id: str
    host: str
    role: str
    version: str
    capacity: int
    lanes: int = 0
    blocked: str = ""
    lacks: str = ""
    key: str = ""
    up: float = 0.0
    idle: float = 0.0

    @property
    def lives(self) -> bool:
        """True while its leases last."""
        return self.idle < LEASE_SECONDS


# -- the order of locks ----------------------------------------------------------------------------


async def lock(connection: AsyncConnection, condition: sa.ColumnElement[bool]) -> None:
    """Lock lanes until the transaction ends, in the order of their keys.

    Whoever changes several lanes locks them so first, or changes them in this order, as the writer
    does: two that wait for each other would be a deadlock. Rows of `workers` are locked after
    lanes. A file has one writer at a time.
    """
    if connection.dialect.name != "sqlite":
        query = sa.select(lanes.c.phase_id).where(condition)
        query = query.order_by(lanes.c.phase_id, lanes.c.server_id)
        await connection.execute(query.with_for_update(key_share=True))


# -- processes -------------------------------------------------------------------------------------


async def enter(connection: AsyncConnection, process: Process, *, alone: bool) -> None:
    """Store a process that has started; if it is `alone`, no lane has another holder.

    Otherwise, no process that was alone lives any more: it had the store to itself. A process may
    enter again, as it may not have heard of the end of its commit.
    """
    now = database_now()
    if alone:
        await connection.execute(sa.delete(workers))
        await connection.execute(sa.update(lanes).values(worker=None))
    else:
        replaced = sa.or_(workers.c.seen >= ALONE, workers.c.id == process.id)
        await connection.execute(sa.delete(workers).where(replaced))
    await connection.execute(
        sa.insert(workers).values(
            id=process.id,
            host=process.host,
            role=process.role,
            version=process.version,
            capacity=process.capacity,
            lanes=0,
            started_at=now,
            seen=ALONE if alone else now,
        )
    )


async def renew(connection: AsyncConnection, process: Process, counts: LeaseCounts) -> bool:
    """Renew the leases of a process, and store how it is; False if it was given up.

    If it `lacks` anything it has no share of the lanes, though it may hold some.
    """
    renewed = await connection.execute(
        sa.update(workers)
        .where(workers.c.id == process.id)
        .values(
            seen=database_now(),
            lanes=process.lanes,
            capacity=0 if process.lacks else process.capacity,
            blocked=process.blocked[:MOST_SAID],
            lacks=process.lacks[:MOST_SAID],
            key=process.key,
            **counts._asdict(),
        )
    )
    return bool(renewed.rowcount)


async def counted(connection: AsyncConnection) -> Mapping[str, LeaseCounts]:
    """Return what the stored processes have counted since they were started."""
    columns = [workers.c[name] for name in LeaseCounts._fields]
    rows = await connection.execute(sa.select(workers.c.id, *columns))
    return {process: LeaseCounts(*counts) for process, *counts in rows}


async def leave(connection: AsyncConnection, process: str) -> None:
    """Release all lanes held by an ending process, and forget it."""
    held_lanes = lanes.c.worker == process
    await lock(connection, held_lanes)
    await connection.execute(sa.update(lanes).where(held_lanes).values(worker=None, in_flight=0))
    await connection.execute(sa.delete(workers).where(workers.c.id == process))


async def forget_gone(connection: AsyncConnection) -> None:
    """Release the lanes that are to rest and whose holder has lost them; no other takes those.

    The rows of processes that were not seen for `GONE_SECONDS` are deleted.
    """
    left = sa.and_(~lanes.c.due, lanes.c.worker.not_in(_LIVING))
    await lock(connection, left)
    await connection.execute(
        sa.update(lanes)
        .where(left)
        .values(worker=None, in_flight=0, cancel_by="", order_done=lanes.c.order_no)
    )
    await connection.execute(
        sa.delete(workers).where(workers.c.seen <= database_now() - GONE_SECONDS)
    )


async def living(connection: AsyncConnection) -> Set[str]:
    """Return the living processes' ids."""
    return set((await connection.execute(_LIVING)).scalars())


async def processes(connection: AsyncConnection) -> Sequence[Process]:
    """Return the stored processes, in starting order."""
    now = database_now()
    times = ((now - workers.c.seen).label("idle"), (now - workers.c.started_at).label("up"))
    query = sa.select(workers, *times)
    return [
        read_row(row, Process, up=max(0.0, row.up), idle=max(0.0, row.idle))
        for row in await connection.execute(query.order_by(workers.c.started_at, workers.c.id))
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Census:
    """Numbers of living processes, by what they do, and of due lanes."""

    webs: int
    workers: int
    sharing: int  # of those workers: they have a share of the lanes
    blocked: int  # of those workers: they can store nothing
    due: int
    unheld: int  # of those that are due


async def census(connection: AsyncConnection) -> Census:
    """Count living processes and lanes that are due."""
    living = sa.select(sa.func.count()).where(workers.c.seen > database_now() - LEASE_SECONDS)
    due = sa.select(sa.func.count()).select_from(lanes).where(lanes.c.due)
    counts = (
        living.where(workers.c.role != ProcessRole.WORKER.value),
        living.where(workers.c.role != ProcessRole.WEB.value),
        living.where(workers.c.role != ProcessRole.WEB.value, workers.c.capacity > 0),
        living.where(workers.c.role != ProcessRole.WEB.value, workers.c.blocked != ""),
        due,
        due.where(_free(settled=True)),
    )
    result = await connection.execute(sa.select(*(count.scalar_subquery() for count in counts)))
    webs, working, sharing, blocked, lanes_due, unheld = result.one()
    return Census(
        webs=webs, workers=working, sharing=sharing, blocked=blocked, due=lanes_due, unheld=unheld
    )


# -- orders ----------------------------------------------------------------------------------------


async def order(
    connection: AsyncConnection,
    key: LaneKey,
    *,
    due: bool,
    allowance: int | None = None,
    cancel_by: str = "",
) -> int:
    """Give a lane an order; return its number.

    An earlier cancellation stays in force. If nobody holds the lane, there is nothing to cancel or
    pause: the order counts as carried out.
    """
    free = lanes.c.worker.is_(None)
    values: dict[str, Any] = {
        "due": due,
        "allowance": allowance,
        "order_no": lanes.c.order_no + 1,
        "order_done": sa.case((free, lanes.c.order_no + 1), else_=lanes.c.order_done),
    }
    if cancel_by:
        values["cancel_by"] = sa.case((free, ""), else_=cancel_by)
    number = await connection.scalar(
        sa.update(lanes).where(of_lane(lanes, key)).values(**values).returning(lanes.c.order_no)
    )
    assert number is not None, key
    return int(number)


async def make_running_due(connection: AsyncConnection, phase_id: int) -> None:
    """Order all of a phase's lanes to work whose desired state is running."""
    in_use = sa.select(servers.c.id).where(servers.c.retired_at.is_(None))
    to_run = sa.and_(
        lanes.c.phase_id == phase_id,
        lanes.c.control == Control.RUNNING.value,
        lanes.c.server_id.in_(in_use),
    )
    await lock(connection, to_run)
    await connection.execute(
        sa.update(lanes)
        .where(to_run)
        .values(due=True, allowance=None, order_no=lanes.c.order_no + 1)
    )


async def make_none_due(connection: AsyncConnection, phase_id: int | None = None) -> None:
    """Order all lanes in a phase, or in all phases, to rest."""
    due = lanes.c.due if phase_id is None else sa.and_(lanes.c.due, lanes.c.phase_id == phase_id)
    await lock(connection, due)
    query = sa.update(lanes).where(due)
    await connection.execute(query.values(due=False, allowance=None, order_no=lanes.c.order_no + 1))


async def is_busy(connection: AsyncConnection, phase_id: int, server_id: int | None = None) -> bool:
    """Return whether a phase's or a server's lane is at work or is to be."""
    busy = sa.or_(lanes.c.due, lanes.c.worker.is_not(None))
    query = sa.select(lanes.c.server_id).where(lanes.c.phase_id == phase_id, busy)
    if server_id is not None:
        query = query.where(lanes.c.server_id == server_id)
    return (await connection.execute(query.limit(1))).first() is not None


async def is_done(connection: AsyncConnection, key: LaneKey, number: int) -> bool:
    """Return whether a lane's order was carried out to its end, or the lane has no holder."""
    query = sa.select(lanes.c.order_done, lanes.c.worker).where(of_lane(lanes, key))
    row = (await connection.execute(query)).first()
    return row is None or row.worker is None or row.order_done >= number


# -- leases ----------------------------------------------------------------------------------------

_LIVING = sa.select(workers.c.id).where(workers.c.seen > database_now() - LEASE_SECONDS)
_KNOWN = sa.select(workers.c.id)


def _free(*, settled: bool) -> sa.ColumnElement[bool]:
    """Return whether a lane has no holder; who is not `settled` lets leases run out first."""
    holders = _LIVING if settled else _KNOWN
    return sa.or_(lanes.c.worker.is_(None), lanes.c.worker.not_in(holders))


async def offers(connection: AsyncConnection, *, settled: bool = True) -> Sequence[Ticket]:
    """Return the tickets for all lanes that are due and free.

    After a database outage all leases look run out: `settled` is false until the asking
    process has been connected again for a whole lease.
    """
    query = (
        sa.select(lanes.c.phase_id, lanes.c.server_id, lanes.c.epoch)
        .where(lanes.c.due, _free(settled=settled))
        .order_by(lanes.c.phase_id, lanes.c.server_id)
    )
    return [
        Ticket(LaneKey(phase, server), epoch)
        for phase, server, epoch in await connection.execute(query)
    ]


async def take(
    connection: AsyncConnection,
    tickets: Collection[Ticket],
    process: str,
    *,
    settled: bool = True,
) -> Mapping[LaneKey, LaneOrder]:
    """Take lanes for a process by their tickets; return the orders of those that it has now."""
    columns = (lanes.c.phase_id, lanes.c.server_id, lanes.c.epoch)
    ticketed = sa.tuple_(*columns).in_([(*ticket.key, ticket.epoch) for ticket in tickets])
    await lock(connection, ticketed)
    late = await connection.execute(
        sa.select(lanes.c.phase_id, lanes.c.server_id).where(ticketed, lanes.c.worker.is_not(None))
    )
    late_keys = {LaneKey(*key) for key in late}
    rows = await connection.execute(
        sa.update(lanes)
        .where(ticketed, lanes.c.due, _free(settled=settled))
        .values(worker=process, epoch=lanes.c.epoch + 1, ended="", in_flight=0)
        .returning(*_ORDER)
    )
    return {
        key: replace(order_read, taken_over=key in late_keys)
        for key, order_read in _read_orders(rows.all()).items()
    }


async def held(connection: AsyncConnection, process: str) -> Mapping[LaneKey, LaneOrder]:
    """Return the orders for the lanes that a process holds."""
    rows = await connection.execute(sa.select(*_ORDER).where(lanes.c.worker == process))
    return _read_orders(rows.all())


async def release(connection: AsyncConnection, process: str, rests: Iterable[LaneRest]) -> None:
    """Release lanes that a process has come to the end of.

    A lane that does not go on is not due any more, unless another order came meanwhile.
    """
    values = [
        {
            "p": rest.key.phase_id,
            "s": rest.key.server_id,
            "e": rest.epoch,
            "n": rest.order,
            "g": rest.goes_on,
            "w": process,
            "end": rest.end,
        }
        for rest in sorted(rests, key=lambda rest: rest.key)
    ]
    if values:
        await connection.execute(_RELEASE, values)


async def report(connection: AsyncConnection, process: str, reports: Iterable[LaneReport]) -> None:
    """Store what lanes are at that a process holds."""
    values = [
        {"p": row.key.phase_id, "s": row.key.server_id, "w": process, "i": row.in_flight,
         "d": row.down}
        for row in sorted(reports)
    ]  # fmt: skip
    await connection.execute(_REPORT, values)


_REPORT = (
    sa.update(lanes)
    .where(
        lanes.c.phase_id == sa.bindparam("p"),
        lanes.c.server_id == sa.bindparam("s"),
        lanes.c.worker == sa.bindparam("w"),
    )
    .values(in_flight=sa.bindparam("i"), down=sa.bindparam("d"))
)


class SeenLane(NamedTuple):
    """A lane as other processes see it: its log's end, and what was reported of it."""

    key: LaneKey
    serial: int
    revision: int
    worker: str
    is_due: bool
    in_flight: int
    down: str
    ended: str


async def seen(connection: AsyncConnection) -> Sequence[SeenLane]:
    """Return all lanes as they are stored."""
    # Unpacked, a row takes a sixth of the time: each process reads all of them once a second.
    return [
        SeenLane(LaneKey(phase, server), serial, revision, worker or "", due, calls, down, ended)
        for phase, server, serial, revision, worker, due, calls, down, ended in (
            await connection.execute(_SEEN)
        ).all()
    ]


_SEEN = sa.select(
    lanes.c.phase_id,
    lanes.c.server_id,
    lanes.c.serial,
    lanes.c.revision,
    lanes.c.worker,
    lanes.c.due,
    lanes.c.in_flight,
    lanes.c.down,
    lanes.c.ended,
)


_ORDER = (
    lanes.c.phase_id,
    lanes.c.server_id,
    lanes.c.epoch,
    lanes.c.order_no,
    lanes.c.due,
    lanes.c.allowance,
    lanes.c.cancel_by,
)
_STAYS = sa.or_(lanes.c.order_no != sa.bindparam("n"), sa.bindparam("g", type_=sa.Boolean()))
_RELEASE = (
    sa.update(lanes)
    .where(
        lanes.c.phase_id == sa.bindparam("p"),
        lanes.c.server_id == sa.bindparam("s"),
        lanes.c.epoch == sa.bindparam("e"),
        lanes.c.worker == sa.bindparam("w"),
    )
    .values(
        worker=None,
        in_flight=0,
        ended=sa.bindparam("end"),
        cancel_by="",
        order_done=sa.bindparam("n"),
        due=sa.case((_STAYS, lanes.c.due), else_=sa.false()),
        allowance=sa.case((_STAYS, lanes.c.allowance), else_=sa.null()),
    )
)


def _read_orders(rows: Iterable[Any]) -> Mapping[LaneKey, LaneOrder]:
    """Return orders by lane, from rows that have `_ORDER`."""
    return {
        (key := LaneKey(phase, server)): LaneOrder(
            key=key, epoch=epoch, number=number, due=due, allowance=allowance, cancel_by=by
        )
        for phase, server, epoch, number, due, allowance, by in rows
    }


# -- queries for the leader ------------------------------------------------------------------------
# The epoch rises whenever another process leads, and each write of a leader looks at it in its own
# transaction: one that was frozen or cut off cannot write when it comes back.


@dataclass(frozen=True, kw_only=True, slots=True)
class Leadership:
    """A process' leadership since an epoch."""

    process: str
    epoch: int


async def lead(connection: AsyncConnection, process: str, *, alone: bool) -> Leadership | None:
    """Lead, or go on leading; None while another process does.

    Another leader stays until its lease runs out, unless this process is `alone`.
    """
    now = database_now()
    row = (await connection.execute(sa.select(leader, (now - leader.c.seen).label("idle")))).first()
    if row is None:
        values = {"id": 1, "process": process, "epoch": 1}
        await connection.execute(sa.insert(leader).values(**values, seen=now))
        return Leadership(process=process, epoch=1)
    if row.process and row.process != process and not alone and row.idle < LEASE_SECONDS:
        return None
    epoch = row.epoch if row.process == process else row.epoch + 1
    await connection.execute(sa.update(leader).values(process=process, epoch=epoch, seen=now))
    return Leadership(process=process, epoch=epoch)


async def clock_offset(connection: AsyncConnection, clock: Callable[[], float]) -> float:
    """Return how far a clock is ahead of the database's, in seconds; 0 within the time of asking.

    Example: -3600.0 for a machine whose clock is an hour late.
    """
    began = clock()
    now = float((await connection.execute(sa.select(database_now()))).scalar_one())
    ended = clock()
    return max(began - now, 0.0) or min(ended - now, 0.0)


async def resign(connection: AsyncConnection, leadership: Leadership) -> None:
    """Let another process lead at once."""
    await connection.execute(
        sa.update(leader)
        .where(leader.c.process == leadership.process, leader.c.epoch == leadership.epoch)
        .values(process="")
    )


async def current(connection: AsyncConnection) -> Leadership | None:
    """Return who leads; None if nobody has."""
    row = (await connection.execute(sa.select(leader.c.process, leader.c.epoch))).first()
    return Leadership(process=row.process, epoch=row.epoch) if row and row.process else None
