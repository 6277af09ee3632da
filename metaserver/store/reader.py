"""Read access to a store: texts, answers, attempts; also beside a running hub."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.base.compression import unpack, unpack_json
from metaserver.base.lanes import Corpus, LaneKey, StoredAttempt
from metaserver.base.records import (
    Article,
    ArticleId,
    Attempt,
    Problem,
    ServerName,
    TaskName,
    Timings,
)
from metaserver.base.states import Outcome
from metaserver.base.usage import DeclaredUsage
from metaserver.store import tables as t
from metaserver.store.database import reading
from metaserver.store.opening import opened_for_reading
from metaserver.store.place import StorePlace


class PackedAnswer(NamedTuple):
    """A lane's accepted answer, compressed as it is stored."""

    position: int
    payloads: bytes


class StoredAnswer(NamedTuple):
    """A lane's accepted answer; its unscored part is compressed, None if it has none."""

    payloads: Mapping[TaskName, Any]
    asides: bytes | None


class PackedAsides(NamedTuple):
    """The unscored part of a lane's accepted answer, compressed as it is stored."""

    position: int
    asides: bytes


class StoredLane(NamedTuple):
    """A stored lane, and its phase's articles."""

    key: LaneKey
    server: ServerName
    corpus: Corpus


class ReadStore:
    """The queries that change nothing; `open_reader` opens it."""

    def __init__(self, engine: AsyncEngine, place: StorePlace) -> None:
        self._engine = engine
        self.place = place

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Return a connection (a context manager) for the query functions of this package.

        Raises `UnavailableError` while the database cannot be reached.
        """
        return reading(self._engine, self.place)

    async def lanes(self) -> Sequence[StoredLane]:
        """Return all lanes, by phase and in the order their servers were registered."""
        query = (
            sa.select(t.lanes.c.phase_id, t.servers.c.id, t.servers.c.name, t.phases.c.corpus_id)
            .join(t.servers, t.servers.c.id == t.lanes.c.server_id)
            .join(t.phases, t.phases.c.id == t.lanes.c.phase_id)
            .order_by(t.lanes.c.phase_id, t.servers.c.id)
        )
        async with self.reading() as connection:
            rows = (await connection.execute(query)).all()
        ids = {row.corpus_id for row in rows}
        corpora = {corpus_id: await self.corpus(corpus_id) for corpus_id in ids}
        return [
            StoredLane(LaneKey(row.phase_id, row.id), ServerName(row.name), corpora[row.corpus_id])
            for row in rows
        ]

    async def corpus(self, corpus_id: int) -> Corpus:
        """Return a corpus' articles, in order, without texts."""
        query = (
            sa.select(t.articles.c.article_id, t.articles.c.wire_bytes)
            .where(t.articles.c.corpus_id == corpus_id)
            .order_by(t.articles.c.position)
        )
        async with self.reading() as connection:
            rows = (await connection.execute(query)).all()
        ids = tuple(ArticleId(row.article_id) for row in rows)
        return Corpus(id=corpus_id, ids=ids, wire_bytes=tuple(row.wire_bytes for row in rows))

    async def article_texts(self, corpus_id: int, positions: range) -> Sequence[str]:
        """Return the plain texts for the articles at these positions, in order."""
        query = (
            sa.select(t.articles.c.text)
            .where(
                t.articles.c.corpus_id == corpus_id,
                t.articles.c.position.between(positions.start, positions.stop - 1),
            )
            .order_by(t.articles.c.position)
        )
        async with self.reading() as connection:
            packed = (await connection.execute(query)).scalars().all()
        return [_text(text) for text in packed]

    async def articles(self, corpus_id: int, size: int = 50) -> AsyncIterator[Sequence[Article]]:
        """Yield a corpus's articles with their texts, `size` at a time, in order."""
        article = t.articles.c
        query: sa.Select[Any] = (
            sa.select(article.article_id, article.title, article.source, article.text)
            .where(article.corpus_id == corpus_id)
            .order_by(article.position)
        )
        for start in itertools.count(0, size):
            block = query.where(article.position.between(start, start + size - 1))
            async with self.reading() as connection:
                rows = (await connection.execute(block)).all()
            if not rows:
                return
            yield [
                Article(
                    id=ArticleId(row.article_id),
                    text=_text(row.text),
                    title=row.title,
                    source=row.source,
                )
                for row in rows
            ]

    async def original(self, corpus_id: int, position: int) -> bytes:
        """Return the XML that an article was read from; empty if none is kept."""
        query = sa.select(t.articles.c.original).where(
            t.articles.c.corpus_id == corpus_id, t.articles.c.position == position
        )
        async with self.reading() as connection:
            packed = (await connection.execute(query)).scalar_one_or_none()
        return b"" if packed is None else unpack(packed)

    async def packed_answers(
        self, key: LaneKey, *, after: int, limit: int
    ) -> Sequence[PackedAnswer]:
        """Return a lane's first `limit` accepted answers after a position, in order, not unpacked.

        Reading in several such calls leaves no long transaction open.
        """
        rows = await self._answers(key, t.answers.c.payloads, after, limit)
        return [PackedAnswer._make(row) for row in rows]

    async def answer_count(self, phase_id: int) -> int:
        """Return the number of accepted answers in a phase's lanes."""
        query = sa.select(sa.func.count()).where(t.answers.c.phase_id == phase_id)
        async with self.reading() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def answer(self, key: LaneKey, position: int) -> StoredAnswer | None:
        """Return an accepted answer, or None."""
        query = sa.select(t.answers.c.payloads, t.answers.c.asides).where(
            of_lane(t.answers, key), t.answers.c.position == position
        )
        async with self.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else StoredAnswer(unpack_json(row.payloads), row.asides)

    async def packed_asides(
        self, key: LaneKey, *, after: int, limit: int
    ) -> Sequence[PackedAsides]:
        """Return the first `limit` unscored parts of a lane's answers after a position."""
        rows = await self._answers(key, t.answers.c.asides, after, limit)
        return [PackedAsides._make(row) for row in rows]

    async def _answers(
        self, key: LaneKey, column: sa.Column[Any], after: int, limit: int
    ) -> Sequence[sa.Row[Any]]:
        """Return positions and values of a column, as far as set, of a lane's answers."""
        position = t.answers.c.position
        query: sa.Select[Any] = (
            sa.select(position, column)
            .where(of_lane(t.answers, key), position > after, column.is_not(None))
            .order_by(position)
            .limit(limit)
        )
        async with self.reading() as connection:
            return [*await connection.execute(query)]

    async def hits_kept(self, key: LaneKey) -> Mapping[int, int]:
        """Return the number of hits kept from each accepted answer in a lane, by position."""
        query = sa.select(t.answers.c.position, t.answers.c.hits_kept).where(
            of_lane(t.answers, key)
        )
        async with self.reading() as connection:
            return {row.position: row.hits_kept for row in await connection.execute(query)}

    async def attempts(
        self, key: LaneKey, server: ServerName, corpus: Corpus
    ) -> AsyncIterator[StoredAttempt]:
        """Yield a lane's attempts, in the order they began."""
        query = (
            sa.select(t.attempts)
            .where(of_lane(t.attempts, key))
            .order_by(t.attempts.c.started_at, t.attempts.c.position, t.attempts.c.number)
        )
        async with self.reading() as connection:
            async for row in await connection.stream(query):
                yield _stored(row, server, corpus)

    async def next_positions(self, key: LaneKey, total: int, limit: int) -> Sequence[int]:
        """Return the first articles in a lane's queue: neither answered nor given up."""
        lane = sa.select(t.lanes.c.cursor).where(of_lane(t.lanes, key))
        final = sa.select(t.attempts.c.position).where(of_lane(t.attempts, key), t.attempts.c.final)
        async with self.reading() as connection:
            cursor = (await connection.execute(lane)).scalar_one_or_none() or 0
            after = final.where(t.attempts.c.position >= cursor)
            finished = frozenset((await connection.execute(after)).scalars())
        waiting = (position for position in range(cursor, total) if position not in finished)
        return list(itertools.islice(waiting, limit))

    async def newest_attempts(
        self,
        key: LaneKey,
        server: ServerName,
        corpus: Corpus,
        *,
        limit: int,
        since: float = 0.0,
        before: float | None = None,
        outcome: Outcome | None = None,
        article: ArticleId | None = None,
    ) -> Sequence[StoredAttempt]:
        """Return a lane's attempts that began in [since, before[, newest first."""
        table = t.attempts
        query = sa.select(table).where(of_lane(table, key), table.c.started_at >= since)
        if before is not None:
            query = query.where(table.c.started_at < before)
        if outcome is not None:
            query = query.where(table.c.outcome == outcome.value)
        if article is not None:
            positions = [i for i, article_id in enumerate(corpus.ids) if article_id == article]
            query = query.where(table.c.position.in_(positions))
        query = query.order_by(table.c.started_at.desc(), table.c.position.desc()).limit(limit)
        async with self.reading() as connection:
            rows = (await connection.execute(query)).all()
        return [_stored(row, server, corpus) for row in rows]

    async def attempt(
        self, key: LaneKey, server: ServerName, corpus: Corpus, position: int, number: int
    ) -> StoredAttempt | None:
        """Return an attempt by number, or None."""
        query = sa.select(t.attempts).where(
            of_lane(t.attempts, key),
            t.attempts.c.position == position,
            t.attempts.c.number == number,
        )
        async with self.reading() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else _stored(row, server, corpus)

    async def raw_answer(self, key: LaneKey, position: int, number: int) -> bytes | None:
        """Return an attempt's answer as received, or None."""
        query = sa.select(t.raw_answers.c.body).where(
            of_lane(t.raw_answers, key),
            t.raw_answers.c.position == position,
            t.raw_answers.c.number == number,
        )
        async with self.reading() as connection:
            body = (await connection.execute(query)).scalar_one_or_none()
        return None if body is None else unpack(body)


