"""Servers' JSON: read with bounds, and its values as types, with JSON Pointers to problems.

Both raise `PeerError`: `syntax` for what is not JSON (RFC 8259), `too_large` beyond the limits,
`shape` for a wrongly typed value, at its pointer (RFC 6901).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NoReturn, TypeVar

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.plugin import Response
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import FORBIDDEN, INT64, Fault, FaultError, Limits

CONTENT_TYPE: Final = "application/json; charset=utf-8"
ACCEPT: Final = "application/json"
BEFORE_VALUES: Final = (",", "[", "{")
"""What precedes each value but the outermost."""
SHOWN: Final = 200
"""The maximum length of a text shown if JSON was expected."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAMES: Final[Mapping[type, str]] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
    type(None): "null",
}
T = TypeVar("T")


class WholeBody:
    """A reader that collects a body, to be parsed when it is complete."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._body += data
        if len(self._body) > self._limits.bytes:
            raise PeerError(Outcome.TOO_LARGE, self._limits.exceeded("bytes"))

    def close(self) -> bytes:
        """Return the body."""
        return bytes(self._body)


def whole_body(limits: Limits) -> Any:
    """Return a factory for readers of whole bodies."""

    def make(_content_type: str, _report: Report) -> WholeBody:
        return WholeBody(limits)

    return make


def read_json(body: bytes, limits: Limits) -> Any:
    """Return a JSON text's value; its time grows with the body's size.

    >>> read_json(b'{"id": "P04637"}', Limits())
    {'id': 'P04637'}
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PeerError(
            Outcome.SYNTAX, f"not UTF-8: {error.reason} at byte {error.start}"
        ) from error
    if sum(map(text.count, BEFORE_VALUES)) > limits.values:
        raise PeerError(Outcome.TOO_LARGE, limits.exceeded("values"))
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        excerpt = "" if text.lstrip().startswith(("{", "[{")) else f": {text[:SHOWN].strip()!r}"
        place = f"line {error.lineno}, column {error.colno}"
        raise PeerError(Outcome.SYNTAX, f"not JSON: {error.msg}: {place}{excerpt}") from error
    except RecursionError as error:
        raise PeerError(Outcome.SYNTAX, f"nested deeper than {limits.depth}") from error
    _require_plain(value, limits)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise PeerError(Outcome.SYNTAX, "not JSON: an object has the same name twice")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise PeerError(Outcome.SYNTAX, f"not JSON: {name}")


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -INT64 <= (number := int(digits)) < INT64:
        raise PeerError(Outcome.SYNTAX, "an integer beyond 64 bits")
    return number


def _require_plain(value: Any, limits: Limits) -> None:
    """Refuse what cannot be stored: deep nesting, infinite numbers, lone surrogates."""
    rest = [(value, 0)]
    while rest:
        item, depth = rest.pop()
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                raise PeerError(Outcome.SYNTAX, "a string with half of a surrogate pair")
        elif isinstance(item, float):
            if not isfinite(item):
                raise PeerError(Outcome.SYNTAX, "a number beyond the range of doubles")
        elif isinstance(item, list | dict):
            if depth >= limits.depth:
                raise PeerError(Outcome.SYNTAX, f"nested deeper than {limits.depth}")
            inner = item.values() if isinstance(item, dict) else item
            rest.extend((each, depth + 1) for each in inner)
            if isinstance(item, dict):
                rest.extend((name, depth) for name in item)


def as_type(value: Any, kind: type[T], pointer: str) -> T:
    """Return a value that must have a type."""
    if type(value) is not kind:
        type_name = _NAMES.get(type(value), "something else")
        excerpt = f" {value!r:.40}" if isinstance(value, str | int | float) else ""
        message = f"{pointer or '/'}: expected {_NAMES[kind]}, got {type_name}{excerpt}"
        raise PeerError(Outcome.SHAPE, message)
    return value


def member(struct: Mapping[str, Any], name: str, kind: type[T], pointer: str) -> T:
    """Return a required member; `pointer` is the object's own."""
    if name not in struct:
        raise PeerError(Outcome.SHAPE, f"{pointer}/{name}: missing; expected {_NAMES[kind]}")
    return as_type(struct[name], kind, f"{pointer}/{name}")


def array(struct: Mapping[str, Any], name: str, pointer: str) -> list[Any]:
    """Return a member that is an array; empty if absent or null."""
    value = struct.get(name)
    return [] if value is None else as_type(value, list, f"{pointer}/{name}")


def number(value: Any) -> float | None:
    """Return a number, even if written as a string; None for anything else.

    Example: `number("0.5")` returns `0.5`.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except ValueError:
        return None
    return result if isfinite(result) else None


def clean(text: str) -> str:
    """Return a text without characters that XML cannot carry."""
    return FORBIDDEN.sub("\ufffd", text)


def failed(response: Response[bytes]) -> PeerError:
    """Return the error for an answer whose status says that there is no result.

    An object with a message is a protocol error; anything else is an HTTP error.
    """
    try:
        body = json.loads(response.value[:10_000])
    except (ValueError, RecursionError):
        body = None
    text = body.get("message", body.get("error")) if isinstance(body, dict) else None
    if isinstance(text, str):
        return FaultError(Fault(code=response.status, string=clean(text)))
    return PeerError(Outcome.HTTP, f"HTTP status {response.status}; expected a result")
