"""Checkpoint verification: each is compared with what the stored answers say.

It reads the store beside a hub at work, a lane at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from metaserver.base.boards import Score
from metaserver.base.compression import unpack_json
from metaserver.base.lanes import Corpus, LaneKey
from metaserver.base.phases import Phase
from metaserver.base.records import PhaseName, Server, ServerName
from metaserver.boards.gold import PublicPart
from metaserver.boards.histogram import TimeHistogram
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.boards.snapshots import KeptMonitor
from metaserver.boards.windows import Window, Windows
from metaserver.config import Settings
from metaserver.phases.checkpoints import Basis, CheckpointError, Content, basis_of, decode
from metaserver.phases.log_reader import CHUNK, count
from metaserver.phases.restore import scored_of, vocabulary_of
from metaserver.store import logs, phases, servers
from metaserver.store.keys import digest_key
from metaserver.store.logs import LogEnd, StoredCheckpoint
from metaserver.store.reader import ReadStore

MOST_NAMED = 5
"""Most articles that a difference names."""


class CheckedLane(NamedTuple):
    """A lane's result: the compared answers, and what differs.

    `unused` is why a hub would not use the checkpoint, which is no fault, or empty.
    """

    phase: PhaseName
    server: ServerName
    key: LaneKey
    covered: LogEnd
    unused: str = ""
    differences: Sequence[str] = ()


async def verify(store: ReadStore, settings: Settings, now: float) -> AsyncIterator[CheckedLane]:
    """Compare every checkpoint of a store with its lane's log, scored again; yield each result."""
    async with store.reading() as connection:
        stored_phases = await phases.list_all(connection)
    for phase in stored_phases:
        checked = await _PhaseCheck.open(store, settings, phase, now)
        async with store.reading() as connection:
            covered = await logs.checkpoint_ends(connection, phase.id)
            registered = await servers.list_all(connection)  # afterwards: a hub may add to both
        names = {server.id: server.server.name for server in registered}
        for server_id in covered:
            key = LaneKey(phase.id, server_id)
            if (result := await checked.lane(key, names[server_id])) is not None:
                yield result


@dataclass(kw_only=True, slots=True)
class _Aggregates:
    """A server's aggregates."""

    monitor: ServerMonitor
    windows: Windows
    board: Scoreboard