@asynccontextmanager
async def open_reader(place: StorePlace) -> AsyncIterator[ReadStore]:
    """Open a store for reading only; a hub may write to it meanwhile."""
    async with opened_for_reading(place) as engine:
        yield ReadStore(engine, place)


def of_lane(table: sa.Table, key: LaneKey) -> sa.ColumnElement[bool]:
    """Return the condition that selects a lane's rows."""
    return sa.and_(table.c.phase_id == key.phase_id, table.c.server_id == key.server_id)


def of_lanes(table: sa.Table, keys: Sequence[LaneKey]) -> sa.ColumnElement[bool]:
    """Return the condition that selects some lanes' rows."""
    return sa.tuple_(table.c.phase_id, table.c.server_id).in_([tuple(key) for key in keys])


def _text(packed: bytes) -> str:
    return unpack(packed).decode("utf-8", "surrogatepass")


def _stored(row: sa.Row[Any], server: ServerName, corpus: Corpus) -> StoredAttempt:
    return StoredAttempt(row.position, read_attempt(row, server, corpus), row.final)


def read_attempt(row: sa.Row[Any], server: ServerName, corpus: Corpus) -> Attempt:
    """Return a row's attempt."""
    problems = msgspec.json.decode(row.problems) if row.problems else []
    return Attempt(
        server=server,
        article=corpus.ids[row.position],
        number=row.number,
        started_at=row.started_at,
        outcome=Outcome(row.outcome),
        message=row.message,
        timings=Timings(
            queue=row.queue,
            dns=row.dns,
            connect=row.connect,
            send=row.send,
            wait=row.wait,
            transfer=row.transfer,
            parse=row.parse,
            total=row.total,
        ),
        bytes_out=row.bytes_out,
        bytes_in=row.bytes_in,
        problems=tuple(Problem(path=path, message=message) for path, message in problems),
        problem_count=row.problem_count,
        usage=msgspec.json.decode(row.usage, type=DeclaredUsage) if row.usage else None,
    )
