"""BeCalm servers' callbacks: `POST /becalm/saveAnnotations/{format}`.

Servers that insist on it fetch their articles: `GET /becalm/documents/{article}`, or as from the
document services of TIPS, `POST /abstractserver/json`.

Every answer is a BeCalm object, even if the gate or the server's key is the reason. The codes are
BeCalm's own (docs/protocols.md).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from metaserver.base.communications import Callback
from metaserver.base.errors import (
    CallbackError,
    CallbackFault,
    PeerError,
    RefusedError,
    UnavailableError,
)
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.becalm import SERVICES, DocumentService, tips_document
from metaserver.exchange.protocols.becalm_answers import FORMATS
from metaserver.exchange.protocols.plugin import AT_ONCE
from metaserver.operations.callbacks import DOCUMENTS, PATH, SERVICE, Callbacks
from metaserver.web.access.aside import LARGE, aside
from metaserver.web.access.auth import CALLING, calls_back
from metaserver.web.access.bodies import pieces
from metaserver.web.access.headers import refusal_headers

PATHS: Final = (PATH, "/api/saveAnnotations/{format}")
AGAIN: Final[Mapping[str, str]] = {hdrs.RETRY_AFTER: "2"}
_ID: Final = re.compile(r"[0-9]{1,10}")
MOST_IDS_BYTES: Final = 2**16
"""The most that a list of ids may take."""
_SHOWN: Final = 500  # characters of an error
_TO_BLANKS: Final = str.maketrans("\t\n\r", "   ")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BecalmCode:
    """An error of BeCalm: the answer's status, the name and the code."""

    status: int
    name: str
    code: str


UNKNOWN_ERROR: Final = BecalmCode(500, "UNKNOWN", "-1")
FORMAT: Final = BecalmCode(400, "FORMAT_ERROR", "1")
METHOD: Final = BecalmCode(405, "INCORRECT_TRANSFER_REQUEST_METHOD", "2")
NOT_SAVED: Final = BecalmCode(503, "VALIDATIONS_ON_SAVE", "3")
FAULTS: Final[Mapping[CallbackFault, BecalmCode]] = {
    CallbackFault.NO_ID: BecalmCode(400, "NEED_PARAMETERS", "12"),
    CallbackFault.UNKNOWN: BecalmCode(404, "UNKNOWN_COMMUNICATION_ID", "10"),
    CallbackFault.CLOSED: BecalmCode(400, "REQUEST_CLOSED", "13"),
    CallbackFault.EXPIRED: BecalmCode(400, "REQUEST_EXPIRED", "9"),
    CallbackFault.BUSY: NOT_SAVED,
    CallbackFault.NO_DOCUMENT: BecalmCode(404, "UNKNOWN", "-1"),
}
CONTENTS: Final[Mapping[Outcome, BecalmCode]] = {
    Outcome.SYNTAX: FORMAT,
    Outcome.SHAPE: BecalmCode(400, "INCORRECT_FIELD", "15"),
    Outcome.TOO_LARGE: BecalmCode(413, "NOT_VALID_BY_SCHEMA", "8"),
}
STATUSES: Final[Mapping[int, tuple[BecalmCode, str]]] = {
    404: (BecalmCode(404, "UNKNOWN", "-1"), "there is nothing at this address"),
    405: (METHOD, "expected another method: POST for answers, GET for documents"),
    408: (NOT_SAVED, "the body did not come in time"),
    413: (BecalmCode(413, "NOT_VALID_BY_SCHEMA", "8"), "the body is larger than an answer may be"),
    415: (BecalmCode(415, "FORMAT_ERROR", "1"), "a body must not be compressed"),
}


