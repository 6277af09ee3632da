"""BeCalm, the BioCreative V.5 TIPS protocol: acknowledged at once, answered by a callback.

A server has a single address, and a request names its method. Results are posted later to the hub,
at `saveAnnotations/{format}?apikey=KEY&communicationId=ID` (docs/protocols.md has the sources).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from metaserver.base.communications import Callback, Exchanged
from metaserver.base.conformance import ConformanceStep, passed, skipped, warned
from metaserver.base.errors import PeerError
from metaserver.base.records import ArticleId, Server, ServerReport
from metaserver.base.states import Outcome, ReportedState
from metaserver.exchange.protocols.becalm_answers import BecalmOptions, BecalmReading
from metaserver.exchange.protocols.json_body import (
    ACCEPT,
    CONTENT_TYPE,
    as_type,
    clean,
    failed,
    member,
    read_json,
    whole_body,
)
from metaserver.exchange.protocols.options import read_options
from metaserver.exchange.protocols.plugin import ArticleCall, OpenChannel, Request, ServerChannel
from metaserver.exchange.protocols.xmlrpc import MOST_VERSION
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import Fault, FaultError, Limits, Value

NAME: Final = "BCMS"
"""The hub's name."""
KEY: Final = "becalm_key"


@dataclass(frozen=True)
class DocumentService:
    """A document service of TIPS, which servers post lists of ids to."""

    ids: str  # the member of a request that has the ids
    text: str  # the member of a document that has all but the title


SERVICES: Final[Mapping[str, DocumentService]] = {
    "abstractserver": DocumentService("abstracts", "text"),
    "patentserver": DocumentService("patents", "abstractText"),
}
STATES: Final[Mapping[str, ReportedState]] = {
    "running": ReportedState.RUNNING,
    "working": ReportedState.OVERLOADED,
    "overloaded": ReportedState.OVERLOADED,
    "suspended": ReportedState.SUSPENDED,
    "shutdown": ReportedState.SHUTDOWN,
}
"""The BeCalm states; the others, Unknown and Pending, say nothing."""
SOON: Final = 10.0
"""Seconds in which a request should be acknowledged: the work comes after that."""
_WRONG_KEY: Final = "0" * 40
_UNKNOWN_TYPE: Final = "BCMS_UNKNOWN"


class Becalm:
    """BeCalm's protocol for annotation servers."""

    name: Final = "becalm"
    title: Final = "BeCalm"
    reports_state: Final = True
    calls_back: Final = True

    def check(self, server: Server) -> None:
        """Raise `ValueError` if the options are not valid."""
        _options(server)

    async def annotate(self, channel: ServerChannel, call: ArticleCall) -> Value:
        """Send the article, wait for the callback, and read the annotations."""
        options = _options(call.server)
        text = await call.text.plain()
        about = Exchanged(article=call.article, number=call.number, scope=call.scope)
        callback = await _called_back(channel, about, text, options, options.types)

        def read() -> Value:
            reading = BecalmReading(text, call.article, options, channel.limits, channel.report)
            return reading.read(callback)

        return await channel.work(read, size=max(len(callback.body), len(text)))

    async def state(self, channel: ServerChannel, server: Server) -> ServerReport | None:
        """Ask for the state; None if the server says that it does not know."""
        answer = (await _asked(channel, _options(server), "getState", {})).get("data")
        data: Mapping[str, Any] = as_type(answer, dict, "/data")
        said = member(data, "state", str, "/data")
        reported = STATES.get(said.strip().lower())
        if reported is None:
            return None
        return ServerReport(
            state=reported,
            version=_shown(data.get("version")),
            documents=_shown(data.get("max_analyzable_documents")),
        )

    async def touch(self, channel: ServerChannel, server: Server) -> str:
        """Ask for the state, whatever it is."""
        await _asked(channel, _options(server), "getState", {})
        return "getState was answered"

    async def examine(
        self, open_channel: OpenChannel, server: Server
    ) -> AsyncIterator[ConformanceStep]:
        """Yield the steps of a wrong key, an unknown type and a request without documents."""
        options = _options(server)
        yield await _wrong_key(open_channel(), options)
        yield await _unknown_type(open_channel(), options)
        yield await _no_documents(open_channel(), options)


BECALM: Final = Becalm()


def _options(server: Server) -> BecalmOptions:
    options: BecalmOptions = read_options(server.options, BecalmOptions)
    return options


def _shown(value: Any) -> str:
    """Return what a server says about itself, as shown; empty if it cannot be shown."""
    printable = isinstance(value, str | int) and str(value).isprintable()
    return str(value)[:MOST_VERSION] if printable else ""


def check_callback(callback: Callback, article: ArticleId, server: Server, limits: Limits) -> None:
    """Raise `PeerError` if a callback cannot be read; its time grows with the body."""
    BecalmReading("", article, _options(server), limits, Report()).read(callback)


