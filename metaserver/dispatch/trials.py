"""Conformance runs of registered servers: one at a time a server, watched while it goes on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from metaserver.client.http import HttpClient
from metaserver.dispatch.steps import whole
from metaserver.records import ServerName
from metaserver.services.conformance import Conformance, Step, conformance
from metaserver.store import servers
from metaserver.store.servers import Registered
from metaserver.store.store import Store
from metaserver.tasks.plugin import TaskPlugin
from metaserver.wire.validation import Vocabulary


@dataclass(kw_only=True, slots=True)
class Trial:
    """A conformance run under way: the steps so far, and the task that ends with its report."""

    steps: list[Step] = field(default_factory=list)
    task: asyncio.Task[Conformance]


class Trials:
    """Runs the conformance run of servers and keeps its report in the store."""

    def __init__(self, store: Store, client: HttpClient) -> None:
        self._store = store
        self._client = client
        self._trials: dict[ServerName, Trial] = {}

    def begin(
        self,
        registered: Registered,
        tasks: Sequence[TaskPlugin],
        vocabulary: Vocabulary,
        time_limit: float,
    ) -> Trial:
        """Begin a server's run, or join the one that is under way."""
        name = registered.server.name
        known = self._trials.get(name)
        if known is not None and not known.task.done():
            return known
        steps: list[Step] = []
        run = conformance(
            self._client,
            registered.server,
            tasks,
            vocabulary,
            time_limit=time_limit,
            on_step=steps.append,
        )
        task = asyncio.create_task(self._keep(registered, run), name=f"test {name}")
        self._trials[name] = Trial(steps=steps, task=task)
        task.add_done_callback(functools.partial(self._forget, name))
        return self._trials[name]

    def under_way(self, name: ServerName) -> Sequence[Step] | None:
        """Return the steps so far of a server's run, None where none is under way."""
        trial = self._trials.get(name)
        return None if trial is None else tuple(trial.steps)

    async def close(self) -> None:
        """End the runs under way; nothing is kept of them."""
        tasks = [trial.task for trial in self._trials.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(
        self, registered: Registered, run: Coroutine[Any, Any, Conformance]
    ) -> Conformance:
        report = await run
        await whole(self._store_report(registered, report))
        return report

    async def _store_report(self, registered: Registered, report: Conformance) -> None:
        async with self._store.writing() as connection:
            await servers.set_conformance(connection, registered, msgspec.json.encode(report))

    def _forget(self, name: ServerName, task: asyncio.Task[Conformance]) -> None:
        self._trials.pop(name, None)
        if not task.cancelled():
            task.exception()  # whoever waits for it is told


def report(registered: Registered) -> Conformance | None:
    """Return how a server's last conformance run went, None before the first."""
    if registered.conformance is None:
        return None
    return msgspec.json.decode(registered.conformance, type=Conformance)
