"""The hub's store: queries, write transactions and the writer of attempts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.model.errors import UnavailableError
from metaserver.model.lanes import AttemptRecord, Corpus, LaneKey, LaneState, Tries
from metaserver.model.records import Article, TaskName
from metaserver.model.states import RULES
from metaserver.store import tables as t
from metaserver.store.articles import pack_articles, store_articles
from metaserver.store.database import open_sqlite, writer_engine, writing
from metaserver.store.phases import set_gold
from metaserver.store.reader import ReadStore
from metaserver.store.writer import Writer


class Store(ReadStore):
    """One hub's store; `open_store` opens it."""

    def __init__(self, engine: AsyncEngine, writer: Writer, place: Path) -> None:
        super().__init__(engine)
        self._writer = writer
        self.place = place  # the file

    @property
    def blocked(self) -> str | None:
        """The reason why nothing can be written now, or None."""
        return self._writer.blocked

    def record(self, entry: AttemptRecord) -> Awaitable[int]:
        """Commit one ended attempt; awaiting it returns its serial in the lane's log.

        That raises `StaleLaneError` where another hub has the lane.
        """
        return self._writer.record(entry)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a write transaction, for the query functions of this package.

        Raises `UnavailableError` where nothing can be written; while that is known, at once.
        """
        self.require_writable()
        try:
            async with writing(self._engine, self.place) as connection:
                yield connection
        except UnavailableError as error:
            self._writer.mark_unwritable(error.reason)
            raise

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

    async def take_lane(self, key: LaneKey) -> LaneState:
        """Take one lane: see `take_lanes`."""
        return (await self.take_lanes(key.phase_id, [key.server_id]))[key.server_id]

    async def take_lanes(self, phase_id: int, server_ids: Sequence[int]) -> Mapping[int, LaneState]:
        """Take lanes of a phase, by server id, in one transaction.

        Each lane's epoch is raised, which fences off a hub that had taken it.
        """
        async with self.writing() as connection:
            await self._raise_epochs(connection, phase_id, server_ids)
            lanes = await connection.execute(
                sa.select(t.lanes).where(
                    t.lanes.c.phase_id == phase_id, t.lanes.c.server_id.in_(server_ids)
                )
            )
            found = {row.server_id: row for row in lanes}
            finished = await self._finished(connection, phase_id, server_ids)
            tries = await self._tries(connection, phase_id, server_ids)
        return {
            server_id: LaneState(
                key=LaneKey(phase_id, server_id),
                epoch=row.epoch,
                cursor=row.cursor,
                serial=row.serial,
                finished=frozenset(finished[server_id]),
                tries={
                    position: made
                    for position, made in tries[server_id].items()
                    if position not in finished[server_id]
                },
            )
            for server_id, row in found.items()
        }

    async def _raise_epochs(
        self, connection: AsyncConnection, phase_id: int, server_ids: Sequence[int]
    ) -> None:
        """Raise the epochs of lanes; one that is not stored yet begins with 1."""
        raised = await connection.execute(
            sa.update(t.lanes)
            .where(t.lanes.c.phase_id == phase_id, t.lanes.c.server_id.in_(server_ids))
            .values(epoch=t.lanes.c.epoch + 1)
            .returning(t.lanes.c.server_id)
        )
        known = set(raised.scalars())
        new = [
            {"phase_id": phase_id, "server_id": server_id, "epoch": 1, "cursor": 0}
            for server_id in server_ids
            if server_id not in known
        ]
        if new:
            await connection.execute(sa.insert(t.lanes), new)

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
        """Return the tries of the positions from the cursor on, by server id."""
        uncharged = [outcome for outcome, rule in RULES.items() if not rule.charged]
        free = sa.or_(t.attempts.c.outcome.in_(uncharged), t.attempts.c.forgiven)
        charged = sa.func.sum(sa.case((free, 0), else_=1))
        last = sa.func.max(t.attempts.c.number)
        query = _open_attempts(phase_id, server_ids, t.attempts.c.position, last, charged).group_by(
            t.attempts.c.server_id, t.attempts.c.position
        )
        tries: defaultdict[int, dict[int, Tries]] = defaultdict(dict)
        for server_id, position, made, charges in await connection.execute(query):
            tries[server_id][position] = Tries(made, charges)
        return tries


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
async def open_store(path: Path) -> AsyncIterator[Store]:
    """Open (or create) a hub's store in one SQLite file, with its writer running."""
    async with open_sqlite(path) as engine:
        writer = Writer(writer_engine(path))
        writing = asyncio.create_task(writer.run(), name="store writer")
        try:
            yield Store(engine, writer, path)
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
