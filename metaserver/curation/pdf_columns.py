"""Lines of a PDF's page in the order in which they are read.

Most programs draw column by column, and the order of drawing is that of reading. Some draw line by
line: then the end of a left line is followed by the right line beside it. Such a page is known by
the many places at which drawing jumps, on one line, to the same place further right.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from metaserver.curation.pdf_glyphs import RAISED, GlyphRun

GAP = 0.8
"""The least width between two columns, in sizes of the type."""
BREAK = 2.5
"""The distance of lines above which what follows is another block, in sizes of the type."""
LEAST_LINES, LEAST_SHARE = 6, 0.3
"""The least lines that jump to one place, and their share of all lines, that make it a column."""
LEAST_LETTERS = 16
"""The median letters of a column's lines: those of a table's cells are fewer."""
NEAR = 3.0
"""The points by which the left edges of a column's lines differ at most."""
SMALLER = 0.9
"""The size below which type is that of marks, in sizes of the line's."""
CELLS, TWO_CELLS = 1.2, 4.0
"""The least blank, in sizes of the type, between cells of a table's row; the only one of a row."""
UNEVEN = 3.0
"""The ratio of a row's blanks, which those of a justified line do not reach."""
_SPACE, _BEFORE_RAISED = 0.12, 0.3  # the least blank between words, in sizes of the type
_LONGEST_NUMBER = 5  # of a line
_LONGEST_WORD = 64
_SIGNS = r"[0-9*\u2217\u2020\u2021\u00a7]+"
_MARK = re.compile(rf"{_SIGNS}(?:[,;\u2013-]{_SIGNS})*+")


@dataclass(slots=True)
class LinePiece:
    """Characters that are drawn in sequence on a line.

    `first_end`: the right edge of its first word, 0 if it has one alone.
    """

    left: float
    right: float
    base: float
    size: float
    parts: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    blanks: list[float] = field(default_factory=list)
    first_end: float = 0.0
    last: tuple[float, float] = (0.0, 0.0)
    sizes: Counter[float] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(self.parts)

    @property
    def letters(self) -> int:
        """The number of its characters."""
        return sum(map(len, self.parts))

    @property
    def row(self) -> bool:
        """Return whether it has cells: blanks that are wide, and wider than others."""
        if len(self.blanks) < 2:
            return sum(self.blanks) >= TWO_CELLS * self.size
        widest = max(self.blanks)
        return widest >= CELLS * self.size and widest > UNEVEN * min(self.blanks)

    def beside(self, base: float, size: float) -> bool:
        """Return whether something with that base line and size is on the same line."""
        return abs(self.base - base) < max(self.size, size) / 2

    def leads_to(self, run: GlyphRun) -> bool:
        """Return whether a run on the same line goes on with this piece."""
        left_edge, right = self.last
        gap = max(run.left - right, left_edge - run.right)
        base, size, _, _ = run.type
        return self.beside(base, size) and gap < GAP * max(self.size, size)

    def add(self, run: GlyphRun) -> None:
        """Take a run that goes on with it."""
        base, size, raised, blank = run.type
        raised = raised or self._is_above(base, size)
        gap = run.left - self.right
        least = _BEFORE_RAISED if raised else _SPACE
        certain = blank == " " and not raised
        apart = bool(self.parts and blank) and (certain or gap > least * self.size)
        if self.parts and self.size < SMALLER * size:  # what came first was a mark
            self.base, self.size, apart = base, size, True
        if apart or not raised:
            self.end_mark()
        if apart:
            self.first_end = self.first_end or self.right
            self.parts.append(" ")
            self.blanks.append(gap)
        (self.raised if raised else self.parts).append(run.text)
        self.sizes[size] += len(run.text)
        self.left, self.right = min(self.left, run.left), max(self.right, run.right)
        self.last = (run.left, run.right)

    def _is_above(self, base: float, size: float) -> bool:
        return base > self.base + RAISED * abs(self.size) and size < SMALLER * self.size

    def end_mark(self) -> None:
        """Write what was raised, unless it is the mark of a note or of a reference at a word."""
        if not self.raised:
            return
        raised = "".join(self.raised)
        self.raised.clear()
        before = "".join(self.parts[-2:])[-_LONGEST_WORD:].rpartition(" ")[2]
        if not self.parts:
            self.parts += [raised, " "]
        elif not (len(before) > 2 and any(map(str.isalpha, before)) and _MARK.fullmatch(raised)):
            self.parts.append(raised)


