"""Paragraphs of a PDF: its lines joined, running heads left out, notes and captions after them.

A paragraph that goes on in the next column or page is one paragraph; what stands between its parts
follows it. The title, known by its type on the first page, comes first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from metaserver.curation.pdf_columns import LinePiece

EDGE = 3
"""The uppermost lines of a page, and the lowest, that may be a running head or foot."""
LEAST_PAGES, LEAST_SHARE = 3, 0.3
"""The least pages, and share of all pages, on which one stands; left and right ones differ."""
LEAST_AT_PLACE = 2
"""The least pages on which one stands at the same height."""
SAME_SIZE = 0.07
"""The share by which the sizes of two lines of a paragraph differ at most."""
LOOSE, APART = 1.2, 1.6
"""The distances of lines, in usual ones, from which they may be, and are, of two paragraphs."""
USUAL = 1.2
"""The distance of lines in sizes of the type, if there are too few to count."""
INDENT = 0.6
"""The least indent of a paragraph's first line, in sizes of the type."""
BLANK, SHORT = 0.35, 3.0
"""The space after the next line's first word, in sizes of the type, that a last line leaves.

It leaves more if it does not end as a sentence does.
"""
TITLE = 1.15
"""The least size of titles and headings, in sizes of the body's type."""
TITLE_LETTERS = 15
"""The least letters of a title."""
MOST_BETWEEN = 40
"""The most blocks that may stand between two parts of a paragraph."""

_DIGITS = re.compile(r"[0-9]+|\b[ivxlc]+\b")
_ITEM = re.compile("[\\[(]?[0-9]{1,3}[.\\])]|[\u2022\u2013*-] ")
_FINISHED = re.compile("[.!?:;][\\])\"'\u2019\u201d]{0,3}\\Z")
_CAPTION = re.compile(r"(?:Supplementa(?:ry|l) )?(?:Fig(?:ure|\.)|Table|Scheme|Box) ?S?[0-9]")


@dataclass(slots=True)
class Block:
    """Lines of one paragraph, or of a part of one, in one column."""

    lines: list[LinePiece]
    right: float
    indented: bool = False

    @property
    def size(self) -> float:
        """Its size of type."""
        return self.lines[0].size

    @property
    def first(self) -> str:
        """The text of its first line."""
        return self.lines[0].text

    @property
    def finished(self) -> bool:
        """Return whether it ends as a sentence does."""
        return _finished(self.lines[-1])

    @property
    def letters(self) -> int:
        """The number of its characters."""
        return sum(line.letters for line in self.lines)


def paragraphs(pages: Sequence[Sequence[LinePiece]]) -> list[list[str]]:
    """Return the lines of each paragraph; none if there are only running heads."""
    without = _without_heads(pages)
    pitches = _pitches(without)
    blocks = [list(_blocks(page, pitches)) for page in without]
    body = _body([block for page in blocks for block in page])
    joined = _joined([block for page in _with_title(blocks, body) for block in page], body)
    return [[line.text for line in block.lines] for block in joined]


def _without_heads(pages: Sequence[Sequence[LinePiece]]) -> list[list[LinePiece]]:
    """Return the pages without the lines at their edges that stand on many, but for numbers."""
    edges = [_edges(page) for page in pages]
    texts = Counter(key for page in edges for key in {_key(line) for line in page})
    places = Counter(key for page in edges for key in {_place(line) for line in page})
    share = LEAST_SHARE * len(pages)

    def is_head(line: LinePiece) -> bool:
        """Return whether it is repeated: on the first page, which may have a title, in place."""
        return places[_place(line)] >= max(LEAST_AT_PLACE, share)

    heads = [
        {
            id(line)
            for line in page
            if is_head(line) or (number and texts[_key(line)] >= max(LEAST_PAGES, share))
        }
        for number, page in enumerate(edges)
    ]
    return [
        [line for line in page if id(line) not in found]
        for page, found in zip(pages, heads, strict=True)
    ]


def _edges(page: Sequence[LinePiece]) -> list[LinePiece]:
    ordered = sorted(page, key=lambda line: line.base)
    return ordered if len(ordered) <= 2 * EDGE else ordered[:EDGE] + ordered[-EDGE:]


def _key(line: LinePiece) -> str:
    return _DIGITS.sub("#", " ".join(line.text.casefold().split()))


def _place(line: LinePiece) -> tuple[str, int]:
    return _key(line), round(line.base)


def _pitches(pages: Iterable[Sequence[LinePiece]]) -> dict[int, float]:
    """Return the most frequent distance of lines for each size of type."""
    counts: dict[int, Counter[float]] = {}
    for page in pages:
        for before, line in pairwise(page):
            distance = before.base - line.base
            if _same_size(before.size, line.size) and 0 < distance < 3 * line.size:
                counts.setdefault(round(line.size), Counter())[round(distance, 1)] += 1
    return {size: found.most_common(1)[0][0] for size, found in counts.items()}


