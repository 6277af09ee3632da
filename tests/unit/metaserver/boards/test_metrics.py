"""The metrics as a Prometheus server reads them."""

import asyncio

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server, ServerName, Timings
from metaserver.base.states import Outcome, RetryDecision
from metaserver.boards.metrics import HubProcesses, Metrics, Sources
from metaserver.boards.monitor import ServerMonitor
from metaserver.exchange.http.watchdog import Watchdog
from metaserver.lanes.events import AttemptEnded, LaneChanged
from tests import virtual

SERVERS = [Server(name=ServerName(name), url="http://127.0.0.1/") for name in ("one", "two")]
ONE, TWO = SERVERS
PHASES = Timings(queue=0.001, send=0.2, wait=1.0, transfer=0.1, parse=0.02, total=1.3)
ANSWER = CheckedAnswer(
    outcome=Outcome.OK, message="", payloads={}, problems=(), problem_count=0, hits_kept=7,
    hits_dropped=0,
)  # fmt: skip


class MeasuredServers:
    """Two servers with five articles each, monitored and measured."""

    def __init__(self) -> None:
        self.server_monitor = ServerMonitor("test", 5, 600.0)
        for server in SERVERS:
            self.server_monitor.add(server, "http://127.0.0.1:80")
        self.blocked: str | None = None
        sources = Sources(
            monitors=lambda: [self.server_monitor.snapshot()],
            blocked=lambda: self.blocked,
            streams=lambda: 3,
            watchdog=Watchdog(),
            members=lambda: HubProcesses(
                workers=3, webs=2, blocked=1, unheld=7, takeovers=4, turns=5, refused=6, missed=8
            ),
        )
        self.metrics = Metrics(sources, "1.2.3")

    def publish(self, event: AttemptEnded | LaneChanged) -> None:
        if isinstance(event, LaneChanged):
            self.server_monitor.lane(event)
        else:
            self.metrics.attempt(event.attempt, event.answer.hits_kept if event.answer else 0)
            self.server_monitor.attempt(event.attempt, 0, final=event.decision.final)

    def samples(self) -> dict[tuple[str, ...], float]:
        """Return the samples by name and label values, in the order of the labels' names."""
        return self.read(self.metrics.render())

    def read(self, rendered: tuple[bytes, str]) -> dict[tuple[str, ...], float]:
        """Return the samples of rendered metrics, as `samples` does."""
        text, content_type = rendered
        assert content_type.startswith("text/plain")
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text.decode())
            for sample in family.samples
        }


def ended(server: Server, outcome: Outcome, timings: Timings = PHASES) -> AttemptEnded:
    answered = outcome is Outcome.OK
    return AttemptEnded(
        server=server,
        serial=1,
        position=0,
        attempt=Attempt(
            server=server.name, article=ArticleId("100"), number=1, started_at=0.0, outcome=outcome,
            timings=timings, bytes_out=1_000, bytes_in=50,
        ),
        answer=ANSWER if answered else None,
        decision=RetryDecision(answered=answered),
    )  # fmt: skip


def test_attempts_are_counted_by_server_and_outcome() -> None:
    hub = MeasuredServers()
    for event in (ended(ONE, Outcome.OK), ended(ONE, Outcome.OK), ended(TWO, Outcome.FAULT)):
        hub.publish(event)
    samples = hub.samples()
    assert samples["metaserver_attempts_total", "ok", "one"] == 2
    assert samples["metaserver_attempts_total", "fault", "two"] == 1
    assert samples["metaserver_hits_kept_total",] == 14
    assert samples["metaserver_sent_bytes_total",] == 3_000
    assert samples["metaserver_received_bytes_total",] == 150


