"""The operations as XML-RPC methods, at `/xmlrpc/`.

A method whose operation needs a role takes an API token first; it is written nowhere. The others
take one as well, as many clients put it before everything. Every error
is a fault with HTTP status 200, as the specification of XML-RPC wants it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from xml.parsers.expat import ExpatError

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.states import Outcome
from metaserver.exchange.wire.values import FORBIDDEN, Limits, MethodCall, Value, WireError
from metaserver.exchange.wire.xmlrpc import decode_call, encode_fault, encode_response
from metaserver.operations.caller import Caller
from metaserver.operations.outline import Outline
from metaserver.operations.table import Operation, perform, require_asker
from metaserver.operations.tokens import TOKEN_PREFIX
from metaserver.web.access.aside import LARGE, aside
from metaserver.web.access.bodies import BODY_BYTES, received, too_large, upload
from metaserver.web.access.downloads import in_turn
from metaserver.web.access.headers import refusal_headers
from metaserver.web.access.visitor import caller_of
from metaserver.web.api.json_api import RETRY_SECONDS
from metaserver.web.api.xmlrpc_values import (
    CallError,
    Code,
    carried,
    method_help,
    read_parameters,
    signatures,
)
from metaserver.web.manual.library import help_of_fault

log = logging.getLogger(__name__)

PATHS = ("/xmlrpc/", "/xmlrpc")
LIMITS = Limits(values=100_000, depth=16)
"""A call's limits; its bytes are bounded where the body is read."""
MULTICALL = "system.multicall"
MAX_CALLS = 100  # in one system.multicall
MAX_ANSWERS = 16 * 2**20  # bytes of their answers (as JSON), before the rest is refused

MESSAGE_LENGTH = 2_000  # characters of a fault: what was sent may be in it

TokenReader = Callable[[web.Request, str], Awaitable[Caller]]


class SystemMethod(NamedTuple):
    """A method about methods, or one that calls several."""

    run: Callable[..., Any]
    signature: Sequence[str]
    help: str


@dataclass(frozen=True, kw_only=True)
class Rpc:
    """The XML-RPC server for a table of operations.

    `read_token` returns a token's holder, or raises `RefusedError`; wrong tokens make it wait.
    `count_call` counts a further call in a request, or raises `RefusedError`.
    """

    hub: Any
    operations: Mapping[str, Operation]
    read_token: TokenReader
    count_call: Callable[[web.Request], None]

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that take calls."""
        return [web.post(path, self.post) for path in PATHS]

    @cached_property
    def _methods(self) -> Mapping[str, tuple[Operation, Outline]]:
        in_order = sorted(self.operations.values(), key=lambda operation: operation.rpc)
        return {operation.rpc: (operation, Outline.of(operation)) for operation in in_order}

    @cached_property
    def system(self) -> Mapping[str, SystemMethod]:
        """The methods that are no operations."""
        return {
            "system.listMethods": SystemMethod(
                self._list_methods, ["array"], "Return the names of all methods."
            ),
            "system.methodHelp": SystemMethod(
                self._method_help, ["string", "string"], "Return what a method does, as text."
            ),
            "system.methodSignature": SystemMethod(
                self._method_signature,
                ["array", "string"],
                "Return a method's signatures: the type of the result, then of each parameter.",
            ),
            MULTICALL: SystemMethod(
                self._multicall,
                ["array", "array"],
                f"Do up to {MAX_CALLS} calls, structs of methodName and params, one after another."
                " Returns for each an array that holds its result, or a fault's struct.",
            ),
        }

    @upload
    async def post(self, request: web.Request) -> web.Response:
        """Answer a call; raises what `rpc_faults` makes a fault of."""
        body = await received(request)
        call = await aside(request, len(body) > LARGE, decode_call, body, LIMITS)
        if len(body) > BODY_BYTES and not self._takes_file(call):
            raise too_large(BODY_BYTES)

        method = self._methods.get(call.method)
        files = call.method == MULTICALL if method is None else method[1].gives_file
        large = files or (method is not None and method[1].gives_rows)

        async def make() -> web.Response:
            value = await self._answer(request, call)
            return _response(await aside(request, large, encode_response, value))

        return await (in_turn(request, make) if files else make())

    def _takes_file(self, call: MethodCall) -> bool:
        if call.method == MULTICALL:
            return any(self._takes_file(inner) for inner in _calls_in(call))
        method = self._methods.get(call.method)
        return method is not None and method[1].takes_file

    async def _answer(self, request: web.Request, call: MethodCall) -> Value:
        if call.method in self.system:
            return await self._answer_system(request, call)
        operation, outline = self._known(call.method)
        caller, params = caller_of(request), call.params
        if operation.role is not None:
            if not params or not isinstance(params[0], str):
                message = f"the first parameter is an API token: expected {outline.call}"
                raise CallError(Code.PARAMETERS, message)
            caller, params = await self.read_token(request, params[0]), params[1:]
            require_asker(operation, caller)
        elif params and isinstance(params[0], str) and params[0].startswith(TOKEN_PREFIX):
            caller, params = await self.read_token(request, params[0]), params[1:]
        values = read_parameters(outline, params)
        result = await perform(operation, self.hub, caller, values)
        return await aside(request, outline.gives_rows, carried, result)

    def _known(self, name: str) -> tuple[Operation, Outline]:
        if name not in self._methods:
            message = f"there is no method {name[:80]!r}: system.listMethods lists all"
            raise CallError(Code.METHOD, message)
        return self._methods[name]

    # -- system.* --------------------------------------------------------------------------------

    async def _answer_system(self, request: web.Request, call: MethodCall) -> Value:
        method = self.system[call.method]
        expected = method.signature[1:]
        kinds = [_TYPES[kind] for kind in expected]
        if len(call.params) != len(kinds) or not all(map(isinstance, call.params, kinds)):
            raise CallError(Code.PARAMETERS, f"expected {call.method}({', '.join(expected)})")
        value: Value = await method.run(request, *call.params)
        return value

    async def _list_methods(self, _request: web.Request) -> Value:
        return [*self._methods, *self.system]

    async def _method_help(self, _request: web.Request, name: str) -> Value:
        if name in self.system:
            return self.system[name].help
        return method_help(self._known(name)[1])

    async def _method_signature(self, _request: web.Request, name: str) -> Value:
        if name in self.system:
            return [list(self.system[name].signature)]
        return signatures(self._known(name)[1])

    async def _multicall(self, request: web.Request, calls: list[Value]) -> Value:
        if len(calls) > MAX_CALLS:
            message = f"{len(calls)} calls in one: at most {MAX_CALLS}"
            raise CallError(Code.PARAMETERS, message)
        answers: list[Value] = []
        size = 0
        for call in calls:
            answers.append(await self._one_of_many(request, call, size))
            size += len(await aside(request, True, msgspec.json.encode, answers[-1]))
        return answers

    async def _one_of_many(self, request: web.Request, inner_call: Value, size: int) -> Value:
        try:
            if size > MAX_ANSWERS:
                message = f"the answers before are larger than {MAX_ANSWERS >> 20} MiB: ask apart"
                raise RefusedError(Refusal.TOO_LARGE, message)
            self.count_call(request)
            return [await self._answer(request, _call_in(inner_call))]
        except Exception as error:
            code, string = fault_of(error)
            return {"faultCode": code, "faultString": string}


_TYPES = {"string": str, "array": list}


def _calls_in(call: MethodCall) -> Iterator[MethodCall]:
    """Give a multicall's calls, as far as they are calls."""
    for inner_call in call.params[0] if call.params and isinstance(call.params[0], list) else ():
        with suppress(CallError):
            yield _call_in(inner_call)


