"""XML-RPC parameters into operations' fields, and results back: pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import msgspec

from metaserver.base.errors import MetaserverError
from metaserver.exchange.wire.values import FORBIDDEN, Value
from metaserver.operations.outline import Outline, Parameter, ValueKind


class Code(IntEnum):
    """The fault codes below those of `Refusal` ("fault code interoperability")."""

    PARSE = -32700  # not well-formed XML
    INVALID = -32600  # not XML-RPC
    METHOD = -32601  # no such method
    PARAMETERS = -32602  # too few, too many, or of the wrong type
    INTERNAL = -32603


class CallError(MetaserverError):
    """A call that no operation gets to see, with its fault code."""

    def __init__(self, code: Code, message: str) -> None:
        self.code = code
        super().__init__(message)


def read_parameters(outline: Outline, arguments: Sequence[Value]) -> dict[str, Any]:
    """Return what a call gives an operation, by field; `given` is without the token.

    The fields that the path names come first, each in its place. The others follow as a struct, or
    in their order, or so with a struct at the end.
    """
    places, rest = outline.in_path, list(arguments[len(outline.in_path) :])
    struct = _taken_struct(outline, rest)
    if len(arguments) < len(places) or len(rest) > len(outline.by_name):
        raise CallError(Code.PARAMETERS, f"expected {outline.call}")
    values = {
        place.name: _placed(place, value) for place, value in zip(places, arguments, strict=False)
    }
    values |= {
        field.name: loosened(field, value)
        for field, value in zip(outline.by_name, rest, strict=False)
    }
    parameters = {field.name: field for field in outline.by_name}
    for name, value in struct.items():
        if name in values:
            raise CallError(Code.PARAMETERS, f"{name} is given twice: expected {outline.call}")
        if value is not None:
            values[name] = loosened(parameters[name], value) if name in parameters else value
    return values


def _taken_struct(outline: Outline, rest: list[Value]) -> dict[str, Value]:
    """Take the struct at the end off the values, if there is one; PHP's empty struct is `[]`."""
    if rest == [[]] and not any(field.many for field in outline.by_name[:1]):
        rest.clear()
    last = rest[-1] if rest else None
    if not isinstance(last, dict):
        return {}
    rest.pop()
    return last


def _placed(parameter: Parameter, value: Value) -> Value:
    value = loosened(parameter, value)
    expected = int if parameter.kind is ValueKind.INTEGER else str
    if not isinstance(value, expected) or isinstance(value, bool):
        message = f"{parameter.name}: expected {parameter.rpc_type}"
        raise CallError(Code.PARAMETERS, message)
    return value


def loosened(parameter: Parameter, value: Any) -> Any:
    """Return a value as the operation wants it: an id may be an int, a date a dateTime in UTC."""
    if parameter.many and isinstance(value, list):
        return [_one(parameter.kind, item) for item in value]
    return _one(parameter.kind, value)


def _one(kind: ValueKind, value: Any) -> Any:
    match kind, value:
        case ValueKind.TEXT, int() if not isinstance(value, bool):
            return str(value)
        case ValueKind.TEXT, datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        case ValueKind.FILE, str():
            return value.encode()
    return value


def carried(result: Any) -> Value:
    """Return an operation's result as XML-RPC carries it.

    Fields that have no value are left out, dates are UTC, and a character that XML cannot carry is
    U+FFFD. An operation that returns nothing returns true.
    """
    if result is None:
        return True
    plain = msgspec.to_builtins(result, builtin_types=(bytes, datetime), str_keys=True)
    value: Value = _carried(plain)
    return value


def _carried(value: Any) -> Any:
    match value:
        case str():
            return FORBIDDEN.sub("\ufffd", value)
        case dict():
            return {_carried(name): _carried(item) for name, item in value.items() if _is(item)}
        case list() | tuple():
            return [_carried(item) for item in value]
    return value


def _is(value: Any) -> bool:
    """Return whether there is a value: JSON has null for a float that is no number."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def signatures(outline: Outline) -> list[list[str]]:
    """Return a method's signatures: each its result type, then its parameter types."""
    result = outline.result
    returned = "boolean" if result is None else result.rpc_type
    token = ["string"] if outline.role else []
    plain = [returned, *token, *(place.rpc_type for place in outline.in_path)]
    if not outline.by_name:
        return [plain]
    needed = any(field.required for field in outline.by_name)
    return [[*plain, "struct"]] if needed else [plain, [*plain, "struct"]]


def method_help(outline: Outline) -> str:
    """Return a method's help as plain text."""
    lines = [outline.call, "", outline.doc]
    if outline.role:
        lines += ["", f"token: an API token of role {outline.role}, or of one that includes it"]
    lines += [f"{parameter.name}: {description_of(parameter)}" for parameter in outline.parameters]
    return "\n".join(lines)


def description_of(parameter: Parameter) -> str:
    """Return a parameter's type, default and help in one line."""
    default = f", default {parameter.default}" if parameter.default else ""
    needed = ", required" if parameter.required and not parameter.in_path else ""
    words = f". {parameter.help}" if parameter.help else ""
    return f"{parameter.word}{needed}{default}{words}"
