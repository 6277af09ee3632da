"""The course of a server's measures over time, and its uptime by day."""

import random

import pytest

from metaserver.base.records import ServerName, Timings
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.measures import UptimeState
from metaserver.boards.tally import EndedAttempt
from metaserver.boards.trends import DAY, Moment, uptime_by_day
from metaserver.boards.windows import SPANS, Window, Windows

NOW = 1_790_000_000.0
SERVER = ServerName("blue-1")
UP, DOWN = UptimeState.UP, UptimeState.DOWN


def ended(at, seconds=2.0, outcome=Outcome.OK):
    return EndedAttempt(at=at, outcome=outcome, timings=Timings(total=seconds))


@pytest.mark.parametrize("window", Window)
def test_a_moment_has_the_measures_of_its_bucket(window):
    span, windows = SPANS[window], Windows(600, clock=lambda: NOW)
    begin = span.start(NOW) - span.bucket
    outcomes = (Outcome.OK, Outcome.PARTIAL, Outcome.HTTP, Outcome.CANCELLED)
    windows.restore(SERVER, [ended(begin + 1, 3.0, outcome) for outcome in outcomes])
    windows.attempt(SERVER, ended(NOW - 1, 600, Outcome.TIMEOUT))
    moments = windows.trend(SERVER, window).moments
    assert len(moments) == span.seconds // span.bucket
    assert moments[-2] == Moment(
        start=begin, answered=2, partial=1, errors=1, p50=pytest.approx(3, rel=0.01),
        p95=pytest.approx(3, rel=0.01),
    )  # fmt: skip
    assert (moments[-1].answered, moments[-1].errors) == (0, 1)
    assert all(one.p50 is None and not one.answered for one in moments[:-2])


def test_a_bucket_is_read_again_only_after_a_change():
    windows = Windows(600, clock=lambda: NOW)
    windows.restore(SERVER, [ended(NOW - 200), ended(NOW - 1)])
    before = windows.trend(SERVER, Window.HOUR).moments
    windows.attempt(SERVER, ended(NOW))
    after = windows.trend(SERVER, Window.HOUR).moments
    assert after[-1].answered == before[-1].answered + 1
    found = [one is two for one, two in zip(before, after, strict=True) if one.answered]
    assert found == [True, False]


def test_an_unknown_server_has_an_empty_course():
    trend = Windows(600, clock=lambda: NOW).trend(SERVER, Window.DAY)
    assert not any(one.answered or one.errors for one in trend.moments)
    assert [day.share for day in trend.days] == [None] * 30


def test_uptime_of_a_day_is_that_of_its_changes():
    today = NOW // DAY * DAY
    days = uptime_by_day([(today - 2 * DAY, UP), (today - DAY / 4, DOWN)], NOW)
    assert [day.start for day in days] == [today - i * DAY for i in range(29, -1, -1)]
    assert [day.share for day in days[-4:]] == [None, 1, 0.75, 0]


def test_uptime_by_day_agrees_with_that_of_the_month():
    some = random.Random(7)
    windows, begin = Windows(600, clock=lambda: NOW), NOW // DAY * DAY - 29 * DAY
    times = sorted(some.uniform(begin, NOW) for _ in range(200))
    for i, at in enumerate([begin, *times]):
        windows.state(SERVER, at, ServerState.DOWN if i % 2 else ServerState.UP)
    days = windows.trend(SERVER, Window.MONTH).days
    lengths = [min(DAY, NOW - day.start) for day in days]
    up = sum(day.share * length for day, length in zip(days, lengths, strict=True))
    month = windows.window(SERVER, Window.MONTH).availability
    assert up / sum(lengths) == pytest.approx(month.uptime)
