"""Turns at a phase's scores: who changes them has the phase alone, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from metaserver.model.errors import Refusal, RefusedError
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase

PATIENCE_SECONDS = 5.0
"""Longest wait of a request: it holds a place among the uploads meanwhile."""
RETRY_SECONDS = 10.0


@asynccontextmanager
async def turn(
    hub: HubContext, name: str, patience: float | None = None
) -> AsyncIterator[RunningPhase]:
    """Give a phase with its scores to the caller alone, as it is when the turn comes.

    Its state and gold may have changed since the caller asked, and it may be another object: judge
    it within. `RefusedError` where the turn has not come after `patience` seconds.
    """
    while True:
        running = hub.phase(name)
        try:
            async with asyncio.timeout(patience):
                await running.scoring.acquire()
        except TimeoutError:
            message = (
                f"the runs of phase {name} are being scored, as another gold needs it:"
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
