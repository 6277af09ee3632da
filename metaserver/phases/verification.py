"""Verification of checkpoints: each is compared with what the stored answers say.

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
from metaserver.store import checkpoints, logs, phases, servers
from metaserver.store.checkpoints import StoredCheckpoint
from metaserver.store.keys import digest_key
from metaserver.store.logs import LogEnd
from metaserver.store.reader import ReadStore

MOST_NAMED = 5
"""Most articles that a difference names."""


class CheckedLane(NamedTuple):
    """The result for one lane: the answers that were compared, and what differs.

    `unused` is the reason why a hub would not use the checkpoint, which is no fault; empty where it
    would.
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
        known = await phases.list_all(connection)
        names = {one.id: one.server.name for one in await servers.list_all(connection)}
    for phase in known:
        checked = await _PhaseCheck.open(store, settings, phase, now)
        async with store.reading() as connection:
            covered = await checkpoints.ends(connection, phase.id)
        for server_id in covered:
            key = LaneKey(phase.id, server_id)
            if (result := await checked.lane(key, names[server_id])) is not None:
                yield result


@dataclass(kw_only=True, slots=True)
class _Aggregates:
    """Aggregates of one server."""

    monitor: ServerMonitor
    windows: Windows
    board: Scoreboard


@dataclass(frozen=True, kw_only=True, slots=True)
class _PhaseCheck:
    """The check of a phase's lanes; `now` is the end of all windows (Unix seconds)."""

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
        """Check a lane; None where it has no checkpoint any more."""
        async with self.store.reading() as connection:
            stored = await checkpoints.get(connection, key)
            end = await logs.end(connection, key)
        if stored is None:
            return None
        result = CheckedLane(self.phase.name, name, key, stored.end)
        if stored.end.revision != end.revision:
            return result._replace(unused="articles were put into the queue again since")
        try:
            content = await asyncio.to_thread(decode, stored.content, self.basis)
            kept = await asyncio.to_thread(self._loaded, name, content)
        except CheckpointError as error:
            return result._replace(unused=str(error))
        if (again := await self._computed(key, name, stored)) is None:
            return result._replace(differences=("it covers attempts that are not stored",))
        async with self.store.reading() as connection:
            if (await logs.end(connection, key)).revision != stored.end.revision:
                return result._replace(unused="articles were put into the queue again meanwhile")
        differences = await asyncio.to_thread(lambda: list(_differences(name, kept, again)))
        return result._replace(differences=differences)

    def _empty(self, name: ServerName) -> _Aggregates:
        limit, clock = self.basis.time_limit, lambda: self.now
        monitor = ServerMonitor(self.phase.name, len(self.corpus), limit, clock=clock)
        monitor.add(Server(name=name, url=""), "")
        board = Scoreboard(self.scored)
        return _Aggregates(monitor=monitor, windows=Windows(limit, clock=clock), board=board)

    def _loaded(self, name: ServerName, content: Content) -> _Aggregates:
        kept = self._empty(name)
        kept.monitor.load(name, content.monitor)
        kept.windows.load(name, content.windows)
        for task, reason in kept.board.load(name, content.runs).items():
            raise CheckpointError(f"{task}: {reason}")
        return kept

    async def _computed(
        self, key: LaneKey, name: ServerName, stored: StoredCheckpoint
    ) -> _Aggregates | None:
        """Return the aggregates of a lane's log as far as the checkpoint covers it."""
        again, read = await asyncio.to_thread(self._empty, name), 0
        while read < stored.end.serial:
            limit = min(CHUNK, stored.end.serial - read)
            async with self.store.reading() as connection:
                rows = await logs.rows_after(connection, key, read, limit=limit)
            if not rows:
                return None
            await asyncio.to_thread(self._add, again, name, rows)
            read = rows[-1].serial
        return again

    def _add(self, again: _Aggregates, name: ServerName, rows: Sequence[Any]) -> None:
        logged = logs.decode(rows, name, self.corpus)
        count(logged, name, self.corpus, again.monitor, again.windows)
        for one in logged:
            if one.payloads:
                again.board.put(name, one.attempt.article, unpack_json(one.payloads))


def _differences(name: ServerName, kept: _Aggregates, again: _Aggregates) -> Iterator[str]:
    yield from _monitor(kept.monitor.dump(name), again.monitor.dump(name))
    for window in Window:
        if kept.windows.window(name, window) != again.windows.window(name, window):
            yield f"the measures of the last {window}"
    for task in again.board.tasks():
        for view in again.board.views(task.name):
            scored = again.board.scores(task.name, view).get(name)
            found = kept.board.scores(task.name, view).get(name)
            if scored != found:
                yield f"the {task.name} run ({view}){_articles(found, scored)}"


def _monitor(kept: KeptMonitor, again: KeptMonitor) -> Iterator[str]:
    for part in ("answered", "given_up", "network", "total", "outcomes", "answers", "recent",
                 "over", "course", "tasks"):  # fmt: skip
        if getattr(kept, part) != getattr(again, part):
            yield f"the monitor's {part.replace('_', ' ')}"
    if _times(kept) != _times(again):
        yield "the monitor's times"
    if not set(kept.errors) <= set(again.errors):  # it may lack those that later ones displaced
        yield "the monitor's errors"


def _times(kept: KeptMonitor) -> bytes:
    return TimeHistogram.from_bytes(kept.times).to_bytes() if kept.times else b""


def _articles(kept: Score | None, again: Score | None) -> str:
    """Return which articles of a run differ, where its scores name them."""
    before, after = (_by_article(score) for score in (kept, again))
    named = sorted(one for one in before.keys() | after.keys() if before.get(one) != after.get(one))
    if not named:
        return ""
    more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
    return f": {', '.join(named[:MOST_NAMED])}{more}"


def _by_article(score: Score | None) -> Mapping[str, Any]:
    found = getattr(score and score.card, "articles", None)
    return found if isinstance(found, Mapping) else {}