def document(article: ArticleId, text: str, source: str) -> Mapping[str, str]:
    """Return an article with its text, as it is sent, or fetched."""
    title, _, rest = text.partition("\n")
    return {
        "document_id": article,
        "source": source,
        "title": title,
        "abstractText": rest,
        "text": text,
    }


def tips_document(service: DocumentService, fetched: Mapping[str, str]) -> Mapping[str, str]:
    """Return a fetched article as a document service of TIPS writes it."""
    texts = {"title": fetched["title"], service.text: fetched["abstractText"]}
    return {"externalId": fetched["document_id"], **texts}


async def _called_back(
    channel: ServerChannel,
    about: Exchanged,
    text: str,
    options: BecalmOptions,
    types: Sequence[str],
) -> Callback:
    """Return the callback to a request; a server may bring it before it has acknowledged."""
    served_document, served = document(about.article, text, options.source), None
    if options.documents == "fetch":
        served = msgspec.json.encode(served_document)
        served_document = {name: served_document[name] for name in ("document_id", "source")}
    async with channel.communication(about, served) as communication:
        refused, acknowledged = "", None
        if not communication.resumed:
            parameters = {
                "communication_id": communication.id,
                "expired": options.expires(communication.expires_at),
                "types": types,
                "documents": [served_document],
            }
            try:
                await _asked(channel, options, "getAnnotations", parameters)
            except PeerError as error:
                if not communication.answered:
                    raise
                refused = str(error)
            else:
                acknowledged = await communication.acknowledged()
        after = "" if acknowledged is None else f" after {acknowledged:.1f} s"
        callback = await communication.answer(f"acknowledged{after}, but no saveAnnotations")
    if acknowledged is not None and acknowledged > SOON:
        message = f"acknowledged{after}; expected the acknowledgement at once, before the work"
        channel.report.note("acknowledgement", message)
    if refused:
        channel.report.note("acknowledgement", f"{refused}; but the answer came")
    return callback


async def _asked(
    channel: ServerChannel,
    options: BecalmOptions,
    method: str,
    parameters: Mapping[str, Any],
    key: str | None = None,
) -> Mapping[str, Any]:
    """Return a request's acknowledgement; raises `PeerError` if it was refused."""
    login = {channel.login.name: channel.login.secret} if channel.login else {KEY: ""}
    if key is not None:
        login = dict.fromkeys(login, key)
    body = {
        "name": NAME,
        "method": method,
        **login,
        "custom_parameters": options.custom,
        "parameters": parameters,
    }
    request = Request(msgspec.json.encode(body), CONTENT_TYPE, statuses=None, accept=ACCEPT)
    response = await channel.send(request, whole_body(channel.limits))
    if not 200 <= response.status < 300:
        raise failed(response)
    size = len(response.value)
    value = await channel.work(read_json, response.value, channel.limits, size=size)
    answer = as_type(value, dict, "")
    if not member(answer, "success", bool, ""):
        code = answer.get("errorCode", answer.get("status"))
        words = (answer.get("errorName"), answer.get("message"))
        said = ": ".join(clean(word) for word in words if isinstance(word, str) and word)
        fault_code = code if isinstance(code, int | str) else "refused"
        raise FaultError(Fault(code=fault_code, string=said or "success is false"))
    return answer


# -- conformance -----------------------------------------------------------------------------------


async def _wrong_key(channel: ServerChannel, options: BecalmOptions) -> ConformanceStep:
    """Return the step for a request with a wrong key: it must be refused."""
    name = "wrong key"
    if channel.login is None:
        message = "the hub sends no becalm_key; expected a server registered with auth = body"
        return skipped(name, message)
    try:
        await _asked(channel, options, "getState", {}, _WRONG_KEY)
    except PeerError as error:
        return passed(name, f"refused: {error}")
    message = (
        "a wrong becalm_key was accepted, so anybody can use the server; expected success: false"
    )
    return warned(name, message)


async def _unknown_type(channel: ServerChannel, options: BecalmOptions) -> ConformanceStep:
    """Return the step for a type that no server knows: it must be ignored."""
    name, article, text = "unknown type", ArticleId("conformance-type"), "MDM2\nbinds p53."
    about = Exchanged(article=article, number=1)
    types = [*options.types, _UNKNOWN_TYPE]
    try:
        await _called_back(channel, about, text, options, types)
    except PeerError as error:
        return warned(name, f"{error}; expected an unknown type to be ignored", error.outcome)
    return passed(name, "ignored")


async def _no_documents(channel: ServerChannel, options: BecalmOptions) -> ConformanceStep:
    """Return the step of a request without documents: it must be refused in BeCalm's way."""
    name = "no documents"
    about = Exchanged(article=ArticleId("conformance-none"), number=1)
    try:
        async with channel.communication(about) as communication:
            parameters = {"communication_id": communication.id, "types": [], "documents": []}
            await _asked(channel, options, "getAnnotations", parameters)
    except PeerError as error:
        if error.outcome is Outcome.FAULT:
            return passed(name, f"refused: {error}")
        return warned(name, f"expected success: false; {error}")
    return warned(name, "a request without documents was acknowledged; expected success: false")
