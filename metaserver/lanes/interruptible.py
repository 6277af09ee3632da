"""Waiting that can be ended from outside, without ending the task that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


class CutError(Exception):
    """The wait was cut."""


class Interruptible:
    """Waits that `cut` ends, all at once."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()

    async def wait(self, awaitable: Awaitable[Result]) -> Result:
        """Return what is awaited, or raise `CutError`."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                return await awaitable
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise CutError from error
        finally:
            self._scopes.discard(scope)

    def cut(self) -> None:
        """End the waits that are under way."""
        now = asyncio.get_running_loop().time()
        while self._scopes:
            self._scopes.pop().reschedule(now)
