"""The course of a phase's attempts: the same in any order, in parts and after a checkpoint."""

import random
from collections.abc import Iterable, Sequence

import msgspec
import pytest

from metaserver.base.states import Outcome
from metaserver.boards.course import MOST, SHORTEST, AttemptCourse, KeptCourse

BEGIN = 1_790_000_000.0
DAY = 86_400.0

Attempt = tuple[float, Outcome, float]


def drawn(count: int, length: float, seed: int = 1) -> Sequence[Attempt]:
    rng = random.Random(seed)
    outcomes = [Outcome.OK] * 6 + [Outcome.PARTIAL, Outcome.TIMEOUT, Outcome.CONNECT]
    return [
        (BEGIN + rng.random() * length, rng.choice(outcomes), rng.lognormvariate(3, 1))
        for _ in range(count)
    ]


def course_of(attempts: Iterable[Attempt]) -> AttemptCourse:
    course = AttemptCourse()
    for attempt in attempts:
        course.add(*attempt)
    return course


@pytest.mark.parametrize("length", [10.0, 90.0, 3_000.0, DAY, 40 * DAY])
def test_few_intervals_cover_any_length_in_any_order(length: float) -> None:
    attempts = drawn(500, length)
    course = course_of(attempts).read()
    assert course == course_of(sorted(attempts)).read() == course_of(attempts[::-1]).read()
    assert len(course.moments) <= MOST
    assert course.seconds == SHORTEST or len(course.moments) > MOST // 2 - 1
    starts = [one.start for one in course.moments]
    assert starts[0] <= min(at for at, _, _ in attempts) < starts[0] + course.seconds
    assert starts[-1] <= max(at for at, _, _ in attempts) < starts[-1] + course.seconds
    outcomes = [outcome for _, outcome, _ in attempts]
    answered = sum(one in (Outcome.OK, Outcome.PARTIAL) for one in outcomes)
    assert sum(one.answered for one in course.moments) == answered
    assert sum(one.partial for one in course.moments) == outcomes.count(Outcome.PARTIAL)
    assert sum(one.errors for one in course.moments) == len(attempts) - answered


@pytest.mark.parametrize("lengths", [(100.0, DAY), (DAY, 100.0), (DAY, 7 * DAY)])
def test_courses_are_added_and_taken_away_again(lengths: tuple[float, float]) -> None:
    first, second = (drawn(200, length, seed) for seed, length in enumerate(lengths))
    whole = course_of(first)
    whole.merge(course_of(second))
    assert whole.read() == course_of([*first, *second]).read()
    whole.subtract(course_of(first))
    left = [one for one in whole.read().moments if one.answered or one.errors]
    assert sum(one.answered + one.errors for one in left) == len(second)
    whole.subtract(course_of(second))
    assert whole.read().moments == ()


def test_a_checkpoint_continues() -> None:
    attempts = drawn(300, DAY)
    kept = course_of(attempts[:150]).dump()
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=KeptCourse)
    assert stored == kept
    course = AttemptCourse.load(stored)
    for attempt in attempts[150:]:
        course.add(*attempt)
    assert course.read() == course_of(attempts).read()
    assert course.dump() == course_of(attempts).dump()


def test_percentiles_are_near_the_true_ones() -> None:
    times = sorted(seconds for _, _, seconds in drawn(2_000, 10.0))
    [moment] = course_of((BEGIN, Outcome.OK, seconds) for seconds in times).read().moments
    assert moment.p50 == pytest.approx(times[1_000], rel=0.1)
    assert moment.p95 == pytest.approx(times[1_900], rel=0.1)


def test_what_was_cancelled_or_never_connected_says_nothing_of_times() -> None:
    course = course_of([(BEGIN, Outcome.CANCELLED, 5.0)])
    assert course.read().moments == ()
    course.add(BEGIN, Outcome.CONNECT, 5.0)
    [moment] = course.read().moments
    assert (moment.errors, moment.p50) == (1, None)
