"""The hub's store: queries, write transactions and the writer of attempts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

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
from metaserver.store.reader import ReadStore, of_lane
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

    async def record(self, entry: AttemptRecord) -> int:
        """Commit one ended attempt and return its serial in the lane's log.

        Raises `StaleLaneError` where another hub has the lane.
        """
        return await self._writer.record(entry)

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
        """Take a lane: raise its epoch, which fences off a hub that had taken it."""
        lane = of_lane(t.lanes, key)
        async with self.writing() as connection:
            found = (await connection.execute(sa.select(t.lanes).where(lane))).first()
            epoch, cursor = (1, 0) if found is None else (found.epoch + 1, found.cursor)
            serial = 0 if found is None else found.serial
            if found is None:
                row = {"phase_id": key.phase_id, "server_id": key.server_id}
                await connection.execute(
                    sa.insert(t.lanes), row | {"epoch": epoch, "cursor": cursor}
                )
            else:
                await connection.execute(sa.update(t.lanes).where(lane).values(epoch=epoch))
            final = await connection.execute(
                sa.select(t.attempts.c.position).where(
                    of_lane(t.attempts, key), t.attempts.c.position >= cursor, t.attempts.c.final
                )
            )
            finished = frozenset(final.scalars())
            tries = await self._tries(connection, key, cursor)
        return LaneState(
            key=key,
            epoch=epoch,
            cursor=cursor,
            serial=serial,
            finished=finished,
            tries={position: made for position, made in tries.items() if position not in finished},
        )

    async def _tries(
        self, connection: AsyncConnection, key: LaneKey, cursor: int
    ) -> Mapping[int, Tries]:
        uncharged = [outcome for outcome, rule in RULES.items() if not rule.charged]
        free = sa.or_(t.attempts.c.outcome.in_(uncharged), t.attempts.c.forgiven)
        charged = sa.func.sum(sa.case((free, 0), else_=1))
        query = (
            sa.select(t.attempts.c.position, sa.func.max(t.attempts.c.number), charged)
            .where(of_lane(t.attempts, key), t.attempts.c.position >= cursor)
            .group_by(t.attempts.c.position)
        )
        return {row[0]: Tries(row[1], row[2]) for row in await connection.execute(query)}


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
