"""The monitor: states, rates and times from the lanes' events, with a clock of the test's own."""

import dataclasses
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from metaserver.base.records import ArticleId, Attempt, Server, ServerName, Timings
from metaserver.base.states import Control, Outcome, ServerState
from metaserver.boards.monitor import (
    BEHIND,
    BIN_SECONDS,
    BINS,
    ERRORS,
    LOCKED,
    STRIP,
    ServerMonitor,
)
from metaserver.boards.snapshots import ServerStatus
from metaserver.lanes.events import LaneChanged, LaneEnd
from tests.fakes.clock import FakeClock

BEGIN = 1_000_000.0
LIMIT = 100.0
ARTICLES = 10
ONE = Server(name=ServerName("one"), url="http://127.0.0.1/secret")
TWO = Server(name=ServerName("two"), url="http://127.0.0.1/", concurrency=4)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(BEGIN)


@pytest.fixture
def server_monitor(clock: FakeClock) -> ServerMonitor:
    made = ServerMonitor("test", ARTICLES, LIMIT, clock=clock)
    made.add(ONE, "http://127.0.0.1:80")
    made.add(TWO, "http://127.0.0.1:80")
    return made


def attempt(outcome=Outcome.OK, *, seconds=1.0, at=BEGIN, server=ONE, article=0, timings=None):
    return Attempt(
        server=server.name, article=ArticleId(str(article)), number=1, started_at=at - seconds,
        outcome=outcome, message=f"at {at}", timings=replace(timings or Timings(), total=seconds),
    )  # fmt: skip


def changed(*, down: str = "", end: LaneEnd | None = None, in_flight: int = 0) -> LaneChanged:
    return LaneChanged(server=ONE, in_flight=in_flight, down=down, end=end)


def status(server_monitor: ServerMonitor, server: Server = ONE) -> ServerStatus:
    [found] = [row for row in server_monitor.snapshot().servers if row.name == server.name]
    return found


def test_a_server_waits_until_its_first_attempt_and_then_is_up(server_monitor):
    assert status(server_monitor).state is ServerState.WAITING
    assert (
        status(server_monitor).eta
        is status(server_monitor).p50
        is status(server_monitor).network_share
        is None
    )
    server_monitor.attempt(attempt(), 0, final=True)
    assert status(server_monitor).state is ServerState.UP


def test_a_server_is_slow_when_its_median_takes_more_than_half_of_the_limit(server_monitor):
    for seconds in (1.0, 60.0, 60.0):
        server_monitor.attempt(attempt(seconds=seconds), 0, final=True)
    assert status(server_monitor).state is ServerState.SLOW


def test_a_server_is_down_while_its_circuit_is_open_and_says_why(server_monitor):
    server_monitor.attempt(attempt(), 0, final=True)
    server_monitor.lane(changed(down="connect: refused"))
    found = (status(server_monitor).state, status(server_monitor).note)
    assert found == (ServerState.DOWN, "connect: refused")
    assert status(server_monitor).eta is None
    server_monitor.lane(changed())
    assert status(server_monitor).state is ServerState.UP


def test_a_server_waits_while_its_credentials_cannot_be_opened(server_monitor):
    server_monitor.attempt(attempt(), 0, final=True)
    assert status(server_monitor).eta is not None
    assert server_monitor.lock({ONE.name})
    assert not server_monitor.lock({ONE.name})
    found = status(server_monitor)
    assert (found.state, found.note, found.eta) == (ServerState.WAITING, LOCKED, None)
    server_monitor.control(ONE.name, Control.PAUSED)
    assert status(server_monitor).state is ServerState.PAUSED
    server_monitor.control(ONE.name, Control.RUNNING)
    assert server_monitor.lock(set())
    assert status(server_monitor).state is ServerState.UP


@pytest.mark.parametrize(
    ("end", "down", "state", "note"),
    [
        (LaneEnd.FINISHED, "", ServerState.FINISHED, ""),
        (LaneEnd.SLICE, "", ServerState.WAITING, "no attempt yet"),
        (
            LaneEnd.ABANDONED, "dns: no", ServerState.DOWN,
            "abandoned after a long time down: dns: no",
        ),
        (LaneEnd.LOST, "", ServerState.SUSPENDED, "another hub works on it"),
        (
            LaneEnd.STOPPED,
            "",
            ServerState.SUSPENDED,
            "stopped by a fault of the hub: an organiser can start it again",
        ),
    ],
)  # fmt: skip
def test_a_server_whose_lane_has_ended(server_monitor, end, down, state, note):
    server_monitor.lane(changed(down=down, end=end))
    assert (status(server_monitor).state, status(server_monitor).note) == (state, note)


