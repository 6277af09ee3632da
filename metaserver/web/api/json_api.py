"""The operations as JSON over HTTP, under `/api/v1`.

Fields in the path come from the address, the others from the query (GET) or from a JSON object in
the body. An error is `{"error": {"status", "message", "field", "request_id"}}`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.operations.outline import PREFIX, Outline, Parameter, ValueKind
from metaserver.operations.table import Operation, perform, require_asker
from metaserver.web.access.aside import LARGE, aside
from metaserver.web.access.auth import REQUEST_ID
from metaserver.web.access.bodies import content_type, received, upload
from metaserver.web.access.downloads import in_turn
from metaserver.web.access.headers import help_link, refusal_headers
from metaserver.web.access.visitor import caller_of
from metaserver.web.api.json_values import NAME_LENGTH, bounded, read_object

log = logging.getLogger(__name__)

NO_STORE = {hdrs.CACHE_CONTROL: "no-store"}
JSON = "application/json"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
MESSAGE_LENGTH = 2_000
"""The most characters of an error that are shown: the request may be quoted in it."""
RETRY_SECONDS = 10.0
"""After which a hub whose store could not take a change is worth asking again."""


@dataclass(frozen=True, kw_only=True)
class Api:
    """The routes for a table of operations, and what these work on."""

    hub: Any
    operations: Mapping[str, Operation]

    def routes(self) -> list[web.RouteDef]:
        """Return a route for each operation; of two that fit an address the plainer goes first."""
        in_order = sorted(
            self.operations.values(), key=lambda operation: _variables(operation.path)
        )
        return [self._route(operation) for operation in in_order]

    def _route(self, operation: Operation) -> web.RouteDef:
        outline = Outline.of(operation)

        async def handle(request: web.Request) -> web.StreamResponse:
            caller = caller_of(request)
            require_asker(operation, caller)  # before a body is read
            values = await read_values(request, outline)

            async def make() -> web.Response:
                result = await perform(operation, self.hub, caller, values)
                large = outline.gives_file or outline.gives_rows
                return await aside(request, large, answer, result)

            return await (in_turn(request, make) if outline.gives_file else make())

        if outline.takes_file:
            handle = upload(handle)
        add: Callable[..., web.RouteDef] = (
            web.get if operation.method == hdrs.METH_GET else partial(web.route, operation.method)
        )
        return add(PREFIX + operation.path, handle)


def _variables(path: str) -> list[bool]:
    return [part.startswith("{") for part in path.split("/")]


# -- what is asked -----------------------------------------------------------------------------


async def read_values(request: web.Request, outline: Outline) -> dict[str, Any]:
    """Return what a request gives an operation, by field; raises `RefusedError`."""
    in_path = {
        parameter.name: read_text(parameter, request.match_info[parameter.name])
        for parameter in outline.in_path
    }
    if outline.method == hdrs.METH_GET:
        return in_path | _query(request, outline)
    if request.query:
        [name, *_] = request.query
        raise RefusedError(Refusal.INVALID, "belongs into the body, as JSON", field=name)
    return in_path | await _json(request, outline)


def _query(request: web.Request, outline: Outline) -> dict[str, Any]:
    parameters = {parameter.name: parameter for parameter in outline.by_name}
    given: dict[str, Any] = {}
    for name in dict.fromkeys(request.query):
        if name not in parameters:
            message = "is not a parameter of this operation"
            raise RefusedError(Refusal.INVALID, message, field=name[:NAME_LENGTH])
        texts = request.query.getall(name)
        values = [read_text(parameters[name], text) for text in texts]
        if len(values) > 1 and not parameters[name].many:
            raise RefusedError(Refusal.INVALID, "is given more than once", field=name)
        given[name] = values if parameters[name].many else values[0]
    return given


def read_text(parameter: Parameter, text: str) -> Any:
    """Read a parameter's value from a path or query; `RefusedError` names the parameter.

    Example: `true` is True if the parameter is a truth value, else the text "true".
    """
    try:
        match parameter.kind:
            case ValueKind.INTEGER:
                return bounded(int(text))
            case ValueKind.NUMBER:
                return bounded(float(text))
            case ValueKind.TRUTH:
                return TRUTHS[text.lower()]
            case ValueKind.STRUCT | ValueKind.ANY:
                return bounded(msgspec.json.decode(text))
    except (ValueError, KeyError, RecursionError) as error:
        message = f"{text[:80]!r} is not {WANTED.get(parameter.kind, 'JSON')}"
        raise RefusedError(Refusal.INVALID, message, field=parameter.name) from error
    return text


WANTED = {
    ValueKind.INTEGER: "an integer",
    ValueKind.NUMBER: "a number",
    ValueKind.TRUTH: "true or false",
}


async def _json(request: web.Request, outline: Outline) -> dict[str, Any]:
    if not request.can_read_body:
        return {}
    kind, options = content_type(request)
    if kind != JSON or options.get("charset", "utf-8").lower() != "utf-8":
        raise web.HTTPUnsupportedMediaType(text=f"Expected Content-Type: {JSON}, in UTF-8.")
    body = await received(request)
    try:
        return await aside(request, len(body) > LARGE, read_object, body, outline) if body else {}
    except ValueError as error:  # also msgspec's, and of bytes that are no UTF-8
        raise web.HTTPBadRequest(text=f"The body is not JSON: {error}.") from error
    except RecursionError as error:
        raise web.HTTPBadRequest(text="The body is nested too deeply.") from error


# -- what is answered --------------------------------------------------------------------------


def answer(result: Any) -> web.Response:
    """Return an operation's result: 204 without a result."""
    if result is None:
        return web.Response(status=204, headers=NO_STORE)
    body = msgspec.json.encode(result)
    return web.Response(body=body, content_type=JSON, headers=NO_STORE)


@web.middleware
async def api_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors under `/api/v1` as JSON, whoever raised them: within `error_pages`."""
    if not request.path.startswith(f"{PREFIX}/"):
        return await handler(request)
    try:
        return await handler(request)
    except RefusedError as error:
        response = error_response(
            request, error.refusal, error.message, field=error.field, detail=error.detail
        )
        response.headers.update(refusal_headers(error))
    except UnavailableError as error:
        response = error_response(request, 503, error.advice(RETRY_SECONDS))
        response.headers[hdrs.RETRY_AFTER] = f"{RETRY_SECONDS:.0f}"
    except web.HTTPException as error:
        if error.status < 400:
            raise
        response = error_response(request, error.status, _reason(error))
        if hdrs.ALLOW in error.headers:
            response.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        response = error_response(
            request, 500, "the hub failed to do this; the reason is in its log"
        )
    return response


REASONS = {
    404: "there is nothing at this address",
    405: "this address does not take that method",
}


def _reason(error: web.HTTPException) -> str:
    """Return our own text; aiohttp's, such as "404: Not Found", says less."""
    return REASONS.get(error.status) or error.text or error.reason


def error_response(
    request: web.Request,
    status: int,
    message: str,
    *,
    field: str = "",
    detail: Mapping[str, Any] | None = None,
) -> web.Response:
    """Return an error as the API represents it."""
    error: dict[str, Any] = {"status": int(status), "message": message[:MESSAGE_LENGTH]}
    if field:
        error["field"] = field[:MESSAGE_LENGTH]
    if detail is not None:
        error["detail"] = detail
    error["request_id"] = request.get(REQUEST_ID, "")
    body = msgspec.json.encode({"error": error})
    headers = NO_STORE | {hdrs.LINK: help_link(int(status))}
    return web.Response(body=body, status=status, content_type=JSON, headers=headers)