def test_response_times_are_histograms_of_seconds() -> None:
    hub = MeasuredServers()
    hub.publish(ended(ONE, Outcome.OK))
    hub.publish(ended(ONE, Outcome.CONNECT, replace(PHASES, wait=None, total=0.1)))
    hub.publish(ended(ONE, Outcome.CANCELLED))
    samples = hub.samples()
    assert samples["metaserver_response_seconds_count",] == 1
    assert samples["metaserver_response_seconds_bucket", "1.0"] == 0
    assert samples["metaserver_response_seconds_bucket", "2.5"] == 1
    assert samples["metaserver_attempt_phase_seconds_sum", "wait"] == 1.0
    assert samples["metaserver_attempt_phase_seconds_count", "send"] == 2
    assert samples["metaserver_attempt_phase_seconds_count", "dns"] == 0


def test_gauges_are_read_when_they_are_asked_for() -> None:
    hub = MeasuredServers()
    hub.publish(LaneChanged(server=ONE, in_flight=2, down=""))
    hub.publish(LaneChanged(server=TWO, in_flight=0, down="refused"))
    hub.publish(ended(ONE, Outcome.OK))
    before = hub.samples()
    hub.blocked = "disk full"
    assert before["metaserver_store_blocked",] == 0
    assert hub.samples()["metaserver_store_blocked",] == 1
    assert before["metaserver_requests_in_flight",] == 2
    assert before["metaserver_articles_waiting",] == 7  # 10, less one answered and two under way
    assert before["metaserver_lanes", "up"] == before["metaserver_lanes", "down"] == 1
    assert before["metaserver_lanes", "paused"] == 0
    assert before["metaserver_event_streams",] == 3
    assert before["metaserver_processes", "worker"] == 3
    assert before["metaserver_processes", "web"] == 2
    assert before["metaserver_workers_blocked",] == 1
    assert before["metaserver_lanes_unheld",] == 7
    assert before["metaserver_lane_takeovers_total",] == 4
    assert before["metaserver_lane_turns_total",] == 5
    assert before["metaserver_stale_writes_total",] == 6
    assert before["metaserver_lease_renewals_missed_total",] == 8


def test_a_teams_metrics_are_only_those_of_its_servers() -> None:
    hub = MeasuredServers()
    hub.publish(LaneChanged(server=ONE, in_flight=2, down=""))
    hub.publish(LaneChanged(server=TWO, in_flight=3, down="refused"))
    for event in (ended(ONE, Outcome.OK), ended(TWO, Outcome.FAULT)):
        hub.publish(event)
    own = hub.read(hub.metrics.render_of({ONE.name}))
    assert own["metaserver_attempts_total", "ok", "one"] == 1
    assert own["metaserver_requests_in_flight",] == 2
    assert own["metaserver_articles_waiting",] == 2
    assert own["metaserver_lanes", "up"] == 1
    assert own["metaserver_lanes", "down"] == 0
    assert not [key for key in own if "two" in key]
    names = {key[0].removesuffix("_created").removesuffix("_total") for key in own}
    assert names == {
        "metaserver_attempts", "metaserver_lanes", "metaserver_articles_waiting",
        "metaserver_requests_in_flight",
    }  # fmt: skip
    none = hub.read(hub.metrics.render_of(set()))
    assert not [value for value in none.values() if value]


def test_the_hubs_metrics_name_no_server() -> None:
    hub = MeasuredServers()
    hub.publish(ended(ONE, Outcome.OK))
    hub_samples, all_of_it = hub.read(hub.metrics.render_hub()), hub.samples()
    left_out = {key for key in all_of_it if key not in hub_samples}
    assert left_out
    assert all(key[0].startswith("metaserver_attempts_") for key in left_out)
    assert hub_samples["metaserver_hits_kept_total",] == 7


def test_the_hub_and_its_process_have_metrics() -> None:
    samples = MeasuredServers().samples()
    assert any(key[0] == "metaserver_hub_info" and "1.2.3" in key for key in samples)
    assert samples["process_resident_memory_bytes",] > 0


def test_the_loop_is_watched_until_that_is_cancelled() -> None:
    async def watched() -> None:
        hub = MeasuredServers()
        watching = asyncio.create_task(hub.metrics.watch_loop())
        await asyncio.sleep(5.0)
        assert hub.samples()["metaserver_event_loop_lag_seconds",] >= 0
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert watching.cancelled()

    virtual.run(watched())
