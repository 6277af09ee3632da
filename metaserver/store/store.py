"""The hub's store: queries, write transactions and the attempt writer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set,
)
from contextlib import asynccontextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.base.errors import ReplacedError, UnavailableError
from metaserver.base.lanes import (
    AttemptRecord,
    Corpus,
    LaneKey,
    LaneOrder,
    LaneState,
    TakenLane,
    Ticket,
    Tries,
)
from metaserver.base.records import Article, TaskName
from metaserver.base.states import RULES
from metaserver.store import leases
from metaserver.store import tables as t
from metaserver.store.articles import pack_articles, store_articles
from metaserver.store.database import writing
from metaserver.store.opening import opened
from metaserver.store.phases import set_gold
from metaserver.store.place import StorePlace
from metaserver.store.reader import ReadStore
from metaserver.store.writer import Writer


class Store(ReadStore):
    """A hub's store; `open_store` opens it."""

    def __init__(self, engine: AsyncEngine, writer: Writer, place: StorePlace) -> None:
        super().__init__(engine, place)
        self._writer = writer

    def fenced(self, require: Callable[[AsyncConnection], Awaitable[None]]) -> Store:
        """Return this store for a writer that may lose its right: `require` raises in each write.

        It is called first in each transaction of `writing`.
        """
        return _FencedStore(self._engine, self._writer, self.place, require)

    @property
    def blocked(self) -> str | None:
        """The reason why nothing can be written now, or None."""
        return self._writer.blocked

    def try_to_write(self) -> None:
        """Have a trial write made soon, though nothing waits: `blocked` then says if it failed."""
        self._writer.wake()

    @property
    def failed_writes(self) -> int:
        """The number of failed writes, of which a broken connection may have stored some."""
        return self._writer.failed_writes

    def record(self, entry: AttemptRecord) -> Awaitable[int]:
        """Commit an ended attempt; awaiting it returns its serial in the lane's log.

        That raises `StaleLaneError` if another hub has the lane.
        """
        return self._writer.record(entry)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a write transaction, for this package's query functions.

        Raises `UnavailableError` if nothing can be written; while that is known, at once.
        """
        self.require_writable()
        async with self._writer.turn:
            self.require_writable()  # as is known after the wait
            try:
                async with writing(self._engine, self.place) as connection:
                    yield connection
            except UnavailableError as error:
                self._writer.mark_unwritable(error.reason)
                raise

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction that waits for no other writer of a database server.

        What it writes must be right whatever others write meanwhile. Raises `UnavailableError` if
        nothing can be written.
        """
        async with (
            self._writer.turn,
            writing(self._engine, self.place, in_turn=False) as connection,
        ):
            yield connection

    def require_writable(self) -> None:
        """Check that the store can be written; raises `UnavailableError` while it cannot."""
        if self.blocked is not None:
            raise UnavailableError(self.blocked)

    # -- articles --------------------------------------------------------------------------------

    async def add_corpus(self, articles: Iterable[Article]) -> Corpus:
        """Store articles, in order, and return their corpus; equal articles are the same corpus."""
        packed = pack_articles(articles)
        async with self.writing() as connection:
            return await store_articles(connection, packed)

    # -- gold ------------------------------------------------------------------------------------

    async def set_gold(self, phase_id: int, task: TaskName, source: str, content: bytes) -> int:
        """Store a gold file as the task's newest version; equal content keeps its version."""
        async with self.writing() as connection:
            return await set_gold(connection, phase_id, task, source, content)

    # -- lanes -----------------------------------------------------------------------------------

    async def take_lanes(
        self, tickets: Collection[Ticket], process: str, *, settled: bool = True
    ) -> Sequence[TakenLane]:
        """Take lanes for a process by their tickets, in a single transaction; return those taken.

        Each lane's epoch is raised, which fences off an earlier holder.
        """
        if not tickets:
            return []
        taken_lanes: list[TakenLane] = []
        async with self.writing() as connection:
            orders = await leases.take(connection, tickets, process, settled=settled)
            for phase_id in sorted({key.phase_id for key in orders}):
                of_phase = {
                    key.server_id: lane_order
                    for key, lane_order in orders.items()
                    if key[0] == phase_id
                }
                taken_lanes.extend(await self._taken(connection, phase_id, of_phase))
        return taken_lanes

    async def _taken(
        self, connection: AsyncConnection, phase_id: int, orders: Mapping[int, LaneOrder]
    ) -> Sequence[TakenLane]:
        """Return the progress of a phase's taken lanes, by server id."""
        server_ids = list(orders)
        rows = await connection.execute(
            sa.select(t.lanes).where(
                t.lanes.c.phase_id == phase_id, t.lanes.c.server_id.in_(server_ids)
            )
        )
        by_server = {row.server_id: row for row in rows}
        finished = await self._finished(connection, phase_id, server_ids)
        tries = await self._tries(connection, phase_id, server_ids)
        return [
            TakenLane(
                state=LaneState(
                    key=LaneKey(phase_id, server_id),
                    epoch=row.epoch,
                    cursor=row.cursor,
                    serial=row.serial,
                    finished=frozenset(finished[server_id]),
                    tries={
                        position: tried
                        for position, tried in tries[server_id].items()
                        if position not in finished[server_id]
                    },
                ),
                order=orders[server_id],
                down=row.down,
            )
            for server_id, row in by_server.items()
        ]

    async def _finished(
        self, connection: AsyncConnection, phase_id: int, server_ids: Sequence[int]
    ) -> Mapping[int, Set[int]]:
        """Return the positions from the cursor on that are finished, by server id."""
        query = _open_attempts(phase_id, server_ids, t.attempts.c.position).where(
            t.attempts.c.final
        )
        finished: defaultdict[int, set[int]] = defaultdict(set)
        for server_id, position in await connection.execute(query):
            finished[server_id].add(position)
        return finished

    async def _tries(
        self, connection: AsyncConnection, phase_id: int, server_ids: Sequence[int]
    ) -> Mapping[int, Mapping[int, Tries]]:
        """Return the tries at the positions from the cursor on, by server id."""
        uncharged = [outcome for outcome, rule in RULES.items() if not rule.charged]
        free = sa.or_(t.attempts.c.outcome.in_(uncharged), t.attempts.c.forgiven)
        charged = sa.func.sum(sa.case((free, 0), else_=1))
        last = sa.func.max(t.attempts.c.number)
        query = _open_attempts(phase_id, server_ids, t.attempts.c.position, last, charged).group_by(
            t.attempts.c.server_id, t.attempts.c.position
        )
        tries: defaultdict[int, dict[int, Tries]] = defaultdict(dict)
        for server_id, position, attempts_made, charges in await connection.execute(query):
            tries[server_id][position] = Tries(attempts_made, charges)
        return tries