def test_the_phase_is_finished_when_every_lane_is_finished_or_abandoned(server_monitor):
    server_monitor.lane(changed(end=LaneEnd.FINISHED))
    assert not server_monitor.snapshot().finished
    server_monitor.lane(replace(changed(end=LaneEnd.ABANDONED), server=TWO))
    assert server_monitor.snapshot().finished


def test_articles_are_answered_given_up_or_neither(server_monitor: ServerMonitor) -> None:
    server_monitor.attempt(attempt(Outcome.FAULT), 0, final=False)
    server_monitor.attempt(attempt(Outcome.PARTIAL), 0, final=True)
    server_monitor.attempt(attempt(Outcome.FAULT, article=1), 0, final=True)
    row = status(server_monitor)
    assert (row.done, row.given_up, row.total) == (1, 1, ARTICLES)
    assert row.outcomes == {Outcome.FAULT: 2, Outcome.PARTIAL: 1}


def test_the_remaining_time_follows_the_last_attempts(server_monitor: ServerMonitor) -> None:
    server_monitor.attempt(attempt(Outcome.FAULT, seconds=2.0), 0, final=False)
    server_monitor.attempt(attempt(seconds=4.0), 0, final=True)
    found = status(server_monitor).eta
    assert found == pytest.approx(9 * 3.0 * 2)  # two attempts an article so far
    server_monitor.attempt(attempt(seconds=4.0, server=TWO), 0, final=True)
    assert status(server_monitor, TWO).eta == pytest.approx(9 * 4.0 / 4)  # four in flight
    for article in range(1, ARTICLES):
        server_monitor.attempt(attempt(article=article), 0, final=True)
    assert status(server_monitor).eta is None


def test_time_outs_count_as_long_as_the_limit(server_monitor: ServerMonitor) -> None:
    server_monitor.attempt(attempt(Outcome.TIMEOUT, seconds=0.5), 0, final=False)
    monitor = server_monitor.snapshot()
    assert (monitor.p50, monitor.histogram[-1]) == (pytest.approx(LIMIT, rel=0.03), 1)


def test_an_attempt_without_a_response_is_in_no_response_time(server_monitor) -> None:
    server_monitor.attempt(attempt(Outcome.CONNECT, seconds=0.001), 0, final=False)
    assert status(server_monitor).state is ServerState.UP
    assert status(server_monitor).p50 is status(server_monitor).last is None
    for outcome in (Outcome.DNS, Outcome.TLS, Outcome.CANCELLED):
        server_monitor.attempt(attempt(outcome, seconds=90.0), 0, final=False)
    server_monitor.attempt(attempt(seconds=4.0), 0, final=True)
    server_monitor.attempt(attempt(Outcome.CONNECT, seconds=0.001, article=1), 1, final=False)
    monitor = server_monitor.snapshot()
    assert (sum(monitor.histogram), status(server_monitor).last) == (1, 4.0)
    [moment] = [one for one in monitor.course.moments if one.p50 is not None]
    assert monitor.p99 == status(server_monitor).p99 == pytest.approx(4.0, rel=0.01)
    assert monitor.p99 == pytest.approx(moment.p95, rel=0.1)


def test_the_network_share_is_the_time_without_waiting(server_monitor: ServerMonitor) -> None:
    timings = Timings(dns=0.5, connect=0.5, send=0.25, wait=6.0, transfer=0.75, parse=1.0)
    server_monitor.attempt(attempt(seconds=8.0, timings=timings), 0, final=True)
    server_monitor.attempt(attempt(seconds=2.0), 0, final=True)
    assert status(server_monitor).network_share == pytest.approx(0.2)


