"""Columns of a PDF's page whose lines are drawn straight across them.

Most programs draw column by column, and the order of drawing is that of reading. Some draw line by
line: then the end of a left line is followed by the right line beside it. Such a page is known by
the many places at which drawing jumps, on one line, to the same place further right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

GAP = 0.8
"""The least width between two columns, in heights of a line."""
BREAK = 2.5
"""The distance of lines above which what follows is another block, in heights of a line."""
LEAST_LINES, LEAST_SHARE = 6, 0.3
"""The least lines that jump to one place, and their share of all lines, that make it a column."""
LEAST_LETTERS = 16
"""The median letters of a column's lines: those of a table's cells are fewer."""
NEAR = 3.0
"""The points by which the left edges of a column's lines differ at most."""


class GlyphBox(NamedTuple):
    """A place on a page, in points from its left and from its bottom."""

    left: float
    bottom: float
    right: float
    top: float


class Character(NamedTuple):
    """A character, and its box unless PDFium made it up."""

    text: str
    box: GlyphBox | None


@dataclass(slots=True)
class LinePiece:
    """Characters that are drawn in sequence on a line."""

    letters: list[str]
    box: GlyphBox

    @property
    def height(self) -> float:
        """Its line's height."""
        return max(self.box.top - self.box.bottom, 1.0)

    def beside(self, other_box: GlyphBox) -> bool:
        """Return whether something is on the same line."""
        middle, half = (other_box.bottom + other_box.top) / 2, self.height / 2
        return self.box.bottom - half < middle < self.box.top + half

    def leads_to(self, other_box: GlyphBox) -> bool:
        """Return whether something on the same line goes on with this piece."""
        gap = other_box.left - self.box.right
        return self.beside(other_box) and -self.height <= gap < GAP * self.height

    def add(self, letter: str, box: GlyphBox) -> None:
        """Take a character that goes on with it."""
        self.letters.append(letter)
        left_edge, bottom, right, top = self.box
        self.box = GlyphBox(
            left_edge, min(bottom, box.bottom), max(right, box.right), max(top, box.top)
        )


def may_be_across(boxes: Iterable[GlyphBox]) -> bool:
    """Return whether a page may be drawn across columns, by the boxes of its runs of text."""
    jumps = _jumps([LinePiece([], box) for box in boxes])
    counts = Counter(round(piece.box.left / NEAR) for _, piece in jumps)
    return any(count + counts[place + 1] >= LEAST_LINES for place, count in counts.items())


def by_column(characters: Iterable[Character]) -> str | None:
    """Return a page's text column by column; None if it is not drawn across columns."""
    pieces = _pieces(characters)
    edges = _edges(pieces)
    if not edges:
        return None
    blocks = [_block(edges)]
    before = pieces[0]
    for piece in pieces:
        place = bisect_right(edges, piece.box.left + NEAR)
        across = place != bisect_right(edges, piece.box.right - NEAR)
        if across or before.box.bottom - piece.box.bottom > BREAK * before.height:
            blocks.append(_block(edges))
        blocks[-1][place].append(piece)
        if across:
            blocks.append(_block(edges))
        before = piece
    return "\n".join(_joined(column) for block in blocks for column in block if column)


def _block(edges: Sequence[float]) -> list[list[LinePiece]]:
    return [[] for _ in range(len(edges) + 1)]


def _pieces(characters: Iterable[Character]) -> list[LinePiece]:
    pieces: list[LinePiece] = []
    blank = False
    for letter, box in characters:
        if box is None or letter.isspace():
            blank = True
            continue
        if pieces and pieces[-1].leads_to(box):
            if blank:
                pieces[-1].letters.append(" ")
            pieces[-1].add(letter, box)
        else:
            pieces.append(LinePiece([letter], box))
        blank = False
    return pieces


def _jumps(pieces: Sequence[LinePiece]) -> list[tuple[LinePiece, LinePiece]]:
    """Return the pieces that follow each other on a line, with a gap between them."""
    return [
        (before, piece)
        for before, piece in pairwise(pieces)
        if before.beside(piece.box) and piece.box.left - before.box.right >= GAP * before.height
    ]


def _edges(pieces: Sequence[LinePiece]) -> list[float]:
    """Return the left edges of all columns but the first."""
    jumps = _jumps(pieces)
    counts = Counter(round(piece.box.left / NEAR) for _, piece in jumps)
    minimum = max(LEAST_LINES, LEAST_SHARE * (len(pieces) - len(jumps)))
    edges: list[float] = []
    for place, _ in counts.most_common():
        near = [pair for pair in jumps if abs(pair[1].box.left / NEAR - place) <= 1]
        if len(near) < minimum:
            break
        letters = (median(len(pair[side].letters) for pair in near) for side in (0, 1))
        edge = min(piece.box.left for _, piece in near)
        if min(letters) >= LEAST_LETTERS and all(
            abs(edge - edge_found) > 2 * NEAR for edge_found in edges
        ):
            edges.append(edge)
    return sorted(edges)


def _joined(column: Sequence[LinePiece]) -> str:
    parts = ["".join(column[0].letters)]
    for before, piece in pairwise(column):
        parts += [" " if before.beside(piece.box) else "\n", *piece.letters]
    return "".join(parts)