class _FencedStore(Store):
    """A store for a writer that may lose its right."""

    def __init__(
        self,
        engine: AsyncEngine,
        writer: Writer,
        place: StorePlace,
        require: Callable[[AsyncConnection], Awaitable[None]],
    ) -> None:
        super().__init__(engine, writer, place)
        self._require = require

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with super().writing() as connection:
                await self._require(connection)
                yield connection
        except ReplacedError as error:  # whoever leads writes it; the store is not blocked
            raise UnavailableError(str(error)) from None


def _open_attempts(
    phase_id: int, server_ids: Sequence[int], *columns: sa.ColumnElement[int]
) -> sa.Select[Any]:
    """Select server ids and columns of the attempts that are not before their lane's cursor."""
    return (
        sa.select(t.attempts.c.server_id, *columns)
        .join(
            t.lanes,
            sa.and_(
                t.lanes.c.phase_id == t.attempts.c.phase_id,
                t.lanes.c.server_id == t.attempts.c.server_id,
            ),
        )
        .where(
            t.lanes.c.phase_id == phase_id,
            t.lanes.c.server_id.in_(server_ids),
            t.attempts.c.position >= t.lanes.c.cursor,
        )
    )


@asynccontextmanager
async def open_store(place: StorePlace, *, alone: bool = True) -> AsyncIterator[Store]:
    """Open (or create) a hub's store, with its writer running."""
    async with opened(place, alone=alone) as (engine, writer):
        writing = asyncio.create_task(writer.run(), name="store writer")
        try:
            yield Store(engine, writer, place)
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
