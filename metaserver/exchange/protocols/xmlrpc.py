"""XML-RPC, the BioCreative II.5 protocol: a call, an answer, read while it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias

from metaserver.base.conformance import ConformanceStep
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import Server, ServerReport
from metaserver.base.states import ReportedState
from metaserver.exchange.protocols.plugin import (
    ArticleCall,
    OpenChannel,
    RenderedBody,
    Request,
    ServerChannel,
)
from metaserver.exchange.wire.charset import charset_of
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.usual import usual_answer
from metaserver.exchange.wire.values import Limits, Value
from metaserver.exchange.wire.xmlrpc import CallTemplate, Decoder, call_template, encode_call

GET_STATE: Final = "Annotator.getState"
LIST_METHODS: Final = "system.listMethods"
MOST_VERSION: Final = 100
"""The maximum length kept of a server's version."""
CONTENT_TYPE: Final = "text/xml; charset=utf-8"
ASCII: Final = "ascii"

Shortcut: TypeAlias = Callable[[bytes | bytearray], CheckedAnswer | None]
"""A reader for an answer's whole body, in a single step; it raises nothing and declines with None.
"""


class ValueReader:
    """A reader for an XML-RPC answer; `close` raises `FaultError` if it is a fault.

    With a shortcut `usual` an answer in the usual form is checked in the same step.
    """

    def __init__(
        self, limits: Limits, usual: Shortcut | None, content_type: str, report: Report
    ) -> None:
        self._decoder = Decoder(limits, charset=charset_of(content_type), report=report)
        self._usual = usual
        self.feed = self._decoder.feed

    def close(self) -> Value | CheckedAnswer:
        """Return the answer's value, or the checked answer if it has the usual form."""
        if self._usual is not None and (text := self._decoder.held):
            checked = self._usual(text)
            if checked is not None:
                return checked
        return self._decoder.response()


class XmlRpc:
    """XML-RPC over HTTP POST."""

    name: Final = "xmlrpc"
    title: Final = "XML-RPC"
    reports_state: Final = True
    calls_back: Final = False

    def check(self, server: Server) -> None:
        """Raise `ValueError` if there are options: it has none."""
        if server.options:
            raise ValueError("XML-RPC has no options")

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value | CheckedAnswer:
        """Call the registered method with the article's text."""
        rendered = _body(channel, call)
        body: RenderedBody | bytes = rendered
        if call.server.encoding == ASCII:  # its size is known only with the text
            body = ascii_body(await rendered.render())
        limits = channel.limits
        usual = partial(usual_answer, parts=call.tasks, vocabulary=call.vocabulary, limits=limits)
        response = await channel.send(
            Request(body, CONTENT_TYPE), partial(ValueReader, limits, usual)
        )
        return response.value

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Ask for the state; None if the answer is not a struct."""
        value = await query(channel, GET_STATE)
        return server_report(value) if isinstance(value, dict) else None

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Ask for the methods."""
        await query(channel, LIST_METHODS)
        return f"{LIST_METHODS} was answered"

    async def examine(
        self, open_channel: OpenChannel, server: Server
    ) -> AsyncIterator[ConformanceStep]:
        """Yield nothing: the common steps are XML-RPC's."""
        steps: Sequence[ConformanceStep] = ()
        for step in steps:
            yield step


XMLRPC: Final = XmlRpc()


async def query(channel: ServerChannel, method: str) -> Value:
    """Return the answer to a method without an article."""
    login = [channel.login.secret] if channel.login else []
    request = Request(encode_call(method, login), CONTENT_TYPE)
    answer = (await channel.send(request, partial(ValueReader, channel.limits, None))).value
    assert not isinstance(answer, CheckedAnswer)  # no shortcut was given
    return answer


def server_report(value: Value) -> ServerReport:
    """Return a server's reported state as far as valid, with defaults for the rest."""
    struct = value if isinstance(value, dict) else {}
    state, places = struct.get("state"), struct.get("max_concurrent")
    version = struct.get("version")
    return ServerReport(
        state=ReportedState(state) if state in list(ReportedState) else ReportedState.RUNNING,
        version=version[:MOST_VERSION]
        if isinstance(version, str) and version.isprintable()
        else "",
        max_concurrent=places if type(places) is int and places >= 1 else None,
    )


def _body(channel: ServerChannel, call: ArticleCall) -> RenderedBody:
    template = _template(channel, call)
    text = call.text

    async def render() -> bytes:
        return template.body(await text.escaped())

    return RenderedBody(len(template.prefix) + text.wire_bytes + len(template.suffix), render)


def ascii_body(body: bytes) -> bytes:
    """Return a request with character references beyond ASCII, and without an empty line.

    Libraries that take bytes for characters, and an empty line for the end of the header (Tcl's),
    read it rightly; so does every other.
    """
    return body.decode().encode("ascii", "xmlcharrefreplace").replace(b"\n\n", b"\n&#10;")


def _template(channel: ServerChannel, call: ArticleCall) -> CallTemplate:
    server = call.server
    login = channel.login
    if server.parameters != "text+context":
        return _plain_template(server.method, login.secret if login else None)
    context: dict[str, Value] = {
        "article_id": call.article,
        "tasks": [task.name for task in call.tasks],
        "timeout": call.time_limit,
        "attempt": call.number,
    }
    return call_template(server.method, context, login.secret if login else None)


@lru_cache(maxsize=1_024)
def _plain_template(method: str, secret: str | None) -> CallTemplate:
    """Return the request for a text alone: the same for all of a server's articles."""
    return call_template(method, secret=secret)
