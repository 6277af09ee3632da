"""The places of candidates in an article: what the page marks, and an export writes.

In order of trust: mentions that servers sent with an accession, evidence of servers found in
the text, and names of the candidates that the hub finds itself. Offsets are code points. The work
grows with the text: make `Mentions` in a thread, keep it for the request, and ask it in a thread.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from annotators.matching import Dictionary, Protein

MOST_SPANS = 20_000
"""The most spans of an article; 30 candidates in a full text have some 400."""
MOST_PROTEINS = 100
MOST_NAMES = 100
"""The maximum proteins whose names are searched, and names per protein."""
MOST_QUOTES = 1_000
LONGEST_QUOTE = 5_000
"""The maximum evidence quotes searched, and characters per quote."""
MOST_SEARCHED = 2**26
"""The most characters that are looked through for quotes: `MOST_QUOTES` times a full text."""

Origin: TypeAlias = Literal["server", "names"]

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True, slots=True)
class SentMention:
    """A mention that a server sent for an accession: the words at an offset of the text."""

    server: str
    accession: str
    offset: int
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SentEvidence:
    """The words that a server gave as evidence of an item."""

    server: str
    item: tuple[str, ...]
    words: str


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class CandidateSpan:
    """A place of the text that names a candidate; `servers` is empty if the hub found it."""

    start: int
    end: int
    accession: str
    servers: tuple[str, ...] = ()
    origin: Origin = "names"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class EvidenceSpan:
    """A place of the text that servers gave as evidence of an item."""

    start: int
    end: int
    item: tuple[str, ...]
    servers: tuple[str, ...]


class Mentions:
    """Searches for candidates in an article's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._starts = _fold(text)

    def spans(
        self, sent_mentions: Iterable[SentMention], candidates: Iterable[Protein]
    ) -> list[CandidateSpan]:
        """Return the places of the candidates, in the text's order, at most `MOST_SPANS`.

        A mention counts if its words stand at its offset. A name that the hub finds is left out if
        a server named the same accession at an overlapping place.
        """
        servers_by_place: dict[tuple[int, int, str], set[str]] = {}
        for mention in islice(self._placed(sent_mentions), MOST_SPANS):
            place = (mention.offset, mention.offset + len(mention.words), mention.accession)
            servers_by_place.setdefault(place, set()).add(mention.server)
        spans = [
            CandidateSpan(
                start=start,
                end=end,
                accession=accession,
                servers=tuple(sorted(servers)),
                origin="server",
            )
            for (start, end, accession), servers in servers_by_place.items()
        ]
        taken_places = _Taken(servers_by_place)
        searched = (span for span in self._searched(candidates) if not taken_places.overlaps(span))
        return sorted([*spans, *islice(searched, MOST_SPANS - len(spans))])

    def evidence(self, quotes: Iterable[SentEvidence]) -> list[EvidenceSpan]:
        """Return the first place of each quote that is in the text, but for its blanks.

        In a long text the first quotes alone are looked for.
        """
        servers_by_place: dict[tuple[int, int, tuple[str, ...]], set[str]] = {}
        places: dict[str, tuple[int, int] | None] = {}
        limit = MOST_SEARCHED // max(1, len(self._text))
        for quote in islice(quotes, MOST_QUOTES):
            if quote.words not in places:
                if len(places) >= limit:
                    continue
                places[quote.words] = self._quoted(quote.words)
            if place := places[quote.words]:
                servers_by_place.setdefault((*place, quote.item), set()).add(quote.server)
        return sorted(
            EvidenceSpan(start=start, end=end, item=item, servers=tuple(sorted(servers)))
            for (start, end, item), servers in servers_by_place.items()
        )

    def _placed(self, sent_mentions: Iterable[SentMention]) -> Iterator[SentMention]:
        for mention in sent_mentions:
            if (
                mention.offset >= 0
                and mention.words
                and self._text.startswith(mention.words, mention.offset)
            ):
                yield mention

    def _quoted(self, words: str) -> tuple[int, int] | None:
        if len(words) > LONGEST_QUOTE:
            return None
        quote = _BLANKS.sub(" ", words).strip()
        at = self._folded.find(quote) if quote else -1
        if at < 0:
            return None
        return self._starts[at], self._starts[at + len(quote) - 1] + 1

    def _searched(self, candidates: Iterable[Protein]) -> Iterator[CandidateSpan]:
        proteins = [
            Protein(
                accession=protein.accession,
                names=protein.names[:MOST_NAMES],
                symbols=protein.symbols[:MOST_NAMES],
            )
            for protein in islice(candidates, MOST_PROTEINS)
        ]
        for match in Dictionary(proteins).find(self._text):
            for accession in sorted(match.weights):
                yield CandidateSpan(start=match.start, end=match.end, accession=accession)


class _Taken:
    """The characters at which servers named each accession, as merged intervals by their starts."""

    def __init__(self, places: Iterable[tuple[int, int, str]]) -> None:
        self._ends: dict[str, list[tuple[int, int]]] = {}
        for start, end, accession in sorted(places):
            merged = self._ends.setdefault(accession, [])
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))

    def overlaps(self, span: CandidateSpan) -> bool:
        merged = self._ends.get(span.accession, [])
        place = bisect_left(merged, (span.end, 0))
        return place > 0 and merged[place - 1][1] > span.start


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text with runs of blanks as one, and where each character stands."""
    parts: list[str] = []
    starts: list[int] = []
    last = 0
    for blank in _BLANKS.finditer(text):
        parts.append(text[last : blank.start()])
        starts.extend(range(last, blank.start() + 1))
        parts.append(" ")
        last = blank.end()
    parts.append(text[last:])
    starts.extend(range(last, len(text)))
    return "".join(parts), starts
