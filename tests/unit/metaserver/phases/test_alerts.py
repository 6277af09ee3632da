"""When a condition is worth an alert: it lasts, is not repeated, ends; and what a message says."""

import pytest

from metaserver.base.findings import Alert, Condition
from metaserver.phases.alerting import HOLD, LINES, NAMED, REPEAT, AlertBook, lines

DOWN = Condition("down", "test", "blue-1")
DISK = Condition("disk", "", "hub")
HELD = HOLD["down"]


class Watched:
    """A book, the conditions that are there, and a clock."""

    def __init__(self, *last: Alert) -> None:
        self.book = AlertBook(last)
        self.now = 1_000_000.0

    def after(self, seconds: float, *there: Condition, over: str = "none") -> list[str]:
        """Return what is told after some seconds with these conditions; one phase may be over."""
        self.now += seconds
        messages = {one: f"{one.subject} is {one.kind}" for one in there}
        found = self.book.update(self.now, messages, over=lambda phase: phase == over)
        return [f"{'over: ' if one.over else ''}{one.message}" for one in found]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_condition_is_told_once_it_has_lasted(watched: Watched) -> None:
    assert watched.after(0, DOWN) == []
    assert watched.after(HELD - 1, DOWN) == []
    assert watched.after(1, DOWN) == ["blue-1 is down"]
    assert watched.after(HELD, DOWN) == []


def test_others_are_told_at_once(watched: Watched) -> None:
    assert watched.after(0, DISK) == ["hub is disk"]


def test_a_short_one_is_never_told(watched: Watched) -> None:
    watched.after(0, DOWN)
    assert watched.after(HELD / 2) == []
    assert watched.after(HELD, DOWN) == []


def test_one_that_comes_and_goes_is_two_messages_in_six_hours(watched: Watched) -> None:
    told = []
    for _ in range(int(REPEAT / HELD / 4) - 1):
        told += watched.after(HELD, DOWN) + watched.after(HELD, DOWN)
        told += watched.after(HELD) + watched.after(HELD)
    assert told == ["blue-1 is down", "over: blue-1 is down"]
    watched.after(REPEAT, DOWN)
    assert watched.after(HELD, DOWN) == ["blue-1 is down"]


def test_a_restart_repeats_nothing_and_forgets_no_end() -> None:
    at = 1_000_000.0
    last = Alert(at=at, kind="down", phase="test", subject="blue-1", message="blue-1 is down")
    again = Watched(last)
    assert again.after(60, DOWN) == []
    assert again.after(REPEAT, DOWN) == []
    again.after(1)
    assert again.after(HELD) == ["over: blue-1 is down"]


def alert(number: int, *, over: bool = False, phase: str = "test") -> Alert:
    name = f"s{number}"
    return Alert(
        at=0.0, kind="down", phase=phase, subject=name, message=f"{name} is down", over=over
    )


def test_a_message_names_few_and_counts_many() -> None:
    found = lines([alert(1), alert(1, over=True)])
    assert found == ["s1 is down in phase test", "Over: s1 is down in phase test"]
    many = lines(alert(number) for number in range(NAMED + 300))
    assert many == ["305 × down in phase test: s0, s1, s2, s3, s4 and others"]
    phases = lines(alert(number, phase=f"p{number}") for number in range(LINES + 5))
    assert phases[LINES:] == ["and 5 more"]


def test_nothing_is_over_because_its_phase_was_frozen(watched: Watched) -> None:
    watched.after(0, DOWN, DISK)
    assert watched.after(HELD, DOWN, DISK) == ["blue-1 is down"]
    assert watched.after(1, DISK, over="test") == []
    assert watched.after(2 * HELD, DISK, over="test") == []
    assert watched.after(1) == ["over: hub is disk"]  # the hub's own are looked at
    watched.after(1, DOWN)  # the phase is open again
    assert watched.after(HELD, DOWN) == ["blue-1 is down"]
