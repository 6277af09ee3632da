"""Paces and forecasts: what counts as work, what a forecast is made of, and its verdicts."""

from dataclasses import replace

import pytest

from metaserver.base.records import ArticleId, Attempt, Server, ServerName, TaskName, Timings
from metaserver.base.states import Outcome, RetryDecision, ServerState
from metaserver.boards.forecast import (
    KEPT,
    ForecastBasis,
    MeasuredPace,
    Paces,
    Verdict,
    forecast,
    verdict,
)
from metaserver.boards.snapshots import ServerStatus, Tick
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneEnd

NAME = ServerName("alpha")
SERVER = Server(
    name=NAME, url="http://127.0.0.1:9/", method="annotate", parameters="text",
    tasks=(TaskName("INT"),), concurrency=2,
)  # fmt: skip
STATUS = ServerStatus(
    name=NAME, address="http://127.0.0.1:9", tasks=(), state=ServerState.UP, note="", done=20,
    given_up=0, total=120, in_flight=2, recent=(), last=None, p50=None, p95=None, p99=None,
    network_share=None, eta=None, outcomes={},
)  # fmt: skip


class Lane:
    """A lane's events, and a clock that they are dated by."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.paces = Paces(lambda: self.now)

    def turn(self, end: LaneEnd | None = None) -> None:
        self.paces.publish(LaneChanged(server=SERVER, in_flight=0, down="", end=end))

    def article(self, after: float, decision: RetryDecision) -> None:
        self.now += after
        attempt = Attempt(
            server=NAME, article=ArticleId("a"), number=1, started_at=self.now, outcome=Outcome.OK,
            message="", timings=Timings(total=after),
        )  # fmt: skip
        self.paces.publish(
            AttemptEnded(
                server=SERVER, serial=1, position=0, attempt=attempt, answer=None, decision=decision
            )
        )

    @property
    def measured(self) -> MeasuredPace:
        return self.paces.measured(NAME)


DONE, AGAIN = RetryDecision(answered=True), RetryDecision(wait=5.0)


@pytest.fixture
def lane() -> Lane:
    return Lane()


def test_nothing_is_known_of_a_server_that_was_sent_nothing(lane: Lane) -> None:
    assert lane.measured == MeasuredPace(0, 0.0)
    assert forecast(STATUS, lane.measured) is None


def test_retries_count_as_time_and_not_as_articles(lane: Lane) -> None:
    lane.turn()
    lane.article(10, AGAIN)
    lane.article(20, RetryDecision(given_up=True))
    lane.article(5, DONE)
    assert lane.measured == MeasuredPace(2, 35.0)


def test_pauses_do_not_count_and_turns_do(lane: Lane) -> None:
    lane.turn()
    lane.article(10, DONE)
    lane.turn(LaneEnd.PAUSED)
    lane.now += 3_600
    lane.turn()
    lane.article(10, DONE)
    lane.turn(LaneEnd.SLICE)
    lane.now += 30  # it waits for its turn
    lane.turn()
    assert lane.measured == MeasuredPace(2, 50.0)


def test_the_last_articles_count(lane: Lane) -> None:
    lane.turn()
    for _ in range(KEPT):
        lane.article(100, DONE)
    for _ in range(KEPT):
        lane.article(2, DONE)
    assert lane.measured == MeasuredPace(KEPT, 2.0 * KEPT)


def test_a_server_that_hangs_gets_slower_by_itself(lane: Lane) -> None:
    lane.turn()
    for _ in range(10):
        lane.article(6, DONE)
    soon = forecast(STATUS, lane.measured)
    lane.now += 600
    late = forecast(STATUS, lane.measured)
    assert (soon.seconds, late.seconds) == (600.0, 6_600.0)


def test_a_clock_that_is_set_back_takes_no_work_away(lane: Lane) -> None:
    lane.turn()
    lane.article(10, DONE)
    lane.now -= 500
    assert lane.measured.seconds >= 0


def test_a_forecast_needs_eight_articles_and_has_a_range() -> None:
    assert forecast(STATUS, MeasuredPace(7, 70.0)) is None
    found = forecast(STATUS, MeasuredPace(8, 80.0))
    assert (found.seconds, found.articles, found.basis) == (1_000.0, 8, ForecastBasis.PACE)
    wide = forecast(STATUS, MeasuredPace(50, 500.0))
    assert found.low < wide.low < 1_000.0 < wide.high < found.high
    assert found.low * found.high == pytest.approx(1_000.0**2)


def test_response_times_stand_in_until_enough_articles_have_ended() -> None:
    recent = (Tick(outcome=Outcome.OK, seconds=3.0),) * 10
    known = replace(STATUS, recent=recent, eta=150.0)
    found = forecast(known, MeasuredPace(3, 10.0))
    assert (found.seconds, found.articles, found.basis) == (150.0, 10, ForecastBasis.TIMES)
    assert forecast(replace(known, recent=recent[:7]), MeasuredPace(3, 10.0)) is None


def test_a_finished_server_needs_no_forecast() -> None:
    finished = replace(STATUS, done=110, given_up=10)
    assert forecast(finished, MeasuredPace(50, 500.0)) is None
    assert verdict(finished, None, 60.0) is Verdict.FINISHED


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (100.0, Verdict.LATE),
        (1_000.0, Verdict.CLOSE),
        (10_000.0, Verdict.IN_TIME),
        (-5.0, Verdict.LATE),
        (None, Verdict.NO_DEADLINE),
    ],
    ids=["late", "close", "in time", "deadline has passed", "no deadline"],
)
def test_a_forecast_is_held_against_the_deadline(left: float | None, expected: Verdict) -> None:
    found = forecast(STATUS, MeasuredPace(50, 500.0))
    assert verdict(STATUS, found, left) is expected


@pytest.mark.parametrize("state", [ServerState.PAUSED, ServerState.SUSPENDED])
def test_a_server_that_is_paused_has_a_forecast_and_no_verdict(state: ServerState) -> None:
    paused = replace(STATUS, state=state)
    found = forecast(paused, MeasuredPace(50, 500.0))
    assert found is not None
    assert verdict(paused, found, 10.0) is Verdict.STOPPED


def test_without_a_forecast_the_verdict_is_unknown() -> None:
    assert verdict(STATUS, None, 10.0) is Verdict.UNKNOWN
