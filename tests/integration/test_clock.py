"""A wall clock that jumps fires no time-out and starves none: only the dates it gives jump."""

import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import astuple

from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from tests.integration.callers import article_caller, server
from tests.integration.peers import GOOD, Script, answering, peer, silent

DAY = 86_400.0
real = time.time


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Let the clock of the whole process jump a day forth and back each time it is read."""
    days = itertools.cycle((0, 1, -1))
    monkeypatch.setattr(time, "time", lambda: real() + next(days) * DAY)
    return time.time


@asynccontextmanager
async def asking(
    script: Script, clock: Callable[[], float], seconds: float
) -> AsyncIterator[list[Attempt]]:
    """Give how three calls to a server ended, each with so many seconds to answer."""
    async with peer(script) as there, article_caller(time_limit=seconds, clock=clock) as caller:
        yield [(await caller.call(server(there.url), 0, number))[0] for number in (1, 2, 3)]


async def test_a_clock_that_jumps_fires_no_time_out(jumping: Callable[[], float]) -> None:
    async with asking(answering(GOOD, GOOD, GOOD), jumping, 60.0) as attempts:
        assert [attempt.outcome for attempt in attempts] == [Outcome.OK] * 3
        for attempt in attempts:
            assert all(seconds is None or 0 <= seconds < DAY / 2
                       for seconds in astuple(attempt.timings))  # fmt: skip


async def test_a_clock_that_jumps_starves_no_time_out(jumping: Callable[[], float]) -> None:
    async with asking(silent, jumping, 0.2) as attempts:
        assert [attempt.outcome for attempt in attempts] == [Outcome.TIMEOUT] * 3
