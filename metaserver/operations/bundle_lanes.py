"""Servers' attempts and answers in a bundle: written from a store, and read back line by line.

Attempts are a table (`boards.frozen`). Answers are JSON in the structure in which they were sent, a
line each, and are checked like a server's, by the phase's release.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Raw

from metaserver.base.compression import unpack_json
from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.lanes import Asides, AttemptRecord, CheckedAnswer, LaneKey, StoredAttempt
from metaserver.base.phases import DAY
from metaserver.base.plans import LimitSettings
from metaserver.base.records import ArticleId, Attempt, RegisteredServer, Timings
from metaserver.base.states import ANSWERED, Outcome
from metaserver.base.structs import convert
from metaserver.base.usage import DeclaredUsage
from metaserver.boards.frozen import ATTEMPT_COLUMNS, ATTEMPT_HEAD, attempt_line
from metaserver.exchange.wire.contract import MENTIONS, META, MOST_COST, MOST_TOKENS
from metaserver.exchange.wire.validation import Part, Vocabulary, check
from metaserver.operations.annotations import answer_of
from metaserver.operations.bundle_files import LIMITS, BundledServer, said
from metaserver.operations.fields import END, GREATEST
from metaserver.phases.runtime import RunningPhase
from metaserver.store import logs
from metaserver.store.logs import LoggedAttempt
from metaserver.store.reader import PackedAnswer, PackedAsides, ReadStore
from metaserver.store.rows import BatchRows, rows_of
from scoring.cells import inert

AT_ONCE = 200
"""Attempts or answers that are read from a store, or made into rows, at a time."""
MOST_FAULTS = 20
"""The most faults that are said of a server."""
MOST_LINE = 2**14
"""Bytes of an attempt's line."""
MOST_MESSAGE = 1_000
"""Characters of an attempt's message that are written."""
_OF_ANSWERS = frozenset({Outcome.PARTIAL, Outcome.SHAPE, Outcome.NO_VALID_HIT})
"""Outcomes whose messages are written: others may name the server's address."""
_NO_LANE = LaneKey(0, 0)

_Seconds = Annotated[float, Meta(ge=0, le=1e7)]
_Bytes = Annotated[int, Meta(ge=0, le=2**53)]
_Tokens = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An accepted answer: a line of a bundle."""

    article: str
    answer: Raw


class _AttemptLine(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt's cells that are not empty, without server and article."""

    attempt: Annotated[int, Meta(ge=1, le=GREATEST)]
    started_at: Annotated[datetime, Meta(tz=True)]
    outcome: Outcome
    message: str = ""
    queue: _Seconds | None = None
    dns: _Seconds | None = None
    connect: _Seconds | None = None
    send: _Seconds | None = None
    wait: _Seconds | None = None
    transfer: _Seconds | None = None
    parse: _Seconds | None = None
    total: _Seconds
    bytes_out: _Bytes
    bytes_in: _Bytes
    problems: Annotated[int, Meta(ge=0, le=GREATEST)]
    final: bool
    declared_tokens_in: _Tokens | None = None
    declared_tokens_out: _Tokens | None = None
    declared_cost: Annotated[float, Meta(ge=0, le=MOST_COST)] | None = None
    declared_currency: Annotated[str, Meta(pattern=f"^([A-Z]{{3}})?{END}")] = ""


# -- written ---------------------------------------------------------------------------------------


async def lane_files(
    store: ReadStore, running: RunningPhase, registered: RegisteredServer
) -> tuple[bytes, bytes]:
    """Return a server's attempts as a table, in the order of its log, and its answers as JSON."""
    key, name = running.key(registered), registered.server.name
    table, usages, serial = [ATTEMPT_HEAD.encode()], dict[int, DeclaredUsage | None](), 0
    while True:
        async with store.reading() as connection:
            rows = await logs.rows_after(connection, key, serial, limit=AT_ONCE)
        if not rows:
            break
        entries = await asyncio.to_thread(logs.decode, rows, name, running.corpus)
        table.append(await asyncio.to_thread(_attempt_lines, entries))
        _require_small(table)
        answered = [entry for entry in entries if entry.payloads is not None]
        usages |= {entry.position: entry.attempt.usage for entry in answered}
        serial = entries[-1].serial
    answers, after = list[bytes](), -1
    while packed := await store.packed_answers(key, after=after, limit=AT_ONCE):
        beside = await store.packed_asides(key, after=after, limit=len(packed))
        ids = running.corpus.ids
        answers.append(await asyncio.to_thread(_answer_lines, packed, beside, usages, ids))
        _require_small(answers)
        after = packed[-1].position
    return b"".join(table), b"".join(answers)