def test_errors_come_newest_first_and_only_the_last_are_kept(server_monitor: ServerMonitor) -> None:
    for number in range(ERRORS):
        server_monitor.attempt(attempt(Outcome.FAULT, at=1000.0 + 2 * number), 0, final=False)
    for number in range(ERRORS):  # read back after the first server's, though it was meanwhile
        server_monitor.attempt(
            attempt(Outcome.SYNTAX, at=1001.0 + 2 * number, server=TWO), 0, final=False
        )
    server_monitor.attempt(attempt(at=9999.0), 0, final=True)  # no error
    errors = server_monitor.snapshot().errors
    last = 1000.0 + 2 * ERRORS - 1
    assert [error.at for error in errors] == [last - number for number in range(ERRORS)]
    assert {error.server for error in errors} == {"one", "two"}


def test_a_strip_holds_the_last_attempts_oldest_first(server_monitor: ServerMonitor) -> None:
    for number in range(STRIP + 5):
        server_monitor.attempt(attempt(seconds=float(number)), 0, final=False)
    row = status(server_monitor)
    assert [tick.seconds for tick in row.recent] == [float(n) for n in range(5, STRIP + 5)]
    assert row.last == STRIP + 4


def test_throughput_is_answers_a_minute_in_whole_bins(server_monitor, clock):
    assert server_monitor.snapshot().throughput == []
    for _ in range(3):
        server_monitor.attempt(attempt(at=clock.now), 0, final=True)
    server_monitor.attempt(attempt(Outcome.FAULT, at=clock.now), 0, final=True)
    assert server_monitor.snapshot().throughput == []  # its bin is not over
    clock.now += 2 * BIN_SECONDS
    assert server_monitor.snapshot().throughput == [3 * 60 / BIN_SECONDS, 0.0]
    clock.now += BINS * BIN_SECONDS
    assert server_monitor.snapshot().throughput == [0.0] * BINS


def test_the_monitor_says_why_nothing_can_be_stored(server_monitor: ServerMonitor) -> None:
    assert server_monitor.snapshot().blocked == ""
    assert server_monitor.snapshot("disk full").blocked == "disk full"


def test_a_snapshot_is_the_same_value_until_something_changes(server_monitor, clock):
    server_monitor.attempt(attempt(), 0, final=True)
    first = server_monitor.snapshot()
    assert server_monitor.snapshot() is first
    assert server_monitor.snapshot("disk full") is not first
    server_monitor.attempt(attempt(article=1), 0, final=True)
    second = server_monitor.snapshot()
    assert [one.done for one in second.servers] == [2, 0]
    assert second.servers[1] is first.servers[1]  # nothing was heard of it
    clock.now += BIN_SECONDS
    assert server_monitor.snapshot() is not second  # the throughput falls by itself


def test_a_server_monitored_again_no_longer_counts_in_the_times_of_all(server_monitor):
    server_monitor.attempt(attempt(), 0, final=True)
    server_monitor.attempt(attempt(seconds=50.0, server=TWO), 0, final=True)
    empty = ServerMonitor("test", ARTICLES, LIMIT, clock=FakeClock())
    empty.add(TWO, "")
    server_monitor.adopt(empty, TWO.name)
    shown = server_monitor.snapshot()
    assert sum(shown.histogram) == 1
    assert shown.p99 == pytest.approx(1.0, rel=0.01)
    assert [one.name for one in shown.servers] == ["one", "two"]


def test_a_phase_without_servers_is_not_finished(clock: FakeClock) -> None:
    assert not ServerMonitor("test", ARTICLES, LIMIT, clock=clock).snapshot().finished


def test_a_phase_that_was_read_back_whole_is_finished(clock: FakeClock) -> None:
    server_monitor = ServerMonitor("test", 1, LIMIT, clock=clock)
    server_monitor.add(ONE, "")
    assert not server_monitor.snapshot().finished
    server_monitor.attempt(attempt(), 0, final=True)
    assert server_monitor.snapshot().finished  # no lane has said so: the hub was started again


def test_there_is_a_time_left_only_while_articles_are_sent(clock: FakeClock) -> None:
    opened = True
    server_monitor = ServerMonitor("test", ARTICLES, LIMIT, clock=clock, opened=lambda: opened)
    server_monitor.add(ONE, "")
    server_monitor.attempt(attempt(), 0, final=True)
    assert status(server_monitor).eta == ARTICLES - 1
    opened = False
    assert status(server_monitor).eta is server_monitor.status(ONE.name).eta is None
    opened = True
    assert server_monitor.status(ONE.name).eta == status(server_monitor).eta == ARTICLES - 1


