"""When a lane is to have its next checkpoint, which writes all that was computed of it again."""

import pytest

from metaserver.base.lanes import LaneKey
from metaserver.base.records import Server, ServerName
from metaserver.phases.log_reader import LATE_SECONDS, LEAST_NEW, PART, WORTH, FollowedLane
from metaserver.store.logs import LogEnd


def lane(read: int, new: int) -> FollowedLane:
    """Return a lane of whose log `new` attempts have no checkpoint."""
    return FollowedLane(
        server=Server(name=ServerName("one"), url="http://127.0.0.1:9/"),
        key=LaneKey(1, 1),
        end=LogEnd(read),
        read=read,
        kept=LogEnd(read - new),
    )


@pytest.mark.parametrize(
    ("read", "new", "due"),
    [
        (LEAST_NEW - 1, LEAST_NEW - 1, False),
        (LEAST_NEW, LEAST_NEW, True),
        (100_000, 24_999, False),
        (100_000, 25_000, True),
    ],
)
def test_many_new_attempts_are_due(read: int, new: int, due: bool) -> None:
    assert lane(read, new).is_due is due


@pytest.mark.parametrize(
    ("read", "new", "times"),
    [(50, 1, 1), (1_000, 10, 1), (1_000, 1, 10), (100_000, 1, 1_000), (100_000, 2_000, 1)],
)
def test_few_attempts_of_a_long_log_wait_longer(read: int, new: int, times: int) -> None:
    assert lane(read, new).late == LATE_SECONDS * times


def test_attempts_that_have_changed_are_new() -> None:
    one = lane(1_000, 1)
    one.end = LogEnd(1_000, revision=1)
    assert (one.new, one.is_due) == (1_000, True)


def test_the_parts_of_a_log_grow_with_it() -> None:
    assert (lane(0, 0).part, lane(PART, 0).part) == (PART, 2 * PART)
    assert lane(1_000_000, 0).part == 1_250_000


def test_few_attempts_are_not_worth_a_checkpoint_when_a_hub_stops() -> None:
    assert [lane(1_000, new).is_worth for new in (0, WORTH - 1, WORTH)] == [False, False, True]
