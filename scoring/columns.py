"""Tab-separated bytes as columns: whole-array arithmetic instead of line by line work.

Eight bytes are read at a time as one 64-bit word, so that comparing words compares text and three
multiplications read eight digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.text import MOST_LINE

Words: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

_TAB, _LINE_END, _SPACE, _HASH, _ASCII_END = 9, 10, 32, 35, 128
_NUMERIC = b"0123456789.eE+-"
_EIGHT_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_POWERS_OF_TEN = 10.0 ** np.arange(9)


class ByteColumn:
    """One column of a table: where in the bytes each of its fields begins and ends."""

    def __init__(self, data: bytes, words: Words, starts: Places, ends: Places) -> None:
        self._data, self._words = data, words
        self.starts, self.ends = starts, ends
        self.lengths = ends - starts
        self.longest = int(self.lengths.max())

    def text(self, row: int) -> bytes:
        """Return one field."""
        return self._data[self.starts[row] : self.ends[row]]

    def prefixes(self) -> Words:
        """Return each field's first eight bytes, all of a shorter one, padded with zeros."""
        shift = ((8 - np.minimum(self.lengths, 8)) << 3).astype(np.uint64)
        prefixes: Words = (self._at(self.starts) << shift) >> shift
        return prefixes

    def repeats(self) -> Truths:
        """Return, for each row but the first, whether its field equals the one above."""
        prefixes = self.prefixes()
        same: Truths = (prefixes[1:] == prefixes[:-1]) & (self.lengths[1:] == self.lengths[:-1])
        for offset in range(8, self.longest, 8):
            # The last window of a field overlaps the one before it, so it needs no padding.
            part = self._at(self.starts + np.clip(self.lengths - 8, 0, offset))
            same &= (part[1:] == part[:-1]) | (self.lengths[1:] <= 8)
        return same

    def integers(self, skip: int = 0) -> tuple[Words, Truths]:
        """Return the integers of 1 to 8 digits after the first `skip` bytes, and their validity.

        Eight digits are added up in three multiplications (Lemire 2022, "Parsing eight digits
        quickly").
        """
        count = self.lengths - skip
        fits = (count >= 1) & (count <= 8)
        shift = ((8 - np.clip(count, 1, 8)) << 3).astype(np.uint64)
        digits = (self._at(self.starts + skip) ^ _EIGHT_ZEROS) << shift
        fits &= ((digits + _ABOVE_NINE) | digits) & _HIGH_BITS == 0
        digits = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0xFF00FF00FF00FF)
        digits = (digits * np.uint64(100) + (digits >> np.uint64(16))) & np.uint64(0xFFFF0000FFFF)
        digits = (digits * np.uint64(10000) + (digits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
        return digits, fits

    def numbers(self) -> NDArray[np.float64]:
        """Return decimal numbers as `float` reads them; some are NaN where any field is none.

        `0.` and up to eight digits are read at once (one exact division, so rounded as `float`
        rounds); any other form is read by `float`.
        """
        prefix = self._at(self.starts) & np.uint64(0xFFFF)
        digits, fits = self.integers(skip=2)
        fits &= prefix == int.from_bytes(b"0.", "little")
        numbers: NDArray[np.float64] = digits / _POWERS_OF_TEN[np.clip(self.lengths - 2, 0, 8)]
        others = np.flatnonzero(~fits)
        places = zip(self.starts[others].tolist(), self.ends[others].tolist(), strict=True)
        numbers[others] = _floats([self._data[start:end] for start, end in places])
        return numbers

    def _at(self, places: Places) -> Words:
        """Return the eight bytes at each position."""
        index, shift = places >> 3, ((places & 7) << 3).astype(np.uint64)
        # Two shifts to the left, since one by 64 bits is undefined.
        following = (self._words[index + 1] << np.uint64(1)) << (np.uint64(63) - shift)
        words: Words = (self._words[index] >> shift) | following
        return words


def _floats(texts: Sequence[bytes]) -> list[float]:
    """Return what `float` reads; all NaN where a text is not of digits, point and exponent."""
    if not b"".join(texts).translate(None, _NUMERIC):  # no underscore, no space, no `inf`
        with suppress(ValueError):
            return list(map(float, texts))
    return [np.nan] * len(texts)


def split_columns(block: bytes, width: int) -> list[ByteColumn] | None:
    """Return the columns of a block of lines; None where any line is out of the ordinary.

    Ordinary is ASCII without spaces and control characters, every line of `width` fields, no field
    empty, no line a comment or longer than `MOST_LINE`.
    """
    padded = block + bytes(24 - len(block) % 8)
    array = np.frombuffer(padded, dtype=np.uint8, count=len(block))
    separators = np.flatnonzero(array <= _SPACE)
    if len(separators) % width or array.max() >= _ASCII_END:
        return None
    ends = np.ascontiguousarray(separators.reshape(-1, width).T)
    expected = [_TAB] * (width - 1) + [_LINE_END]
    if any((array[places] != kind).any() for places, kind in zip(ends, expected, strict=True)):
        return None
    line_starts = np.concatenate([[0], ends[-1, :-1] + 1])
    if (array[line_starts] == _HASH).any() or (ends[-1] - line_starts).max() > MOST_LINE:
        return None
    starts = [line_starts, *(ends[:-1] + 1)]
    words = np.frombuffer(padded, dtype="<u8")
    columns = [ByteColumn(padded, words, *places) for places in zip(starts, ends, strict=True)]
    return columns if all(column.lengths.all() for column in columns) else None
