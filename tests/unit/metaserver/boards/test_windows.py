"""Windows of time: buckets add up to the measures of all attempts."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.base.records import ArticleId, Attempt, ServerName, Timings
from metaserver.base.states import ANSWERED, Outcome, ServerState
from metaserver.boards.measures import timings, tips
from metaserver.boards.tally import EndedAttempt, Tally
from metaserver.boards.windows import CHANGES, SPANS, Window, Windows
from tests.fakes.clock import FakeClock

ONE = ServerName("one")
LIMIT = 600.0
NOW = 1_000_000_000.0
HOUR, DAY = 3_600.0, 86_400.0
SECONDS = st.floats(0.0, LIMIT)


def opened() -> tuple[Windows, FakeClock]:
    clock = FakeClock(NOW)
    return Windows(LIMIT, clock=clock), clock


def ok(at: float, seconds: float = 1.0, **given: int) -> EndedAttempt:
    return EndedAttempt(
        at=at, outcome=Outcome.OK, timings=Timings(total=seconds, wait=seconds), **given
    )


@st.composite
def attempts(draw: st.DrawFn, oldest: float = 40 * DAY) -> EndedAttempt:
    outcome = draw(st.sampled_from(Outcome))
    return EndedAttempt(
        at=NOW - draw(st.floats(0.0, oldest)),
        outcome=outcome,
        timings=Timings(
            total=draw(SECONDS), dns=draw(st.none() | SECONDS), send=draw(st.none() | SECONDS),
            wait=draw(st.none() | SECONDS),
        ),
        hits=draw(st.integers(0, 50)) if outcome in ANSWERED else 0,
        article_bytes=draw(st.integers(0, 10**6)),
        first=draw(st.booleans()), final=draw(st.booleans()),
    )  # fmt: skip


def whole(ended: list[EndedAttempt], since: float) -> Tally:
    tally = Tally()
    for one in ended:
        if one.at >= since:
            tally.add(one, LIMIT)
    return tally


@settings(max_examples=40, deadline=None)
@given(
    kept=st.lists(attempts(), max_size=12),
    live=st.lists(attempts(oldest=2 * HOUR), max_size=8),
    window=st.sampled_from(Window),
)
def test_the_buckets_of_a_window_add_up_to_all_its_attempts(kept, live, window):
    """Counts, sums and, since histograms merge exactly, percentiles."""
    windows, _ = opened()
    windows.restore(ONE, kept)
    for one in sorted(live, key=lambda one: one.at):
        windows.attempt(ONE, one)
    found = windows.window(ONE, window)
    expected = whole(kept + live, found.since)
    assert found.outcomes == expected.outcomes
    assert (found.answered, found.given_up) == (expected.answered, expected.given_up)
    assert found.at_first == expected.at_first
    assert found.tips == tips(expected)
    assert found.times == timings(expected, LIMIT)


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(st.lists(attempts(), max_size=5), max_size=4))
def test_merged_tallies_are_the_tally_of_all(parts: list[list[EndedAttempt]]) -> None:
    merged, unpacked = Tally(), Tally()
    for part in parts:
        merged.merge(whole(part, 0.0))
        unpacked.add_bytes(whole(part, 0.0).to_bytes())
    everything = whole(list(itertools.chain(*parts)), 0.0)
    for found in (merged, unpacked):
        assert +found.outcomes == +everything.outcomes
        assert timings(found, LIMIT) == timings(everything, LIMIT)
        assert tips(found) == tips(everything)


@pytest.mark.parametrize("window", Window)
def test_a_window_is_as_long_as_it_says_less_at_most_a_bucket(window: Window) -> None:
    windows, _ = opened()
    found, span = windows.window(ONE, window), SPANS[window]
    assert span.seconds - span.bucket <= found.until - found.since <= span.seconds
    windows.restore(ONE, [ok(found.since), ok(found.since - 1e-3), ok(found.until)])
    assert windows.window(ONE, window).answered == 2


@pytest.mark.parametrize(
    ("window", "seconds", "bucket"),
    [
        (Window.HOUR, HOUR, 60.0),
        (Window.DAY, DAY, HOUR),
        (Window.WEEK, 7 * DAY, 6 * HOUR),
        (Window.MONTH, 30 * DAY, DAY),
    ],
)
def test_a_window_begins_with_the_bucket_that_makes_it_whole(window, seconds, bucket):
    windows, clock = opened()
    clock.now = NOW // DAY * DAY + 0.5 * bucket  # in the middle of its first bucket
    since = clock.now + 0.5 * bucket - seconds
    windows.restore(ONE, [ok(since - 1e-3), ok(since), ok(since + 1.0)])
    found = windows.window(ONE, window)
    assert (found.since, found.until, found.answered) == (since, clock.now, 2)


def test_buckets_are_whole_in_the_next_coarser_ones() -> None:
    buckets = [span.bucket for span in SPANS.values()]
    assert all(coarse % fine == 0 for fine, coarse in itertools.pairwise(buckets))
    assert all(span.seconds % span.bucket == 0 for span in SPANS.values())


def test_time_passes_out_of_one_window_after_another() -> None:
    windows, clock = opened()
    windows.attempt(ONE, ok(NOW))
    answered = []
    for hours in (0, 2, 25, 8 * 24, 31 * 24):
        clock.now = NOW + hours * HOUR
        answered.append([windows.window(ONE, window).answered for window in Window])
    assert answered == [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_throughput_counts_from_when_the_server_was_first_heard_of() -> None:
    windows, clock = opened()
    windows.state(ONE, NOW - 120.0, ServerState.WAITING)
    for second in range(0, 100, 10):
        windows.attempt(ONE, ok(NOW - second))
    clock.now = NOW + 180.0
    assert windows.window(ONE, Window.HOUR).throughput == pytest.approx(2.0)  # 10 in 5 minutes
    assert windows.window(ServerName("new"), Window.HOUR).throughput is None


def test_a_server_that_was_never_heard_of_has_empty_measures() -> None:
    found = opened()[0].window(ONE, Window.DAY)
    assert (found.state, found.answered, found.times) == (None, 0, {})
    assert found.availability.unknown == pytest.approx(found.until - found.since)


def test_the_state_now_and_the_uptime_come_from_the_changes() -> None:
    windows, _ = opened()
    windows.state(ONE, NOW - 1_000.0, ServerState.UP)
    windows.state(ONE, NOW - 500.0, ServerState.SLOW, "slow")  # slow is up
    windows.state(ONE, NOW - 400.0, ServerState.DOWN, "refused")
    windows.state(ONE, NOW - 300.0, ServerState.PAUSED, "for lunch")
    found = windows.window(ONE, Window.HOUR)
    assert (found.state, found.note) == (ServerState.PAUSED, "for lunch")
    assert (found.availability.up, found.availability.down) == (600.0, 100.0)
    assert (found.availability.neither, found.availability.mtbf) == (300.0, 600.0)


def test_old_changes_are_dropped_but_for_the_one_that_still_holds() -> None:
    windows, clock = opened()
    windows.state(ONE, NOW - 50 * DAY, ServerState.DOWN)
    windows.state(ONE, NOW - 40 * DAY, ServerState.UP)
    windows.state(ONE, NOW, ServerState.DOWN)
    clock.now = NOW + HOUR
    found = windows.window(ONE, Window.MONTH).availability
    assert (found.unknown, found.up_before_failures) == (0.0, 40 * DAY)
    assert len(windows._servers[ONE].changes) == 2


def test_a_server_that_flaps_keeps_bounded_changes() -> None:
    windows, _ = opened()
    states = itertools.cycle([ServerState.UP, ServerState.DOWN])
    for second in range(CHANGES + 100):
        windows.state(ONE, NOW - CHANGES + second, next(states))
    assert len(windows._servers[ONE].changes) == CHANGES


def test_a_forgotten_server_has_nothing() -> None:
    windows, _ = opened()
    windows.attempt(ONE, ok(NOW))
    empty, _ = opened()
    windows.load(ONE, empty.dump(ONE))
    assert windows.window(ONE, Window.HOUR).answered == 0


def test_the_measurements_of_an_attempt() -> None:
    attempt = Attempt(
        server=ONE, article=ArticleId("a"), number=1, started_at=NOW, outcome=Outcome.PARTIAL,
        timings=Timings(total=2.0),
    )  # fmt: skip
    assert EndedAttempt.of(attempt, hits=3, article_bytes=400, final=True) == EndedAttempt(
        at=NOW + 2.0, outcome=Outcome.PARTIAL, timings=attempt.timings, hits=3, article_bytes=400
    )