@dataclass(frozen=True, kw_only=True, slots=True)
class _PhaseCheck:
    """Checks a phase's lanes; `now` ends all windows (Unix seconds)."""

    store: ReadStore
    phase: Phase
    corpus: Corpus
    basis: Basis
    scored: Sequence[ScoredTask]
    now: float

    @classmethod
    async def open(
        cls, store: ReadStore, settings: Settings, phase: Phase, now: float
    ) -> _PhaseCheck:
        """Read what a phase's lanes share."""
        settings = settings.of_phase(phase.plan)
        async with store.reading() as connection:
            gold = await phases.newest_gold(connection, phase.id)
            part = PublicPart.of(await digest_key(connection), phase.id, phase.plan)
        corpus = await store.corpus(phase.corpus_id)
        vocabulary = await asyncio.to_thread(vocabulary_of, settings, phase.release)
        return cls(
            store=store,
            phase=phase,
            corpus=corpus,
            basis=basis_of(settings, vocabulary),
            scored=await asyncio.to_thread(scored_of, gold, vocabulary, corpus, part),
            now=now,
        )

    async def lane(self, key: LaneKey, name: ServerName) -> CheckedLane | None:
        """Check a lane; None if it has no checkpoint any more."""
        async with self.store.reading() as connection:
            stored = await logs.get_checkpoint(connection, key)
            end = await logs.end(connection, key)
        if stored is None:
            return None
        result = CheckedLane(self.phase.name, name, key, stored.end)
        if stored.end.revision != end.revision:
            return result._replace(unused="articles were put into the queue again since")
        try:
            content = await asyncio.to_thread(decode, stored.content, self.basis)
            loaded = await asyncio.to_thread(self._loaded, name, content)
        except CheckpointError as error:
            return result._replace(unused=str(error))
        again = await self._computed(key, name, stored)
        async with self.store.reading() as connection:
            end = await logs.end(connection, key)
            if again is None and await logs.get_checkpoint(connection, key) is None:
                return None  # they were deleted together
        if again is None:
            return result._replace(differences=("it covers attempts that are not stored",))
        if end.revision != stored.end.revision:
            return result._replace(unused="articles were put into the queue again meanwhile")
        differences = await asyncio.to_thread(lambda: list(_differences(name, loaded, again)))
        return result._replace(differences=differences)

    def _empty(self, name: ServerName) -> _Aggregates:
        limit, clock = self.basis.time_limit, lambda: self.now
        monitor = ServerMonitor(self.phase.name, len(self.corpus), limit, clock=clock)
        monitor.add(Server(name=name, url=""), "")
        board = Scoreboard(self.scored)
        return _Aggregates(monitor=monitor, windows=Windows(limit, clock=clock), board=board)

    def _loaded(self, name: ServerName, content: Content) -> _Aggregates:
        aggregates = self._empty(name)
        aggregates.monitor.load(name, content.monitor)
        aggregates.windows.load(name, content.windows)
        for task, reason in aggregates.board.load(name, content.runs).items():
            raise CheckpointError(f"{task}: {reason}")
        return aggregates

    async def _computed(
        self, key: LaneKey, name: ServerName, stored: StoredCheckpoint
    ) -> _Aggregates | None:
        """Return a lane log's aggregates as far as the checkpoint covers it."""
        again, serial = await asyncio.to_thread(self._empty, name), 0
        while serial < stored.end.serial:
            limit = min(CHUNK, stored.end.serial - serial)
            async with self.store.reading() as connection:
                rows = await logs.rows_after(connection, key, serial, limit=limit)
            if not rows:
                return None
            await asyncio.to_thread(self._add, again, name, rows)
            serial = rows[-1].serial
        return again

    def _add(self, again: _Aggregates, name: ServerName, rows: Sequence[Any]) -> None:
        logged = logs.decode(rows, name, self.corpus)
        count(logged, name, self.corpus, again.monitor, again.windows)
        for entry in logged:
            if entry.payloads:
                again.board.put(name, entry.attempt.article, unpack_json(entry.payloads))


def _differences(name: ServerName, stored: _Aggregates, again: _Aggregates) -> Iterator[str]:
    yield from _monitor(stored.monitor.dump(name), again.monitor.dump(name))
    for window in Window:
        if stored.windows.window(name, window) != again.windows.window(name, window):
            yield f"the measures of the last {window}"
    for task in again.board.tasks():
        for view in again.board.views(task.name):
            scored = again.board.scores(task.name, view).get(name)
            stored_score = stored.board.scores(task.name, view).get(name)
            if scored != stored_score:
                yield f"the {task.name} run ({view}){_articles(stored_score, scored)}"


def _monitor(stored: KeptMonitor, again: KeptMonitor) -> Iterator[str]:
    for part in ("answered", "given_up", "network", "total", "outcomes", "answers", "recent",
                 "over", "course", "tasks"):  # fmt: skip
        if getattr(stored, part) != getattr(again, part):
            yield f"the monitor's {part.replace('_', ' ')}"
    if _times(stored) != _times(again):
        yield "the monitor's times"
    if not set(stored.errors) <= set(again.errors):  # it may lack those that later ones displaced
        yield "the monitor's errors"


def _times(monitor: KeptMonitor) -> bytes:
    return TimeHistogram.from_bytes(monitor.times).to_bytes() if monitor.times else b""


def _articles(before_score: Score | None, again: Score | None) -> str:
    """Return which of a run's articles differ, if its scores name them."""
    before, after = (_by_article(score) for score in (before_score, again))
    differing = sorted(
        article
        for article in before.keys() | after.keys()
        if before.get(article) != after.get(article)
    )
    if not differing:
        return ""
    more = f" and {len(differing) - MOST_NAMED:,} more" if len(differing) > MOST_NAMED else ""
    return f": {', '.join(differing[:MOST_NAMED])}{more}"


def _by_article(score: Score | None) -> Mapping[str, Any]:
    articles = getattr(score and score.card, "articles", None)
    return articles if isinstance(articles, Mapping) else {}
