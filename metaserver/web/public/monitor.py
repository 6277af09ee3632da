"""The monitor: its figures, and the rows that a viewer has asked for."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2s
from statistics import fmean

from metaserver.base.boards import Column
from metaserver.base.states import ANSWERED, Outcome, ServerState
from metaserver.boards.snapshots import ErrorEntry, Monitor, ServerStatus
from metaserver.web.public.choices import Sort
from metaserver.web.ui import charts, paging
from metaserver.web.ui.formatting import duration, figure, percent

COUNTED_AS_UP = frozenset({ServerState.UP, ServerState.SLOW, ServerState.FINISHED})
NO_ERROR = ANSWERED | {Outcome.CANCELLED}
LAST_MINUTE = 12  # values of `Monitor.throughput`, each over 5 s
NETWORK = (
    "Network share of the time (look-up, connecting, sending, transfer); below it the server's"
)
COLUMNS = (
    Column(key="state", heading="State", help="Those that need a look on top"),
    Column(key="server", heading="Server"),
    Column(key="attempts", heading=f"Last {charts.SLOTS} attempts", help="Failed ones"),
    Column(key="times", heading="Response time"),
    Column(key="last", heading="last, s"),
    Column(key="p50", heading="p50"),
    Column(key="p95", heading="p95"),
    Column(key="p99", heading="p99"),
    Column(key="network", heading="network", help=NETWORK),
    Column(key="queue", heading="Queue"),
    Column(key="errors", heading="errors"),
)
"""The columns of the server table."""
FIGURES = frozenset({"last", "p50", "p95", "p99", "network", "errors"})
"""Columns that are set flush right."""
RISING = frozenset({"state", "server", "queue"})
"""Columns that are first sorted upwards: the others have their greatest values on top."""
URGENCY = (
    ServerState.DOWN, ServerState.SUSPENDED, ServerState.SLOW, ServerState.PAUSED,
    ServerState.WAITING, ServerState.UP, ServerState.FINISHED,
)  # fmt: skip
SORTED_BY: Mapping[str, Callable[[ServerStatus], str | float | None]] = {
    "state": lambda server: URGENCY.index(server.state),
    "server": lambda server: server.name.lower(),
    "attempts": lambda server: sum(tick.outcome not in ANSWERED for tick in server.recent),
    "last": lambda server: server.last,
    "p50": lambda server: server.p50,
    "p95": lambda server: server.p95,
    "p99": lambda server: server.p99,
    "network": lambda server: server.network_share,
    "queue": lambda server: server.done / server.total if server.total else None,
    "errors": lambda server: sum(errors(server).values()),
}
"""Values by which servers are sorted, by column; the column `times` has none."""
TICKS = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3600)  # s


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitorChoice(paging.Chosen):
    """The servers and errors that the viewer has chosen, and their order; empty values mean all.

    A page has the figures for a page of the shown servers, from `rows` on.
    """

    state: str = ""
    find: str = ""  # part of a server's name, in any case
    outcome: str = ""
    sort: Sort | None = None
    rows: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> MonitorChoice:
        """Read the page's address; raises ValueError for what cannot be chosen."""
        state, outcome = query.get("state", ""), query.get("outcome", "")
        for value, names in ((state, ServerState), (outcome, Outcome)):
            if value and value not in set(names):
                raise ValueError(f"{value} is none of {', '.join(names)}.")
        sort = Sort.parse(query["sort"], SORTED) if query.get("sort") else None
        return cls(
            state=state,
            find=query.get("find", "").strip(),
            outcome=outcome,
            sort=sort,
            rows=paging.first_row(query),
        )

    def query(self, **changes: object) -> str:
        """Return the choice as an address has it, with some of it otherwise, from row 1 on."""
        return paging.Chosen.query(self, **({"rows": 1} | changes))

    def on(self, column: Column) -> Sort:
        """Return the order that a click on a column's heading asks for."""
        if self.sort is not None and self.sort.key == column.key:
            return Sort(key=column.key, descending=not self.sort.descending)
        return Sort(key=column.key, descending=column.key not in RISING)

    def ordered(self, servers: Sequence[ServerStatus]) -> Sequence[ServerStatus]:
        """Return the servers in the chosen order; those without a value come last."""
        if self.sort is None:
            return servers
        value = SORTED_BY[self.sort.key]
        keyed = [(value(server), server) for server in servers]
        with_value = [pair for pair in keyed if pair[0] is not None]
        with_value.sort(key=lambda pair: pair[0], reverse=self.sort.descending)  # type: ignore[arg-type,return-value]
        return [server for _, server in with_value] + [
            server for key, server in keyed if key is None
        ]

    def shows(self, server: ServerStatus) -> bool:
        """Return whether the server's row is shown."""
        return self.state in ("", server.state) and self.find.lower() in server.name.lower()

    def shows_error(self, error: ErrorEntry) -> bool:
        """Return whether the line of the error log is shown."""
        return self.outcome in ("", error.outcome)


SORTED = tuple(column for column in COLUMNS if column.key in SORTED_BY)
"""The columns that servers can be sorted by."""


@lru_cache(maxsize=10_000)
def server_id(name: str) -> str:
    """Return the id of a server's row: short, since streams and viewers name many."""
    return f"s-{urlsafe_b64encode(blake2s(name.encode(), digest_size=6).digest()).decode()}"


def errors(server: ServerStatus) -> dict[Outcome, int]:
    """Count a server's attempts that brought no answer, most frequent first."""
    counts = Counter({o: n for o, n in server.outcomes.items() if n and o not in NO_ERROR})
    return dict(counts.most_common())