def _call_in(inner_call: Value) -> MethodCall:
    """Read a call in a multicall."""
    match inner_call:
        case {"methodName": str(name), "params": list(params)}:
            if name == MULTICALL:
                raise CallError(Code.INVALID, "a multicall in a multicall")
            return MethodCall(method=name, params=params)
    raise CallError(Code.PARAMETERS, "a call is a struct of methodName and params (an array)")


# -- faults ------------------------------------------------------------------------------------


@web.middleware
async def rpc_faults(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors of calls as faults, whoever raised them: within `error_pages`."""
    if request.path not in PATHS or request.method != hdrs.METH_POST:
        return await handler(request)
    try:
        return await handler(request)
    except Exception as error:
        response = _response(encode_fault(*fault_of(error)))
        if isinstance(error, RefusedError):
            response.headers.update(refusal_headers(error))
        return response


def fault_of(error: Exception) -> tuple[int, str]:
    """Return the code of the fault that an error is, and its string, with what explains it."""
    code, message = _fault_of(error)
    return code, f"{message} (see {help_of_fault(code)})"


def _fault_of(error: Exception) -> tuple[int, str]:
    """Return the code and an error's message; ours are logged, not shown."""
    match error:
        case CallError():
            return int(error.code), _clean(str(error))
        case RefusedError():
            return int(error.refusal), _clean(str(error))
        case WireError():
            return _code_of(error), _clean(str(error))
        case UnavailableError():
            return int(Code.INTERNAL), _clean(error.advice(RETRY_SECONDS))
        case web.HTTPException():
            return error.status, _clean(error.text or error.reason)
    log.error("a call failed", exc_info=error)
    return int(Code.INTERNAL), "the hub failed to do this; the reason is in its log"


def _code_of(error: WireError) -> int:
    if error.outcome is Outcome.TOO_LARGE:
        return web.HTTPRequestEntityTooLarge.status_code
    malformed = isinstance(error.__cause__, ExpatError | UnicodeError)
    return int(Code.PARSE if malformed else Code.INVALID)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text[:MESSAGE_LENGTH])


def _response(body: bytes) -> web.Response:
    return web.Response(
        body=body,
        content_type="text/xml",
        charset="utf-8",
        headers={hdrs.CACHE_CONTROL: "no-store"},
    )
