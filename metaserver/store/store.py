"""The hub's questions to its database, and the writer that takes the attempts."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from metaserver.errors import InputError
from metaserver.lifecycle import RULES, Outcome
from metaserver.packing import pack, unpack, unpack_json
from metaserver.records import (
    Article,
    ArticleId,
    Attempt,
    Phases,
    Problem,
    Server,
    ServerName,
    TaskName,
)
from metaserver.store import tables as t
from metaserver.store.database import open_sqlite, writer_engine
from metaserver.store.writer import Entry, LaneKey, Writer
from metaserver.wire.xmlrpc import escape_text

INSERT_BATCH = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """The articles of a phase, in order: position i has `ids[i]`, `wire_bytes[i]` in a request."""

    id: int
    ids: tuple[ArticleId, ...]
    wire_bytes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class Tries(NamedTuple):
    """How often an unfinished article was sent to a lane's server, and charged to it."""

    made: int
    charged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneState:
    """Where a lane stands when a hub takes it: all before `cursor` is finished.

    `finished` are the positions from `cursor` on that are answered or given up; `tries` those with
    attempts that are neither.
    """

    key: LaneKey
    epoch: int
    cursor: int
    finished: frozenset[int]
    tries: Mapping[int, Tries]


class StoredAttempt(NamedTuple):
    """An attempt as read back (without its raw answer), and whether it was the article's last."""

    position: int
    attempt: Attempt
    final: bool


