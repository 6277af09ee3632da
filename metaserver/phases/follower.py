"""The follower of the logs of a phase's lanes, which keeps boards, monitor and windows up to date.

The order of a lane's log is the only order in which its attempts are counted, live or read from the
store: the same log gives the same boards, to the last bit. Attempts that a lane publishes are taken
at once where the log was followed up to them. Where it was not, since the hub was started or
an attempt is missing, the store is read until nothing is left; the lane is behind meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from metaserver.files.compression import unpack_json
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd
from metaserver.model.errors import HubError, UnavailableError
from metaserver.model.lanes import Corpus, LaneKey
from metaserver.model.records import Server, ServerName
from metaserver.monitoring.monitor import ServerMonitor
from metaserver.monitoring.tally import Ended
from metaserver.monitoring.windows import LONGEST, Windows
from metaserver.phases.checkpoints import Basis, CheckpointError, Content, decode
from metaserver.phases.live import Landed, LiveBoards
from metaserver.phases.restore import batches
from metaserver.store import checkpoints, logs, states
from metaserver.store.checkpoints import StoredCheckpoint
from metaserver.store.logs import LogEnd, LoggedAttempt
from metaserver.store.store import Store

LANES = 32
"""Checkpoints that are read at a time."""
CHUNK = 256
"""Attempts that are read at a time."""
LEAST_NEW = 256
"""A lane with fewer attempts since its checkpoint is not due for the next one."""
NEW_SHARE = 0.25
"""Nor is one whose attempts since then are less than this share of its log."""

log = logging.getLogger(__name__)


class CaughtUp(NamedTuple):
    """The number of lanes that are up to date, of all."""

    done: int
    total: int


@dataclass(kw_only=True, slots=True, eq=False)
class _Lane:
    """A lane as far as its log was followed.

    `end` is the end of the log as far as it is known; `read` and `scored` are the last serials that
    count in its measures and in its runs' scores. `early` are attempts that were published before
    their predecessors.
    """

    server: Server
    key: LaneKey
    end: LogEnd
    read: int = 0
    scored: int = 0
    kept: LogEnd | None = None  # of its checkpoint
    round: int = 0  # raised when its log is to be read from its beginning
    behind: bool = True
    begun: bool = False  # what the store has besides the log was read
    early: dict[int, AttemptEnded] = field(default_factory=dict)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def new(self) -> int:
        """The number of attempts that its checkpoint does not cover."""
        if self.kept is None or self.kept.revision != self.end.revision:
            return self.read
        return self.read - self.kept.serial


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeCheckpoint:
    """The aggregates of a lane at an end of its log; `gold` counts the changes of gold before."""

    server: ServerName
    key: LaneKey
    end: LogEnd
    content: Content
    gold: int


class Follower:
    """The follower of the lanes of one phase; `clock` returns Unix seconds.

    `measuring` returns an empty monitor and empty windows, as those of the phase.
    """

    def __init__(
        self,
        store: Store,
        boards: LiveBoards,
        windows: Windows,
        corpus: Corpus,
        *,
        basis: Basis,
        measuring: Callable[[], tuple[ServerMonitor, Windows]],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._boards = boards
        self._windows = windows
        self._corpus = corpus
        self._basis = basis
        self._measuring = measuring
        self._clock = clock
        self._lanes: dict[ServerName, _Lane] = {}
        self._behind: dict[ServerName, _Lane] = {}
        self._urgent: dict[ServerName, _Lane] = {}  # of those: lanes at work, which go first
        self._gold_changes = 0
        self._beginning = asyncio.Lock()
        self._changed: dict[
            ServerName, float
        ] = {}  # when a lane first changed since its checkpoint
        self._due: dict[ServerName, None] = {}

    # -- lanes -----------------------------------------------------------------------------------

    def add(self, server: Server, key: LaneKey, end: LogEnd, *, has_changed: bool = True) -> None:
        """Follow a lane whose log ends there.

        It is behind until `catch_up`, unless it has neither attempts nor changes of state.
        """
        lane = self._lanes.get(server.name)
        if lane is not None:
            lane.server = server
            return
        lane = self._lanes[server.name] = _Lane(server=server, key=key, end=end)
        if end.serial or has_changed:
            self._fall_behind(lane)
        else:
            lane.behind, lane.begun = False, True

    def is_behind(self, server: ServerName) -> bool:
        """Return whether stored attempts of a lane are not counted yet."""
        return server in self._behind

    @property
    def progress(self) -> CaughtUp:
        """The number of lanes that are up to date."""
        return CaughtUp(len(self._lanes) - len(self._behind), len(self._lanes))

    def expect(self, server: ServerName, serial: int) -> None:
        """Read a lane's log from the store where it is longer than was published."""
        lane = self._lanes[server]
        lane.end = lane.end._replace(serial=max(serial, lane.end.serial))
        if lane.read + len(lane.early) < lane.end.serial:
            self._fall_behind(lane)

    def limit(self, basis: Basis) -> None:
        """Count all attempts again: by another time limit."""
        self._basis = basis
        for lane in self._lanes.values():
            if lane.end.serial:
                self._restart(lane)

    def _restart(self, lane: _Lane) -> None:
        lane.round += 1
        lane.read, lane.kept = 0, None
        lane.early.clear()
        self._fall_behind(lane)

    def _fall_behind(self, lane: _Lane) -> None:
        lane.behind = True
        self._behind[lane.server.name] = lane
        self._boards.server_monitor.behind(lane.server.name, True)
        self._boards.touch()

    def _arrive(self, lane: _Lane) -> None:
        lane.behind = False
        del self._behind[lane.server.name]
        self._urgent.pop(lane.server.name, None)
        self._boards.server_monitor.behind(lane.server.name, False)
        self._boards.touch()

    # -- live ------------------------------------------------------------------------------------

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Take an event of a lane."""
        lane = self._lanes[event.server.name]
        if isinstance(event, LaneChanged):
            self._boards.publish(event)
            if event.end is not None and event.end is not LaneEnd.SLICE:
                self._rest(lane)
            return
        lane.end = lane.end._replace(serial=max(event.serial, lane.end.serial))
        if lane.behind:  # it is in the store: whoever reads it comes to it
            self._urgent[lane.server.name] = lane
            return
        if event.serial <= lane.read:
            return
        lane.early[event.serial] = event
        while (following := lane.early.pop(lane.read + 1, None)) is not None:
            self._take(lane, following)

    def _rest(self, lane: _Lane) -> None:
        """Take the end of a lane's work."""
        if lane.early and not lane.behind:
            self._fall_behind(lane)  # the attempts between may not be published any more
        if lane.new:
            self._due[lane.server.name] = None

    def _take(self, lane: _Lane, event: AttemptEnded) -> None:
        hits = event.answer.hits_kept if event.answer else 0
        try:
            self._boards.publish(event)
        except Exception:  # a fault of a scorer: the measures have the attempt, the runs do not
            self._restart(lane)
            raise
        self._windows.attempt(
            event.server.name,
            Ended.of(
                event.attempt,
                hits=hits,
                article_bytes=self._corpus.wire_bytes[event.position],
                final=event.decision.final,
            ),
        )
        lane.read = lane.scored = event.serial
        self._note(lane)

    # -- checkpoints -----------------------------------------------------------------------------

    def _note(self, lane: _Lane) -> None:
        """Note that a lane has attempts that its checkpoint does not cover."""
        name = lane.server.name
        if name not in self._changed:
            self._changed[name] = self._clock()
        if lane.new >= max(LEAST_NEW, NEW_SHARE * lane.read):
            self._due[name] = None

    def void_scores(self) -> None:
        """Note that all checkpoints are of another gold."""
        self._gold_changes += 1
        for lane in self._lanes.values():
            lane.kept = None
            if lane.read:
                self._note(lane)

    def due(self, seconds: float) -> Sequence[ServerName]:
        """Return the lanes that are to have a checkpoint.

        They have many new attempts, or some for `seconds` already.
        """
        before = self._clock() - seconds
        late = [name for name, at in self._changed.items() if at <= before]
        return [name for name in {**self._due, **dict.fromkeys(late)} if not self.is_behind(name)]

    def unkept(self) -> Sequence[ServerName]:
        """Return the lanes with attempts that no checkpoint covers, most attempts first."""
        found = [name for name in self._changed if not self.is_behind(name)]
        return sorted(found, key=lambda name: -self._lanes[name].new)

    def make(self, server: ServerName) -> MadeCheckpoint:
        """Return the aggregates of a lane that is up to date."""
        lane = self._lanes[server]
        content = Content(
            self._basis,
            self._boards.server_monitor.dump(server),
            self._windows.dump(server),
            tuple(self._boards.scoreboard.dump(server)),
        )
        return MadeCheckpoint(
            server=server,
            key=lane.key,
            end=LogEnd(lane.read, lane.end.revision),
            content=content,
            gold=self._gold_changes,
        )

    def keep(self, made: MadeCheckpoint) -> None:
        """Note that a checkpoint was stored."""
        lane = self._lanes[made.server]
        self._changed.pop(made.server, None)
        self._due.pop(made.server, None)
        if (made.content.basis, made.gold) == (self._basis, self._gold_changes):
            lane.kept = made.end
        if lane.new:
            self._note(lane)

    # -- reading ---------------------------------------------------------------------------------

    async def catch_up(self) -> None:
        """Read the logs of all lanes that are behind; a failure is logged, and raised at the end.

        All checkpoints come first, then the logs of lanes at work.
        """
        failed: dict[ServerName, Exception] = {}
        await self._begin(list(self._behind.values()))
        while (lane := self._next(failed)) is not None:
            try:
                await self._catch_up(lane)
            except UnavailableError:
                raise
            except Exception as error:  # one lane's fault must not keep the others behind
                log.exception("the log of %s cannot be read", lane.server.name)
                failed[lane.server.name] = error
        for failure in failed.values():
            raise failure

    def _next(self, failed: Container[ServerName]) -> _Lane | None:
        behind = itertools.chain(self._urgent.items(), self._behind.items())
        return next((lane for name, lane in behind if name not in failed), None)

    async def read_again(self, server: ServerName) -> None:
        """Read the log of a lane from its beginning: attempts in it have changed."""
        lane = self._lanes[server]
        await self._begin([lane])
        async with self._store.reading() as connection:
            end = await logs.end(connection, lane.key)
        async with lane.reading:
            lane.end = LogEnd(max(lane.end.serial, end.serial), end.revision)
            self._restart(lane)
        await self._catch_up(lane)

    async def _begin(self, lanes: Sequence[_Lane]) -> None:
        """Read the changes of state of lanes, and begin with their checkpoints."""
        async with self._beginning:
            new = [lane for lane in lanes if not lane.begun]
            for start in range(0, len(new), LANES):
                await self._begin_some(new[start : start + LANES])

    async def _begin_some(self, lanes: Sequence[_Lane]) -> None:
        keys = [lane.key for lane in lanes]
        month = self._clock() - LONGEST.seconds
        async with self._store.reading() as connection:
            changes = await states.list_changes_of(connection, keys, since=month)
            stored = await checkpoints.get_all(connection, keys)
        pairs = [(lane, stored[lane.key]) for lane in lanes if lane.key in stored]
        contents = await asyncio.to_thread(self._decoded, pairs)
        for lane in lanes:
            for change in changes.get(lane.key, ()):
                self._windows.state(lane.server.name, change.at, change.state, change.note)
            lane.begun = True
        for (lane, checkpoint), content in zip(pairs, contents, strict=True):
            try:
                self._use(lane, checkpoint, content)
            except CheckpointError as error:
                log.warning(
                    "the checkpoint of %s is not used, its answers are scored again: %s",
                    lane.server.name,
                    error,
                )
            await asyncio.sleep(0)  # a millisecond each
        for lane in lanes:
            if lane.behind and lane.read == lane.end.serial:
                self._arrive(lane)

    def _decoded(
        self, pairs: Iterable[tuple[_Lane, StoredCheckpoint]]
    ) -> Sequence[Content | CheckpointError]:
        found: list[Content | CheckpointError] = []
        for _, checkpoint in pairs:
            try:
                found.append(decode(checkpoint.content, self._basis))
            except CheckpointError as error:
                found.append(error)
        return found

    def _use(
        self, lane: _Lane, stored: StoredCheckpoint, content: Content | CheckpointError
    ) -> None:
        """Show what a checkpoint has; `CheckpointError` where it cannot be used."""
        name = lane.server.name
        if isinstance(content, CheckpointError):
            raise content
        if stored.end.revision != lane.end.revision:
            raise CheckpointError("articles were put into the queue again since")
        if stored.end.serial > lane.end.serial:
            raise CheckpointError("it covers attempts that are not stored")
        if content.basis != self._basis:
            raise CheckpointError("the time limit was changed meanwhile")
        for task, reason in self._boards.scoreboard.load(name, content.runs).items():
            self._boards.scoreboard.drop(name)
            raise CheckpointError(f"{task}: {reason}")
        self._boards.server_monitor.load(name, content.monitor)
        self._windows.load(name, content.windows)
        lane.read = lane.scored = stored.end.serial
        lane.kept = stored.end

    async def _catch_up(self, lane: _Lane) -> None:
        """Read a lane's log to its end."""
        await self._begin([lane])
        async with lane.reading:
            while lane.behind:
                await self._read(lane)

    async def _read(self, lane: _Lane) -> None:
        """Read a lane's log to its end, unless it is to be read from its beginning meanwhile."""
        begun = lane.round
        tail = _Tail.of(lane, self._boards.server_monitor, self._windows, self._measuring)
        while tail.read < lane.end.serial:
            if not (rows := await self._rows(lane, tail.read)):
                raise HubError(f"{lane.server.name} has no attempt {tail.read + 1}")
            for answers in await asyncio.to_thread(self._measure, lane, tail, rows):
                await self._score(lane, answers)
        if lane.round != begun:
            return
        # Nothing is awaited from here on: what is published next comes after what was read.
        self._boards.server_monitor.adopt(tail.monitor, lane.server.name)
        self._windows.adopt(tail.windows, lane.server.name)
        lane.read = lane.scored = tail.read
        lane.early.clear()
        self._arrive(lane)
        if lane.new:
            self._note(lane)

    async def _rows(self, lane: _Lane, after: int) -> Sequence[Any]:
        async with self._store.reading() as connection:
            return await logs.rows_after(connection, lane.key, after, limit=CHUNK)

    def _measure(
        self, lane: _Lane, tail: _Tail, rows: Sequence[Any]
    ) -> Sequence[Sequence[LoggedAttempt]]:
        """Count attempts in the measures; return those whose answers are to be scored."""
        logged = logs.decode(rows, lane.server.name, self._corpus)
        count(logged, lane.server.name, self._corpus, tail.monitor, tail.windows)
        tail.read = logged[-1].serial
        return list(batches(one for one in logged if one.payloads and one.serial > lane.scored))

    async def _score(self, lane: _Lane, answered: Sequence[LoggedAttempt]) -> None:
        answers = await asyncio.to_thread(_unpacked, lane.server.name, answered)
        await self._boards.restore(answers)
        lane.scored = answered[-1].serial