def lines_of(runs: Iterable[GlyphRun]) -> list[LinePiece]:
    """Return a page's lines as they are read."""
    pieces = _without_numbers(_pieces(runs))
    edges = _edges(pieces)
    lines: list[LinePiece] = []
    for column in _columns(pieces, edges) if edges else [pieces]:
        for at, piece in enumerate(column):
            upright = at and piece.size > 0 and lines[-1].size > 0
            if upright and lines[-1].beside(piece.base, piece.size):
                _go_on(lines[-1], piece)
            else:
                lines.append(piece)
    return lines


def _columns(pieces: Sequence[LinePiece], edges: Sequence[float]) -> list[list[LinePiece]]:
    """Return the pieces by block, and by column in a block."""
    blocks = [_block(edges)]
    before = pieces[0]
    for piece in pieces:
        place = bisect_right(edges, piece.left + NEAR)
        across = place != bisect_right(edges, piece.right - NEAR)
        if across or before.base - piece.base > BREAK * before.size:
            blocks.append(_block(edges))
        blocks[-1][place].append(piece)
        if across:
            blocks.append(_block(edges))
        before = piece
    return [column for block in blocks for column in block if column]


def _block(edges: Sequence[float]) -> list[list[LinePiece]]:
    return [[] for _ in range(len(edges) + 1)]


def _pieces(runs: Iterable[GlyphRun]) -> list[LinePiece]:
    pieces: list[LinePiece] = []
    for run in runs:
        base, size, _, blank = run.type
        last = pieces[-1] if pieces else None
        if last and size < 0 and last.size < 0 and blank != "\n":
            last.parts += [blank, run.text]  # by the lines of PDFium
        elif last and size > 0 and last.size > 0 and last.leads_to(run):
            last.add(run)
        else:
            pieces.append(LinePiece(run.left, run.right, base, size))
            pieces[-1].add(run)
    for piece in pieces:
        piece.end_mark()
        piece.size = piece.sizes.most_common(1)[0][0]
    return pieces


def _without_numbers(pieces: Sequence[LinePiece]) -> list[LinePiece]:
    """Return the pieces without the numbers of lines in a margin, as manuscripts have them."""
    margins: dict[int, list[LinePiece]] = {}
    for piece in pieces:
        if piece.letters <= _LONGEST_NUMBER and piece.text.isdecimal():
            margins.setdefault(round(piece.right / NEAR), []).append(piece)
    numbers = {
        id(piece)
        for margin in margins.values()
        if len(margin) >= LEAST_LINES
        and len({int(piece.text) - at for at, piece in enumerate(margin)}) == 1
        for piece in margin
    }
    return [piece for piece in pieces if id(piece) not in numbers]


def _go_on(line: LinePiece, piece: LinePiece) -> None:
    """Let a line go on with a piece that is drawn on it after a gap."""
    line.blanks += [max(piece.left - line.right, line.left - piece.right), *piece.blanks]
    if piece.letters > line.letters:
        line.base, line.size = piece.base, piece.size
    line.first_end = line.first_end or line.right
    line.parts += [" ", *piece.parts]
    line.left, line.right = min(line.left, piece.left), max(line.right, piece.right)


def _jumps(pieces: Sequence[LinePiece]) -> list[tuple[LinePiece, LinePiece]]:
    """Return the pieces that follow each other on a line, with a gap between them."""
    return [
        (before, piece)
        for before, piece in pairwise(pieces)
        if before.beside(piece.base, piece.size) and piece.left - before.right >= GAP * before.size
    ]


def _edges(pieces: Sequence[LinePiece]) -> list[float]:
    """Return the left edges of all columns but the first."""
    jumps = _jumps(pieces)
    counts = Counter(round(piece.left / NEAR) for _, piece in jumps)
    minimum = max(LEAST_LINES, LEAST_SHARE * (len(pieces) - len(jumps)))
    edges: list[float] = []
    for place, _ in counts.most_common():
        near = [pair for pair in jumps if abs(pair[1].left / NEAR - place) <= 1]
        if len(near) < minimum:
            break
        letters = (median(pair[side].letters for pair in near) for side in (0, 1))
        edge = min(piece.left for _, piece in near)
        if min(letters) >= LEAST_LETTERS and all(
            abs(edge - edge_found) > 2 * NEAR for edge_found in edges
        ):
            edges.append(edge)
    return sorted(edges)