def too_large() -> RefusedError:
    """Return the refusal of an export that nothing could read."""
    message = "is too large for a bundle: make a backup, or leave its answers out"
    return RefusedError(Refusal.TOO_LARGE, message, field="challenge")


def _require_small(parts: Sequence[bytes]) -> None:
    if sum(map(len, parts)) > LIMITS.file_bytes:
        raise too_large()


def _attempt_lines(entries: Sequence[LoggedAttempt]) -> bytes:
    return "".join(map(_attempt_line, entries)).encode()


def _attempt_line(entry: LoggedAttempt) -> str:
    attempt = entry.attempt
    told = attempt.message[:MOST_MESSAGE] if attempt.outcome in _OF_ANSWERS else ""
    attempt = msgspec.structs.replace(attempt, message=told)
    return attempt_line(attempt.server, StoredAttempt(entry.position, attempt, entry.final))


def _answer_lines(
    packed: Sequence[PackedAnswer],
    beside: Sequence[PackedAsides],
    usages: Mapping[int, DeclaredUsage | None],
    ids: Sequence[ArticleId],
) -> bytes:
    """Return the lines of the answers that were there when the attempts were read."""
    asides = {one.position: one.asides for one in beside}
    found = []
    for position, payloads in packed:
        if position in usages:
            answer = answer_of(unpack_json(payloads), Asides.unpacked(asides.get(position)))
            usage = usages[position]
            answer |= {META: usage} if usage is not None else {}
            line = {"article": ids[position], "answer": answer}
            found.append(msgspec.json.encode(line) + b"\n")
    return b"".join(found)


# -- read ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LaneRules:
    """What a server's files are checked by: `now` bounds the moments of its attempts."""

    ids: Sequence[ArticleId]
    parts: Collection[Part]
    vocabulary: Vocabulary
    limits: LimitSettings
    now: float


@dataclass(kw_only=True)
class LaneDraft:
    """A server's log as rows for `logs.put`, and all that is wrong with its files."""

    rows: list[BatchRows] = field(default_factory=list)
    cursor: int = 0
    faults: list[InputError] = field(default_factory=list)


class _Answered(NamedTuple):
    line: int
    answer: Raw


def read_lane(
    server: BundledServer, attempts: bytes, answers: bytes, rules: LaneRules
) -> LaneDraft:
    """Read a server's files, which are not trusted. Slow for large files: for a thread."""
    return _LaneReader(server, rules).read(attempts, answers)


