"""What the boards show at one moment: frozen values, made by the services, drawn by `web`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaserver.lifecycle import Outcome, ServerState
from metaserver.records import ArticleId, ServerName, TaskName
from metaserver.tasks.plugin import ArticleLevel, Interval, Score


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """For whom a board is: a team, an organiser, or (the default) anybody."""

    team: str = ""
    organiser: bool = False


ANYBODY = Reader()


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardRow:
    """One run on a leaderboard; `place` is 1, 2, 2, 4, ... or None for a run without a score.

    `team` may be empty; `offline` runs were uploaded as a file. `interval` is the newest there is:
    None where none was made yet, of another score where the run has changed since.
    """

    run: ServerName
    place: int | None
    score: Score
    team: str = ""
    offline: bool = False
    interval: Interval | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A task's leaderboard in one view, best run first, runs without a score last.

    `resampling` tells how intervals are made; it is empty where the task has none. Where `hidden`
    tells why the reader may see no run, in whole sentences, there are none. `gold` is the keyed
    digest of the gold, which organisers alone see. `note` is one line that stands above the rows;
    `frozen` is the id of the board's permanent link, where it has one.
    """

    task: TaskName
    rows: Sequence[BoardRow]
    signature: str  # scorer version, article policy, gold version, UniProt release
    gold: str = ""
    view: str = "raw"
    resampling: str = ""
    hidden: str = ""
    note: str = ""
    frozen: str = ""


def marked(signature: str, gold: str) -> str:
    """Return a signature as organisers see it: with the keyed digest of its gold."""
    return f"{signature}|mark:{gold}" if gold else signature


@dataclass(frozen=True, kw_only=True, slots=True)
class ArticleBoard:
    """How hard the articles of a task are, the easiest first, as far as the reader may know.

    `measure` is what the means are of; it is empty where the task has no levels. `withheld` counts
    the articles that too few teams answered to be shown; `ready` is False while nothing was
    computed yet.
    """

    task: TaskName
    measure: str = ""
    levels: Sequence[ArticleLevel] = ()
    withheld: int = 0
    ready: bool = True
    hidden: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """One attempt in a server's strip: how it ended and how long it took, in seconds."""

    outcome: Outcome
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerStatus:
    """A row of the monitor. Times in seconds, None where nothing was measured yet."""

    name: ServerName
    address: str  # scheme://host:port, never user info, path or query
    tasks: Sequence[TaskName]
    state: ServerState
    note: str  # why it is in this state, one line, may be empty
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Monitor:
    """All the monitor page shows. `histogram` counts response times in `histogram_edges` (s)."""

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
    blocked: str = ""  # why no answer can be stored at the moment, so that all lanes wait
