"""Search in the documentation, by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaserver.web.manual.library import PREFIX, ManualSection

MOST = 40
"""The most sections that a search finds."""
LENGTH = 100
"""The most characters of what is searched."""
RECORDS = f"{PREFIX}/adr/"
"""The decisions: what is found in them comes after what is so today."""
AROUND = 90
"""Characters of a text that are shown on each side of the first word."""


@dataclass(frozen=True, kw_only=True)
class FoundSection:
    """A section that has all words; `parts` is a passage of it, every second part a word."""

    section: ManualSection
    parts: Sequence[str]


class Search:
    """The documentation's sections, folded once; best first are those with words on top."""

    def __init__(self, sections: Sequence[ManualSection]) -> None:
        self._folded = [
            (section, section.title.casefold(), section.heading.casefold(), section.text.casefold())
            for section in sections
        ]

    def find(self, query: str) -> list[FoundSection]:
        """Return the sections that have all words of a query, at most `MOST`."""
        words = list(dict.fromkeys(query.casefold()[:LENGTH].split()))
        scored = [
            (score, section)
            for section, *texts in self._folded
            if words and (score := _score(words, texts))
        ]
        scored.sort(key=lambda pair: (pair[1].page.startswith(RECORDS), -pair[0]))
        return [
            FoundSection(section=section, parts=_passage(section.text, words))
            for _, section in scored[:MOST]
        ]


def _score(words: Sequence[str], texts: Sequence[str]) -> int:
    title, heading, text = texts
    total = 0
    for word in words:
        count = 20 * (word in heading) + 5 * (word in title) + min(4, text.count(word))
        if not count:
            return 0
        total += count
    return total


def _passage(text: str, words: Sequence[str]) -> list[str]:
    folded = text.casefold()
    if len(folded) != len(text):  # a letter that becomes two: places would not fit
        return [text[: 2 * AROUND]]
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start, end = max(0, first - AROUND), first + AROUND
    parts, at = [""], start
    while at < min(end, len(text)):
        word = next((word for word in words if folded.startswith(word, at)), None)
        if word:
            parts += [text[at : at + len(word)], ""]
            at += len(word)
        else:
            parts[-1] += text[at]
            at += 1
    return parts
