"""Measures compared with numbers calculated independently."""

import pytest

from metaserver.base.records import Timings
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.histogram import ACCURACY
from metaserver.boards.measures import (
    UPTIME_STATES,
    Availability,
    Reading,
    Tips,
    UptimeState,
    availability,
    timings,
    tips,
)
from metaserver.boards.tally import EndedAttempt, Tally

LIMIT = 600.0
UP, DOWN, NEITHER = UptimeState.UP, UptimeState.DOWN, UptimeState.NEITHER


def ended(
    outcome: Outcome, seconds: float, hits: int = 0, size: int = 0, **phases: float
) -> EndedAttempt:
    return EndedAttempt(
        at=0.0, outcome=outcome, timings=Timings(total=seconds, **phases), hits=hits,
        article_bytes=size,
    )  # fmt: skip


def tally(*attempts: EndedAttempt) -> Tally:
    made = Tally()
    for attempt in attempts:
        made.add(attempt, LIMIT)
    return made


def test_the_tips_means_of_a_computed_example() -> None:
    """10 s in all, 5 annotations, 4,000 bytes, two responses, one of them without annotations."""
    measured = tips(
        tally(
            ended(Outcome.OK, 4.0, hits=5, size=3_000),
            ended(Outcome.PARTIAL, 6.0, hits=0, size=1_000),
            ended(Outcome.FAULT, 50.0, size=9_000),  # no response, no time-out
            ended(Outcome.CONNECT, 0.1, size=9_000),
        )
    )
    assert measured == Tips(
        responses=2, censored=0, mad=2.5, mtdv_seconds_per_byte=0.0025, mtdv_bytes_per_second=400.0,
        mtsa=2.0, art=5.0,
    )  # fmt: skip


def test_a_call_that_timed_out_counts_as_its_limit_and_is_reported() -> None:
    measured = tips(
        tally(ended(Outcome.OK, 30.0, hits=3, size=700), ended(Outcome.TIMEOUT, 600.03, size=2_300))
    )
    assert (measured.responses, measured.censored) == (1, 1)
    assert measured.mad == 3.0  # of the one response
    assert measured.art == 315.0  # (30 + 600) / 2
    assert measured.mtsa == 210.0  # 630 / 3
    assert measured.mtdv_seconds_per_byte == 0.21  # 630 / 3,000


def test_of_nothing_there_are_no_means() -> None:
    assert tips(Tally()) == Tips(
        responses=0, censored=0, mad=None, mtdv_seconds_per_byte=None, mtdv_bytes_per_second=None,
        mtsa=None, art=None,
    )  # fmt: skip
    assert timings(Tally(), LIMIT) == {}


def test_percentiles_that_the_limit_has_cut_say_so() -> None:
    """Of 20 calls 18 took 10 s and two timed out: p50 is 10 s, p95 at least 600 s."""
    calls = [ended(Outcome.OK, 10.0, wait=9.0)] * 18
    calls += [ended(Outcome.TIMEOUT, 600.01, connect=1.0, send=2.0)] * 2
    total = timings(tally(*calls), LIMIT)["total"]
    assert (total.count, total.censored) == (20, 2)
    assert total.p50.seconds == pytest.approx(10.0, rel=ACCURACY)
    assert str(total.p50) == "10 s"
    assert total.p95 == total.p99 == Reading(seconds=600.0, at_least=True)
    assert str(total.p99) == "≥ 600 s"


def test_the_phase_that_was_cut_is_censored_with_the_rest_of_the_limit() -> None:
    timed = timings(tally(ended(Outcome.TIMEOUT, 600.0, dns=1.0, connect=1.0, send=98.0)), LIMIT)
    assert timed["wait"].censored == 1
    assert timed["wait"].p50.at_least
    assert timed["wait"].p50.seconds == pytest.approx(500.0, rel=ACCURACY)
    assert timed["send"].censored == 0


@pytest.mark.parametrize(
    ("reached", "cut"),
    [
        ({}, "connect"),
        ({"connect": 1.0}, "send"),
        ({"connect": 1.0, "send": 1.0}, "wait"),
        ({"send": 1.0}, "wait"),  # on a kept-alive connection
        ({"send": 1.0, "wait": 1.0}, "transfer"),
        ({"send": 1.0, "wait": 1.0, "transfer": 598.0}, "transfer"),
    ],
)
def test_the_limit_strikes_the_phase_after_the_last_reached(reached, cut):
    timed = timings(tally(ended(Outcome.TIMEOUT, 600.0, **reached)), LIMIT)
    assert {name for name in timed if timed[name].censored} == {"total", cut}
    assert timed[cut].count == 1