@dataclass(kw_only=True, slots=True)
class _Tail:
    """The measures of a lane while its log is read in a thread; they replace the shown ones."""

    monitor: ServerMonitor
    windows: Windows
    read: int

    @classmethod
    def of(
        cls,
        lane: _Lane,
        monitor: ServerMonitor,
        windows: Windows,
        measuring: Callable[[], tuple[ServerMonitor, Windows]],
    ) -> _Tail:
        """Return the measures of a lane as they are shown, those of an unread log empty."""
        name = lane.server.name
        copy, copied = measuring()
        copy.add(lane.server, "")
        if lane.read:
            copy.load(name, monitor.dump(name))
            copied.load(name, windows.dump(name))
        return cls(monitor=copy, windows=copied, read=lane.read)


def count(
    logged: Iterable[LoggedAttempt],
    server: ServerName,
    corpus: Corpus,
    monitor: ServerMonitor,
    windows: Windows,
) -> None:
    """Count stored attempts of a server, in the order of their serials."""
    ended = []
    for one in logged:
        monitor.attempt(one.attempt, final=one.final)
        article_bytes = corpus.wire_bytes[one.position]
        ended.append(
            Ended.of(one.attempt, hits=one.hits_kept, article_bytes=article_bytes, final=one.final)
        )
    windows.restore(server, ended)


def _unpacked(server: ServerName, answered: Iterable[LoggedAttempt]) -> Sequence[Landed]:
    return [
        Landed(server, one.attempt.article, unpack_json(one.payloads or b"")) for one in answered
    ]