class _LaneReader:
    def __init__(self, server: BundledServer, rules: LaneRules) -> None:
        self._server = server
        self._rules = rules
        self._positions = {inert(article): place for place, article in enumerate(rules.ids)}
        self._known = frozenset(rules.ids)
        self._keys = {part.key for part in rules.parts} | {MENTIONS, META}
        self._tried: set[tuple[int, int]] = set()
        self._finished: set[int] = set()
        self._draft = LaneDraft()

    def read(self, attempts: bytes, answers: bytes) -> LaneDraft:
        draft, left = self._draft, self._answers(answers)
        batch: list[tuple[AttemptRecord, int]] = []
        for serial, record in enumerate(self._records(attempts, left), start=1):
            batch.append((record, serial))
            if len(batch) == AT_ONCE:
                draft.rows.append(rows_of(batch))
                batch = []
        if batch:
            draft.rows.append(rows_of(batch))
        for answered in left.values():
            if self._full:
                break
            self._fault(self._server.answers, "no attempt has brought it", answered.line)
        places = range(len(self._rules.ids) + 1)
        draft.cursor = next(place for place in places if place not in self._finished)
        return draft

    def _fault(self, place: str, message: str, line: int | None = None) -> None:
        self._draft.faults.append(InputError(place, message, line=line))

    @property
    def _full(self) -> bool:
        return len(self._draft.faults) >= MOST_FAULTS

    def _answers(self, content: bytes) -> dict[ArticleId, _Answered]:
        """Return the answers by article; they are checked with their attempts."""
        found: dict[ArticleId, _Answered] = {}
        place, limits = self._server.answers, self._rules.limits
        for number, line in enumerate(io.BytesIO(content), start=1):
            if self._full:
                break
            values = line.count(b",") + line.count(b"[") + line.count(b"{")
            if len(line) > limits.answer_bytes or values > limits.answer_values:
                self._fault(place, "larger than an answer may be", number)
                continue
            try:
                answer = msgspec.json.decode(line, type=AnswerLine)
            except msgspec.ValidationError as error:
                self._fault(place, said(error, AnswerLine)[0], number)
            except (msgspec.DecodeError, RecursionError) as error:
                self._fault(place, f"not JSON: {error}", number)
            else:
                article = ArticleId(answer.article)
                if article not in self._known:
                    self._fault(place, "article: none of the phase's", number)
                elif article in found:
                    self._fault(place, "article: has an answer already", number)
                found[article] = _Answered(number, answer.answer)
        return found

    def _records(self, content: bytes, left: dict[ArticleId, _Answered]) -> Iterator[AttemptRecord]:
        """Yield the attempts with their answers, which are taken from those that are `left`."""
        place, lines = self._server.attempts, io.BytesIO(content)
        if lines.readline().decode("utf-8", "replace").rstrip("\r\n") != ATTEMPT_HEAD.rstrip("\n"):
            self._fault(place, f"expected the columns {', '.join(ATTEMPT_COLUMNS)}", 1)
            return
        for number, line in enumerate(lines, start=2):
            if self._full:
                return
            try:
                record = self._record(line)
            except ValueError as error:
                self._fault(place, str(error), number)
                continue
            if record.attempt.outcome in ANSWERED:
                article = record.attempt.article
                answered = left.pop(article, None)
                if answered is None:
                    self._fault(place, "its answer is missing", number)
                elif (answer := self._answer(answered)) is not None:
                    attempt = msgspec.structs.replace(record.attempt, usage=answer.usage)
                    yield msgspec.structs.replace(record, attempt=attempt, answer=answer)
                continue
            yield record

    def _record(self, line: bytes) -> AttemptRecord:
        """Return the attempt of a line; `ValueError` says what is wrong."""
        if len(line) > MOST_LINE:
            raise ValueError(f"larger than {MOST_LINE >> 10} KiB")
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
        except UnicodeDecodeError as error:
            raise ValueError(f"not UTF-8 text: {error.reason}") from error
        if len(cells) != len(ATTEMPT_COLUMNS):
            raise ValueError(f"expected {len(ATTEMPT_COLUMNS)} columns, got {len(cells)}")
        name, article, *_ = cells
        if name != inert(self._server.server):
            raise ValueError(f"server: expected {self._server.server}")
        if (position := self._positions.get(article)) is None:
            raise ValueError("article: none of the phase's")
        filled = {name: cell for name, cell in zip(ATTEMPT_COLUMNS, cells, strict=True) if cell}
        try:
            found = msgspec.convert(filled, _AttemptLine, strict=False)
        except msgspec.ValidationError as error:
            raise ValueError(said(error, _AttemptLine)[0]) from error
        began = found.started_at.timestamp()
        if not 0 <= began <= self._rules.now + DAY:
            raise ValueError("started_at: before 1970, or not yet")
        if (position, found.attempt) in self._tried:
            raise ValueError("attempt: an attempt of this number is there already")
        if position in self._finished:
            raise ValueError("final: an earlier attempt was the article's last")
        if found.outcome in ANSWERED and not found.final:
            raise ValueError("final: expected 1 for an answer")
        if (found.declared_cost is None) == bool(found.declared_currency):
            raise ValueError("declared_currency: expected with a cost, and only there")
        self._tried.add((position, found.attempt))
        if found.final:
            self._finished.add(position)
        return AttemptRecord(
            lane=_NO_LANE,
            epoch=0,
            position=position,
            attempt=convert(
                found,
                Attempt,
                server=self._server.server,
                article=self._rules.ids[position],
                number=found.attempt,
                started_at=began,
                timings=convert(found, Timings),
                problem_count=found.problems,
                problems=(),
                usage=_declared(found),
            ),
            answer=None,
            final=found.final,
            cursor=0,
        )

    def _answer(self, answered: _Answered) -> CheckedAnswer | None:
        """Return an answer of which every hit is kept; None, with a fault, for any other."""
        place, rules = self._server.answers, self._rules
        try:
            value: Any = msgspec.json.decode(answered.answer)
        except (msgspec.DecodeError, RecursionError) as error:
            self._fault(place, f"answer: not JSON: {error}", answered.line)
            return None
        unknown = value.keys() - self._keys if isinstance(value, dict) else ()
        answer = check(value, rules.parts, rules.vocabulary)
        if answer.outcome is Outcome.OK and not unknown:
            return answer
        message = answer.message or f"{min(unknown)[:64]!r} is of no task of the phase"
        self._fault(place, f"answer: {message}", answered.line)
        return None


def _declared(found: _AttemptLine) -> DeclaredUsage | None:
    usage = DeclaredUsage(
        tokens_in=found.declared_tokens_in,
        tokens_out=found.declared_tokens_out,
        cost=found.declared_cost,
        currency=found.declared_currency,
    )
    return None if usage == DeclaredUsage() else usage
