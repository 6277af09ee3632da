"""The hub's metrics for Prometheus: counters of attempts, gauges read on each scrape.

docs/monitoring.md explains each metric. Labels are servers' names, outcomes, states and phases of
an attempt, which bounds the number of series.
"""

from __future__ import annotations

import asyncio
import platform
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from metaserver.base.records import Attempt, ServerName
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.snapshots import Monitor
from metaserver.boards.tally import NO_RESPONSE, PHASES
from metaserver.exchange.http.watchdog import Watchdog

# -- series of Prometheus that each attempt adds to: plain numbers, made metrics on a scrape -------
# A counter of prometheus_client takes a lock and checks its value each time, a histogram does so
# for the sum and looks through the buckets: together a twentieth of what an answer cost the hub.

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Times:
    """A histogram for durations, in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKETS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration; a bucket has those up to its bound."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self._sum += seconds

    def put_into(self, family: HistogramMetricFamily, labels: Sequence[str] = ()) -> None:
        """Add the histogram to its family."""
        bounds = [*map(str, map(float, BUCKETS)), "+Inf"]
        buckets = list(zip(bounds, map(float, accumulate(self._counts)), strict=True))
        family.add_metric(labels, buckets=buckets, sum_value=self._sum)


class AttemptCounts(Collector):
    """Each server's number of attempts by outcome."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Outcome]] = Counter()

    def add(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self._counts[attempt.server, attempt.outcome] += 1

    def collect(self) -> Iterable[Metric]:
        """Return the counter."""
        labels = ("server", "outcome")
        family = CounterMetricFamily("metaserver_attempts", "Ended attempts.", labels=labels)
        for (server, outcome), count in list(self._counts.items()):
            family.add_metric((server, outcome), count)
        yield family


class AttemptSums(Collector):
    """All attempts' total durations and bytes, and the hits that were kept."""

    def __init__(self) -> None:
        self._responses = Times()
        self._phases = [(name, Times()) for name in PHASES]
        self._hits = self._sent = self._received = 0

    def add(self, attempt: Attempt, hits: int) -> None:
        """Count an attempt, and the hits kept from its answer."""
        self._hits += hits
        self._sent += attempt.bytes_out
        self._received += attempt.bytes_in
        if attempt.outcome is Outcome.CANCELLED:
            return
        if attempt.outcome not in NO_RESPONSE:
            self._responses.add(attempt.timings.total)
        for name, times in self._phases:
            if (seconds := getattr(attempt.timings, name)) is not None:
                times.add(seconds)

    def collect(self) -> Iterable[Metric]:
        """Return histograms and counters."""
        responses = HistogramMetricFamily(
            "metaserver_response_seconds",
            "Time from an attempt's start to its response's last byte, or to the time limit.",
            labels=(),
        )
        self._responses.put_into(responses)
        yield responses
        phases = HistogramMetricFamily(
            "metaserver_attempt_phase_seconds",
            "Time in each phase that an attempt reached.",
            labels=("phase",),
        )
        for name, times in self._phases:
            times.put_into(phases, (name,))
        yield phases
        yield CounterMetricFamily("metaserver_hits_kept", "Hits kept of answers.", self._hits)
        yield CounterMetricFamily(
            "metaserver_sent_bytes", "Bytes of articles' requests.", self._sent
        )
        yield CounterMetricFamily(
            "metaserver_received_bytes", "Bytes of answers as received.", self._received
        )


# -- the hub's metrics for Prometheus: counters of attempts, gauges read on each scrape ------------

LAG_SECONDS = 1.0  # between two measurements of the loop's lag


class HubProcesses(NamedTuple):
    """The hub's processes as one of them knows them; times in seconds."""

    workers: int = 1
    webs: int = 1
    blocked: int = 0
    unheld: int = 0
    follower_lag: float = 0.0
    since_renewal: float = 0.0
    leads: bool = True
    clock_offset: float = 0.0
    takeovers: int = 0
    turns: int = 0
    refused: int = 0
    missed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """The gauges' sources, read on each scrape.

    `monitors` returns the monitors of phases in memory, `blocked` why nothing can be stored (None:
    it can), `streams` the number of open event streams; `watchdog` counts event loop stalls.
    `members` returns what is known about the hub's processes.
    """

    monitors: Callable[[], Iterable[Monitor]]
    blocked: Callable[[], str | None]
    streams: Callable[[], int]
    watchdog: Watchdog
    members: Callable[[], HubProcesses]


class Metrics:
    """A hub's metrics, in their own registry."""

    def __init__(self, sources: Sources, version: str) -> None:
        self._sources = sources
        self.registry = registry = CollectorRegistry()
        self._attempts, self._sums = AttemptCounts(), AttemptSums()
        registry.register(self._attempts)
        registry.register(self._sums)
        self._lag = Gauge(
            "metaserver_event_loop_lag_seconds",
            "Delay of the event loop's last measured wake-up.",
            registry=registry,
        )
        Info("metaserver_hub", "The running hub.", registry=registry).info(
            {"version": version, "python": platform.python_version()}
        )
        registry.register(_Lanes(sources))
        registry.register(_Hub(sources))
        ProcessCollector(registry=registry)

    def attempt(self, attempt: Attempt, hits: int) -> None:
        """Count an ended attempt, and the hits kept from its answer."""
        self._attempts.add(attempt)
        self._sums.add(attempt, hits)

    async def watch_loop(self) -> None:
        """Measure the event loop's lag until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self._lag.set(max(0.0, now() - due))

    def render(self) -> tuple[bytes, str]:
        """Return the metrics in Prometheus' text format, and its content type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST

    def render_hub(self) -> tuple[bytes, str]:
        """Return the metrics without the label `server`, and their content type."""
        return self._rendered(_Chosen(self.registry, lambda labels: "server" not in labels))

    def render_of(self, servers: Collection[ServerName]) -> tuple[bytes, str]:
        """Return some servers' metrics only, without sums over others."""
        chosen = _Chosen(self._attempts, lambda labels: labels["server"] in servers)
        return self._rendered(chosen, _Lanes(self._sources, servers))

    def _rendered(self, *collectors: Collector) -> tuple[bytes, str]:
        registry = CollectorRegistry()
        for collector in collectors:
            registry.register(collector)
        return generate_latest(registry), CONTENT_TYPE_LATEST


class _Unnamed(Collector):
    """A collector whose registry does not collect samples to find the names of its metrics."""

    def describe(self) -> Sequence[Metric]:
        """Return no metrics."""
        return ()


class _Chosen(_Unnamed):
    """Collects another collector's samples with matching labels."""

    def __init__(self, source: Collector, right: Callable[[Mapping[str, str]], bool]) -> None:
        self._source = source
        self._right = right

    def collect(self) -> Iterable[Metric]:
        for metric in self._source.collect():
            chosen = [sample for sample in metric.samples if self._right(sample.labels)]
            if chosen:
                metric.samples = chosen
                yield metric


class _Lanes(_Unnamed):
    """Collects the present lane states: all, or some servers'."""

    def __init__(self, sources: Sources, only: Collection[ServerName] | None = None) -> None:
        self._sources = sources
        self._only = only

    def collect(self) -> Iterable[Metric]:
        rows = [row for monitor in self._sources.monitors() for row in monitor.servers]
        servers = [row for row in rows if self._only is None or row.name in self._only]
        states = Counter(row.state for row in servers)
        lanes = GaugeMetricFamily("metaserver_lanes", "Lanes by state.", labels=("state",))
        for state in ServerState:
            lanes.add_metric((state,), states[state])
        yield lanes
        yield GaugeMetricFamily(
            "metaserver_articles_waiting",
            "Articles of all lanes that are neither answered nor given up, nor in flight.",
            sum(max(0, row.total - row.done - row.given_up - row.in_flight) for row in servers),
        )
        yield GaugeMetricFamily(
            "metaserver_requests_in_flight",
            "Articles' requests under way.",
            sum(row.in_flight for row in servers),
        )


class _Hub(_Unnamed):
    """Collects the hub's present state."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "metaserver_store_blocked",
            "1 while nothing can be stored (disk full, database locked), else 0.",
            self._sources.blocked() is not None,
        )
        yield GaugeMetricFamily(
            "metaserver_lanes_behind",
            "Lanes whose stored answers are not on the boards yet, after a start.",
            sum(monitor.behind for monitor in self._sources.monitors()),
        )
        yield GaugeMetricFamily(
            "metaserver_event_streams", "Open event streams of pages.", self._sources.streams()
        )
        yield from _of_processes(self._sources.members())
        watchdog = self._sources.watchdog
        yield CounterMetricFamily(
            "metaserver_event_loop_stalls",
            "Times that the event loop stood still for more than a second.",
            watchdog.count,
        )
        yield CounterMetricFamily(
            "metaserver_event_loop_stalled_seconds",
            "Seconds that the event loop stood still in these stalls.",
            watchdog.seconds,
        )


def _of_processes(members: HubProcesses) -> Iterable[Metric]:
    """Yield the measures for a hub's processes and the lanes that they hold."""
    workers = GaugeMetricFamily(
        "metaserver_processes", "Living processes of the hub.", labels=("role",)
    )
    workers.add_metric(("worker",), members.workers)
    workers.add_metric(("web",), members.webs)
    yield workers
    yield GaugeMetricFamily(
        "metaserver_workers_blocked",
        "Living processes with lanes that can store nothing.",
        members.blocked,
    )
    yield GaugeMetricFamily(
        "metaserver_lanes_unheld", "Lanes to be at work that no process holds.", members.unheld
    )
    yield GaugeMetricFamily(
        "metaserver_follower_lag_seconds",
        "Age of what this process shows of the others.",
        members.follower_lag,
    )
    yield GaugeMetricFamily(
        "metaserver_lease_renewal_seconds",
        "Time since this process renewed its lease.",
        members.since_renewal,
    )
    yield GaugeMetricFamily(
        "metaserver_leader", "1 where this process leads the hub, else 0.", members.leads
    )
    yield GaugeMetricFamily(
        "metaserver_clock_offset_seconds",
        "Time by which this machine's clock is ahead of the database's.",
        members.clock_offset,
    )
    for name, help_text, count in (
        (
            "lane_takeovers",
            "Lanes taken from processes whose leases ran out.",
            members.takeovers,
        ),
        ("lane_turns", "Turns of lanes that ended for others to have a share.", members.turns),
        (
            "stale_writes",
            "Attempts refused since another process had taken the lane.",
            members.refused,
        ),
        ("lease_renewals_missed", "Renewals of leases that failed.", members.missed),
    ):
        yield CounterMetricFamily(f"metaserver_{name}", help_text, count)