def marks(server: ServerStatus) -> list[str]:
    """Return the marks of a server's strip."""
    names = {Outcome.OK: "ok", Outcome.PARTIAL: "partial"}
    return [names.get(tick.outcome, "bad") for tick in server.recent]


def marks_label(server: ServerStatus) -> str:
    """Say what the strip shows."""
    if not server.recent:
        return "no attempt yet"
    counts = Counter(tick.outcome for tick in server.recent).most_common()
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts)
    return f"last {len(server.recent)} attempts: {summary}"


def response_times(server: ServerStatus) -> list[float | None]:
    """Return the times of a server's last attempts, None if there was no answer."""
    return [tick.seconds if tick.outcome in ANSWERED else None for tick in server.recent]


def brief_slots(server: ServerStatus) -> dict[str, str]:
    """Return what every viewer gets of a server's row, in sight or not, as `slots` does."""
    return {
        "@data-value": server.state,
        "@data-announce": f"{server.name} is {server.state}",
        "pill@data-state": server.state,
        "state": server.state,
        "note": server.note or server.address,
    }


def slots(server: ServerStatus) -> dict[str, str]:
    """Return the figures of a server's row: texts by slot, attributes by `slot@attribute`.

    The slot without a name is the row itself. Template and stream have them from here alone.
    """
    failed = errors(server)
    share = server.done / server.total if server.total else 0.0
    return {
        "strip@aria-label": marks_label(server),
        **{f"{kind}@d": d for kind, d in charts.strip_paths(marks(server)).items()},
        **{f"{kind}@d": d for kind, d in charts.spark_paths(response_times(server)).items()},
        "last": figure(server.last),
        "p50": figure(server.p50),
        "p95": figure(server.p95),
        "p99": figure(server.p99),
        "network": percent(server.network_share),
        "compute": percent(None if server.network_share is None else 1 - server.network_share),
        "fill@width": f"{charts.bar_width(share):.3g}",
        "done": f"{server.done}/{server.total}",
        "left": _left(server),
        "errors": str(sum(failed.values())),
        "worst": next(iter(failed), "") or _partial(server),
    }


def _partial(server: ServerStatus) -> str:
    count = server.outcomes.get(Outcome.PARTIAL, 0)
    return f"{count} partial" if count else ""


def _left(server: ServerStatus) -> str:
    parts = []
    if server.ended and server.done + server.given_up < server.total:
        parts.append("ended")
    elif server.eta is not None:
        parts.append(f"{duration(server.eta)} left")
    elif server.in_flight:
        parts.append(f"{server.in_flight} in flight")
    if server.given_up:
        parts.append(f"{server.given_up} given up")
    return " · ".join(parts)


def percentage(done: int, total: int) -> str:
    """Write a part in percent with a decimal, cut off: only all is 100.0.

    >>> percentage(2_999, 3_000)
    '99.9'
    """
    return f"{1000 * done // max(total, 1) / 10:.1f}"


def error_id(error: ErrorEntry) -> str:
    """Return the id of a line of the error log."""
    key = f"{error.server}\n{error.article}\n{error.attempt}\n{error.at}"
    return f"e-{blake2s(key.encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Sums over the servers for the figures on top, and counts by state and outcome."""

    up: int
    servers: int
    per_minute: float | None
    done: int
    given_up: int
    total: int
    states: Mapping[ServerState, int]
    outcomes: Mapping[Outcome, int]  # that brought no answer, most frequent first
    partial: int  # answers of which hits were dropped

    @classmethod
    def of(cls, monitor: Monitor) -> Totals:
        """Add up the monitor's rows."""
        states = Counter(server.state for server in monitor.servers)
        outcomes: Counter[Outcome] = Counter()
        for server in monitor.servers:
            outcomes.update(errors(server))
        return cls(
            up=sum(states[state] for state in COUNTED_AS_UP),
            servers=len(monitor.servers),
            per_minute=fmean(monitor.throughput[-LAST_MINUTE:]) if monitor.throughput else None,
            done=sum(server.done for server in monitor.servers),
            given_up=sum(server.given_up for server in monitor.servers),
            total=sum(server.total for server in monitor.servers),
            states=states,
            outcomes=dict(outcomes.most_common()),
            partial=sum(server.outcomes.get(Outcome.PARTIAL, 0) for server in monitor.servers),
        )

    @property
    def errors(self) -> int:
        """The number of attempts that brought no answer."""
        return sum(self.outcomes.values())


def histogram_lines(monitor: Monitor) -> list[tuple[str, float]]:
    """Return the histogram's vertical lines: the percentiles that are known, and the limit."""
    percentiles = (("p50", monitor.p50), ("p95", monitor.p95), ("p99", monitor.p99))
    measured = [(name, value) for name, value in percentiles if value]
    return [*measured, ("limit", monitor.time_limit)]


def histogram_ticks(monitor: Monitor) -> list[tuple[str, float]]:
    """Return the round times within the histogram's edges."""
    low, high = monitor.histogram_edges[0], monitor.histogram_edges[-1]
    return [(_tick(value), value) for value in TICKS if low <= value <= high]


def _tick(value: float) -> str:
    return f"{value * 1000:g} ms" if value < 1 else duration(value)


def histogram_label(monitor: Monitor) -> str:
    """Say what the histogram shows."""
    times = ", ".join(f"{name} {duration(value)}" for name, value in histogram_lines(monitor))
    return f"Response times of {sum(monitor.histogram)} attempts on a logarithmic scale: {times}"
