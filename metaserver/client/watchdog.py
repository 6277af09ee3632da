"""Whether the event loop stood still: blocked, or the whole process stopped or put to sleep.

While it stood still no answer was read and no deadline was fair, so that a failure of that time
says nothing about the server: see `PeerError.void`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

BEAT = 0.02  # seconds between two looks: a block is taken for so much longer at most
STALL = 1.0  # seconds; the loop of a busy hub comes back sooner
KEPT = 100  # stalls that are remembered

log = logging.getLogger(__name__)


def passed() -> float:
    """Return the seconds of a clock that nobody sets and that goes on while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stall:
    """A time in which the loop stood still; `at` is its end in Unix seconds."""

    began: float
    ended: float
    at: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.ended - self.began


class Watchdog:
    """Remembers the last stalls while `run` does; `count` and `seconds` are of all of them."""

    def __init__(
        self, *, clock: Callable[[], float] = passed, now: Callable[[], float] = time.time
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
                self._look()
        finally:
            self._beat = None

    def stood_still(self, since: float) -> float:
        """Return for how many seconds the loop stood still after a time of `clock`.

        After a stall whoever waited may ask before `run` has its turn: so it is looked first.
        """
        self._look()
        return sum(one.ended - max(one.began, since) for one in self._stalls if one.ended > since)

    def _look(self) -> None:
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
            "the hub stood still for %.1f s: what failed meanwhile is asked again, not charged",
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
