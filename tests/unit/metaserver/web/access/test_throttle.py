"""Limits under a clock of our own."""

import pytest

from metaserver.web.access.throttle import Buckets, Delays, Failures, Shares, Slots
from tests.fakes.clock import FakeClock


def test_a_bucket_gives_a_minutes_worth_at_once_and_then_as_time_passes() -> None:
    clock = FakeClock()
    buckets = Buckets(60, clock=clock)
    assert [buckets.take("a") for _ in range(60)] == [0.0] * 60
    assert buckets.take("a") == pytest.approx(1.0)
    clock.now += 0.75
    assert buckets.take("a") == pytest.approx(0.25)
    clock.now += 0.25
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0.0


def test_clients_do_not_share_a_bucket_and_a_full_one_holds_no_more() -> None:
    clock = FakeClock()
    buckets = Buckets(2, clock=clock)
    assert [buckets.take(key) for key in "aabb"] == [0.0] * 4
    clock.now += 100_000
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, pytest.approx(30.0)]


def test_waiting_is_told_without_taking() -> None:
    buckets = Buckets(1, clock=FakeClock())
    assert [buckets.wait("a") for _ in range(5)] == [0.0] * 5
    buckets.take("a")
    assert buckets.wait("a") == pytest.approx(60.0)


def test_what_is_remembered_is_bounded_and_the_longest_unseen_go_first() -> None:
    clock = FakeClock()
    buckets = Buckets(1, size=3, clock=clock)
    failures = Failures(Delays(free=0), size=3, clock=clock)
    for key in ("seen", *range(100), "seen"):
        buckets.take(key)
        failures.failed(key)
    assert len(buckets) == len(failures) == 3
    assert buckets.take(99) > 0.0  # still known
    assert buckets.take(0) == 0.0  # forgotten
    assert failures.wait("seen") > 0.0


def test_each_failure_beyond_the_free_ones_doubles_the_wait_up_to_a_cap() -> None:
    clock = FakeClock()
    failures = Failures(Delays(free=2, base=1.0, cap=8.0, forget=900.0), clock=clock)
    waits = []
    for _ in range(8):
        failures.failed("a")
        waits.append(failures.wait("a"))
        clock.now += waits[-1]
        assert failures.wait("a") == 0.0
    assert waits == [0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert failures.wait("b") == 0.0


def test_success_and_time_clear_failures() -> None:
    clock = FakeClock()
    failures = Failures(Delays(free=0, cap=60.0, forget=900.0), clock=clock)
    failures.failed("a")
    failures.succeeded("a")
    assert failures.wait("a") == 0.0
    for _ in range(2000):  # no overflow either
        failures.failed("b")
    assert failures.wait("b") == 60.0
    clock.now += 900.0
    failures.failed("b")
    assert failures.wait("b") == 1.0


def here() -> bool:
    return True


def test_slots_are_bounded_for_each_and_in_all() -> None:
    slots = Slots(2, 3)
    taken = [slots.take(key, here) for key in ("a", "a", "a", "b", "b")]
    assert [slot is not None for slot in taken] == [True, True, False, True, False]
    assert taken[0]
    slots.give(taken[0])
    slots.give(taken[0])  # twice is once
    assert len(slots) == 2
    assert slots.take("c", here)
    assert slots.take("a", here) is None


def test_slots_of_clients_that_have_gone_are_free() -> None:
    gone: set[int] = set()
    slots = Slots(2, 3)
    first, _, third = (slots.take("a", lambda n=n: n not in gone) for n in range(3))
    assert third is None
    gone.add(0)
    assert slots.take("a", here)
    assert slots.take("a", here) is None
    assert slots.take("b", here)
    assert slots.take("c", here) is None
    gone.add(1)
    assert slots.take("c", here)
    assert first
    slots.give(first)  # its holder learns of it late
    assert len(slots) == 3


def test_slots_are_kept_for_favoured_clients() -> None:
    slots = Slots(2, 4, reserved_slots=1)
    assert slots.take("organiser", here, favoured=True)
    taken = [slots.take(key, here) for key in "abcd"]
    assert [slot is not None for slot in taken] == [True, True, True, False]
    assert slots.take("organiser", here, favoured=True) is None
    assert taken[0]
    slots.give(taken[0])
    assert slots.take("organiser", here, favoured=True)  # theirs are no fewer than the others'
    assert slots.take("a", here) is None


def test_a_share_of_the_time_is_all_that_a_client_takes_for_long() -> None:
    clock = FakeClock()
    shares = Shares(0.1, 3.0, 30.0, clock=clock)
    begin, taken = clock.now, 0.0
    while clock.now < begin + 600.0:
        if wait := shares.wait("a"):
            clock.now += wait
        else:
            shares.spend("a", 0.5)
            taken += 0.5
            clock.now += 0.5
    assert taken == pytest.approx(3.0 + 0.1 * 600.0, abs=0.6)
    assert shares.wait("b") == 0.0


def test_what_is_owed_is_bounded_and_forgotten_in_time() -> None:
    clock = FakeClock()
    shares = Shares(0.1, 3.0, 30.0, clock=clock)
    shares.spend("a", 2.9)
    assert shares.wait("a") == 0.0
    shares.spend("a", 10**6)
    assert shares.wait("a") == pytest.approx(270.0)
    clock.now += 270.0
    assert shares.wait("a") == pytest.approx(0.0, abs=1e-6)
    clock.now += 10**6
    shares.spend("a", 3.0)
    assert shares.wait("a") == 0.0


def test_processes_share_a_limit() -> None:
    clock, sharers = FakeClock(), [3]
    buckets = Buckets(60, clock=clock, sharers=lambda: sharers[0])
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") == pytest.approx(3.0)  # one process of three
    sharers[0] = 1  # the others were stopped
    assert buckets.take("a") == pytest.approx(1.0)
    assert Buckets(1, clock=clock, sharers=lambda: 5).take("b") == 0.0  # one is never too much


def test_a_failure_counts_for_all_processes() -> None:
    clock = FakeClock()
    failures = Failures(Delays(free=5), clock=clock, sharers=lambda: 3)
    failures.failed("a")
    assert failures.wait("a") == 0.0
    failures.failed("a")
    assert failures.wait("a") > 0.0
