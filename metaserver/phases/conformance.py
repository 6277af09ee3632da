"""Registered servers' conformance runs, one at a time per server."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.conformance import (
    NO_PHASE,
    Conformance,
    ConformanceStep,
    ConformanceVerdict,
    Terms,
)
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import RegisteredServer, Server, ServerName
from metaserver.config import Settings
from metaserver.exchange.conformance.contact import Contact, contact
from metaserver.exchange.conformance.procedure import conformance
from metaserver.exchange.http.caller import PROBE_SECONDS
from metaserver.exchange.http.client import HttpClient, HttpLimits
from metaserver.exchange.wire.contract import Completion
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.phases.jobs import Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.store import servers
from metaserver.store.store import Store
from metaserver.tasks.plugin import AnsweredTask, answered_tasks
from metaserver.uniprot.vocabulary import FormatVocabulary

STEP_SECONDS = 0.5
"""How often a job counts its run's steps, in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """A test's conditions: a phase's tasks, release and limits.

    `label` is how people know the phase, and `phase_id` None if no phase is planned.
    """

    terms: Terms
    label: str
    phase_id: int | None
    tasks: Sequence[AnsweredTask]
    vocabulary: Vocabulary
    limits: HttpLimits
    completion: Completion | None

    @classmethod
    def of(cls, server: Server, running: RunningPhase | None, settings: Settings) -> Conditions:
        """Return a phase's conditions; without a phase, those in the hub's settings."""
        settings = running.settings if running else settings
        tasks = running.answered if running else list(answered_tasks().values())
        names = [task.name for task in tasks if not server.tasks or task.name in server.tasks]
        return cls(
            terms=Terms(
                phase=running.name if running else NO_PHASE,
                tasks=tuple(names),
                release=running.phase.release if running else "",
                timeout=settings.limits.timeout,
                answer_bytes=settings.limits.answer_bytes,
            ),
            label=running.label if running else NO_PHASE,
            phase_id=running.phase.id if running else None,
            tasks=tasks,
            vocabulary=running.vocabulary if running else FormatVocabulary(),
            limits=settings.http_limits(),
            completion=settings.completion(),
        )


@dataclass(kw_only=True, slots=True)
class RunningTest:
    """A conformance run under way: its server, its terms, the steps so far.

    `label` is how people know its phase, `task` ends with its report, and `job` is the id of the
    background job that waits for it.
    """

    server: Server
    terms: Terms
    label: str
    steps: list[ConformanceStep] = field(default_factory=list)
    task: asyncio.Task[Conformance]
    job: str = ""

    async def ended(self, progress: Progress) -> Conformance:
        """Return its report, as a job's work."""
        while not self.task.done():
            progress.step, progress.done = "testing", len(self.steps)
            await asyncio.wait([self.task], timeout=STEP_SECONDS)
        return self.task.result()


class ConformanceRunner:
    """Runs servers' conformance tests, and stores their reports."""

    def __init__(self, store: Store, client: HttpClient) -> None:
        self._store = store
        self._client = client
        self._running: dict[ServerName, RunningTest] = {}
        self._looking: set[str] = set()

    def begin(self, registered: RegisteredServer, conditions: Conditions) -> RunningTest:
        """Begin a server's run, or join an equal run under way.

        Raises `RefusedError` while another run for the server is under way.
        """
        server = registered.server
        current = self._running.get(server.name)
        if current is not None and not current.task.done():
            return _joined(current, server, conditions.terms)
        steps: list[ConformanceStep] = []
        run = conformance(
            self._client.bounded(conditions.limits),
            server,
            conditions.tasks,
            conditions.vocabulary,
            time_limit=conditions.terms.timeout,
            completion=conditions.completion,
            on_step=steps.append,
        )
        task = asyncio.create_task(
            self._keep(registered, conditions, run), name=f"test {server.name}"
        )
        test = RunningTest(
            server=server,
            terms=conditions.terms,
            label=conditions.label,
            steps=steps,
            task=task,
        )
        self._running[server.name] = test
        task.add_done_callback(functools.partial(self._forget, server.name))
        return test

    async def look(self, server: Server, limits: HttpLimits, asked_by: str) -> Contact:
        """Ask a server that is not registered for its state, and store nothing.

        Raises `RefusedError` while the asker's last address is being tried.
        """
        if asked_by in self._looking:
            message = "your last address is being tried: wait until that has ended"
            raise RefusedError(Refusal.STATE, message, field="url")
        self._looking.add(asked_by)
        try:
            return await contact(self._client.bounded(limits), server, PROBE_SECONDS)
        finally:
            self._looking.discard(asked_by)

    def under_way(self, name: ServerName) -> RunningTest | None:
        """Return a server's current run, or None."""
        return self._running.get(name)

    async def close(self) -> None:
        """Cancel the current runs; nothing is stored."""
        tasks = [test.task for test in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def report(
        self, registered: RegisteredServer, phase_id: int | None
    ) -> Conformance | None:
        """Return the report of a server's last run for a phase, None before the first."""
        async with self._store.reading() as connection:
            content = await servers.conformance_report(connection, registered.id, phase_id)
        return None if content is None else msgspec.json.decode(content, type=Conformance)

    async def _keep(
        self,
        registered: RegisteredServer,
        conditions: Conditions,
        run: Coroutine[Any, Any, Conformance],
    ) -> Conformance:
        report = msgspec.structs.replace(await run, terms=conditions.terms)
        await run_uncancelled(self._store_report(registered, conditions, report))
        return report

    async def _store_report(
        self, registered: RegisteredServer, conditions: Conditions, report: Conformance
    ) -> None:
        """Store a report, unless the server was changed meanwhile."""
        verdict = ConformanceVerdict(
            terms=conditions.terms,
            at=report.at,
            passed=report.passed,
            reasons=tuple(report.reasons()),
        )
        async with self._store.writing() as connection:
            now = await servers.get(connection, registered.server.name)
            if now is None or now.server != registered.server:
                return
            await servers.put_conformance(
                connection,
                registered.id,
                conditions.phase_id,
                verdict=msgspec.json.encode(verdict),
                report=msgspec.json.encode(report),
            )

    def _forget(self, name: ServerName, task: asyncio.Task[Conformance]) -> None:
        self._running.pop(name, None)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it: its awaiter gets it


def _joined(current: RunningTest, server: Server, terms: Terms) -> RunningTest:
    """Return a current run for an equal request; raises `RefusedError` otherwise."""
    if (current.server, current.terms) == (server, terms):
        return current
    phase = f" for {current.label}" if current.label else ""
    phase_words = phase if current.terms.phase != terms.phase else " as it was before a change"
    raise RefusedError(
        Refusal.STATE, f"it is being tested{phase_words}: wait until that has ended", field="server"
    )


def verdict(registered: RegisteredServer, phase: str) -> ConformanceVerdict | None:
    """Return the verdict of a server's last run for a phase, None before the first."""
    document = registered.verdicts.get(phase)
    return None if document is None else msgspec.json.decode(document, type=ConformanceVerdict)
