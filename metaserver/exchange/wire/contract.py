"""Reading of an answer's values as the types of the contract (docs/wire.md).

Untyped languages send other types, so a value of another type is read as the agreed one where
nothing is lost by it, and this is reported: an int for a string or a double, a double without
fraction for an int, 0 and 1 for a boolean, a number written as a string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, Final, TypeVar

from metaserver.exchange.wire.report import Report, Severity
from metaserver.exchange.wire.values import Unreadable

T = TypeVar("T")

MENTIONS: Final = "mentions"
"""The member that any answer may have for display; a task may also score it."""

_OF_A_MENTION: Final[Mapping[str, type]] = {
    "type": str,
    "length": int,
    "section": str,
    "confidence": float,
    "dbid": str,
}

_EXACT: Final = 2**53  # up to here a double holds every int

_TYPE_NAMES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "int",
    float: "double",
    str: "string",
    bytes: "base64",
    datetime: "dateTime.iso8601",
    list: "array",
    dict: "struct",
    type(None): "nil",
}


def type_name(value: object) -> str:
    """Return the XML-RPC name of a value's type."""
    if isinstance(value, Unreadable):
        return str(value)
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def described(value: object) -> str:
    """Return a value's XML-RPC type and, where it is short, the value: `string 'x'`."""
    name = type_name(value)
    if isinstance(value, bool | int | float | datetime):
        return f"{name} {value}"
    if isinstance(value, str):
        return f"string {value if len(value) <= 40 else value[:39] + '…'!r}"
    return f"{name} of {len(value)}" if isinstance(value, list | bytes) else name


def _string_from(value: object) -> str | None:
    return str(value) if type(value) is int else None


def _integer_from(value: object) -> int | None:
    number = value if isinstance(value, float) else _number(value)
    exact = number is not None and number.is_integer() and abs(number) <= _EXACT
    return int(number) if number is not None and exact else None


def _double_from(value: object) -> float | None:
    return float(value) if type(value) is int else _number(value)


def _boolean_from(value: object) -> bool | None:
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    words = {"0": False, "1": True, "false": False, "true": True}
    return words.get(value.strip().lower()) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """Return a number that was written as a string, in the digits that XML-RPC allows, or None."""
    if not isinstance(value, str) or not value.isascii() or "_" in value:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


_COERCIONS: Final[Mapping[type, Callable[[object], Any]]] = {
    str: _string_from,
    int: _integer_from,
    float: _double_from,
    bool: _boolean_from,
}


def read(
    value: object, kind: type[T], path: str, report: Report, severity: Severity = Severity.SHAPE
) -> T | None:
    """Return `value` as the agreed type; None where it cannot be read, with a problem reported."""
    if type(value) is kind:
        return value
    coerce = _COERCIONS.get(kind)
    coerced: T | None = coerce(value) if coerce else None
    if coerced is None:
        report.add(severity, path, f"expected {_TYPE_NAMES[kind]}, got {described(value)}")
    else:
        report.note(path, f"{described(value)} read as {described(coerced)}")
    return coerced


def read_member(
    struct: Mapping[str, object],
    name: str,
    kind: type[T],
    path: str,
    report: Report,
    severity: Severity = Severity.SHAPE,
) -> T | None:
    """Return a struct's member as the agreed type; None and a reported problem without one.

    `path` is the struct's own.
    """
    value = struct.get(name)
    if type(value) is kind:  # nearly always: the path need not be built
        return value
    if value is None:
        report.add(severity, f"{path}.{name}", f"missing; expected {_TYPE_NAMES[kind]}")
        return None
    return read(value, kind, f"{path}.{name}", report, severity)


def check_optional(
    struct: Mapping[str, object], members: Mapping[str, type], path: str, report: Report
) -> None:
    """Note the optional members that are not of their type; nothing depends on them."""
    for name, kind in members.items():
        value = struct.get(name)
        if value is not None and type(value) is not kind:
            read(value, kind, f"{path}.{name}", report, Severity.NOTE)


def read_mentions(value: object, report: Report) -> Sequence[Mapping[str, object]]:
    """Return the mentions of an answer that can be shown; problems of the others are noted.

    A mention is a struct of `offset`, `mention` and optionally the members of `_OF_A_MENTION`.
    """
    array = read(value, list, MENTIONS, report, Severity.NOTE) or []
    return [
        mention
        for index, mention in enumerate(array)
        if _is_mention(mention, f"{MENTIONS}[{index}]", report)
    ]


def _is_mention(value: object, path: str, report: Report) -> bool:
    struct = read(value, dict, path, report, Severity.NOTE)
    if struct is None:
        return False
    offset = read_member(struct, "offset", int, path, report, Severity.NOTE)
    words = read_member(struct, "mention", str, path, report, Severity.NOTE)
    check_optional(struct, _OF_A_MENTION, path, report)
    return offset is not None and words is not None