def _same_size(size: float, other: float) -> bool:
    return size > 0 and abs(size - other) <= SAME_SIZE * size


def _blocks(page: Sequence[LinePiece], pitches: dict[int, float]) -> Iterator[Block]:
    """Yield a page's paragraphs, and parts of paragraphs."""
    run: list[LinePiece] = []
    for line in page:
        if run and not _follows(run[-1], line, pitches):
            yield from _divided(run, pitches)
            run = []
        run.append(line)
    if run:
        yield from _divided(run, pitches)


def _follows(before: LinePiece, line: LinePiece, pitches: dict[int, float]) -> bool:
    """Return whether a line may be of the paragraph of the line before, by place and type."""
    distance = before.base - line.base
    return (
        not before.row
        and not line.row
        and _same_size(before.size, line.size)
        and 0 < distance < APART * _pitch(line, pitches)
        and line.left < before.right
        and before.left < line.right
    )


def _pitch(line: LinePiece, pitches: dict[int, float]) -> float:
    return pitches.get(round(line.size), USUAL * line.size)


def _divided(run: Sequence[LinePiece], pitches: dict[int, float]) -> Iterator[Block]:
    """Yield the paragraphs of lines that stand below each other."""
    left_edge = min(line.left for line in run)
    right = max(line.right for line in run)
    block = Block([run[0]], right, _indented(run, 0, left_edge))
    for at in range(1, len(run)):
        before, line = run[at - 1], run[at]
        loose = before.base - line.base >= LOOSE * _pitch(line, pitches)
        indented = _indented(run, at, left_edge)
        if (loose or indented or _ends(before, line, right)) and _may_begin(before, line):
            yield block
            block = Block([], right, indented)
        block.lines.append(line)
    yield block


def _indented(run: Sequence[LinePiece], at: int, left_edge: float) -> bool:
    """Return whether a line begins further right than its neighbours; below an item, lines hang."""
    line, least = run[at], INDENT * run[at].size
    if at and _ITEM.match(run[at - 1].text):
        return False
    neighbours = (*run[max(0, at - 1) : at], *run[at + 1 : at + 2])
    return line.left - left_edge >= least and all(
        line.left - other.left >= least for other in neighbours
    )


def _ends(before: LinePiece, line: LinePiece, right: float) -> bool:
    """Return whether a paragraph ends by the space that is left at the end of its last line."""
    space = right - before.right - ((line.first_end or line.right) - line.left)
    return space > (BLANK if _finished(before) else SHORT) * line.size


def _may_begin(before: LinePiece, line: LinePiece) -> bool:
    """Return whether a paragraph may end with a line, and another begin."""
    return _finished(before) or not _is_amid(line.text)


def _is_amid(text: str) -> bool:
    """Return whether a text begins as if another went before it."""
    return text[:1].islower()


def _finished(line: LinePiece) -> bool:
    return _FINISHED.search(line.text[-8:]) is not None


def _body(blocks: Iterable[Block]) -> float:
    """Return the size of most of the text."""
    counts: Counter[float] = Counter()
    for block in blocks:
        counts[round(block.size, 1)] += block.letters
    return counts.most_common(1)[0][0] if counts else 0.0


def _with_title(pages: Sequence[list[Block]], body: float) -> list[list[Block]]:
    """Return the blocks with the title before all others."""
    first = [block for block in (pages[0] if pages else ()) if block.letters >= TITLE_LETTERS]
    title = max(first, key=lambda block: block.size, default=None)
    if title is None or title.size < TITLE * body:
        return list(pages)
    return [[title], [block for block in pages[0] if block is not title], *pages[1:]]


def _joined(blocks: Sequence[Block], body: float) -> list[Block]:
    """Return the blocks with those joined that are parts of one paragraph."""
    joined: list[Block] = []
    begun: Block | None = None
    between = 0
    for block in blocks:
        between += 1
        aside = block.lines[0].row or not _same_size(body, block.size) or _is_caption(block)
        if not aside and begun and between <= MOST_BETWEEN and _goes_on(begun, block):
            begun.lines += block.lines
            begun.right = block.right
            begun, between = None if block.finished else begun, 0
            continue
        joined.append(block)
        if not aside and (begun is None or len(block.lines) > 1):
            begun, between = None if block.finished else block, 0
    return joined


def _is_caption(block: Block) -> bool:
    return _CAPTION.match(block.first) is not None


def _goes_on(block: Block, other: Block) -> bool:
    """Return whether a block is the rest of a block that does not end as a sentence does."""
    if other.indented:
        return False
    full = len(block.lines) > 1 and not _ends(block.lines[-1], other.lines[0], block.right)
    return full or _is_amid(other.first)
