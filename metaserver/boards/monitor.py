"""The monitor of servers' states and speeds: updated by the lanes' events, read by the pages."""

from __future__ import annotations

import bisect
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from metaserver.base.records import Attempt, Server, ServerName, TaskName, Timings
from metaserver.base.states import ANSWERED, Control, Outcome, ServerState
from metaserver.base.usage import RunUsage, UsageTotals
from metaserver.boards.course import AttemptCourse
from metaserver.boards.histogram import TimeHistogram
from metaserver.boards.snapshots import ErrorEntry, KeptMonitor, Monitor, ServerStatus, Tick
from metaserver.boards.tally import NO_RESPONSE
from metaserver.lanes.events import LaneChanged, LaneEnd

STRIP = 48  # attempts shown of a server
ERRORS = 200  # entries of the error log
BIN_SECONDS = 5.0  # of the throughput
BINS = 60
BEHIND = "catching up: its stored attempts are being read"
LOCKED = "the hub cannot read the credentials it stored for it"

END_STATES: Mapping[LaneEnd, tuple[ServerState, str]] = {
    LaneEnd.FINISHED: (ServerState.FINISHED, ""),
    LaneEnd.LOST: (ServerState.SUSPENDED, "another hub works on it"),
    LaneEnd.STOPPED: (
        ServerState.SUSPENDED,
        "stopped by a fault of the hub: an organiser can start it again",
    ),
}

DOWN_OR_UP = frozenset({ServerState.DOWN, ServerState.UP, ServerState.SLOW})
CONTROL_STATES: Mapping[Control, ServerState] = {
    Control.PAUSED: ServerState.PAUSED,
    Control.SUSPENDED: ServerState.SUSPENDED,
}


class PassedState(NamedTuple):
    """A state that a server had from the moment `at` (Unix seconds) on."""

    at: float
    state: ServerState
    note: str


@dataclass(kw_only=True, slots=True)
class _Measured:
    """A server's attempt measures."""

    over: bytearray  # a bit for each article of the corpus, by position: answered or given up
    answered: int = 0
    given_up: int = 0
    answers: Counter[int] = field(default_factory=Counter)  # by bin of the clock
    recent: deque[Tick] = field(default_factory=lambda: deque(maxlen=STRIP))
    times: TimeHistogram = field(default_factory=TimeHistogram)
    course: AttemptCourse = field(default_factory=AttemptCourse)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    network: float = 0.0
    total: float = 0.0
    usage: UsageTotals = field(default_factory=UsageTotals)
    tasks: Counter[TaskName] = field(default_factory=Counter)  # answers that have the task

    @property
    def finished(self) -> int:
        return self.answered + self.given_up


@dataclass(kw_only=True, slots=True)
class _MonitoredServer:
    """A server's monitored data, and its lane's state."""

    server: Server
    address: str
    in_flight: int = 0
    down: str = ""
    end: LaneEnd | None = None
    control: Control = Control.RUNNING
    control_note: str = ""
    behind: bool = False  # its stored attempts are still being read
    locked: bool = False  # nothing is sent to it, as its credentials cannot be opened
    measured: _Measured
    status: ServerStatus | None = None  # the cached row, until a change


