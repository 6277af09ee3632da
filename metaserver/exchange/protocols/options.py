"""Options of a protocol, as a team writes them; the unit that a server counts offsets in."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from math import isfinite
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta
from msgspec import inspect as kinds

from metaserver.exchange.protocols.json_body import number

# -- offsets of mentions: in code points from 0, whatever unit a server counts in ------------------

NEAR: Final = 20
"""Code points around a place in which the words that were sent are looked for."""


class Unit(StrEnum):
    """In which unit a server counts offsets."""

    CODE_POINT = "codepoint"  # Python, Ruby, R
    UTF16 = "utf16"  # Java, JavaScript, C#
    UTF8 = "utf8"  # bytes: Go, PHP, C


class Places:
    """A text's code points, by offsets in another unit."""

    def __init__(self, text: str, unit: Unit) -> None:
        self._starts: list[int] | None = None
        if unit is Unit.UTF16 and text and max(text) > "\uffff":
            sizes = [2 if letter > "\uffff" else 1 for letter in text]
            self._starts = [0, *accumulate(sizes)]
        elif unit is Unit.UTF8 and not text.isascii():
            self._starts = [0, *accumulate(len(letter.encode()) for letter in text)]

    def code_point(self, offset: int) -> int:
        """Return the code point that an offset is at, or in; outside of the text, as it is."""
        if self._starts is None or not 0 <= offset <= self._starts[-1]:
            return offset
        return bisect_right(self._starts, offset) - 1


def aligned(text: str, begin: int, words: str) -> int | None:
    """Return where words occur in a text nearest to `begin`; None if nowhere near."""
    if text.startswith(words, max(0, begin)) and begin >= 0:
        return begin
    low, high = max(0, begin - NEAR), begin + NEAR + len(words)
    places, at = [], text.find(words, low, high)
    while words and at >= 0:
        places.append(at)
        at = text.find(words, at + 1, high)
    return min(places, key=lambda place: abs(place - begin), default=None)


# -- options of a protocol, as a team writes them: NAME=VALUE, one a line; lists with commas -------

Words = Annotated[tuple[str, ...], Meta(max_length=50)]
S = TypeVar("S", bound=msgspec.Struct)


class AnswerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for all protocols but XML-RPC: how places count, and the score scale."""

    offsets: Unit = Unit.CODE_POINT
    score_min: float = 0.0
    score_max: float = 1.0

    def __post_init__(self) -> None:
        if not isfinite(self.score_max - self.score_min):
            raise ValueError("score_min and score_max must be finite numbers")
        if self.score_min >= self.score_max:
            raise ValueError("score_min must be below score_max")

    def scaled(self, value: Any) -> float | None:
        """Return a score on the contract's scale, None if it is not a number."""
        result = number(value)
        if result is None:
            return None
        return (result - self.score_min) / (self.score_max - self.score_min)


@lru_cache(maxsize=1_024)
def read_options(text: str, kind: type[S]) -> S:
    """Return the options in a text; raises `ValueError` that names the option.

    >>> read_options("score_max = 100", AnswerOptions).score_max
    100.0
    """
    values: dict[str, object] = {}
    info = kinds.type_info(kind)
    assert isinstance(info, kinds.StructType)
    lists = {field.name for field in info.fields if _is_list(field.type)}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, sign, value = (part.strip() for part in line.partition("="))
        if not sign:
            raise ValueError(f"{line[:40]!r}; expected NAME=VALUE")
        parts = [part.strip() for part in value.split(",") if part.strip()]
        values[name] = parts if name in lists else value
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(field.name for field in info.fields)
        raise ValueError(f"{error}; the options are {names}") from error


def _is_list(kind: kinds.Type) -> bool:
    inner = kind.type if isinstance(kind, kinds.Metadata) else kind
    return isinstance(inner, kinds.VarTupleType | kinds.ListType)
