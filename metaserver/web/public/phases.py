"""The sites of a hub's phases, which come and change while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from aiohttp import web

from metaserver.leaderboards.boards import ArticleBoard, Board
from metaserver.leaderboards.frozen import FrozenBoard
from metaserver.leaderboards.visibility import seen, seen_frozen, why_hidden
from metaserver.model.phases import Phase
from metaserver.model.plans import DATES
from metaserver.model.records import ServerName, TaskName
from metaserver.model.states import OPEN_STATES, Visibility
from metaserver.model.viewer import ANYBODY, Viewer
from metaserver.model.zones import shown_name
from metaserver.monitoring.snapshots import Monitor
from metaserver.operations.context import HubContext
from metaserver.phases.archiver import OVER
from metaserver.phases.runtime import RunningPhase
from metaserver.store import boards
from metaserver.tasks.plugin import TaskPlugin
from metaserver.web.public.redaction import PublicMonitor
from metaserver.web.public.sites import PhaseHead, Site
from metaserver.web.ui.live import Broadcaster

LOOK_SECONDS = 1.0
NOTES: Mapping[Visibility, str] = {
    Visibility.HIDDEN: "Only organisers see these scores.",
    Visibility.OWN: "Organisers see all scores, each team those of its own runs.",
}
OWN_NOTE = "The runs of your team, placed among themselves."


class PhaseSource:
    """The boards of one phase, as far as each reader may see them (a `BoardSource`).

    `links` are the permanent links of its frozen boards, by task.
    """

    def __init__(self, hub: HubContext, running: RunningPhase) -> None:
        self.links: Mapping[TaskName, str] = {}
        self._hub = hub
        self._running = running

    @property
    def _visibility(self) -> Visibility:
        return self._running.phase.plan.visibility

    def tasks(self) -> Sequence[TaskPlugin]:
        """Return the tasks that have a leaderboard."""
        return self._running.boards.tasks()

    def counts(self, reader: Viewer = ANYBODY) -> Mapping[TaskName, int]:
        """Count the runs of each task that the reader may see."""
        if reader.organiser or self._visibility is Visibility.PUBLIC:
            return self._running.boards.counts()
        return {task.name: len(self.board(task.name, reader=reader).rows) for task in self.tasks()}

    def monitor(self) -> Monitor:
        """Return the monitor as of now, all of it."""
        return self._running.boards.monitor()

    def views(self, task: TaskName) -> Sequence[str]:
        """Return the views a task is scored in, the raw one first."""
        return self._running.boards.views(task)

    def board(self, task: TaskName, view: str = "raw", reader: Viewer = ANYBODY) -> Board:
        """Return a leaderboard as far as the reader may see it."""
        board = seen(self._running.boards.board(task, view), self._visibility, reader)
        if board.hidden:
            return board
        note = NOTES.get(self._visibility, "") if reader.organiser else self._note()
        return replace(board, note=note, frozen=self.links.get(task, ""))

    def _note(self) -> str:
        return OWN_NOTE if self._visibility is Visibility.OWN else ""

    def articles(self, task: TaskName, view: str = "raw", reader: Viewer = ANYBODY) -> ArticleBoard:
        """Return the difficulty of the articles; only who may see all scores may know it."""
        board = self._running.boards.articles(task, view)
        if reader.organiser or self._visibility is Visibility.PUBLIC:
            return board
        hidden = why_hidden(Visibility.HIDDEN, reader)
        return replace(board, levels=(), withheld=0, hidden=hidden)

    async def frozen(self, key: str, reader: Viewer = ANYBODY) -> FrozenBoard | None:
        """Return the frozen board of a link, of any phase, as far as the reader may see it."""
        async with self._hub.store.reading() as connection:
            found = await boards.get(connection, key)
        if found is None:
            return None
        kept, document = found
        plan = self._hub.phase(kept.phase).phase.plan
        return seen_frozen(FrozenBoard.decode(document), plan.visibility, reader)

    async def changed(self, since: int) -> int:
        """Wait until the version is not `since`; return it."""
        return await self._running.boards.changed(since)

    async def look_for_frozen(self) -> bool:
        """Look for the links of the frozen boards; return whether there are other ones now."""
        if self._running.state not in OVER:
            return False
        async with self._hub.store.reading() as connection:
            kept = await boards.list_all(connection, self._running.phase.id)
        links = {board.task: board.id for board in reversed(kept)}
        changed, self.links = links != self.links, links
        return changed


@dataclass(kw_only=True)
class _Live:
    """A phase that is shown; `seen` is its head when it was last looked at."""

    site: Site
    source: PhaseSource
    task: asyncio.Task[None]
    seen: PhaseHead


class PhaseSites:
    """The sites of all phases; `run` keeps them up with the dispatcher."""

    def __init__(self, hub: HubContext, *, interval: float = 1.0, heartbeat: float = 15.0) -> None:
        self._hub = hub
        self._interval = interval
        self._heartbeat = heartbeat
        self._live: dict[RunningPhase, _Live] = {}

    def named(self, phase: str) -> Site | None:
        """Return the site of a phase; with an empty name the current one's."""
        running = self._current() if not phase else self._phases.get(phase)
        return None if running is None else self._shown(running).site

    @property
    def _phases(self) -> Mapping[str, RunningPhase]:
        return {str(name): running for name, running in self._hub.dispatcher.phases.items()}

    def _current(self) -> RunningPhase | None:
        """Return the phase that is open, else the newest."""
        return max(
            self._phases.values(),
            key=lambda running: (running.state in OPEN_STATES, running.phase.id),
            default=None,
        )

    def heads(self) -> Sequence[PhaseHead]:
        """Return all phases in short, oldest first."""
        known = sorted(self._phases.values(), key=lambda running: running.phase.id)
        return [self._head(running) for running in known]

    def _head(self, running: RunningPhase) -> PhaseHead:
        return head_of(running, self._hub.clock())

    def _shown(self, running: RunningPhase) -> _Live:
        if running not in self._live:
            source = PhaseSource(self._hub, running)
            broadcaster = Broadcaster(source, interval=self._interval, heartbeat=self._heartbeat)
            site = Site(
                phase=running.name,
                source=source,
                broadcaster=broadcaster,
                head=lambda: self._head(running),
                phases=self.heads,
                visible=PublicMonitor(lambda server: _team(running, server)),
            )
            self._live[running] = _Live(
                site=site,
                source=source,
                task=asyncio.create_task(broadcaster.run(), name=f"broadcast {running.name}"),
                seen=self._head(running),
            )
        return self._live[running]

    async def run(self) -> None:
        """Refresh pages whose phase was changed, end those of phases that are gone."""
        while True:
            for running, live in list(self._live.items()):
                if self._phases.get(running.name) is not running:
                    del self._live[running]
                    await _end(live)
                    continue
                head = self._head(running)
                if head != live.seen or await live.source.look_for_frozen():
                    live.seen = head
                    running.boards.touch()
            await asyncio.sleep(LOOK_SECONDS)

    async def end_streams(self, _: web.Application) -> None:
        """End every stream: a shutdown does not wait for readers."""
        for live in self._live.values():
            await live.site.broadcaster.close()

    async def close(self) -> None:
        """End all there is."""
        for live in self._live.values():
            await _end(live)
        self._live.clear()


async def _end(live: _Live) -> None:
    await live.site.broadcaster.close()
    live.task.cancel()
    with suppress(asyncio.CancelledError):
        await live.task


def _team(running: RunningPhase, server: ServerName) -> str:
    known = running.servers.get(server)
    return (known.team or "") if known else ""


def head_of(running: RunningPhase, now: float) -> PhaseHead:
    """Return a phase in short as of a moment (Unix seconds)."""
    phase = running.phase
    coming = tuple((change.date, change.at.timestamp()) for change in phase.coming(now))
    return PhaseHead(
        name=running.name,
        title=phase.plan.title,
        challenge=phase.challenge,
        state=phase.state(now),
        timezone=shown_name(phase.timezone),
        dates=_shown(phase, now),
        next=coming[0] if coming else None,
        tasks=[task.name for task in running.boards.tasks()],
    )


def _shown(phase: Phase, now: float) -> Sequence[tuple[str, float]]:
    """Return the dates that have passed, and those by which the clock does something."""
    coming = {change.date for change in phase.coming(now)}
    dated = [(word, at.timestamp()) for word in DATES if (at := getattr(phase.plan, word))]
    return [(word, at) for word, at in dated if at <= now or word in coming]
