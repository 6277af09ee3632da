"""The places of candidates in an article: what the page marks, and an export writes.

In order of trust: mentions that servers sent with an accession, evidence of servers found in
the text, and names of the candidates that the hub finds itself. Offsets are code points. The work
grows with the text: make `Mentions` in a thread, keep it for the request, and ask it in a thread.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from annotators.matching import Dictionary, Protein

MOST_SPANS = 20_000
"""The most spans of an article; 30 candidates in a full text have some 400."""
MOST_PROTEINS = 100
MOST_NAMES = 100
"""The most proteins whose names are searched, and names of one of them."""
MOST_QUOTES = 1_000
LONGEST_QUOTE = 5_000
"""The most quotes of evidence that are searched, and characters of one."""
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
    """A place of the text that names a candidate; `servers` is empty where the hub found it."""

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
    """The search for candidates in one article's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._starts = _fold(text)

    def spans(
        self, sent: Iterable[SentMention], candidates: Iterable[Protein]
    ) -> list[CandidateSpan]:
        """Return the places of the candidates, in the text's order, at most `MOST_SPANS`.

        A mention counts where its words stand at its offset. A name that the hub finds is left out
        where a server named the same accession at an overlapping place.
        """
        named: dict[tuple[int, int, str], set[str]] = {}
        for one in islice(self._placed(sent), MOST_SPANS):
            place = (one.offset, one.offset + len(one.words), one.accession)
            named.setdefault(place, set()).add(one.server)
        found = [
            CandidateSpan(
                start=start,
                end=end,
                accession=accession,
                servers=tuple(sorted(servers)),
                origin="server",
            )
            for (start, end, accession), servers in named.items()
        ]
        taken = _Taken(named)
        own = (one for one in self._searched(candidates) if not taken.overlaps(one))
        return sorted([*found, *islice(own, MOST_SPANS - len(found))])

    def evidence(self, sent: Iterable[SentEvidence]) -> list[EvidenceSpan]:
        """Return the first place of each quote that is in the text, but for its blanks.

        In a long text the first quotes alone are looked for.
        """
        found: dict[tuple[int, int, tuple[str, ...]], set[str]] = {}
        places: dict[str, tuple[int, int] | None] = {}
        most = MOST_SEARCHED // max(1, len(self._text))
        for one in islice(sent, MOST_QUOTES):
            if one.words not in places:
                if len(places) >= most:
                    continue
                places[one.words] = self._quoted(one.words)
            if place := places[one.words]:
                found.setdefault((*place, one.item), set()).add(one.server)
        return sorted(
            EvidenceSpan(start=start, end=end, item=item, servers=tuple(sorted(servers)))
            for (start, end, item), servers in found.items()
        )

    def _placed(self, sent: Iterable[SentMention]) -> Iterator[SentMention]:
        for one in sent:
            if one.offset >= 0 and one.words and self._text.startswith(one.words, one.offset):
                yield one

    def _quoted(self, words: str) -> tuple[int, int] | None:
        if len(words) > LONGEST_QUOTE:
            return None
        quote = _BLANKS.sub(" ", words).strip()
        at = self._folded.find(quote) if quote else -1
        if at < 0:
            return None
        return self._starts[at], self._starts[at + len(quote) - 1] + 1

    def _searched(self, candidates: Iterable[Protein]) -> Iterator[CandidateSpan]:
        known = [
            Protein(
                accession=one.accession,
                names=one.names[:MOST_NAMES],
                symbols=one.symbols[:MOST_NAMES],
            )
            for one in islice(candidates, MOST_PROTEINS)
        ]
        for match in Dictionary(known).find(self._text):
            for accession in sorted(match.weights):
                yield CandidateSpan(start=match.start, end=match.end, accession=accession)


class _Taken:
    """The characters at which servers named each accession, as merged intervals by their starts."""

    def __init__(self, named: Iterable[tuple[int, int, str]]) -> None:
        self._ends: dict[str, list[tuple[int, int]]] = {}
        for start, end, accession in sorted(named):
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
    """Return the text with each run of blanks as one, and where each of its characters stands."""
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


def by_accession(spans: Iterable[CandidateSpan]) -> Mapping[str, list[CandidateSpan]]:
    """Return the spans of each accession, in their order."""
    found: dict[str, list[CandidateSpan]] = {}
    for span in spans:
        found.setdefault(span.accession, []).append(span)
    return found
