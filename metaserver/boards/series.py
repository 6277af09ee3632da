"""Series of Prometheus that each attempt adds to: plain numbers, made metrics on a scrape.

A counter of prometheus_client takes a lock and checks its value each time, a histogram does so for
the sum and looks through the buckets: together a twentieth of what an answer cost the hub.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from metaserver.base.records import Attempt
from metaserver.base.states import Outcome
from metaserver.boards.tally import NO_RESPONSE, PHASES

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Times:
    """A histogram of durations, in seconds."""

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
    """The number of attempts of each server by outcome."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Outcome]] = Counter()

    def add(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self._counts[attempt.server, attempt.outcome] += 1

    def forget(self, server: str) -> None:
        """Drop the series of a removed server."""
        for outcome in Outcome:
            self._counts.pop((server, outcome), None)

    def collect(self) -> Iterable[Metric]:
        """Return the counter."""
        labels = ("server", "outcome")
        family = CounterMetricFamily("metaserver_attempts", "Ended attempts.", labels=labels)
        for (server, outcome), count in list(self._counts.items()):
            family.add_metric((server, outcome), count)
        yield family


class AttemptSums(Collector):
    """The durations and bytes of all attempts together, and the hits that were kept."""

    def __init__(self) -> None:
        self._responses = Times()
        self._phases = [(name, Times()) for name in PHASES]
        self._hits = self._sent = self._received = 0

    def add(self, attempt: Attempt, hits: int) -> None:
        """Count an attempt, and the hits kept of its answer."""
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
