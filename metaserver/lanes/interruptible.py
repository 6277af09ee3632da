"""Waits that can be interrupted from outside without cancelling the task that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


class WaitInterruptedError(Exception):
    """The wait was interrupted."""


class Interruptible:
    """A group of waits that `interrupt` ends, all at once."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()

    async def wait(self, awaitable: Awaitable[Result]) -> Result:
        """Return an awaitable's result, or raise `WaitInterruptedError`."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                return await awaitable
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise WaitInterruptedError from error
        finally:
            self._scopes.discard(scope)

    def interrupt(self) -> None:
        """End the waits that are under way."""
        now = asyncio.get_running_loop().time()
        while self._scopes:
            self._scopes.pop().reschedule(now)
