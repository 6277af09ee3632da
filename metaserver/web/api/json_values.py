"""JSON into operations' fields: pure, and bounded before anything is built."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations.outline import Outline, ValueKind
from metaserver.operations.table import invalid

VALUES = 100_000
"""The maximum number of values in a body: commas and opening brackets, counted even in texts."""
STRIDE = 2**20
"""Bytes that are counted at a time, so that other threads go on between."""
NAME_LENGTH = 80
"""The most characters of an unknown name that a refusal repeats."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FILE = msgspec.json.Decoder(bytes | None)


def read_object(body: bytes, outline: Outline) -> dict[str, Any]:
    """Return what a body gives an operation, by field.

    No field is built before all names are known to be the operation's.

    Example: `{"team": "blue"}` gives `{"team": "blue"}`. Raises `RefusedError`, or `ValueError` and
    `RecursionError` for what is not JSON.
    """
    check_count(body)
    try:
        raw_members = _OBJECT.decode(body)
    except msgspec.ValidationError as error:
        message = "expected a JSON object with the parameters by name"
        raise RefusedError(Refusal.INVALID, message) from error
    kinds = _kinds(raw_members, outline)
    return {name: _read(name, kinds[name], raw) for name, raw in raw_members.items()}


def check_count(body: bytes) -> None:
    """Raise `RefusedError` for a body of too many values; it has no more than are counted."""
    count = 1
    for start in range(0, len(body), STRIDE):
        count += sum(body.count(sign, start, start + STRIDE) for sign in (b",", b"[", b"{"))
        if count > VALUES:
            raise RefusedError(Refusal.TOO_LARGE, f"the body has more than {VALUES:,} values")


def bounded(value: Any) -> Any:
    """Return a value read from JSON or text; `ValueError` if it has a number no store keeps."""
    match value:
        case dict():
            for item in value.values():
                bounded(item)
        case list():
            for item in value:
                bounded(item)
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("an integer beyond 64 bits")
        case float() if not math.isfinite(value):
            raise ValueError("not a finite number")
    return value


def _kinds(members: Mapping[str, object], outline: Outline) -> Mapping[str, ValueKind]:
    parameters = {parameter.name: parameter for parameter in outline.parameters}
    for name in members:
        if name not in parameters:
            message = "is not a parameter of this operation"
            raise RefusedError(Refusal.INVALID, message, field=name[:NAME_LENGTH])
        if parameters[name].in_path:
            raise RefusedError(Refusal.INVALID, "is in the path already", field=name)
    return {name: parameter.kind for name, parameter in parameters.items()}


def _read(name: str, kind: ValueKind, raw: msgspec.Raw) -> Any:
    if kind is not ValueKind.FILE:
        return bounded(msgspec.json.decode(raw))
    try:
        return _FILE.decode(raw)
    except msgspec.ValidationError as error:
        refused = invalid(error)
        raise RefusedError(refused.refusal, refused.message, field=name) from error
