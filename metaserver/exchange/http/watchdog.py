"""Watchdog of the event loop: detects when it stood still, blocked or with a stopped process.

While it stood still no answer was read and deadlines passed, so a failure at that time says nothing
about the server: see `PeerError.void`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

BEAT = 0.1  # seconds between two checks: a stall is measured as at most so much longer
STALL = 1.0  # seconds; the loop of a busy hub returns sooner
KEPT = 100  # the last stalls that are remembered

log = logging.getLogger(__name__)


def boot_time() -> float:
    """Return a monotonic clock's seconds that also count while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stall:
    """An interval in which the loop stood still; `at` is its end in Unix seconds."""

    began: float
    ended: float
    at: float

    @property
    def seconds(self) -> float:
        """The stall's length, in seconds."""
        return self.ended - self.began


class Watchdog:
    """A record of the last stalls while `run` is active; `count` and `seconds` are totals."""

    def __init__(
        self, *, clock: Callable[[], float] = boot_time, now: Callable[[], float] = time.time
    ) -> None:
        self.clock = clock
        self.count = 0
        self.seconds = 0.0
        self._now = now
        self._stalls: deque[Stall] = deque(maxlen=KEPT)
        self._beat: float | None = None

    @property
    def stalls(self) -> Sequence[Stall]:
        """The last stalls, oldest first."""
        return tuple(self._stalls)

    async def run(self) -> None:
        """Watch the loop until cancelled."""
        try:
            while True:
                self._beat = self.clock()
                await asyncio.sleep(BEAT)
                self._check()
        finally:
            self._beat = None

    def begin_again(self) -> None:
        """Forget the stalls until now, and the one under way."""
        self._stalls.clear()
        self.count, self.seconds = 0, 0.0
        if self._beat is not None:
            self._beat = self.clock()

    def stood_still(self, since: float) -> float:
        """Return the seconds that the loop stood still after a time of `clock`.

        After a stall another task may call this before `run` has its turn, so it checks first.
        """
        self._check()
        return sum(
            stall.ended - max(stall.began, since) for stall in self._stalls if stall.ended > since
        )

    def _check(self) -> None:
        if self._beat is None:
            return
        now = self.clock()
        if now - self._beat > STALL:
            self._note(Stall(began=self._beat, ended=now, at=self._now()))
        self._beat = now

    def _note(self, stall: Stall) -> None:
        self._stalls.append(stall)
        self.count += 1
        self.seconds += stall.seconds
        log.warning(
            "the hub stood still for %.1f s: requests that failed meanwhile are sent again, not"
            " charged",
            stall.seconds,
        )


@asynccontextmanager
async def watching(watchdog: Watchdog | None = None) -> AsyncIterator[Watchdog]:
    """Watch the loop while the context lasts."""
    watchdog = watchdog or Watchdog()
    task = asyncio.create_task(watchdog.run(), name="watchdog")
    try:
        yield watchdog
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
