"""docs/monitoring.md documents every metric and every measure."""

import re
from dataclasses import fields

from prometheus_client.core import Metric

from metaserver.base.records import ArticleId, Attempt, ServerName
from metaserver.base.states import Outcome
from metaserver.boards.measures import Availability, Timing, Tips
from metaserver.boards.metrics import HubProcesses, Metrics, Sources
from metaserver.boards.tally import PHASES
from metaserver.boards.windows import ServerWindow, Window
from metaserver.exchange.http.watchdog import Watchdog
from tests.shared import ROOT

TOLD = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
NOTHING = Sources(
    monitors=lambda: (), blocked=lambda: None, streams=lambda: 0, watchdog=Watchdog(),
    members=HubProcesses,
)  # fmt: skip


def collected() -> list[Metric]:
    """All metrics, each with at least one series."""
    metrics = Metrics(NOTHING, "")
    metrics.attempt(
        Attempt(
            server=ServerName("one"), article=ArticleId("100"), number=1, started_at=0.0,
            outcome=Outcome.FAULT,
        ),
        hits=0,
    )  # fmt: skip
    return list(metrics.registry.collect())


METRICS = collected()
SUFFIX = {"counter": "_total", "info": "_info"}
MEASURES = sorted(
    {
        name
        for record in (ServerWindow, Timing, Availability, Tips)
        for name in (
            *(field.name for field in fields(record)),
            *(name for name, value in vars(record).items() if isinstance(value, property)),
        )
    }
)


def full_name(metric: Metric) -> str:
    return metric.name + SUFFIX.get(metric.type, "")


def test_every_metric_is_documented_with_its_labels() -> None:
    for metric in METRICS:
        row = re.search(rf"^\| `{full_name(metric)}`.*$", TOLD, re.MULTILINE)
        assert row, full_name(metric)
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        assert all(f"`{label}`" in row[0] for label in labels), (full_name(metric), labels)


def test_no_metric_is_documented_that_is_not_there() -> None:
    told = set(re.findall(r"^\| `((?:metaserver|process)_\w+)`", TOLD, re.MULTILINE))
    assert told == {full_name(metric) for metric in METRICS}


def test_every_measure_is_documented() -> None:
    missing = [str(name) for name in (*MEASURES, *Window, *PHASES) if f"`{name}`" not in TOLD]
    assert missing == []


def test_metrics_have_base_units() -> None:
    scaled = re.compile(r"_(ms|millis|milliseconds|minutes|kb|mb|percent)\b")
    assert [one.name for one in METRICS if scaled.search(one.name)] == []
    histograms = [one.name for one in METRICS if one.type == "histogram"]
    assert [name for name in histograms if not name.endswith("_seconds")] == []
