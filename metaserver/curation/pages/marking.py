"""An article's text as paragraphs, with the places that name candidates marked.

Marks never overlap: if places do, they are split at their boundaries, and each piece names all
candidates of its places. A mark's shade is the largest agreement among them, in five steps. A
paragraph knows where it begins in the text, so that a page can say which words were chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from markupsafe import Markup, escape

SHADES = 5
LONGEST = 500
"""Characters of a place that is marked; a longer place names nothing."""
MOST_PIECES = 20_000
MOST_NAMED = 30
"""The maximum pieces in an article, and candidates that a piece names."""


class MarkedPlace(NamedTuple):
    """A place of the text that names a candidate."""

    start: int
    end: int
    accession: str


class MarkedPiece(NamedTuple):
    """A stretch of the text with the same candidates from its start to its end."""

    start: int
    end: int
    accessions: tuple[str, ...]


class MarkedParagraph(NamedTuple):
    """A line of the text, the offset of its first character, and its HTML."""

    at: int
    html: Markup


def paragraphs(
    text: str, places: Iterable[MarkedPlace], agreement: Mapping[str, float]
) -> Sequence[MarkedParagraph]:
    """Return the lines of a text that are not empty; `agreement` is by accession, 0 to 1."""
    pieces = list(split(places, len(text)))
    paragraphs_marked, at, first = [], 0, 0
    for line in text.split("\n"):
        end = at + len(line)
        while first < len(pieces) and pieces[first].end <= at:
            first += 1
        if line.strip():
            paragraphs_marked.append(
                MarkedParagraph(at, _marked(text, at, end, pieces, first, agreement))
            )
        at = end + 1
    return paragraphs_marked


def split(places: Iterable[MarkedPlace], length: int) -> Iterator[MarkedPiece]:
    """Yield the place pieces, in their order and without overlaps, at most `MOST_PIECES`.

    Places outside the text, and those that are longer than a name, are left out.
    """
    changes: dict[int, list[tuple[str, int]]] = {}
    for start, end, accession in places:
        if 0 <= start < end <= length and end - start <= LONGEST:
            changes.setdefault(start, []).append((accession, 1))
            changes.setdefault(end, []).append((accession, -1))
    active: Counter[str] = Counter()
    count, last = 0, 0
    for at in sorted(changes):
        if active:
            yield MarkedPiece(last, at, tuple(sorted(active))[:MOST_NAMED])
            count += 1
            if count == MOST_PIECES:
                return
        for accession, change in changes[at]:
            active[accession] += change
            if not active[accession]:
                del active[accession]
        last = at


def shade(agreement: float) -> int:
    """Return an agreement's shade: 1 (few of the servers) to 5 (all of them)."""
    return max(1, min(SHADES, ceil(round(agreement * SHADES, 9))))


def _marked(
    text: str,
    at: int,
    end: int,
    pieces: Sequence[MarkedPiece],
    first: int,
    agreement: Mapping[str, float],
) -> Markup:
    parts: list[str] = []
    written_to = at
    for number in range(first, len(pieces)):
        piece = pieces[number]
        if piece.start >= end:
            break
        start, stop = max(piece.start, at), min(piece.end, end)
        level = shade(max(agreement.get(accession, 0.0) for accession in piece.accessions))
        names = " ".join(piece.accessions)
        parts.append(escape(text[written_to:start]))
        parts.append(
            f'<mark class="m a{level}" data-c="{escape(names)}">{escape(text[start:stop])}</mark>'
        )
        written_to = stop
    parts.append(escape(text[written_to:end]))
    return Markup("".join(parts))  # noqa: S704 - each part is escaped
