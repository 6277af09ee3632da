"""The reading of lanes' logs from the store: attempts counted and scored, mostly in threads."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from metaserver.base.compression import unpack, unpack_json
from metaserver.base.errors import HubError
from metaserver.base.lanes import Corpus, LaneKey, StateChange
from metaserver.base.records import Server, ServerName, TaskName
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.tally import EndedAttempt
from metaserver.boards.windows import Windows
from metaserver.lanes.events import AttemptEnded
from metaserver.phases.live import Landed, LiveBoards
from metaserver.phases.restore import batches
from metaserver.store import logs
from metaserver.store.logs import LogEnd, LoggedAttempt
from metaserver.store.store import Store

# -- a lane as far as its log was followed, and when it is to have its next checkpoint -------------

LEAST_NEW = 256
"""A lane with fewer attempts since its checkpoint is not due for the next."""
NEW_SHARE = 0.25
"""Nor is a lane whose attempts since then are less than this share of its log."""
LATE_SECONDS, LATE_SHARE = 600.0, 0.01
"""Longest time that new attempts are without a checkpoint, if they are this share of their log."""
WORTH = 32
"""Fewer new attempts are read again as fast as a checkpoint of them is written, at a stop."""
PART = 10_000
"""How many attempts are read before a checkpoint stores them; more in a long log."""


@dataclass(kw_only=True, slots=True, eq=False)
class FollowedLane:
    """A lane as far as its log was followed.

    `end` is the log's known end; `read` and `scored` are the last serials that count in its
    measures and in its runs' scores. `early` are attempts published before their predecessors.
    `heard` is the serial up to which other processes' attempts were passed on, or existed before
    the lane was followed. `changes` in its server's state are to be counted when it has begun;
    `changed` is the last counted id.
    """

    server: Server
    key: LaneKey
    end: LogEnd
    read: int = 0
    scored: int = 0
    heard: int = 0
    kept: LogEnd | None = None  # of its checkpoint
    round: int = 0  # raised when its log is to be read from its beginning
    revised: bool = False  # attempts in it have changed, and its end was not read since
    behind: bool = True
    begun: bool = False  # what the store has besides the log was read
    early: dict[int, AttemptEnded] = field(default_factory=dict)
    changes: list[StateChange] = field(default_factory=list)
    changed: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def new(self) -> int:
        """The number of attempts that its checkpoint does not cover."""
        if self.kept is None or self.kept.revision != self.end.revision:
            return self.read
        return self.read - self.kept.serial

    @property
    def is_due(self) -> bool:
        """True if enough attempts are new for a checkpoint."""
        return self.new >= max(LEAST_NEW, NEW_SHARE * self.read)

    @property
    def is_worth(self) -> bool:
        """True if a checkpoint at a hub's stop spares its next start time."""
        return self.new >= WORTH

    @property
    def late(self) -> float:
        """The longest time that its new attempts are without a checkpoint, in seconds."""
        return LATE_SECONDS * max(1.0, LATE_SHARE * self.read / max(1, self.new))

    @property
    def part(self) -> int:
        """The serial to which its log is read next, before a checkpoint keeps what was read."""
        return self.read + max(PART, int(NEW_SHARE * self.read))

    def begin_again(self) -> None:
        """Begin with its log's first attempt; what was scored stays."""
        self.round += 1
        self.read, self.kept = 0, None
        self.early.clear()


# -- the reading of lanes' logs from the store: attempts counted and scored, mostly in threads -----

CHUNK = 256
"""How many attempts are read at a time."""
_TASKS = msgspec.json.Decoder(dict[TaskName, msgspec.Raw])


