"""Exclusive access to a phase's scores: changes run in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase

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
                f"the runs of phase {name} are being scored with another gold:"
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