class ServerMonitor:
    """A phase's monitor, with `total` articles per server and `time_limit` seconds each.

    `opened` returns whether articles are sent now: only then a queue has a remaining time.
    """

    def __init__(
        self,
        phase: str,
        total: int,
        time_limit: float,
        *,
        clock: Callable[[], float] = time.time,
        opened: Callable[[], bool] = lambda: True,
    ) -> None:
        self._phase = phase
        self._total = total
        self._time_limit = time_limit
        self._clock = clock
        self._opened = opened
        self._open = opened()
        self._servers: dict[ServerName, _MonitoredServer] = {}
        self._errors: list[ErrorEntry] = []  # oldest first
        self._locked: Set[ServerName] = frozenset()
        self._answers: Counter[int] = Counter()  # by bin of the clock
        self._times = TimeHistogram()  # of all servers
        self._course = AttemptCourse()
        self._began = clock()
        self._changed: dict[ServerName, list[PassedState]] = {}  # until `take_changed`
        self._cached: tuple[object, Monitor] | None = None  # the last snapshot, until a change

    def add(self, server: Server, address: str) -> None:
        """Monitor a server, or apply its changes; its address is the public part of its URL."""
        self._cached = None
        watched = self._servers.get(server.name)
        if watched is None:
            measured = _Measured(over=bytearray(self._total // 8 + 1))
            watched = self._servers[server.name] = _MonitoredServer(
                server=server, address=address, measured=measured
            )
        watched.server, watched.address = server, address
        self._change(watched)

    def adopt(self, other: ServerMonitor, server: ServerName) -> None:
        """Take over a server's attempt measures from another monitor, which is given up."""
        errors = [error for error in other._errors if error.server == server]
        self._measure(server, other._servers[server].measured, errors)

    def dump(self, server: ServerName) -> KeptMonitor:
        """Return a server's attempt measures, for `load`."""
        measured = self._servers[server].measured
        return KeptMonitor(
            answered=measured.answered,
            given_up=measured.given_up,
            network=measured.network,
            total=measured.total,
            outcomes=dict(measured.outcomes),
            answers=dict(measured.answers),
            recent=tuple(measured.recent),
            times=measured.times.to_bytes() if measured.times.total else b"",
            errors=tuple(error for error in self._errors if error.server == server),
            over=bytes(measured.over),
            course=measured.course.dump(),
            usage=measured.usage.copy(),
            tasks=dict(measured.tasks),
        )

    def load(self, server: ServerName, stored: KeptMonitor) -> None:
        """Set a server's attempt measures to dumped ones."""
        measured = _Measured(
            answered=stored.answered,
            given_up=stored.given_up,
            answers=Counter(stored.answers),
            times=TimeHistogram.from_bytes(stored.times) if stored.times else TimeHistogram(),
            outcomes=Counter(stored.outcomes),
            network=stored.network,
            total=stored.total,
            over=bytearray(stored.over),
            course=AttemptCourse.load(stored.course),
            usage=stored.usage.copy(),
            tasks=Counter(stored.tasks),
        )
        measured.recent.extend(stored.recent)
        self._measure(server, measured, stored.errors)

    def _measure(
        self, server: ServerName, measured: _Measured, errors: Iterable[ErrorEntry]
    ) -> None:
        """Set a server's attempt measures, here and in the totals over all servers."""
        watched = self._servers[server]
        self._answers -= watched.measured.answers
        self._answers += measured.answers
        self._times.subtract(watched.measured.times)
        self._times.merge(measured.times)
        self._course.subtract(watched.measured.course)
        self._course.merge(measured.course)
        self._errors = [error for error in self._errors if error.server != server]
        for error in errors:
            self._keep_error(error)
        watched.measured = measured
        self._change(watched)

    def behind(self, server: ServerName, behind: bool) -> None:
        """Record whether a server's stored attempts are still being read."""
        watched = self._servers[server]
        watched.behind = behind
        self._change(watched)

    def lock(self, servers: Set[ServerName]) -> bool:
        """Record which servers wait for the key of their credentials; return if any has changed."""
        changed, self._locked = servers ^ self._locked, servers
        for name in changed & self._servers.keys():
            watched = self._servers[name]
            watched.locked = name in servers
            self._change(watched)
        return bool(changed)

    def control(self, server: ServerName, control: Control, note: str = "") -> None:
        """Record a lane's desired state."""
        watched = self._servers[server]
        watched.control, watched.control_note = control, note
        self._change(watched)

    def limit(self, seconds: float) -> None:
        """Change the time limit for an article, in seconds."""
        self._time_limit = seconds
        for watched in self._servers.values():
            self._change(watched)

    def found_down(self, server: ServerName, reason: str) -> None:
        """Record that a server was down when it was last monitored."""
        watched = self._servers[server]
        watched.down = reason
        self._change(watched)

    def reopened(self, server: ServerName) -> None:
        """Record that a lane that had ended has articles in its queue again."""
        watched = self._servers[server]
        watched.end = None
        self._change(watched)

    def take_changed(self) -> Mapping[ServerName, Sequence[PassedState]]:
        """Return the servers that have changed since the last call: others have the same state.

        With each come the moments at which it went down or came back, so that none is missed.
        """
        changed, self._changed = self._changed, {}
        return changed

    def put_back(self, changed: Mapping[ServerName, Sequence[PassedState]]) -> None:
        """Let the next `take_changed` return these servers again."""
        for name, passed in changed.items():
            self._changed[name] = [*passed, *self._changed.get(name, ())]

    def _change(self, watched: _MonitoredServer) -> None:
        """Drop what is cached for a server, and remember that it has changed."""
        watched.status = self._cached = None
        self._changed.setdefault(watched.server.name, [])

    def status(self, server: ServerName) -> ServerStatus:
        """Return a server's present row on the monitor."""
        self._update_open()
        return self._status(self._servers[server])

    def state(self, server: ServerName) -> tuple[ServerState, str]:
        """Return a server's state and the reason for it."""
        watched = self._servers[server]
        return _state(watched, watched.measured.times.percentile(50), self._time_limit, self._total)

    def over(self, server: ServerName) -> bytes | None:
        """Return a bit for each article that is over for a server; None for another run.

        The corpus' article at position 8i + k has bit k in byte i, the lowest first.
        """
        watched = self._servers.get(server)
        return None if watched is None else bytes(watched.measured.over)

    def usages(self, currency: str) -> Mapping[ServerName, RunUsage]:
        """Return what answers took, by the servers that declare it; costs in a single currency."""
        usages = {
            name: watched.measured.usage.of_run(currency)
            for name, watched in self._servers.items()
            if watched.measured.usage.declared
        }
        return {name: usage for name, usage in usages.items() if usage is not None}

    def answered(self, server: ServerName, task: TaskName) -> int:
        """Return how many articles a server answered for a task, be it with an empty list."""
        return self._servers[server].measured.tasks[task]

    def attempt(
        self, attempt: Attempt, position: int, *, final: bool, tasks: Iterable[TaskName] = ()
    ) -> None:
        """Record an ended attempt, live or read from the store, at its article's position.

        `tasks` are those that its answer has.
        """
        watched = self._servers[attempt.server]
        measured = watched.measured
        seconds = attempt.timings.total
        self._change(watched)
        measured.outcomes[attempt.outcome] += 1
        measured.recent.append(Tick(outcome=attempt.outcome, seconds=seconds))
        counted = self._time_limit if attempt.outcome is Outcome.TIMEOUT else seconds
        if attempt.outcome not in NO_RESPONSE:
            measured.times.add(counted)
            self._times.add(counted)
        for course in (measured.course, self._course):
            course.add(attempt.started_at + seconds, attempt.outcome, counted)
        measured.network += _network(attempt.timings)
        measured.total += seconds
        if final or attempt.outcome in ANSWERED:
            measured.over[position >> 3] |= 1 << (position & 7)
        if attempt.outcome in ANSWERED:
            measured.answered += 1
            measured.tasks += Counter(list(tasks))
            if attempt.usage is not None:
                measured.usage.add(attempt.usage)
            at = int((attempt.started_at + seconds) // BIN_SECONDS)
            self._answers[at] += 1
            if at not in measured.answers:
                for at_old in [
                    bin_start for bin_start in measured.answers if bin_start < at - BINS
                ]:
                    del measured.answers[at_old]
            measured.answers[at] += 1
        elif final:
            measured.given_up += 1
        if attempt.outcome is not Outcome.OK:
            self._log(attempt, final=final)

    def _log(self, attempt: Attempt, *, final: bool) -> None:
        entry = ErrorEntry(
            at=attempt.started_at + attempt.timings.total,
            server=attempt.server,
            article=attempt.article,
            attempt=attempt.number,
            outcome=attempt.outcome,
            message=attempt.message,
            final=final,
        )
        self._keep_error(entry)

    def _keep_error(self, entry: ErrorEntry) -> None:
        bisect.insort(self._errors, entry, key=_place)  # they are restored lane by lane
        del self._errors[:-ERRORS]

    def lane(self, change: LaneChanged) -> None:
        """Record a change in a lane's state."""
        watched = self._servers[change.server.name]
        self._change(watched)
        was_down = bool(watched.down)
        watched.in_flight = change.in_flight
        watched.down = change.down
        watched.end = None if change.end is LaneEnd.SLICE else change.end
        if was_down is not bool(watched.down):
            state, note = self.state(watched.server.name)
            if state in DOWN_OR_UP:
                self._changed[watched.server.name].append(PassedState(self._clock(), state, note))

    def snapshot(self, blocked: str = "") -> Monitor:
        """Return the present monitor; `blocked` is the reason why no answer can be stored."""
        self._update_open()
        key = (blocked, int(self._clock() // BIN_SECONDS))
        if self._cached is None or self._cached[0] != key:
            self._cached = (key, self._snapshot(blocked))
        return self._cached[1]

    def _update_open(self) -> None:
        """Drop the cached rows if the phase has opened or closed, which changes all of them."""
        if self._open is not (opened := self._opened()):
            self._open, self._cached = opened, None
            for watched in self._servers.values():
                watched.status = None

    def _snapshot(self, blocked: str) -> Monitor:
        edges, counts = self._times.shape(self._time_limit)
        p50, p95, p99 = self._times.percentiles(50, 95, 99)
        return Monitor(
            phase=self._phase,
            time_limit=self._time_limit,
            servers=[self._status(watched) for watched in self._servers.values()],
            throughput=self._throughput(),
            histogram_edges=edges,
            histogram=counts,
            p50=p50,
            p95=p95,
            p99=p99,
            errors=tuple(reversed(self._errors)),
            finished=self._finished(),
            blocked=blocked,
            behind=sum(watched.behind for watched in self._servers.values()),
            opened=self._open,
            course=self._course.read(),
        )

    def _finished(self) -> bool:
        """Return whether there are servers and no more articles are sent to any of them."""
        rows = [(watched, self._status(watched).state) for watched in self._servers.values()]
        return bool(rows) and all(
            not watched.behind
            and (state is ServerState.FINISHED or watched.end is LaneEnd.ABANDONED)
            for watched, state in rows
        )

    def _throughput(self) -> Sequence[float]:
        """Return the answers a minute in each of the last complete bins since the monitor began."""
        now = int(self._clock() // BIN_SECONDS)
        first = max(now - BINS, int(self._began // BIN_SECONDS))
        for bin_start in [at for at in self._answers if at < now - BINS]:
            del self._answers[bin_start]
        return [self._answers[at] * 60 / BIN_SECONDS for at in range(first, now)]

    def _status(self, watched: _MonitoredServer) -> ServerStatus:
        """Return a server's row, which is cached until a change."""
        if watched.status is None:
            watched.status = self._make_status(watched)
        return watched.status

    def _make_status(self, watched: _MonitoredServer) -> ServerStatus:
        median, p95, p99 = watched.measured.times.percentiles(50, 95, 99)
        state, note = _state(watched, median, self._time_limit, self._total)
        return ServerStatus(
            name=watched.server.name,
            address=watched.address,
            tasks=watched.server.tasks,
            state=state,
            note=note,
            done=watched.measured.answered,
            given_up=watched.measured.given_up,
            total=self._total,
            in_flight=watched.in_flight,
            recent=tuple(watched.measured.recent),
            last=_last(watched.measured.recent),
            p50=median,
            p95=p95,
            p99=p99,
            network_share=watched.measured.network / watched.measured.total
            if watched.measured.total
            else None,
            eta=_eta(watched, self._total - watched.measured.finished) if self._open else None,
            outcomes=dict(watched.measured.outcomes),
            protocol=watched.server.protocol,
            ended=not self._open and bool(watched.measured.finished),
        )


def _place(error: ErrorEntry) -> tuple[float, str, str, int]:
    """Return the sort key of an error: the order in which errors came to the hub has no effect."""
    return error.at, error.server, error.article, error.attempt


def _last(recent: deque[Tick]) -> float | None:
    """Return the seconds of the last attempt that brought a response or timed out."""
    responses = (tick.seconds for tick in reversed(recent) if tick.outcome not in NO_RESPONSE)
    return next(responses, None)


def _network(timings: Timings) -> float:
    parts = (timings.dns, timings.connect, timings.send, timings.transfer)
    return sum(part for part in parts if part is not None)


def _eta(watched: _MonitoredServer, remaining: int) -> float | None:
    """Return the seconds until the queue is empty at the speed of the last attempts."""
    if not (remaining and watched.measured.recent and watched.measured.finished):
        return None
    if watched.down or watched.locked:
        return None
    seconds = sum(tick.seconds for tick in watched.measured.recent) / len(watched.measured.recent)
    attempts_each = watched.measured.outcomes.total() / watched.measured.finished
    return remaining * seconds * attempts_each / watched.server.concurrency


def _state(
    watched: _MonitoredServer, median: float | None, time_limit: float, total: int
) -> tuple[ServerState, str]:
    if watched.measured.finished >= total > 0 and not watched.in_flight:
        return ServerState.FINISHED, ""
    if watched.control in CONTROL_STATES and watched.end is not LaneEnd.FINISHED:
        finishing = f"finishing {watched.in_flight} in flight" if watched.in_flight else ""
        return CONTROL_STATES[watched.control], watched.control_note or finishing
    if watched.end is LaneEnd.ABANDONED:
        return ServerState.DOWN, f"abandoned after a long time down: {watched.down}"
    if watched.locked and watched.end not in END_STATES:
        return ServerState.WAITING, LOCKED
    if watched.down:
        return ServerState.DOWN, watched.down
    if watched.end is not None and watched.end in END_STATES:
        return END_STATES[watched.end]
    if not watched.measured.recent:
        return ServerState.WAITING, BEHIND if watched.behind else "no attempt yet"
    if median is not None and median > time_limit / 2:
        return ServerState.SLOW, "the median answer takes more than half of the time limit"
    return ServerState.UP, ""