@dataclass(frozen=True, kw_only=True, slots=True)
class LogReader:
    """Reads the logs of a phase's lanes; their answers are scored on its boards.

    `measuring` returns an empty monitor and empty windows, like the phase's; for `on_attempt` see
    `Follower`.
    """

    store: Store
    boards: LiveBoards
    windows: Windows
    corpus: Corpus
    measuring: Callable[[], tuple[ServerMonitor, Windows]]
    on_attempt: Callable[[LoggedAttempt], None] | None = None

    async def read(self, lane: FollowedLane) -> bool:
        """Read the next part of a lane's log (usually all of it), and count it.

        Return whether it counts: not if the log is to be read from its beginning meanwhile.
        """
        if lane.revised:
            await self._read_end(lane)
        round_, part, monitor = lane.round, lane.part, self.boards.server_monitor
        tail = _Tail.of(lane, monitor, self.windows, self.measuring)
        while lane.round == round_ and tail.read < min(lane.end.serial, part):
            if not (rows := await self._rows(lane, tail.read)):
                raise HubError(f"{lane.server.name} has no attempt {tail.read + 1}")
            for answers in await asyncio.to_thread(self._measure, lane, tail, rows):
                await self._score(lane, answers)
        if lane.round != round_:
            return False
        # Nothing is awaited from here on: what is published next comes after what was read.
        monitor.adopt(tail.monitor, lane.server.name)
        self.windows.adopt(tail.windows, lane.server.name)
        lane.read, lane.scored = tail.read, max(lane.scored, tail.read)
        self._tell(lane, tail.new)
        return True

    async def read_new(self, lanes: Sequence[FollowedLane]) -> None:
        """Read to their ends the logs of lanes in which little is new, together, and count it.

        A lane whose log is to be read from its beginning meanwhile is left out.
        """
        rounds = [lane.round for lane in lanes]
        by_name = {lane.server.name: lane for lane in lanes}
        wanted = {lane.key.server_id: (lane.read, lane.end.serial) for lane in lanes}
        async with self.store.reading() as connection:
            rows = await logs.new_rows(connection, lanes[0].key.phase_id, wanted)
        decoded = await asyncio.to_thread(self._decoded, lanes, rows)
        for answers in batches(_to_be_scored(lanes, decoded)):
            await self.boards.restore(await asyncio.to_thread(_unpacked, answers))
            for answer in answers:
                by_name[answer.attempt.server].scored = answer.serial
        for lane, logged, round_ in zip(lanes, decoded, rounds, strict=True):
            if logged and lane.round == round_:
                monitor = self.boards.server_monitor
                count(logged, lane.server.name, self.corpus, monitor, self.windows)
                lane.read, lane.scored = logged[-1].serial, max(lane.scored, logged[-1].serial)
                self._tell(lane, logged)

    def _tell(self, lane: FollowedLane, logged: Iterable[LoggedAttempt]) -> None:
        """Pass on the attempts of a lane that were stored since it is followed, each once."""
        if self.on_attempt is None:
            return
        for entry in logged:
            if entry.serial > lane.heard:
                self.on_attempt(entry)
                lane.heard = entry.serial

    def _decoded(
        self, lanes: Iterable[FollowedLane], rows: Iterable[Any]
    ) -> Sequence[Sequence[LoggedAttempt]]:
        """Return each lane's attempts."""
        of_lanes: defaultdict[int, list[Any]] = defaultdict(list)
        for row in rows:
            of_lanes[row.server_id].append(row)
        return [
            logs.decode(of_lanes[lane.key.server_id], lane.server.name, self.corpus)
            for lane in lanes
        ]

    async def _read_end(self, lane: FollowedLane) -> None:
        """Find the end of a log whose attempts have changed."""
        round_ = lane.round
        async with self.store.reading() as connection:
            end = await logs.end(connection, lane.key)
        lane.end = LogEnd(max(lane.end.serial, end.serial), end.revision)
        lane.revised = lane.round != round_  # they have changed again

    async def _rows(self, lane: FollowedLane, after: int) -> Sequence[Any]:
        async with self.store.reading() as connection:
            return await logs.rows_after(connection, lane.key, after, limit=CHUNK)

    def _measure(
        self, lane: FollowedLane, tail: _Tail, rows: Sequence[Any]
    ) -> Sequence[Sequence[LoggedAttempt]]:
        """Count attempts in the measures; return those whose answers are to be scored."""
        logged = logs.decode(rows, lane.server.name, self.corpus)
        count(logged, lane.server.name, self.corpus, tail.monitor, tail.windows)
        tail.read = logged[-1].serial
        if self.on_attempt is not None and tail.read > lane.heard:
            tail.new += [
                entry._replace(payloads=None) for entry in logged if entry.serial > lane.heard
            ]
        return list(batches(_to_be_scored([lane], [logged])))

    async def _score(self, lane: FollowedLane, answered: Sequence[LoggedAttempt]) -> None:
        await self.boards.restore(await asyncio.to_thread(_unpacked, answered))
        lane.scored = answered[-1].serial


@dataclass(kw_only=True, slots=True)
class _Tail:
    """A lane's measures while its log is read in a thread; they replace the shown measures.

    `new` are the attempts to pass on.
    """

    monitor: ServerMonitor
    windows: Windows
    read: int
    new: list[LoggedAttempt] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        lane: FollowedLane,
        monitor: ServerMonitor,
        windows: Windows,
        measuring: Callable[[], tuple[ServerMonitor, Windows]],
    ) -> _Tail:
        """Return a lane's measures as shown, empty for an unread log."""
        server = lane.server
        copy, copied = measuring()
        copy.add(server, "")
        if lane.read:
            copy.load(server.name, monitor.dump(server.name))
            copied.load(server.name, windows.dump(server.name))
        return cls(monitor=copy, windows=copied, read=lane.read)


def count(
    logged: Iterable[LoggedAttempt],
    server: ServerName,
    corpus: Corpus,
    monitor: ServerMonitor,
    windows: Windows,
) -> None:
    """Count a server's stored attempts, in serial order."""
    ended = []
    for entry in logged:
        tasks = _TASKS.decode(unpack(entry.payloads)) if entry.payloads else ()
        monitor.attempt(entry.attempt, entry.position, final=entry.final, tasks=tasks)
        article_bytes = corpus.wire_bytes[entry.position]
        ended.append(
            EndedAttempt.of(
                entry.attempt, hits=entry.hits_kept, article_bytes=article_bytes, final=entry.final
            )
        )
    windows.restore(server, ended)


def _to_be_scored(
    lanes: Iterable[FollowedLane], decoded: Iterable[Iterable[LoggedAttempt]]
) -> Iterator[LoggedAttempt]:
    for lane, logged in zip(lanes, decoded, strict=True):
        yield from (entry for entry in logged if entry.payloads and entry.serial > lane.scored)


def _unpacked(answered: Iterable[LoggedAttempt]) -> Sequence[Landed]:
    return [
        Landed(entry.attempt.server, entry.attempt.article, unpack_json(entry.payloads or b""))
        for entry in answered
    ]
