"""Follows the logs of a phase's lanes, and keeps boards, monitor and windows up to date.

A lane's attempts are counted only in log order, live or read from the store: the same log gives the
same boards, to the last bit. Attempts that a lane publishes are taken at once if the log was
followed up to them. If it was not, since the hub was started or an attempt is missing, the store is
read until nothing is left; the lane is behind meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import NamedTuple

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import Corpus, LaneKey, StateChange
from metaserver.base.records import Server, ServerName
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.tally import EndedAttempt
from metaserver.boards.windows import LONGEST, Windows
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd
from metaserver.phases.checkpoints import Basis, CheckpointError, Content, decode, encode
from metaserver.phases.live import LiveBoards
from metaserver.phases.log_reader import CHUNK, FollowedLane, LogReader
from metaserver.store import logs, states
from metaserver.store.logs import LogEnd, LoggedAttempt, StoredCheckpoint
from metaserver.store.store import Store

LANES = 32
"""Checkpoints that are read at a time."""

log = logging.getLogger(__name__)


class CaughtUp(NamedTuple):
    """The number of lanes that are up to date, and the total."""

    done: int
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeCheckpoint:
    """A lane's aggregates at some log end; `gold` counts the gold changes before."""

    server: ServerName
    key: LaneKey
    end: LogEnd
    content: Content
    gold: int


