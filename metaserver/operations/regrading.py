"""Background jobs for a new gold: score every run by it, then store it, or change nothing.

Changes of a phase's scores run in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import GoldChange
from metaserver.boards.gold import MOST_TOLD, label_changes, run_changes, unanswerable
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.phases.candidate import (
    AdoptedGold,
    Candidate,
    ReplacedBoard,
    ScoreChanges,
    candidate,
    overtaken,
)
from metaserver.phases.jobs import Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.tasks.plugin import TaskPlugin

PATIENCE_SECONDS = 5.0
"""The longest wait for a request, which counts against the upload limit meanwhile."""
RETRY_SECONDS = 10.0


@asynccontextmanager
async def turn(
    hub: HubContext, name: str, patience: float | None = None
) -> AsyncIterator[RunningPhase]:
    """Give the caller exclusive access to a phase and its scores, once earlier callers are done.

    Its state and gold may have changed since the request, and it may be another object: check it
    within the block. `RefusedError` if access was not possible within `patience` seconds.
    """
    while True:
        running = hub.phase(name)
        try:
            async with asyncio.timeout(patience):
                await running.scoring.acquire()
        except TimeoutError:
            message = (
                f"the runs of {running.label} are being scored with another gold:"
                f" nothing was changed, try again in {RETRY_SECONDS:.0f} s"
            )
            raise RefusedError(
                Refusal.STATE, message, field="phase", retry_after=RETRY_SECONDS
            ) from None
        try:
            if hub.phase(name) is running:
                yield running
                return
        finally:
            running.scoring.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A gold file for a task of a phase, with its parsed gold.

    `replaces` is the version that it may replace, 0 for none; None: any.
    """

    phase: str
    plugin: TaskPlugin
    gold: Any
    content: bytes
    source: str
    replaces: int | None = None

    def require_newest(self, running: RunningPhase) -> None:
        """Raise `RefusedError` if the gold in use is not the gold to be replaced."""
        newest = running.gold.get(self.plugin.name)
        current = newest.version if newest is not None else 0
        if self.replaces not in (None, current):
            raise overtaken()


@dataclass(frozen=True, kw_only=True, slots=True)
class Regrading:
    """The work on a proposal for a caller."""

    hub: HubContext
    caller: Caller
    proposal: Proposal

    async def preview(self, progress: Progress) -> GoldChange:
        """Return the changes that the proposal would make."""
        async with self._phase(progress) as running:
            if self._is_set(running):
                return await self._unchanged(running)
            async with self._scored(running, progress) as draft:
                return await self._change(running, await draft.compared())

    async def set(self, progress: Progress) -> GoldChange:
        """Set the proposal: it is stored and the boards show it, or nothing is changed."""
        async with self._phase(progress) as running:
            if self._is_set(running):
                return await self._unchanged(running)
            async with self._scored(running, progress) as draft:
                change = await self._change(running, await draft.compared())
                progress.begin("keeping the board as it was")
                before = await self._board_before(running, change)
                await draft.catch_up()
                progress.fix("storing")
                return await run_uncancelled(self._adopt(draft, change, before))

    # -- steps -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def _phase(self, progress: Progress) -> AsyncIterator[RunningPhase]:
        """Give this job exclusive access to the phase and its scores, for as long as it takes."""
        progress.begin("waiting for its turn")
        async with turn(self.hub, self.proposal.phase) as running:
            if running.is_behind:
                progress.begin("catching up with stored answers")
                await running.catch_up()
            self.proposal.require_newest(running)
            yield running

    def _scored(self, running: RunningPhase, progress: Progress) -> Any:
        request = self.proposal
        return candidate(self.hub.store, running, request.plugin, request.gold, progress)

    def _is_set(self, running: RunningPhase) -> bool:
        newest = running.gold.get(self.proposal.plugin.name)
        return newest is not None and newest.content == self.proposal.content

    async def _unchanged(self, running: RunningPhase) -> GoldChange:
        scores = await running.boards.scoreboard.averaged(self.proposal.plugin.name)
        return await self._change(running, ScoreChanges(scores, scores))

    async def _change(self, running: RunningPhase, scores: ScoreChanges) -> GoldChange:
        proposal, plugin = self.proposal, self.proposal.plugin
        newest, live = running.gold.get(plugin.name), running.boards.scoreboard
        changed = newest is None or newest.content != proposal.content
        before = live.scored_task(plugin.name).gold if newest is not None else None
        labels = await asyncio.to_thread(
            label_changes, plugin, before, proposal.gold, running.corpus.ids
        )
        refused = await asyncio.to_thread(unanswerable, plugin, proposal.gold, running.vocabulary)
        return GoldChange(
            phase=running.name,
            task=plugin.name,
            version=None if changed or newest is None else newest.version,
            replaces=newest.version if newest is not None and changed else None,
            changed=changed,
            unanswerable=dict(islice(refused.reasons.items(), MOST_TOLD)),
            runs=tuple(run_changes(plugin, live.ranking, scores.before, scores.after)),
            **msgspec.structs.asdict(labels),
        )

    async def _board_before(
        self, running: RunningPhase, change: GoldChange
    ) -> ReplacedBoard | None:
        if change.replaces is None:
            return None
        board = await running.boards.freeze(
            self.proposal.plugin,
            phase=running.name,
            reason=f"gold version {change.replaces + 1} replaced {change.replaces}",
            at=self.hub.clock(),
        )
        return ReplacedBoard(change.replaces, board)

    async def _adopt(
        self, draft: Candidate, change: GoldChange, before: ReplacedBoard | None
    ) -> GoldChange:
        """Have the gold kept with its audit entry, and shown."""
        request = self.proposal

        async def note(connection: AsyncConnection, adopted: AdoptedGold) -> None:
            await audit_log(
                connection,
                self.caller,
                "gold.set",
                draft.running.name,
                task=request.plugin.name,
                version=adopted.gold.version,
                source=request.source,
                added=change.added,
                removed=change.removed,
                frozen=adopted.frozen,
            )

        adopted = await draft.adopt(request.content, request.source, before, note)
        return msgspec.structs.replace(change, version=adopted.gold.version, frozen=adopted.frozen)
