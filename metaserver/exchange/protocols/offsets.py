"""Offsets of mentions: in code points from 0, whatever unit a server counts in."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from itertools import accumulate
from typing import Final

NEAR: Final = 20
"""Code points around a place in which the words that were sent are looked for."""


class Unit(StrEnum):
    """The unit of a server's offsets."""

    CODE_POINT = "codepoint"  # Python, Ruby, R
    UTF16 = "utf16"  # Java, JavaScript, C#
    UTF8 = "utf8"  # bytes: Go, PHP, C


class Places:
    """The code points of a text, by offsets in another unit."""

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
    """Return the place of words in a text that is nearest to `begin`; None where none is near."""
    if text.startswith(words, max(0, begin)) and begin >= 0:
        return begin
    low, high = max(0, begin - NEAR), begin + NEAR + len(words)
    places, at = [], text.find(words, low, high)
    while words and at >= 0:
        places.append(at)
        at = text.find(words, at + 1, high)
    return min(places, key=lambda place: abs(place - begin), default=None)