class Follower:
    """Follows a phase's lanes; `clock` returns Unix seconds.

    `measuring` returns an empty monitor and empty windows, like the phase's. `on_attempt` is called
    once with each attempt stored while the lane is followed: for a process that does not make them
    itself.
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
        on_attempt: Callable[[LoggedAttempt], None] | None = None,
    ) -> None:
        self._store = store
        self._boards = boards
        self._windows = windows
        self._corpus = corpus
        self._basis = basis
        self._reader = LogReader(
            store=store,
            boards=boards,
            windows=windows,
            corpus=corpus,
            measuring=measuring,
            on_attempt=on_attempt,
        )
        self._clock = clock
        self._lanes: dict[ServerName, FollowedLane] = {}
        self._behind: dict[ServerName, FollowedLane] = {}
        self._urgent: dict[ServerName, FollowedLane] = {}  # of those: lanes at work, which go first
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
        lane = FollowedLane(server=server, key=key, end=end, heard=end.serial)
        self._lanes[server.name] = lane
        if end.serial or has_changed:
            self._fall_behind(lane)
        else:
            lane.behind, lane.begun = False, True

    def is_behind(self, server: ServerName) -> bool:
        """Return whether some of a lane's stored attempts are not counted yet."""
        return server in self._behind

    @property
    def behind(self) -> Set[ServerName]:
        """The servers whose lanes are behind."""
        return frozenset(self._behind)

    @property
    def progress(self) -> CaughtUp:
        """The number of lanes that are up to date."""
        return CaughtUp(len(self._lanes) - len(self._behind), len(self._lanes))

    def expect(self, server: ServerName, serial: int) -> None:
        """Read a lane's log from the store if it is longer than was published."""
        lane = self._lanes[server]
        lane.end = lane.end._replace(serial=max(serial, lane.end.serial))
        if lane.read + len(lane.early) < lane.end.serial:
            self._fall_behind(lane)

    async def follow(self, ends: Mapping[ServerName, int]) -> None:
        """Read what other processes have added to lanes' logs, up to these serials.

        A few attempts per lane are read at once; a lane with more is behind.
        """
        new_lanes = []
        for server, serial in ends.items():
            lane = self._lanes[server]
            if serial - lane.read > CHUNK or lane.behind:
                self.expect(server, serial)
            elif serial > lane.read:
                lane.end = lane.end._replace(serial=serial)
                new_lanes.append(lane)
        for batch in _parts(new_lanes):
            async with AsyncExitStack() as stack:
                for lane in batch:
                    await stack.enter_async_context(lane.reading)
                if ready := [lane for lane in batch if not lane.behind]:
                    await self._reader.read_new(ready)
            for lane in batch:
                self._boards.scoreboard.touch(lane.server.name)
                self._note(lane)
            self._boards.touch()

    def change(self, server: ServerName, change: StateChange) -> None:
        """Take in a stored change of a server's state, once; they come in their order."""
        lane = self._lanes[server]
        lane.changes.append(change)
        if lane.begun:
            self._count_changes(lane)

    def _count_changes(self, lane: FollowedLane) -> None:
        for change in lane.changes:
            if change.id > lane.changed:
                self._windows.state(lane.server.name, change.at, change.state, change.note)
                lane.changed = change.id
        lane.changes.clear()

    def limit(self, basis: Basis) -> None:
        """Count all attempts again: by another time limit."""
        self._basis = basis
        for lane in self._lanes.values():
            if lane.end.serial:
                self._restart(lane)

    def _restart(self, lane: FollowedLane) -> None:
        lane.begin_again()
        self._fall_behind(lane)

    def _fall_behind(self, lane: FollowedLane) -> None:
        lane.behind = True
        self._behind[lane.server.name] = lane
        self._boards.server_monitor.behind(lane.server.name, True)
        self._boards.touch()

    def _arrive(self, lane: FollowedLane) -> None:
        lane.behind = False
        self._boards.scoreboard.touch(lane.server.name)  # other articles are over for it
        del self._behind[lane.server.name]
        self._urgent.pop(lane.server.name, None)
        self._boards.server_monitor.behind(lane.server.name, False)
        self._boards.touch()

    # -- live ------------------------------------------------------------------------------------

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        """Process a lane's event."""
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

    def _rest(self, lane: FollowedLane) -> None:
        """Process the end of a lane's work."""
        if lane.early and not lane.behind:
            self._fall_behind(lane)  # the attempts between may not be published any more

    def _take(self, lane: FollowedLane, event: AttemptEnded) -> None:
        hits = event.answer.hits_kept if event.answer else 0
        try:
            self._boards.publish(event)
        except Exception:  # a fault of a scorer: the measures have the attempt, the runs do not
            self._restart(lane)
            raise
        self._windows.attempt(
            event.server.name,
            EndedAttempt.of(
                event.attempt,
                hits=hits,
                article_bytes=self._corpus.wire_bytes[event.position],
                final=event.decision.final,
            ),
        )
        lane.read = lane.scored = event.serial
        self._note(lane)

    # -- checkpoints -----------------------------------------------------------------------------

    def _note(self, lane: FollowedLane) -> None:
        """Note that a lane has attempts that its checkpoint does not cover."""
        name = lane.server.name
        if name not in self._changed:
            self._changed[name] = self._clock()
        if lane.is_due:
            self._due[name] = None

    def void_scores(self) -> None:
        """Note that all checkpoints belong to another gold."""
        self._gold_changes += 1
        for lane in self._lanes.values():
            lane.kept = None
            if lane.read:
                self._note(lane)

    def due(self) -> Sequence[ServerName]:
        """Return the lanes that are to have a checkpoint.

        They have many new attempts, or some for a while: for the longer, the fewer they are beside
        the log, all of which is written again.
        """
        now = self._clock()
        late = [name for name, at in self._changed.items() if at + self._lanes[name].late <= now]
        return [name for name in {**self._due, **dict.fromkeys(late)} if not self.is_behind(name)]

    def unkept(self) -> Sequence[ServerName]:
        """Return the lanes whose new attempts are worth a checkpoint, most attempts first."""
        readable = [name for name in self._changed if not self.is_behind(name)]
        worthy = [name for name in readable if self._lanes[name].is_worth]
        return sorted(worthy, key=lambda name: -self._lanes[name].new)

    def make(self, server: ServerName) -> MadeCheckpoint:
        """Return a lane's aggregates, whose measures and scores cover the same serial."""
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

    def keep(self, checkpoint: MadeCheckpoint) -> None:
        """Note that a checkpoint was stored."""
        lane = self._lanes[checkpoint.server]
        self._changed.pop(checkpoint.server, None)
        self._due.pop(checkpoint.server, None)
        if (checkpoint.content.basis, checkpoint.gold) == (self._basis, self._gold_changes):
            lane.kept = checkpoint.end
        if lane.new:
            self._note(lane)

    async def write(self, servers: Sequence[ServerName]) -> None:
        """Store lanes' checkpoints in a transaction."""
        made_checkpoints = [self.make(name) for name in servers]
        stored = await asyncio.to_thread(_encoded, made_checkpoints)
        async with self._store.writing() as connection:
            await logs.put_checkpoint(connection, stored, self._clock())
        for checkpoint in made_checkpoints:
            self.keep(checkpoint)

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

    def _next(self, failed: Container[ServerName]) -> FollowedLane | None:
        behind = itertools.chain(self._urgent.items(), self._behind.items())
        return next((lane for name, lane in behind if name not in failed), None)

    def revise(self, server: ServerName) -> None:
        """Note that attempts in a lane's log have changed: it is read from its beginning."""
        lane = self._lanes[server]
        lane.revised = True
        self._restart(lane)

    async def catch_up_with(self, server: ServerName) -> None:
        """Read the log of a lane that is behind."""
        await self._catch_up(self._lanes[server])

    async def _begin(self, lanes: Sequence[FollowedLane]) -> None:
        """Read the lanes' state changes, and begin with their checkpoints."""
        async with self._beginning:
            new_lanes = [lane for lane in lanes if not lane.begun]
            for start in range(0, len(new_lanes), LANES):
                await self._begin_some(new_lanes[start : start + LANES])

    async def _begin_some(self, lanes: Sequence[FollowedLane]) -> None:
        keys = [lane.key for lane in lanes]
        month = self._clock() - LONGEST.seconds
        async with self._store.reading() as connection:
            changes = await states.list_changes_of(connection, keys, since=month)
            stored = await logs.get_checkpoints(connection, keys)
            # Another process may have stored attempts, and a checkpoint of them, meanwhile.
            ends = await logs.ends(connection, keys[0].phase_id) if stored else {}
        for lane in lanes:
            end = ends.get(lane.key.server_id, lane.end)
            lane.end = end._replace(serial=max(lane.end.serial, end.serial))
        pairs = [(lane, stored[lane.key]) for lane in lanes if lane.key in stored]
        contents = await asyncio.to_thread(self._decoded, pairs)
        for lane in lanes:
            lane.changes[:0] = changes.get(lane.key, ())
            lane.begun = True
            self._count_changes(lane)
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
            if lane.behind and lane.read == lane.end.serial and not lane.revised:
                self._arrive(lane)

    def _decoded(
        self, pairs: Iterable[tuple[FollowedLane, StoredCheckpoint]]
    ) -> Sequence[Content | CheckpointError]:
        contents: list[Content | CheckpointError] = []
        for _, checkpoint in pairs:
            try:
                contents.append(decode(checkpoint.content, self._basis))
            except CheckpointError as error:
                contents.append(error)
        return contents

    def _use(
        self, lane: FollowedLane, stored: StoredCheckpoint, content: Content | CheckpointError
    ) -> None:
        """Show what a checkpoint has; `CheckpointError` if it cannot be used."""
        name = lane.server.name
        if isinstance(content, CheckpointError):
            raise content
        if lane.revised or stored.end.revision != lane.end.revision:
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

    async def _catch_up(self, lane: FollowedLane) -> None:
        """Read a lane's log to its end."""
        await self._begin([lane])
        async with lane.reading:
            while lane.behind:
                await self._read(lane)

    async def _read(self, lane: FollowedLane) -> None:
        """Read the next part of a lane's log."""
        if not await self._reader.read(lane):
            return
        if lane.read < lane.end.serial:
            if lane.scored == lane.read:  # not where it is read again, and the scores are ahead
                await self._keep_part(lane)
            return
        lane.early.clear()
        self._arrive(lane)
        if lane.new:
            self._note(lane)

    async def _keep_part(self, lane: FollowedLane) -> None:
        """Store a checkpoint for a lane that is behind: its reading may be interrupted."""
        try:
            await self.write([lane.server.name])
        except UnavailableError:
            return  # the store is blocked: it can be read all the same
        except Exception:
            log.exception("no checkpoint of %s can be stored", lane.server.name)


def _encoded(checkpoints: Iterable[MadeCheckpoint]) -> Sequence[StoredCheckpoint]:
    return [
        StoredCheckpoint(checkpoint.key, checkpoint.end, encode(checkpoint.content))
        for checkpoint in checkpoints
    ]


def _parts(lanes: Iterable[FollowedLane]) -> Iterator[Sequence[FollowedLane]]:
    """Yield lanes together in whose logs there is little more than `CHUNK` new."""
    part: list[FollowedLane] = []
    attempts = 0
    for lane in lanes:
        part.append(lane)
        attempts += lane.end.serial - lane.read
        if attempts >= CHUNK:
            yield part
            part, attempts = [], 0
    if part:
        yield part