def test_attempts_without_a_response_are_not_in_the_response_times() -> None:
    """A refused connection is quick, and says nothing about the server's speed."""
    timed = timings(
        tally(
            ended(Outcome.OK, 10.0, connect=1.0), ended(Outcome.FAULT, 20.0),
            ended(Outcome.CONNECT, 0.1, dns=0.05), ended(Outcome.CANCELLED, 5.0, connect=5.0),
        ),
        LIMIT,
    )  # fmt: skip
    assert (timed["total"].count, timed["dns"].count, timed["connect"].count) == (2, 1, 1)


def test_articles_answered_and_given_up_are_counted_apart() -> None:
    counted = tally(
        ended(Outcome.OK, 1.0),
        ended(Outcome.FAULT, 1.0),
        EndedAttempt(at=0.0, outcome=Outcome.SYNTAX, timings=Timings(), final=False),
        EndedAttempt(at=0.0, outcome=Outcome.PARTIAL, timings=Timings(), first=False),
    )
    assert (counted.answered, counted.at_first) == (2, 1)
    assert (counted.given_up, counted.outcomes.total()) == (1, 4)


def test_uptime_mtbf_and_mttr_of_a_computed_example() -> None:
    """Two failures, after 100 s and 160 s up; two repairs, after 20 s and 40 s down."""
    changes = [(0.0, UP), (100.0, DOWN), (120.0, UP), (280.0, DOWN), (320.0, UP)]
    found = availability(changes, 0.0, 400.0)
    assert (found.up, found.down, found.neither, found.unknown) == (340.0, 60.0, 0.0, 0.0)
    assert (found.uptime, found.failures, found.repairs) == (0.85, 2, 2)
    assert (found.mtbf, found.mttr) == (130.0, 30.0)


def test_a_planned_pause_counts_as_neither() -> None:
    """Up 100 s, paused 1,000 s, up 50 s, then down 50 s: one time up of 150 s, 75 % uptime."""
    changes = [(0.0, UP), (100.0, NEITHER), (1_100.0, UP), (1_150.0, DOWN)]
    found = availability(changes, 0.0, 1_200.0)
    assert (found.up, found.down, found.neither) == (150.0, 50.0, 1_000.0)
    assert (found.uptime, found.mtbf, found.mttr) == (0.75, 150.0, None)


def test_a_pause_within_a_time_down_does_not_end_it() -> None:
    changes = [(0.0, DOWN), (10.0, NEITHER), (50.0, DOWN), (55.0, NEITHER), (70.0, UP)]
    found = availability(changes, 0.0, 100.0)
    assert (found.failures, found.repairs, found.mttr) == (1, 1, 15.0)


def test_time_before_the_first_state_is_unknown() -> None:
    found = availability([(60.0, UP)], 0.0, 100.0)
    assert (found.unknown, found.up, found.uptime) == (60.0, 40.0, 1.0)
    assert availability([], 0.0, 100.0) == Availability(unknown=100.0)
    assert Availability(unknown=100.0).uptime is None
    assert (Availability().mtbf, Availability().mttr) == (None, None)


def test_a_period_that_ended_in_the_window_counts_whole_and_no_other() -> None:
    """Up from 0 to 1,000, down to 1,010; both end in the window, and nothing follows."""
    changes = [(0.0, UP), (1_000.0, DOWN), (1_010.0, UP), (2_000.0, DOWN)]
    found = availability(changes, 900.0, 1_100.0)
    assert (found.up, found.down, found.mtbf, found.mttr) == (190.0, 10.0, 1_000.0, 10.0)
    later = availability(changes, 1_100.0, 1_900.0)
    assert (later.failures, later.mtbf, later.uptime) == (0, None, 1.0)


def test_every_state_has_an_uptime_state() -> None:
    assert set(UPTIME_STATES) == set(ServerState)
    planned = {ServerState.PAUSED, ServerState.SUSPENDED}
    assert {UPTIME_STATES[state] for state in planned} == {UptimeState.NEITHER}
