"""Frozen values of the monitor: a server's status, errors, a snapshot of all servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.base.states import Outcome, ServerState
from metaserver.base.usage import UsageTotals
from metaserver.boards.course import CourseReading, KeptCourse


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """An attempt in a server's strip: its outcome and its duration in seconds."""

    outcome: Outcome
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerStatus:
    """A row of the monitor; times in seconds, None until measured."""

    name: ServerName
    address: str  # scheme://host:port, never user info, path or query
    tasks: Sequence[TaskName]
    state: ServerState
    note: str  # the reason for the state, one line, may be empty
    done: int  # articles answered
    given_up: int  # articles whose attempts are used up
    total: int
    in_flight: int
    recent: Sequence[Tick]  # the last 48 attempts, oldest first
    last: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    network_share: float | None  # of the total time: dns, connect, send, transfer; 0 to 1
    eta: float | None
    outcomes: Mapping[Outcome, int]
    protocol: str = ""  # empty where the viewer may not see it
    ended: bool = False  # no article is sent any more, whether or not its queue is empty

    def public(self, name: ServerName, *, note: str, protocol: str) -> ServerStatus:
        """Return the row for others than its team: a field that is not named here is concealed."""
        return ServerStatus(
            name=name,
            address="",
            tasks=self.tasks,
            state=self.state,
            note=note,
            done=self.done,
            given_up=self.given_up,
            total=self.total,
            in_flight=self.in_flight,
            recent=self.recent,
            last=self.last,
            p50=self.p50,
            p95=self.p95,
            p99=self.p99,
            network_share=self.network_share,
            eta=self.eta,
            outcomes=self.outcomes,
            protocol=protocol,
            ended=self.ended,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorEntry:
    """A line of the error log: an attempt that was not `ok`."""

    at: float  # seconds since the Unix epoch
    server: ServerName
    article: ArticleId
    attempt: int
    outcome: Outcome
    message: str
    final: bool  # no attempt follows

    def public(self, server: ServerName) -> ErrorEntry:
        """Return the line for others than its team: a field that is not named here is concealed."""
        return ErrorEntry(
            at=self.at,
            server=server,
            article=self.article,
            attempt=self.attempt,
            outcome=self.outcome,
            message="",
            final=self.final,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Monitor:
    """The monitor page's data; `histogram` counts response times by `histogram_edges` (s)."""

    phase: str
    time_limit: float
    servers: Sequence[ServerStatus]
    throughput: Sequence[float]  # articles a minute, one value per 5 s, oldest first, up to 60
    histogram_edges: Sequence[float]
    histogram: Sequence[int]  # len(histogram_edges) - 1 counts; time-outs are in the last
    p50: float | None
    p95: float | None
    p99: float | None
    errors: Sequence[ErrorEntry]  # newest first, at most 200
    finished: bool
    behind: int = 0  # servers whose stored attempts are still being read: "catching up"
    opened: bool = True  # articles are sent now
    blocked: str = ""  # the reason why no answer can be stored now, so that all lanes wait
    course: CourseReading = field(default_factory=CourseReading)  # of all attempts of the phase


class KeptMonitor(msgspec.Struct, frozen=True, array_like=True):
    """A server's attempt measures, for a checkpoint.

    `answers` counts by clock bin; `times` is a serialised `TimeHistogram`, or empty. `over` has the
    articles that are over, as `ServerMonitor.over` returns them. `tasks` counts the answers that
    have a task.
    """

    answered: int
    given_up: int
    network: float
    total: float
    outcomes: dict[Outcome, int]
    answers: dict[int, int]
    recent: tuple[Tick, ...]
    times: bytes
    errors: tuple[ErrorEntry, ...]
    over: bytes
    course: KeptCourse
    usage: UsageTotals
    tasks: dict[TaskName, int]
