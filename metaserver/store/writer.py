"""The single writer: groups waiting attempts into one transaction (group commit).

An attempt, its raw answer, its accepted hits and the lane's cursor are committed together or not
at all. Each carries its lane's epoch: an attempt of a lane that another hub has taken since is
refused in the same transaction (fencing).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import msgspec
import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from metaserver.files.compression import pack_json
from metaserver.model.errors import HubError, StaleLaneError
from metaserver.model.lanes import AttemptRecord, CheckedAnswer, LaneKey
from metaserver.store.tables import answers, attempts, lanes, raw_answers

MAX_BATCH = 256
RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    entry: AttemptRecord
    done: asyncio.Future[int]


class _Standing(NamedTuple):
    """A lane's epoch and the last serial of its log, as they are stored."""

    epoch: int
    serial: int


class Writer:
    """The writer of attempts, in the order they come, each until it is committed.

    Each gets the next serial of its lane's log.

    While the database cannot be written (locked, disk full) `blocked` says why, and the writer
    tries again every second: lanes wait for `record`, and nothing is lost. Other code that fails to
    write reports it by `mark_unwritable`.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._inserts = _Inserts(engine)
        self._thread = ThreadPoolExecutor(1, "store-writer")
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._broken: set[tuple[LaneKey, int]] = set()  # lanes by epoch with an entry missing
        self.blocked: str | None = None

    def record(self, entry: AttemptRecord) -> asyncio.Future[int]:
        """Store one attempt; the future has its serial when it is committed.

        It has a `StaleLaneError` where the lane is no longer this hub's.
        """
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(entry, done))
        self._wake.set()
        return done

    def mark_unwritable(self, reason: str) -> None:
        """Record that a write failed: nothing more is written until a trial succeeds."""
        self._block(reason)
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled; a batch under way is written to its end."""
        try:
            while True:
                await self._wake.wait()
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                if not self._waiting:
                    self._wake.clear()
                await self._write(batch)
        finally:
            self._thread.shutdown()
            self._engine.dispose()

    async def _write(self, batch: Sequence[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        batch = [waiting for waiting in batch if not self._refused(waiting)]
        entries = [waiting.entry for waiting in batch]
        while True:
            try:
                serials = await loop.run_in_executor(
                    self._thread, _commit, self._engine, self._inserts, entries
                )
            except sa.exc.OperationalError as error:
                self._block(str(error.orig))
                await asyncio.sleep(RETRY_SECONDS)
            except Exception as error:
                self._block(None)  # it can be written; this batch cannot
                await self._write_singly(batch, error)
                return
            else:
                self._block(None)
                for waiting, serial in zip(batch, serials, strict=True):
                    _settle(waiting.done, serial)
                return

    def _block(self, reason: str | None) -> None:
        if reason is not None and self.blocked is None:
            log.error("nothing can be stored, so no article is sent: %s", reason)
        elif reason is None and self.blocked is not None:
            log.warning("answers can be stored again")
        self.blocked = reason

    async def _write_singly(self, batch: Sequence[_Waiting], error: Exception) -> None:
        """Find the entry that cannot be stored, and fail it for its own lane only.

        It is stored already (another hub has the lane), or it is invalid through the hub's fault.
        """
        if not batch:
            log.error("a trial write failed", exc_info=error)
            return
        if len(batch) == 1:
            self._refuse(batch[0], error)
            return
        for waiting in batch:
            await self._write([waiting])

    def _refused(self, waiting: _Waiting) -> bool:
        """Refuse an entry of a lane with an earlier entry that could not be stored."""
        broken = (waiting.entry.lane, waiting.entry.epoch) in self._broken
        if broken:
            _settle(waiting.done, HubError("an earlier answer of this lane could not be stored"))
        return broken

    def _refuse(self, waiting: _Waiting, error: Exception) -> None:
        """Fail an entry that cannot be stored.

        Unless it is stored already, no more entries of the lane are accepted: a later one would
        move the cursor past the missing one.
        """
        if isinstance(error, sa.exc.IntegrityError):
            _settle(waiting.done, _stale_error(), error)
            return
        self._broken.add((waiting.entry.lane, waiting.entry.epoch))
        _settle(waiting.done, HubError(f"not stored: {error}"), error)


def _stale_error() -> HubError:
    return StaleLaneError("another hub has taken this lane")


def _settle(
    done: asyncio.Future[int], result: int | HubError, cause: Exception | None = None
) -> None:
    if done.done():  # the lane was cancelled meanwhile
        return
    if isinstance(result, HubError):
        result.__cause__ = cause
        done.set_exception(result)
    else:
        done.set_result(result)


class _Inserts:
    """The statements that insert a batch; each row is a tuple of its table's columns in order.

    SQLAlchemy writes each statement once. A row of dictionaries would pass through it each time,
    which takes longer than the database takes for the row.
    """

    def __init__(self, engine: sa.Engine) -> None:
        lane = ["phase_id", "server_id", "position", "number"]
        self.attempts = _statement(engine, attempts, [*lane, *_ATTEMPT])
        self.raw = _statement(engine, raw_answers, [*lane, "body"])
        self.answers = _statement(engine, answers, [*lane, "payloads", "hits_kept", "hits_dropped"])


_ATTEMPT = (
    "serial", "epoch", "started_at", "outcome", "message",
    "queue", "dns", "connect", "send", "wait", "transfer", "parse", "total",
    "bytes_out", "bytes_in", "problems", "problem_count", "final",
)  # fmt: skip


def _statement(engine: sa.Engine, table: sa.Table, columns: Sequence[str]) -> str:
    """Return an insert of rows of these columns, as the driver takes it."""
    compiled = sa.insert(table).compile(engine, column_keys=columns)
    assert isinstance(compiled, SQLCompiler)
    assert compiled.positiontup == columns  # else the rows' values would be mixed up
    return compiled.string


def _commit(
    engine: sa.Engine, inserts: _Inserts, batch: Sequence[AttemptRecord]
) -> Sequence[int | HubError]:
    """Write a batch in one transaction; return the serial of each entry, an error for a stale one.

    An empty batch is a trial write that changes nothing.
    """
    with engine.begin() as connection:
        if not batch:
            connection.exec_driver_sql("PRAGMA user_version = 0")
            return []
        standings = _standings(connection, {entry.lane for entry in batch})
        serials = list(_numbered(batch, standings))
        fresh = [(entry, serial) for entry, serial in zip(batch, serials, strict=True) if serial]
        if fresh:
            _insert(connection, inserts, fresh)
    return [serial or _stale_error() for serial in serials]


def _numbered(
    batch: Iterable[AttemptRecord], standings: Mapping[LaneKey, _Standing]
) -> Iterator[int]:
    """Yield the next serial of its lane for each entry, 0 for a stale one."""
    last = {lane: standing.serial for lane, standing in standings.items()}
    for entry in batch:
        standing = standings.get(entry.lane)
        if standing is None or standing.epoch != entry.epoch:
            yield 0
        else:
            last[entry.lane] += 1
            yield last[entry.lane]


def _insert(
    connection: sa.Connection, inserts: _Inserts, fresh: Sequence[tuple[AttemptRecord, int]]
) -> None:
    entries = [entry for entry, _ in fresh]
    connection.exec_driver_sql(
        inserts.attempts, [_attempt_row(entry, serial) for entry, serial in fresh]
    )
    if raw := [_raw_row(entry) for entry in entries if entry.attempt.raw]:
        connection.exec_driver_sql(inserts.raw, raw)
    if accepted := [
        _answer_row(entry, entry.answer) for entry in entries if entry.answer is not None
    ]:
        connection.exec_driver_sql(inserts.answers, accepted)
    cursors = {entry.lane: entry.cursor for entry in entries if entry.final}
    progress = [
        {"p": lane.phase_id, "s": lane.server_id, "c": cursors.get(lane), "n": serial}
        for lane, serial in {entry.lane: serial for entry, serial in fresh}.items()
    ]
    connection.execute(_PROGRESS, progress)


_PROGRESS = (
    sa.update(lanes)
    .where(lanes.c.phase_id == sa.bindparam("p"), lanes.c.server_id == sa.bindparam("s"))
    .values(serial=sa.bindparam("n"), cursor=sa.func.coalesce(sa.bindparam("c"), lanes.c.cursor))
)
_STANDINGS = sa.select(lanes.c.phase_id, lanes.c.server_id, lanes.c.epoch, lanes.c.serial).where(
    sa.tuple_(lanes.c.phase_id, lanes.c.server_id).in_(sa.bindparam("keys", expanding=True))
)


def _standings(connection: sa.Connection, keys: set[LaneKey]) -> dict[LaneKey, _Standing]:
    rows = connection.execute(_STANDINGS, {"keys": [tuple(key) for key in keys]})
    return {LaneKey(phase, server): _Standing(*standing) for phase, server, *standing in rows}


_Row: TypeAlias = tuple[Any, ...]


def _key(entry: AttemptRecord) -> _Row:
    return (*entry.lane, entry.position, entry.attempt.number)


def _attempt_row(entry: AttemptRecord, serial: int) -> _Row:
    attempt, timings = entry.attempt, entry.attempt.timings
    problems = [[problem.path, problem.message] for problem in attempt.problems]
    return (
        *_key(entry),
        serial,
        entry.epoch,
        attempt.started_at,
        attempt.outcome.value,
        attempt.message,
        timings.queue,
        timings.dns,
        timings.connect,
        timings.send,
        timings.wait,
        timings.transfer,
        timings.parse,
        timings.total,
        attempt.bytes_out,
        attempt.bytes_in,
        msgspec.json.encode(problems) if problems else None,
        attempt.problem_count,
        entry.final,
    )


def _raw_row(entry: AttemptRecord) -> _Row:
    return (*_key(entry), entry.attempt.raw)


def _answer_row(entry: AttemptRecord, answer: CheckedAnswer) -> _Row:
    payloads = pack_json(answer.payloads)
    return (*_key(entry), payloads, answer.hits_kept, answer.hits_dropped)