@dataclass(frozen=True, kw_only=True)
class CallbackApi:
    """The routes for callbacks."""

    callbacks: Callbacks

    def routes(self) -> list[web.RouteDef]:
        """Return a route for each address that servers know."""
        saving = [web.post(path, self.save) for path in PATHS]
        services = [web.post(path, self.documents) for path in (SERVICE, f"{SERVICE}/")]
        return [*saving, *services, web.get(DOCUMENTS, self.document)]

    async def document(self, request: web.Request) -> web.Response:
        """Answer with an article, to the server that was asked about it, as long as it is."""
        server, article = request[CALLING], request.match_info["article"]
        number = _communication_id(request)
        return _sent(await self.callbacks.document(server, number, article), 200)

    async def documents(self, request: web.Request) -> web.Response:
        """Answer a list of ids with those that the server is asked about now, in their order."""
        server, service = request[CALLING], SERVICES[request.match_info["service"]]
        body = bytearray()
        async for piece in pieces(request, MOST_IDS_BYTES):
            body += piece
        articles = _ids(bytes(body), service.ids)
        as_json = request.match_info["format"] == "json"
        documents = await self.callbacks.documents(server, articles)
        large = sum(map(len, documents)) > LARGE
        content = await aside(request, large, _written, documents, service, as_json=as_json)
        if as_json:
            return _sent(content, 200)
        return _sent(content, 200, kind="text/tab-separated-values")

    async def save(self, request: web.Request) -> web.Response:
        """Take an answer; nothing of the body is read before its communication is known."""
        server, form = request[CALLING], request.match_info["format"].lower()
        if form not in FORMATS:
            formats = ", ".join(sorted(name.upper() for name in FORMATS))
            return _refused(FORMAT, f"expected one of {formats} after saveAnnotations/")
        communication = await self.callbacks.desk.find(server, _communication_id(request))
        with self.callbacks.desk.receiving(communication):
            check = await self.callbacks.checker(server, communication)
            body = bytearray()
            limit = self.callbacks.limits(communication).bytes
            async for piece in pieces(request, limit):
                body += piece
            callback = Callback(format=form, body=bytes(body))
            try:
                callback = await aside(request, len(body) > AT_ONCE, check, callback)
            except PeerError as error:
                self.callbacks.desk.refuse(communication, error)
                raise
            await self.callbacks.desk.accept(communication, callback)
        return _answer({"status": 200, "success": True}, 200)


@web.middleware
async def callback_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer the errors of callbacks as BeCalm does, whoever raised them: within `error_pages`."""
    if not calls_back(request):
        return await handler(request)
    try:
        return await handler(request)
    except CallbackError as error:
        code = FAULTS[error.fault]
        return _refused(code, error.message, AGAIN if code is NOT_SAVED else None)
    except PeerError as error:
        return _refused(CONTENTS.get(error.outcome, FORMAT), error.message)
    except RefusedError as error:
        code = BecalmCode(int(error.refusal), UNKNOWN_ERROR.name, UNKNOWN_ERROR.code)
        return _refused(code, error.message, refusal_headers(error))
    except UnavailableError as error:
        message = f"no answer can be stored until this is over: {error.reason}; send it again"
        return _refused(NOT_SAVED, message, AGAIN)
    except web.HTTPException as error:
        if error.status not in STATUSES:
            raise
        code, message = STATUSES[error.status]
        return _refused(code, message)
    except Exception:
        log.exception("a callback failed")
        return _refused(UNKNOWN_ERROR, "the hub failed to do this; the reason is in its log")


def _communication_id(request: web.Request) -> int:
    text = request.query.get("communicationId", "")
    if not _ID.fullmatch(text):
        raise CallbackError(CallbackFault.NO_ID, "communicationId is missing, or no number")
    return int(text)


def _ids(body: bytes, name: str) -> Sequence[str]:
    """Return the ids in a request to a document service; raises `PeerError`."""
    try:
        given = msgspec.json.decode(body, type=dict[str, list[str | int]])[name]
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError) as error:
        message = f'expected an object with an array of ids, {{"{name}": ["17060459"]}}'
        raise PeerError(Outcome.SHAPE, message) from error
    return list(dict.fromkeys(map(str, given)))


def _written(documents: Sequence[bytes], service: DocumentService, *, as_json: bool) -> bytes:
    """Return documents as a service of TIPS writes them, in JSON or TSV."""
    rows = [
        tips_document(service, msgspec.json.decode(document, type=dict[str, str]))
        for document in documents
    ]
    if as_json:
        return msgspec.json.encode(rows)
    return "".join("\t".join(map(_cell, row.values())) + "\n" for row in rows).encode()


def _cell(text: str) -> str:
    """Return a text as a cell of TSV, as long as before: offsets are counted in it."""
    return text.translate(_TO_BLANKS)


def _refused(
    error: BecalmCode, message: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    body = {
        "status": error.status,
        "success": False,
        "errorName": error.name,
        "errorCode": error.code,
        "message": message[:_SHOWN],
    }
    return _answer(body, error.status, headers)


def _answer(
    value: Mapping[str, object], status: int, headers: Mapping[str, str] | None = None
) -> web.Response:
    return _sent(msgspec.json.encode(value), status, headers)


def _sent(
    body: bytes,
    status: int,
    headers: Mapping[str, str] | None = None,
    *,
    kind: str = "application/json",
) -> web.Response:
    return web.Response(
        body=body,
        status=status,
        content_type=kind,
        headers={hdrs.CACHE_CONTROL: "no-store", **(headers or {})},
    )
