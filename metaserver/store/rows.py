"""An attempt's rows, each a tuple of its table's columns in the order named here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from metaserver.base.compression import pack_json
from metaserver.base.lanes import AttemptRecord, CheckedAnswer, LaneKey

Row: TypeAlias = tuple[Any, ...]

_LANE = ("phase_id", "server_id", "position", "number")
ATTEMPT = (
    *_LANE, "serial", "epoch", "started_at", "outcome", "message",
    "queue", "dns", "connect", "send", "wait", "transfer", "parse", "total",
    "bytes_out", "bytes_in", "problems", "problem_count", "usage", "final",
)  # fmt: skip
RAW = (*_LANE, "body")
ANSWER = (*_LANE, "payloads", "hits_kept", "hits_dropped", "asides")
_UNSTORABLE = dict.fromkeys([0, *range(0xD800, 0xE000)], "\ufffd")


class LaneStanding(NamedTuple):
    """A lane's stored epoch and its log's last serial."""

    epoch: int
    serial: int


class BatchRows(NamedTuple):
    """A batch's rows by table; by lane its last serial, and its cursor if it moves."""

    attempts: Sequence[Row]
    raw: Sequence[Row]
    answers: Sequence[Row]
    progress: Sequence[tuple[LaneKey, int, int | None]]


def numbered(
    batch: Iterable[AttemptRecord], standings: Mapping[LaneKey, LaneStanding]
) -> Iterator[tuple[AttemptRecord, int]]:
    """Yield each entry with its lane's next serial, 0 for a stale entry."""
    last = {lane: standing.serial for lane, standing in standings.items()}
    for entry in batch:
        standing = standings.get(entry.lane)
        if standing is None or standing.epoch != entry.epoch:
            yield entry, 0
        else:
            last[entry.lane] += 1
            yield entry, last[entry.lane]


def rows_of(fresh: Sequence[tuple[AttemptRecord, int]]) -> BatchRows:
    """Return the rows for attempts with their serials."""
    entries = [entry for entry, _ in fresh]
    cursors = {entry.lane: entry.cursor for entry in entries if entry.final}
    serials = {entry.lane: serial for entry, serial in fresh}
    return BatchRows(
        attempts=[_attempt_row(entry, serial) for entry, serial in fresh],
        raw=[(*_key(entry), entry.attempt.raw) for entry in entries if entry.attempt.raw],
        answers=[_answer_row(entry, entry.answer) for entry in entries if entry.answer is not None],
        progress=[(lane, serial, cursors.get(lane)) for lane, serial in serials.items()],
    )


def storable(text: str) -> str:
    """Return a text with U+FFFD for each NUL and lone surrogate, which no text of PostgreSQL has.

    Servers send them in messages.
    """
    if text.isascii() and "\0" not in text:
        return text
    return text.translate(_UNSTORABLE)


def _key(entry: AttemptRecord) -> Row:
    return (*entry.lane, entry.position, entry.attempt.number)


def _attempt_row(entry: AttemptRecord, serial: int) -> Row:
    attempt, timings = entry.attempt, entry.attempt.timings
    problems = [[problem.path, problem.message] for problem in attempt.problems]
    return (
        *_key(entry),
        serial,
        entry.epoch,
        attempt.started_at,
        attempt.outcome.value,
        storable(attempt.message),
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
        None if attempt.usage is None else msgspec.json.encode(attempt.usage),
        entry.final,
    )


def _answer_row(entry: AttemptRecord, answer: CheckedAnswer) -> Row:
    payloads = pack_json(answer.payloads)
    asides = None if answer.asides is None else pack_json(answer.asides)
    return (*_key(entry), payloads, answer.hits_kept, answer.hits_dropped, asides)
