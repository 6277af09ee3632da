"""The reading of lanes' logs from the store: attempts counted and scored, mostly in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metaserver.files.compression import unpack_json
from metaserver.model.errors import HubError
from metaserver.model.lanes import Corpus
from metaserver.model.records import ServerName
from metaserver.monitoring.monitor import ServerMonitor
from metaserver.monitoring.tally import Ended
from metaserver.monitoring.windows import Windows
from metaserver.phases.followed import FollowedLane
from metaserver.phases.live import Landed, LiveBoards
from metaserver.phases.restore import batches
from metaserver.store import logs
from metaserver.store.logs import LogEnd, LoggedAttempt
from metaserver.store.store import Store

CHUNK = 256
"""Attempts that are read at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogReader:
    """The reader of the logs of a phase's lanes; their answers are scored on its boards.

    `measuring` returns an empty monitor and empty windows, as those of the phase.
    """

    store: Store
    boards: LiveBoards
    windows: Windows
    corpus: Corpus
    measuring: Callable[[], tuple[ServerMonitor, Windows]]

    async def read(self, lane: FollowedLane) -> bool:
        """Read the next part of a lane's log, of most logs all, and count it.

        Return whether it counts: not where the log is to be read from its beginning meanwhile.
        """
        if lane.revised:
            await self._read_end(lane)
        begun, part, monitor = lane.round, lane.part, self.boards.server_monitor
        tail = _Tail.of(lane, monitor, self.windows, self.measuring)
        while lane.round == begun and tail.read < min(lane.end.serial, part):
            if not (rows := await self._rows(lane, tail.read)):
                raise HubError(f"{lane.server.name} has no attempt {tail.read + 1}")
            for answers in await asyncio.to_thread(self._measure, lane, tail, rows):
                await self._score(lane, answers)
        if lane.round != begun:
            return False
        # Nothing is awaited from here on: what is published next comes after what was read.
        monitor.adopt(tail.monitor, lane.server.name)
        self.windows.adopt(tail.windows, lane.server.name)
        lane.read, lane.scored = tail.read, max(lane.scored, tail.read)
        return True

    async def _read_end(self, lane: FollowedLane) -> None:
        """Read where a log ends whose attempts have changed."""
        begun = lane.round
        async with self.store.reading() as connection:
            end = await logs.end(connection, lane.key)
        lane.end = LogEnd(max(lane.end.serial, end.serial), end.revision)
        lane.revised = lane.round != begun  # they have changed again

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
        return list(batches(one for one in logged if one.payloads and one.serial > lane.scored))

    async def _score(self, lane: FollowedLane, answered: Sequence[LoggedAttempt]) -> None:
        answers = await asyncio.to_thread(_unpacked, lane.server.name, answered)
        await self.boards.restore(answers)
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
        lane: FollowedLane,
        monitor: ServerMonitor,
        windows: Windows,
        measuring: Callable[[], tuple[ServerMonitor, Windows]],
    ) -> _Tail:
        """Return the measures of a lane as they are shown, those of an unread log empty."""
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
    """Count stored attempts of a server, in the order of their serials."""
    ended = []
    for one in logged:
        monitor.attempt(one.attempt, one.position, final=one.final)
        article_bytes = corpus.wire_bytes[one.position]
        ended.append(
            Ended.of(one.attempt, hits=one.hits_kept, article_bytes=article_bytes, final=one.final)
        )
    windows.restore(server, ended)


def _unpacked(server: ServerName, answered: Iterable[LoggedAttempt]) -> Sequence[Landed]:
    return [
        Landed(server, one.attempt.article, unpack_json(one.payloads or b"")) for one in answered
    ]
