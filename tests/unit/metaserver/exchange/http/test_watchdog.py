"""Stalls of the loop, with a clock of the test's own."""

import asyncio
import logging

import pytest

from metaserver.base.errors import PeerError
from metaserver.base.states import RULES, STALL_OUTCOMES, Outcome
from metaserver.exchange.http.watchdog import BEAT, KEPT, STALL, Watchdog, watching
from tests.fakes.clock import FakeClock


async def turns() -> None:
    """Let the watchdog check at least once."""
    await asyncio.sleep(3 * BEAT)


async def test_a_loop_that_stood_still_is_noticed_and_logged(caplog):
    clock = FakeClock()
    async with watching(Watchdog(clock=clock, now=lambda: 5e8)) as watchdog:
        await turns()
        began = clock.now
        clock.now += STALL  # busy, not still
        await turns()
        assert (watchdog.count, watchdog.stood_still(began)) == (0, 0.0)
        clock.now += 7.5
        await turns()
    assert watchdog.count == 1
    assert watchdog.seconds == watchdog.stalls[0].seconds == 7.5
    assert watchdog.stalls[0].at == 5e8
    assert [one.levelno for one in caplog.records] == [logging.WARNING]
    assert "stood still for 7.5 s" in caplog.text


async def test_a_start_is_no_stall(caplog):
    clock = FakeClock()
    async with watching(Watchdog(clock=clock)) as watchdog:
        for _ in range(2):  # one that was noticed, and one that is under way
            await turns()
            clock.now += 7.5
            if not watchdog.count:
                await turns()
        assert watchdog.count == 1
        watchdog.begin_again()
        await turns()
        assert (watchdog.count, watchdog.seconds, watchdog.stalls) == (0, 0.0, ())
    assert len(caplog.records) == 1


@pytest.mark.parametrize("into", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize(("late", "count"), [(-1.01, 0), (0.01, 1), (0.99, 1)])
async def test_where_in_a_beat_a_block_begins_changes_nothing(into, late, count):
    clock = FakeClock()
    async with watching(Watchdog(clock=clock)) as watchdog:
        await turns()
        clock.now += into * BEAT  # since the last look
        clock.now += STALL + late * BEAT
        await turns()
        assert watchdog.count == count
        assert all(one.seconds > STALL for one in watchdog.stalls)


async def test_a_stall_is_found_by_a_question_before_the_watchdogs_turn() -> None:
    clock = FakeClock()
    async with watching(Watchdog(clock=clock)) as watchdog:
        await turns()
        began = clock.now
        clock.now += 5.0
        assert watchdog.stood_still(began) == 5.0
        await turns()
        assert watchdog.count == 1  # once


async def test_only_what_overlapped_counts() -> None:
    clock = FakeClock()
    async with watching(Watchdog(clock=clock)) as watchdog:
        await turns()
        begins = [clock.now]
        for seconds in (4.0, 2.0):
            clock.now += seconds
            await turns()
            begins.append(clock.now)
        assert [watchdog.stood_still(begin) for begin in begins] == [6.0, 2.0, 0.0]


async def test_stalls_kept_are_bounded_and_stalls_counted_are_not() -> None:
    clock = FakeClock()
    async with watching(Watchdog(clock=clock)) as watchdog:
        await turns()
        for _ in range(3 * KEPT):
            clock.now += 2.0
            watchdog.stood_still(0.0)
    assert len(watchdog.stalls) == KEPT
    assert (watchdog.count, watchdog.seconds) == (3 * KEPT, 6.0 * KEPT)


async def test_no_stall_is_found_without_a_watchdog() -> None:
    clock = FakeClock()
    watchdog = Watchdog(clock=clock)
    async with watching(watchdog):
        await turns()
    clock.now += 100.0
    assert watchdog.stood_still(0.0) == 0.0


@pytest.mark.parametrize("outcome", Outcome)
def test_a_complete_answer_is_not_void(outcome: Outcome) -> None:
    error = PeerError(outcome, "what was wrong")
    assert not error.void
    error.stalled = 2.0
    assert error.void is (outcome in STALL_OUTCOMES)
    assert error.excuse() == (
        f"the hub stood still for 2.0 s, so this does not count: {outcome}: what was wrong"
    )


def test_all_that_counts_against_a_server_that_is_not_there_may_be_void() -> None:
    unreached = {outcome for outcome, rule in RULES.items() if rule.circuit}
    assert unreached - {Outcome.CREDENTIALS} < STALL_OUTCOMES
    assert not STALL_OUTCOMES & {Outcome.OK, Outcome.PARTIAL, Outcome.FAULT, Outcome.SHAPE}
