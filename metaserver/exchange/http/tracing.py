"""OpenTelemetry spans, if the extra `otel` is installed and a collector is configured.

The collector is OpenTelemetry's own setting: `OTEL_EXPORTER_OTLP_ENDPOINT` in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, TypeAlias

from metaserver.base.errors import InputError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Tracer

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
Attribute: TypeAlias = str | int | float | bool


class TraceSpan(Protocol):
    """A span that lasts as long as its context."""

    def set_attribute(self, key: str, value: Attribute) -> object:
        """Set a span attribute."""


class _NoSpan:
    """A span that records nothing, used while tracing is off."""

    def set_attribute(self, key: str, value: Attribute) -> None:
        """Ignore an attribute."""


_OFF = nullcontext(_NoSpan())
_tracer: Tracer | None = None


def span(name: str, /, **attributes: Attribute) -> AbstractContextManager[TraceSpan]:
    """Return a context that is a span; an exception that leaves it is recorded in it."""
    if _tracer is None:
        return _OFF
    return _tracer.start_as_current_span(f"metaserver.{name}", attributes=attributes)


@contextmanager
def exporting(version: str) -> Iterator[bool]:
    """Export spans while the context lasts; yields whether a collector is configured.

    Raises `InputError` if a collector is configured and the extra is not installed.
    """
    if not os.environ.get(ENDPOINT):
        yield False
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        expected = "is set; expected biocreative-metaserver[otel] to be installed"
        raise InputError(ENDPOINT, expected) from error
    with recording(BatchSpanProcessor(OTLPSpanExporter()), version):
        yield True


@contextmanager
def recording(processor: SpanProcessor, version: str) -> Iterator[TracerProvider]:
    """Send spans to a processor while the context lasts."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    global _tracer  # one hub a process
    resource = Resource.create({"service.name": "metaserver", "service.version": version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer("metaserver", version)
    try:
        yield provider
    finally:
        _tracer = None
        provider.shutdown()
