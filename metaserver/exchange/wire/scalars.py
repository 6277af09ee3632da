"""Readers of scalar elements' texts; each raises ValueError or KeyError on an invalid one."""

from __future__ import annotations

import math
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from metaserver.exchange.wire.values import INT64, Value


def _integer(text: str) -> int:
    number = int(text)  # int() also takes 1_000 and digits of other scripts
    if not -INT64 <= number < INT64 or "_" in text or not text.isascii():
        raise ValueError
    return number


def _double(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or "_" in text or not text.isascii():
        raise ValueError
    return number


def _boolean(text: str) -> bool:
    return {"1": True, "0": False, "true": True, "false": False}[text.strip().lower()]


def _nothing(text: str) -> None:
    if text.strip():
        raise ValueError


_SPACE: Final = b" \t\r\n"


def _binary(text: str) -> bytes:
    # Not split(): for a text of short lines it builds a list many times the text's size.
    return a2b_base64(text.encode("ascii").translate(None, _SPACE), strict_mode=True)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.strip())


EXTENSIONS: Final = frozenset(
    ("nil", "i1", "i2", "i8", "float", "biginteger", "bigdecimal", "dateTime", "serializable")
)
"""The types of Apache's extension; they have a prefix there, which peers do not always declare."""

READERS: Final[Mapping[str, Callable[[str], Value]]] = {
    "string": str,
    "int": _integer,
    "double": _double,
    "boolean": _boolean,
    "i4": _integer,
    "base64": _binary,
    "dateTime.iso8601": _moment,
    "nil": _nothing,
    "i1": _integer,
    "i2": _integer,
    "i8": _integer,
    "float": _double,
    "biginteger": _integer,
    "bigdecimal": _double,
    "dateTime": _moment,
    "serializable": _binary,
}