class Store:
    """One hub's store; `open_store` makes it."""

    def __init__(self, engine: AsyncEngine, writer: Writer, place: Path) -> None:
        self._engine = engine
        self._writer = writer
        self._place = place

    @property
    def blocked(self) -> str | None:
        """Why nothing can be written at the moment, or None."""
        return self._writer.blocked

    async def record(self, entry: Entry) -> None:
        """Commit one ended attempt; raises `StaleLaneError` where another hub has the lane."""
        await self._writer.record(entry)

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[AsyncConnection]:
        async with self._engine.connect() as connection:
            connection = await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection

    # -- articles --------------------------------------------------------------------------------

    async def add_corpus(self, articles: Iterable[Article]) -> Corpus:
        """Keep articles, in order; the same articles again are the same corpus."""
        digest = hashlib.sha256()
        ids: list[ArticleId] = []
        sizes: list[int] = []
        rows: list[dict[str, Any]] = []
        for position, article in enumerate(articles):
            text = article.text.encode("utf-8", "surrogatepass")
            digest.update(b"%d %s\0%d " % (position, article.id.encode(), len(text)))
            digest.update(text)
            ids.append(article.id)
            sizes.append(len(escape_text(article.text)))
            rows.append(
                {
                    "position": position,
                    "article_id": article.id,
                    "title": article.title,
                    "source": article.source,
                    "text": pack(text),
                    "wire_bytes": sizes[-1],
                }
            )
        checksum = digest.hexdigest()
        async with self._write() as connection:
            known = sa.select(t.corpora.c.id).where(t.corpora.c.checksum == checksum)
            corpus_id = (await connection.execute(known)).scalar_one_or_none()
            if corpus_id is None:
                corpus_id = await _insert(
                    connection,
                    t.corpora,
                    {"checksum": checksum, "articles": len(ids), "created_at": time.time()},
                )
                for start in range(0, len(rows), INSERT_BATCH):
                    batch = rows[start : start + INSERT_BATCH]
                    await connection.execute(
                        sa.insert(t.articles), [row | {"corpus_id": corpus_id} for row in batch]
                    )
        return Corpus(id=corpus_id, ids=tuple(ids), wire_bytes=tuple(sizes))

    async def article_texts(self, corpus_id: int, positions: range) -> Sequence[str]:
        """Return the plain texts of the articles at these positions, in order."""
        query = (
            sa.select(t.articles.c.text)
            .where(
                t.articles.c.corpus_id == corpus_id,
                t.articles.c.position.between(positions.start, positions.stop - 1),
            )
            .order_by(t.articles.c.position)
        )
        async with self._engine.connect() as connection:
            packed = (await connection.execute(query)).scalars().all()
        return [unpack(text).decode("utf-8", "surrogatepass") for text in packed]

    # -- phases, gold, servers -------------------------------------------------------------------

    async def open_phase(self, name: str, corpus: Corpus, release: str) -> int:
        """Return the phase's id, making it if it is new.

        A phase keeps its corpus and its UniProt release: its answers were given to the one and
        checked by the other. Anything else is an `InputError`.
        """
        query = sa.select(t.phases.c.id, t.phases.c.corpus_id, t.phases.c.release)
        async with self._write() as connection:
            found = (await connection.execute(query.where(t.phases.c.name == name))).first()
            if found is None:
                return await _insert(
                    connection,
                    t.phases,
                    {
                        "name": name,
                        "corpus_id": corpus.id,
                        "release": release,
                        "created_at": time.time(),
                    },
                )
        if found.corpus_id != corpus.id:
            raise InputError(
                self._place,
                "begun with other articles; give the same ones to go on, or another --out",
            )
        if found.release != release:
            raise InputError(
                self._place,
                f"begun with UniProt release {found.release}, not {release}; give the same one "
                "to go on, or another --out",
            )
        return int(found.id)

    async def set_gold(self, phase_id: int, task: TaskName, source: str, content: bytes) -> int:
        """Keep a gold file as the task's newest version; the same content keeps its version."""
        checksum = hashlib.sha256(content).hexdigest()
        query = (
            sa.select(t.gold.c.version, t.gold.c.checksum)
            .where(t.gold.c.phase_id == phase_id, t.gold.c.task == task)
            .order_by(t.gold.c.version.desc())
            .limit(1)
        )
        async with self._write() as connection:
            newest = (await connection.execute(query)).first()
            if newest is not None and newest.checksum == checksum:
                return int(newest.version)
            version = 1 if newest is None else newest.version + 1
            row = {
                "phase_id": phase_id,
                "task": task,
                "version": version,
                "checksum": checksum,
                "source": source,
                "content": pack(content),
                "created_at": time.time(),
            }
            await connection.execute(sa.insert(t.gold), row)
        return version

    async def set_server(self, server: Server) -> int:
        """Keep a server under its name, or change what is kept; return its id."""
        row = {
            "name": server.name,
            "url": server.url,
            "method": server.method,
            "parameters": server.parameters,
            "tasks": list(server.tasks),
            "concurrency": server.concurrency,
        }
        query = sa.select(t.servers.c.id).where(t.servers.c.name == server.name)
        async with self._write() as connection:
            server_id = (await connection.execute(query)).scalar_one_or_none()
            if server_id is None:
                return await _insert(connection, t.servers, row)
            await connection.execute(
                sa.update(t.servers).where(t.servers.c.id == server_id).values(**row)
            )
        return int(server_id)

    # -- lanes -----------------------------------------------------------------------------------

    async def take_lane(self, key: LaneKey) -> LaneState:
        """Take a lane: raise its epoch, so that whoever held it is fenced off."""
        lane = _of_lane(t.lanes, key)
        async with self._write() as connection:
            found = (await connection.execute(sa.select(t.lanes).where(lane))).first()
            epoch, cursor = (1, 0) if found is None else (found.epoch + 1, found.cursor)
            if found is None:
                row = {"phase_id": key.phase_id, "server_id": key.server_id}
                await connection.execute(
                    sa.insert(t.lanes), row | {"epoch": epoch, "cursor": cursor}
                )
            else:
                await connection.execute(sa.update(t.lanes).where(lane).values(epoch=epoch))
            final = await connection.execute(
                sa.select(t.attempts.c.position).where(
                    _of_lane(t.attempts, key), t.attempts.c.position >= cursor, t.attempts.c.final
                )
            )
            finished = frozenset(final.scalars())
            tries = await self._tries(connection, key, cursor)
        return LaneState(
            key=key,
            epoch=epoch,
            cursor=cursor,
            finished=finished,
            tries={position: made for position, made in tries.items() if position not in finished},
        )

    async def _tries(
        self, connection: AsyncConnection, key: LaneKey, cursor: int
    ) -> Mapping[int, Tries]:
        uncharged = [outcome for outcome, rule in RULES.items() if not rule.charged]
        charged = sa.func.sum(sa.case((t.attempts.c.outcome.in_(uncharged), 0), else_=1))
        query = (
            sa.select(t.attempts.c.position, sa.func.max(t.attempts.c.number), charged)
            .where(_of_lane(t.attempts, key), t.attempts.c.position >= cursor)
            .group_by(t.attempts.c.position)
        )
        return {row[0]: Tries(row[1], row[2]) for row in await connection.execute(query)}

    # -- what came back --------------------------------------------------------------------------

    async def answers(self, key: LaneKey) -> AsyncIterator[tuple[int, Mapping[TaskName, Any]]]:
        """Yield a lane's accepted answers as (position, payload by task), by position."""
        query = (
            sa.select(t.answers.c.position, t.answers.c.payloads)
            .where(_of_lane(t.answers, key))
            .order_by(t.answers.c.position)
        )
        async with self._engine.connect() as connection:
            async for position, payloads in await connection.stream(query):
                yield position, unpack_json(payloads)

    async def attempts(
        self, key: LaneKey, server: ServerName, corpus: Corpus
    ) -> AsyncIterator[StoredAttempt]:
        """Yield a lane's attempts in the order they began."""
        query = (
            sa.select(t.attempts)
            .where(_of_lane(t.attempts, key))
            .order_by(t.attempts.c.started_at, t.attempts.c.position, t.attempts.c.number)
        )
        async with self._engine.connect() as connection:
            async for row in await connection.stream(query):
                yield StoredAttempt(row.position, _attempt(row, server, corpus), row.final)

    async def raw_answer(self, key: LaneKey, position: int, number: int) -> bytes | None:
        """Return the bytes that one attempt brought, or None where it brought none."""
        query = sa.select(t.raw_answers.c.body).where(
            _of_lane(t.raw_answers, key),
            t.raw_answers.c.position == position,
            t.raw_answers.c.number == number,
        )
        async with self._engine.connect() as connection:
            body = (await connection.execute(query)).scalar_one_or_none()
        return None if body is None else unpack(body)


@asynccontextmanager
async def open_store(path: Path) -> AsyncIterator[Store]:
    """Open (or create) a hub's store in one SQLite file, its writer running."""
    async with open_sqlite(path) as engine:
        writer = Writer(writer_engine(path))
        writing = asyncio.create_task(writer.run(), name="store writer")
        try:
            yield Store(engine, writer, path)
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing


def _of_lane(table: sa.Table, key: LaneKey) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.phase_id == key.phase_id, table.c.server_id == key.server_id)


async def _insert(connection: AsyncConnection, table: sa.Table, row: Mapping[str, Any]) -> int:
    result = await connection.execute(sa.insert(table).values(**row))
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])


def _attempt(row: sa.Row[Any], server: ServerName, corpus: Corpus) -> Attempt:
    problems = msgspec.json.decode(row.problems) if row.problems else []
    return Attempt(
        server=server,
        article=corpus.ids[row.position],
        number=row.number,
        started_at=row.started_at,
        outcome=Outcome(row.outcome),
        message=row.message,
        phases=Phases(
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
    )
