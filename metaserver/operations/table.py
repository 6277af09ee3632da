"""The table of operations, from which JSON, XML-RPC, commands and pages are derived.

An operation is a function `(hub, caller, request) -> result` whose `request` and result are
`msgspec` structs (a result may also be a sequence of structs, or None). Declaring it once gives it
a path under `/api/v1`, an XML-RPC method, a command and its documentation.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias, TypeVar, cast, get_type_hints

import msgspec

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.misfits import misfit, value_at

Handler: TypeAlias = Callable[[Any, Caller, Any], Awaitable[Any]]
H = TypeVar("H", bound=Handler)
R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request of an operation without parameters."""


class Scope(Enum):
    """The object by which a request is of one challenge, whose organiser may then ask it.

    `OWN`: the request names none, and the operation returns what is the caller's challenge's.
    """

    CHALLENGE = auto()
    PHASE = auto()
    SIGN_UP = auto()
    TOKEN = auto()
    INVITATION = auto()
    BOARD = auto()
    JOB = auto()
    OWN = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """An operation with its names in the interfaces.

    `rpc` is its XML-RPC method ("Servers.register"); `method` and `path` its HTTP request under
    `/api/v1` ("POST", "/servers/{server}/start"). The fields in the path come first where
    parameters have an order: XML-RPC (after the token), the command line. `role` None: also without
    a token. `report` is the report type if it begins a background job. `scope` None: the organiser
    of one challenge has no more rights in it than a reader.
    """

    rpc: str
    method: str
    path: str
    role: Role | None
    handler: Handler
    request: type[msgspec.Struct]
    result: Any
    doc: str
    report: type[msgspec.Struct] | None = None
    scope: Scope | None = None

    @property
    def name(self) -> str:
        """The name in the audit log and on the command line: "servers.register"."""
        return ".".join(_dashed(word) for word in self.rpc.split("."))

    @property
    def positional(self) -> tuple[str, ...]:
        """The fields that its path names, in order."""
        return tuple(re.findall(r"{(\w+)}", self.path))


OPERATIONS: dict[str, Operation] = {}
"""Every operation by name; filled when `cli.catalogue` is imported."""

_BY_FUNCTION: dict[Handler, Operation] = {}


def operation(
    rpc: str,
    http: str,
    role: Role | None,
    *,
    scope: Scope | None = None,
    report: type[msgspec.Struct] | None = None,
    table: dict[str, Operation] = OPERATIONS,
) -> Callable[[H], H]:
    """Declare a function as an operation: `@operation("Teams.list", "GET /teams", ORGANISER)`."""
    method, path = http.split(" ")

    def declare(handler: H) -> H:
        hints = get_type_hints(handler, include_extras=True)
        _hub, _caller, request = [kind for name, kind in hints.items() if name != "return"]
        declared = Operation(
            rpc=rpc,
            method=method,
            path=path,
            role=role,
            handler=handler,
            request=request,
            result=hints["return"],
            doc=(handler.__doc__ or "").strip(),
            report=report,
            scope=scope,
        )
        assert declared.name not in table, declared.name
        table[declared.name] = _BY_FUNCTION[handler] = declared
        return handler

    return declare


def declared(handler: Handler) -> Operation:
    """Return the operation that a function is declared as, or `KeyError`."""
    return _BY_FUNCTION[handler]


async def ask(
    hub: Any, caller: Caller, operation: Callable[[Any, Caller, R], Awaitable[T]], request: R
) -> T:
    """Do the operation that a function is declared as, with its typed request, through `perform`.

    A struct that was made in Python was not checked yet: here its fields are, as for any interface.
    """
    values = msgspec.to_builtins(request, builtin_types=(bytes,))
    return cast(T, await perform(declared(operation), hub, caller, values))


async def perform(
    operation: Operation, hub: Any, caller: Caller, values: Any, *, strict: bool = True
) -> Any:
    """Check the caller's role and the values, call the operation, return its result.

    `values` maps field names to builtins (and bytes). `strict=False` reads texts as numbers, for
    interfaces whose parameters are texts. Raises `RefusedError`.
    """
    require_asker(operation, caller)
    try:
        request = msgspec.convert(values, operation.request, strict=strict)
    except msgspec.ValidationError as error:
        raise invalid(error, values) from error
    if caller.challenge is not None and operation.scope is not None:
        caller = await hub.in_challenge(caller, operation.scope, request)
        caller.require_role(operation.role)
    if isinstance(phase := getattr(request, "phase", None), str):
        hub.require_announced(caller, phase)
    return await operation.handler(hub, caller, request)


def require_asker(operation: Operation, caller: Caller) -> None:
    """Raise `RefusedError` for a caller who may not ask, whatever the values are."""
    if caller.challenge is None or operation.scope is None:
        caller.require_role(operation.role)


def invalid(error: msgspec.ValidationError, values: Any = None) -> RefusedError:
    """Return the refusal for invalid values, naming the field."""
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    if missing := re.search(r"missing required field `(\w+)`", message):
        return RefusedError(Refusal.INVALID, "is required", field=missing[1])
    if unknown := re.search(r"contains unknown field `(.*)`", message):
        return RefusedError(
            Refusal.INVALID, "is not a parameter of this operation", field=unknown[1]
        )
    return RefusedError(Refusal.INVALID, misfit(message, value_at(values, field)), field=field)


def _dashed(word: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", word).lower()
