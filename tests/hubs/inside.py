"""A hub as a service in the test's own process: a store, a release, a challenge with a phase."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaserver.base.errors import RefusedError
from metaserver.base.plans import LimitSettings
from metaserver.base.records import Article, ServerName, TaskName, TeamName
from metaserver.base.states import JobState, Role
from metaserver.boards.snapshots import ServerStatus
from metaserver.cli.catalogue import OPERATIONS
from metaserver.cli.hub import work
from metaserver.cli.serve import open_service
from metaserver.config import (
    RetrySettings,
    SecuritySettings,
    Settings,
    UniprotSettings,
)
from metaserver.corpus import read_articles
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import perform
from metaserver.store import phases
from tests import stores
from tests.hubs.command import ARTICLES, DEMO
from tests.hubs.release import release_at
from tests.waiting import PAUSE, patience, until

ORGANISER = Caller(role=Role.ORGANISER, name="organiser ana")


@dataclass(frozen=True)
class Running:
    """A running service, with shortcuts to call it."""

    service: HubContext

    async def do(self, name: str, caller: Caller = ORGANISER, **values: Any) -> Any:
        """Call an operation, and wait for the end of a background job; raises `RefusedError`."""
        done = await perform(OPERATIONS[name], self.service, caller, values)
        if OPERATIONS[name].report is None:
            return done
        job = self.service.jobs.own.get(done.job)
        assert job is not None
        await job.ended()
        assert job.state is JobState.DONE, job.error
        return job.report

    async def refused(self, name: str, caller: Caller = ORGANISER, **values: Any) -> RefusedError:
        """Call an operation that must be refused; return the refusal."""
        try:
            done = await self.do(name, caller, **values)
        except RefusedError as refused:
            return refused
        raise AssertionError(f"{name} was not refused: {done}")

    def team(self, name: str) -> Caller:
        """Return a caller of a team."""
        return Caller(role=Role.TEAM, team=TeamName(name), name=f"team {name}")

    async def caught_up(self) -> None:
        """Wait until the boards of all phases have the stored answers."""
        phases = self.service.phases.scheduler.phases
        await until(lambda: not any(running.is_behind for running in phases.values()))

    async def frozen(self, count: int, phase: str = "test") -> Any:
        """Wait until a phase has so many frozen boards; return them all."""
        async with patience():
            while len(boards := await self.do("boards.frozen", phase=phase)) < count:
                await asyncio.sleep(PAUSE)
            return boards

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until a condition is true; `TimeoutError` where it stays false."""
        await until(true)

    async def register(self, url: str, server: str = "blue-1", **values: Any) -> None:
        """Register a server of the team that its name begins with, and have it pass its test."""
        team = self.team(server.partition("-")[0])
        await self.do("servers.register", team, server=server, url=url, **values)
        tested = await self.do("servers.test", team, server=server)
        assert tested.passed, tested.reasons()

    def status(self, server: str = "blue-1", phase: str = "test") -> ServerStatus:
        """Return how a server stands in a phase."""
        return self.service.phase(phase).boards.server_monitor.status(ServerName(server))

    async def done(self, count: int = ARTICLES, server: str = "blue-1") -> None:
        """Wait until a server has answered so many articles of phase test."""
        await until(lambda: self.status(server).done == count)

    async def add_corpus(self, name: str, articles: Iterable[Article]) -> None:
        """Store articles as a corpus."""
        corpus = await self.service.store.add_corpus(articles)
        async with self.service.store.writing() as connection:
            await phases.add_corpus_version(connection, name, corpus.id, "articles")

    async def add_phase(self, phase: str, corpus: str = "demo", **values: Any) -> Any:
        """Create a phase of challenge bc on a corpus."""
        given = {"challenge": "bc", "phase": phase, "corpus": corpus, "release": "test"}
        return await self.do("phases.create", **given | values)


async def settings(folder: Path, **changes: Any) -> Settings:
    """Return a service's settings with a small release; time-outs and pauses are short."""
    if not (folder / "releases" / "test").exists():
        release_at(folder / "releases" / "test")
    values: dict[str, Any] = {
        "folder": str(folder / "hub"),
        "uniprot": UniprotSettings(releases=str(folder / "releases")),
        "limits": LimitSettings(timeout=20.0, connect=2.0),
        "security": SecuritySettings(allow_networks=["127.0.0.0/8"]),
        "retry": RetrySettings(base=0.01, cap=0.05),
        **stores.setting_of(folder / "hub"),
    }
    return Settings(**values | changes)


@asynccontextmanager
async def at_work(
    given: Settings, *, clock: Callable[[], float] = time.time
) -> AsyncIterator[Running]:
    """Run a service while the context lasts; begun again with the same settings it goes on.

    Its boards have all stored answers.
    """
    async with open_service(given, clock=clock) as service:
        task = asyncio.create_task(work(service))
        running = Running(service)
        try:
            await running.caught_up()
            yield running
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def plan_phase(
    running: Running,
    name: str = "test",
    *,
    teams: Sequence[str] = (),
    is_open: bool = False,
    **values: Any,
) -> None:
    """Create a challenge with one phase on the demo's articles and gold, and teams."""
    store = running.service.store
    await running.add_corpus("demo", read_articles([DEMO / "articles"]))
    await running.do("challenges.set", challenge="bc", title="A challenge")
    await running.add_phase(name, **values)
    for task in ("ACT", "INT", "IPT"):
        path = DEMO / f"gold_{task.lower()}.tsv"
        phase_id = running.service.phase(name).phase.id
        await store.set_gold(phase_id, TaskName(task), path.name, path.read_bytes())
    scheduler = running.service.phases.scheduler
    await scheduler.take_over(running.service.phase(name).phase)
    for team in teams:
        await running.do("teams.create", team=team)
    if is_open:
        await running.do("phases.open", phase=name)
