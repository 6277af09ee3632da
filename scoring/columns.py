"""Tab-separated bytes as columns: whole-array arithmetic instead of line by line work.

Eight bytes are read at a time as one 64-bit word, so that comparing words compares text and three
multiplications read eight digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.decimals import quotients
from scoring.text import MOST_LINE, hidden

Words: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

_LAST_SPACE = 0x3000  # no character beyond it is a space
_TAB, _LINE_END, _SPACE, _HASH, _ASCII_END = 9, 10, 32, 35, 128
_DELETE = b"\x7f"
_NUMERIC = b"0123456789.eE+-"
_EIGHT_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_POINT = int.from_bytes(b"0.", "little")
_MOST_DECIMALS = 22  # 10^22 is the greatest power of ten that is a float
_INTEGER_POWERS = np.array([10**n for n in range(17)], dtype=np.uint64)
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def _edges() -> tuple[Truths, Truths]:
    """Return the bytes that a character which `str.strip` removes can begin and end with."""
    begins, ends = np.zeros((2, 256), dtype=bool)
    for space in filter(str.isspace, map(chr, range(_LAST_SPACE + 1))):
        encoded = space.encode()
        begins[encoded[0]] = ends[encoded[-1]] = True
    return begins, ends


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

    def texts(self, rows: Places) -> list[bytes]:
        """Return the fields of some rows."""
        places = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return [self._data[start:end] for start, end in places]

    def prefixes(self) -> Words:
        """Return each field's first eight bytes, all of a shorter one, padded with zeros."""
        shift = ((8 - np.minimum(self.lengths, 8)) << 3).astype(np.uint64)
        prefixes: Words = (self._at(self.starts) << shift) >> shift
        return prefixes

    def windows(self, offset: int) -> Words:
        """Return each field's eight bytes from `offset` (at least 8) on, padded with zeros."""
        count = np.clip(self.lengths - offset, 0, 8)
        shift = ((8 - np.maximum(count, 1)) << 3).astype(np.uint64)
        windows: Words = (self._at(np.minimum(self.starts + offset, self.ends)) << shift) >> shift
        windows[count == 0] = 0
        return windows

    def containing(self, characters: bytes) -> Places:
        """Return the rows whose field has any of some bytes."""
        if not any(one in self._data for one in characters):
            return np.empty(0, dtype=np.int64)
        array = np.frombuffer(self._data, dtype=np.uint8)
        places = np.flatnonzero(np.logical_or.reduce([array == one for one in characters]))
        rows = np.searchsorted(self.starts, places, side="right") - 1
        return np.unique(rows[(rows >= 0) & (places < self.ends[rows])])

    def repeats(self) -> Truths:
        """Return, for each row but the first, whether its field equals the one above."""
        prefixes = self.prefixes()
        same: Truths = (prefixes[1:] == prefixes[:-1]) & (self.lengths[1:] == self.lengths[:-1])
        for offset in range(8, self.longest, 8):
            # The last window of a field overlaps the one before it, so it needs no padding.
            part = self._at(self.starts + np.clip(self.lengths - 8, 0, offset))
            same &= (part[1:] == part[:-1]) | (self.lengths[1:] <= 8)
        return same

    def some(self, rows: Places) -> ByteColumn:
        """Return the column of some rows."""
        return ByteColumn(self._data, self._words, self.starts[rows], self.ends[rows])

    def distinct(self) -> tuple[Places, Places]:
        """Return a row of each distinct field, and which of these each row's field equals."""
        parts = [self.prefixes(), *map(self.windows, range(8, self.longest, 8))]
        mixed = parts[0]
        for part in parts[1:]:
            mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIXER + part
        like = _first_guess(mixed)
        others = np.flatnonzero(~_all_equal(parts, like))
        if len(others):  # fields that share a slot with another
            _, firsts, which = np.unique(mixed[others], return_index=True, return_inverse=True)
            like[others] = others[firsts[which]]
            unlike = ~_all_equal(parts, like)  # of two fields mixed alike, no rows are joined
            like[unlike] = np.flatnonzero(unlike)
        rows = np.flatnonzero(like == np.arange(len(like)))
        number = np.empty(len(like), dtype=np.int64)
        number[rows] = np.arange(len(rows))
        return rows, number[like]

    def integers(self) -> tuple[Words, Truths]:
        """Return the integers of 1 to 8 digits, and whether each field is one."""
        fits = self.lengths <= 8
        digits, read = self._digits(self.starts, np.minimum(self.lengths, 8))
        return digits, fits & read

    def numbers(self) -> NDArray[np.float64]:
        """Return decimal numbers as `float` reads them; some are NaN where any field is none.

        `0.` and up to 22 digits are read at once, rounded as `float` rounds
        (`scoring.decimals`); any other form is read by `float`.
        """
        fits = self._at(self.starts) & np.uint64(0xFFFF) == _POINT
        decimals = self.lengths - 2
        fits &= (decimals >= 1) & (decimals <= _MOST_DECIMALS)
        digits, read = self._digits(self.starts + 2, np.clip(decimals, 1, 8))
        fits &= read
        long = np.flatnonzero(fits & (decimals > 8))
        if len(long):
            digits[long], fits[long] = self._long_digits(digits[long], long)
        digits[~fits] = 0
        numbers, sure = quotients(digits, np.clip(decimals, 0, _MOST_DECIMALS))
        others = np.flatnonzero(~(fits & sure))
        if len(others):
            numbers[others] = _floats(self.some(others))
        return numbers

    def _long_digits(self, first: Words, rows: Places) -> tuple[Words, Truths]:
        """Return the integers of the 9 to 22 digits after the point, whose first eight are given.

        They fit where they are digits and below 10^18.
        """
        starts, count = self.starts[rows] + 2, self.lengths[rows] - 2
        digits, fits = first, np.ones(len(rows), dtype=bool)
        for offset in (8, 16):
            some = np.clip(count - offset, 0, 8)
            part, read = self._digits(np.minimum(starts + offset, self.ends[rows]), some)
            fits &= read & (digits < 10.0 ** (18 - some))
            digits = digits * _INTEGER_POWERS[some] + part
            if count.max() <= offset + 8:
                break
        return digits, fits

    def _digits(self, starts: Places, count: Places) -> tuple[Words, Truths]:
        """Return integers of 0 to 8 digits from their places, and whether they are digits.

        Eight digits are added up in three multiplications (Lemire 2022, "Parsing eight digits
        quickly").
        """
        shift = ((8 - np.maximum(count, 1)) << 3).astype(np.uint64)
        digits = (self._at(starts) ^ _EIGHT_ZEROS) << shift
        digits *= count > 0
        read = ((digits + _ABOVE_NINE) | digits) & _HIGH_BITS == 0
        digits = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0xFF00FF00FF00FF)
        digits = (digits * np.uint64(100) + (digits >> np.uint64(16))) & np.uint64(0xFFFF0000FFFF)
        digits = (digits * np.uint64(10000) + (digits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
        return digits, read

    def _at(self, places: Places) -> Words:
        """Return the eight bytes at each position."""
        index, shift = places >> 3, ((places & 7) << 3).astype(np.uint64)
        # Two shifts to the left, since one by 64 bits is undefined.
        following = (self._words[index + 1] << np.uint64(1)) << (np.uint64(63) - shift)
        words: Words = (self._words[index] >> shift) | following
        return words


def _first_guess(mixed: Words) -> Places:
    """Return, for each word, the place of a word that is likely to be equal: its own or another."""
    slots = np.empty(1 << 16, dtype=np.int64)
    slot = (mixed * _MIXER) >> np.uint64(48)
    slots[slot] = np.arange(len(mixed))
    guess: Places = slots[slot]
    return guess


def _all_equal(parts: Iterable[Words], like: Places) -> Truths:
    """Return, for each row, whether all its parts equal those of the row that it is like."""
    equal = np.ones(len(like), dtype=bool)
    for part in parts:
        equal &= part[like] == part
    return equal


def _floats(column: ByteColumn) -> NDArray[np.float64]:
    """Return what `float` reads; all NaN where a text is not of digits, point and exponent.

    Runs of equal texts, such as `1.0` all the way down, are read once.
    """
    firsts = np.flatnonzero(np.concatenate([[True], ~column.repeats()]))
    texts = column.texts(firsts)
    numbers = np.full(len(texts), np.nan)
    if not b"".join(texts).translate(None, _NUMERIC):  # no underscore, no space, no `inf`
        with suppress(ValueError):
            numbers[:] = list(map(float, texts))
    return np.repeat(numbers, np.diff(firsts, append=len(column.starts)))


class Split(NamedTuple):
    """The columns of a block of lines; `wide` is the first with unknown ones, from 0, or None."""

    columns: list[ByteColumn]
    lines: int
    wide: int | None


def split_columns(block: bytes, width: int, names: int, known: int) -> Split | None:
    """Return the first `width` columns of a block of lines; None where any line is malformed.

    Well-formed is UTF-8 without control and invisible characters, every line of `width` fields or
    more, none of these empty, no line a comment or longer than `MOST_LINE`, and no space around the
    fields of the first `names` columns. A line of more than `known` fields is wide.
    """
    padded = block + bytes(24 - len(block) % 8)
    array = np.frombuffer(padded, dtype=np.uint8, count=len(block))
    ascii_only = bool(array.max() < _ASCII_END)
    if _DELETE in block or (not ascii_only and not _is_plain_utf8(block, array)):
        return None
    separators = np.flatnonzero(array <= _SPACE)
    found = _regular(array, separators, width) or _irregular(array, separators, width, known)
    if found is None:
        return None
    ends, line_ends, wide, spaces = found
    line_starts = np.concatenate([[0], line_ends[:-1] + 1])
    if (array[line_starts] == _HASH).any() or (line_ends - line_starts).max() > MOST_LINE:
        return None
    starts = [line_starts, *(ends[:-1] + 1)]
    words = np.frombuffer(padded, dtype="<u8")
    columns = [ByteColumn(padded, words, *places) for places in zip(starts, ends, strict=True)]
    if not all(column.lengths.all() for column in columns):
        return None
    if (spaces or not ascii_only) and not _unspaced(array, columns[:names]):
        return None
    return Split(columns, len(line_starts), wide)


class _Ends(NamedTuple):
    """Places where fields (a row a column) and lines end, and what was unusual."""

    fields: Places
    lines: Places
    wide: int | None = None
    spaces: bool = False


def _regular(array: Bytes, separators: Places, width: int) -> _Ends | None:
    """Return the ends where each line has `width` fields without spaces; None where not."""
    if len(separators) % width:
        return None
    ends = np.ascontiguousarray(separators.reshape(-1, width).T)
    expected = [_TAB] * (width - 1) + [_LINE_END]
    if any((array[places] != kind).any() for places, kind in zip(ends, expected, strict=True)):
        return None
    return _Ends(ends, ends[-1])


def _irregular(array: Bytes, separators: Places, width: int, known: int) -> _Ends | None:
    """Return the ends where lines have more fields, or spaces in them; None where fewer."""
    kinds = array[separators]
    blanks = kinds == _SPACE
    if not (blanks | (kinds == _TAB) | (kinds == _LINE_END)).all():
        return None
    spaces = bool(blanks.any())
    if spaces:
        separators, kinds = separators[~blanks], kinds[~blanks]
    lasts = np.flatnonzero(kinds == _LINE_END)
    firsts = np.concatenate([[0], lasts[:-1] + 1])
    counts = lasts - firsts + 1
    if (counts < width).any():
        return None
    wide = np.flatnonzero(counts > known)
    return _Ends(
        np.stack([separators[firsts + column] for column in range(width)]),
        separators[lasts],
        int(wide[0]) if len(wide) else None,
        spaces,
    )


def _is_plain_utf8(block: bytes, array: Bytes) -> bool:
    """Return whether bytes are UTF-8, none of the letters beyond ASCII control or invisible."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return not hidden(array[array >= _ASCII_END].tobytes().decode())


_SPACE_BEGINS, _SPACE_ENDS = _edges()


def _unspaced(array: Bytes, columns: Iterable[ByteColumn]) -> bool:
    """Return whether no field begins or ends with what `str.strip` removes."""
    for column in columns:
        may = _SPACE_BEGINS[array[column.starts]] | _SPACE_ENDS[array[column.ends - 1]]
        texts = {text.decode() for text in column.texts(np.flatnonzero(may))}
        if any(text != text.strip() for text in texts):
            return False
    return True
