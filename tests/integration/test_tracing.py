"""Spans of attempts: to a collector, where one is named; nothing otherwise."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from annotators.faults import FAULTS
from annotators.server import Kit
from annotators.test_servers import FaultyKit, Turns
from metaserver.base.errors import InputError
from metaserver.exchange.http.tracing import ENDPOINT, exporting, recording, span
from tests.integration.callers import article_caller, call, server
from tests.integration.kits import served
from tests.integration.peers import ANSWER


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    with recording(SimpleSpanProcessor(kept), "1.2.3"):
        yield kept


async def test_an_attempt_is_a_span(exporter: InMemorySpanExporter) -> None:
    async with served(Kit(lambda text, context: ANSWER)) as url, article_caller() as caller:
        await caller.call(server(url), 0, 3)
    (made,) = exporter.get_finished_spans()
    assert made.name == "metaserver.attempt"
    assert made.attributes == {"server": "peer", "article": "a0", "number": 3, "outcome": "ok"}
    assert made.resource.attributes["service.version"] == "1.2.3"


async def test_the_outcome_of_a_failed_attempt_is_told_and_no_url(exporter):
    kit = FaultyKit(lambda text, context: ANSWER)
    kit._turns = Turns((next(fault for fault in FAULTS if fault.outcome == "fault"),))
    async with served(kit) as url:
        await call(url.replace("http://", "http://ana:hunter2@"))
    (made,) = exporter.get_finished_spans()
    assert made.attributes is not None
    assert made.attributes["outcome"] == "fault"
    assert "hunter2" not in made.to_json()


def test_nothing_is_made_where_nobody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    with exporting("1") as on, span("step", a=1) as one, span("step") as other:
        one.set_attribute("outcome", "ok")
        assert not on
        assert one is other


async def test_a_named_collector_gets_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []

    async def take(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response(body=b"", content_type="application/x-protobuf")

    def work() -> None:
        with exporting("1.2.3") as on, span("step", server="one"):
            assert on

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    async with TestServer(app, host="127.0.0.1") as collector:
        monkeypatch.setenv(ENDPOINT, str(collector.make_url("/")))
        await asyncio.to_thread(work)
    (spans,) = [ExportTraceServiceRequest.FromString(body) for body in received]
    assert spans.resource_spans[0].scope_spans[0].spans[0].name == "metaserver.step"


def test_a_collector_without_the_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1/")
    monkeypatch.setitem(sys.modules, OTLPSpanExporter.__module__, None)
    with pytest.raises(InputError, match=rf"{ENDPOINT}.*\[otel\]"), exporting("1"):
        pass


def test_the_hub_loads_without_the_library() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None; import metaserver.exchange.http.caller;"
        "from metaserver.exchange.http.tracing import span, exporting\n"
        "with exporting('1') as on, span('step') as one: one.set_attribute('a', 1); print(on)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={}
    )
    assert ran.stdout == "False\n"