def test_another_time_limit_shows_at_once(server_monitor: ServerMonitor) -> None:
    server_monitor.attempt(attempt(seconds=30.0), 0, final=True)
    found = (server_monitor.snapshot().time_limit, status(server_monitor).state)
    assert found == (LIMIT, ServerState.UP)
    server_monitor.limit(40.0)
    found = (server_monitor.snapshot().time_limit, status(server_monitor).state)
    assert found == (40.0, ServerState.SLOW)


def _other() -> ServerMonitor:
    """Return a monitor of one server with two attempts."""
    other = ServerMonitor("test", ARTICLES, LIMIT, clock=FakeClock())
    other.add(ONE, "")
    other.attempt(attempt(), 0, final=True)
    other.attempt(attempt(seconds=LIMIT, outcome=Outcome.TIMEOUT), 0, final=True)
    return other


def test_measures_are_the_same_after_a_dump(server_monitor: ServerMonitor) -> None:
    other = _other()
    server_monitor.attempt(attempt(seconds=7.0), 0, final=True)
    server_monitor.attempt(attempt(seconds=50.0, server=TWO), 0, final=True)
    server_monitor.load(ONE.name, other.dump(ONE.name))
    shown, expected = server_monitor.snapshot(), other.snapshot()
    found = shown.servers[0]
    assert found == dataclasses.replace(expected.servers[0], address=shown.servers[0].address)
    assert shown.errors == expected.errors
    assert sum(shown.histogram) == 3  # the earlier attempt of the first server counts no more
    assert sum(one.answered + one.errors for one in shown.course.moments) == 3
    server_monitor.attempt(attempt(), 0, final=True)
    other.attempt(attempt(), 0, final=True)
    assert server_monitor.dump(ONE.name) == other.dump(ONE.name)


def test_a_server_that_is_behind_has_no_state_yet(server_monitor: ServerMonitor) -> None:
    for server in (ONE, TWO):
        server_monitor.behind(server.name, True)
    shown = server_monitor.snapshot()
    assert (shown.behind, shown.servers[0].note) == (2, BEHIND)
    server_monitor.behind(ONE.name, False)
    shown = server_monitor.snapshot()
    assert (shown.behind, shown.servers[0].note) == (1, "no attempt yet")


# -- what has changed ------------------------------------------------------------------------------

CHANGES: Mapping[str, Callable[[ServerMonitor], None]] = {
    "add": lambda monitor: monitor.add(ONE, "http://127.0.0.1:81"),
    "adopt": lambda monitor: monitor.adopt(_other(), ONE.name),
    "behind": lambda monitor: monitor.behind(ONE.name, True),
    "attempt": lambda monitor: monitor.attempt(attempt(), 0, final=True),
    "control": lambda monitor: monitor.control(ONE.name, Control.PAUSED),
    "lock": lambda monitor: monitor.lock({ONE.name}),
    "found_down": lambda monitor: monitor.found_down(ONE.name, "connect: refused"),
    "load": lambda monitor: monitor.load(ONE.name, _other().dump(ONE.name)),
    "reopened": lambda monitor: monitor.reopened(ONE.name),
    "lane": lambda monitor: monitor.lane(changed(in_flight=1)),
    "limit": lambda monitor: monitor.limit(2 * LIMIT),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_a_server_is_seen_once(server_monitor, change):
    assert server_monitor.take_changed().keys() == {ONE.name, TWO.name}
    server_monitor.snapshot()
    change(server_monitor)
    found = server_monitor.take_changed()
    assert ONE.name in found
    assert server_monitor.take_changed() == {}
    server_monitor.put_back(found)
    server_monitor.lane(replace(changed(), server=TWO))
    assert server_monitor.take_changed() == {**found, TWO.name: []}


def test_looking_changes_nothing(server_monitor: ServerMonitor) -> None:
    server_monitor.take_changed()
    server_monitor.snapshot("the disk is full")
    server_monitor.status(ONE.name)
    server_monitor.state(ONE.name)
    server_monitor.usages("USD")
    assert server_monitor.take_changed() == {}


def test_a_server_found_down_is_shown_so_at_once(server_monitor: ServerMonitor) -> None:
    assert status(server_monitor).state is ServerState.WAITING
    server_monitor.found_down(ONE.name, "connect: refused")
    assert status(server_monitor).state is ServerState.DOWN
