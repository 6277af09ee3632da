"""Waiting for what comes sooner or later: no test asserts on how soon.

A condition is looked at again and again until it holds. Only what never comes, on the busiest of
machines, ends a test: the deadline is far beyond all that was ever measured.
"""

import asyncio
import inspect
import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds
PAUSE = 0.02  # seconds between two looks


async def until(
    condition: Callable[[], object], *, pause: float = PAUSE, seconds: float = PATIENCE
) -> None:
    """Return when `condition` holds; it may be a coroutine function."""
    async with asyncio.timeout(seconds):
        while not await _looked(condition):
            await asyncio.sleep(pause)


async def _looked(condition: Callable[[], object]) -> object:
    found = condition()
    return await found if inspect.isawaitable(found) else found


def patience() -> asyncio.Timeout:
    """Return a context in which work may take as long as any machine needs, but not for ever."""
    return asyncio.timeout(PATIENCE)


def until_true(condition: Callable[[], object], pause: float = PAUSE) -> None:
    """Return when `condition` holds, in a test without an event loop."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(pause)
