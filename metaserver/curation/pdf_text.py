"""The running text of a PDF's pages: words joined at line ends, running heads left out.

PDFium gives a page's characters in the order in which the file draws them. It writes U+FFFE for the
hyphen at a line's end, and no line end after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

EDGE = 3
"""The first lines of a page, and the last, that may be a running head or foot."""
LEAST_PAGES, LEAST_SHARE = 3, 0.3
"""The least pages, and share of all pages, on which one stands; left and right ones differ."""
LONGEST_WORD = 64
"""The characters of a broken word that are looked at, on each side."""

_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_BREAK = "\x02"  # stands for a hyphen at a line's end, until all words are known
_CHARACTERS: dict[int, str | None] = {
    **dict.fromkeys(range(0x20)),
    **dict.fromkeys((0x7F, 0xAD, 0xFEFF, 0xFFFF)),
    **_LIGATURES,
    0x02: _BREAK,  # as older PDFium wrote it
    0x09: " ",
    0x0A: "\n",
    0xFFFE: _BREAK,
}
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_HYPHEN_AT_END = re.compile(r"(?<=\w)[-\u2010\u00ad\x02\ufffe]\n(?=\w)")
_WORD = re.compile(r"\w+(?:[-\u2010]\w+)*")
_LAST_WORD, _FIRST_WORD = re.compile(r"(?<!\w)\w+\Z"), re.compile(r"\w+")
_DIGITS = re.compile(r"[0-9]+|\b[ivxlc]+\b")


def joined(pages: Sequence[str]) -> str:
    """Return the pages' joined text, empty if it is only running heads.

    The first page keeps its lines: others may have its title at their top.
    """
    lines = [_lines(page) for page in pages]
    repeated = _repeated(lines)
    without = [_without(page, repeated) for page in lines]
    if not any(without):
        return ""
    lines_kept = (line for page in (lines[0], *without[1:]) for line in page)
    text = _HYPHEN_AT_END.sub(_BREAK, "\n".join(lines_kept)).translate(_CHARACTERS)
    words = frozenset(_WORD.findall(text))
    first, *rest = text.split(_BREAK)
    parts = [first]
    for part in rest:
        parts += [
            "" if _is_one_word(_last_word(parts[-1]), _first_word(part), words) else "-",
            part,
        ]
    return "".join(parts)


def _lines(page: str) -> list[str]:
    lines = (line.strip() for line in _LINE_END.sub("\n", page).split("\n"))
    return [line for line in lines if line]


def _repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the lines at the edges of pages that stand on many, but for the page's number."""
    counts = Counter(key for page in pages for key in {_key(page[at]) for at in _edges(page)})
    minimum = max(LEAST_PAGES, LEAST_SHARE * len(pages))
    return frozenset(key for key, count in counts.items() if count >= minimum)


def _without(page: Sequence[str], repeated: frozenset[str]) -> list[str]:
    edges = _edges(page)
    return [line for at, line in enumerate(page) if at not in edges or _key(line) not in repeated]


def _edges(page: Sequence[str]) -> frozenset[int]:
    count = len(page)
    return frozenset(range(min(EDGE, count))) | frozenset(range(max(0, count - EDGE), count))


def _key(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.casefold().split()))


def _last_word(text: str) -> str:
    match = _LAST_WORD.search(text[-LONGEST_WORD:])
    return match[0] if match else ""


def _first_word(text: str) -> str:
    match = _FIRST_WORD.match(text[:LONGEST_WORD])
    return match[0] if match else ""


def _is_one_word(first: str, second: str, words: frozenset[str]) -> bool:
    """Return whether a word that was broken has no hyphen of its own.

    As it stands elsewhere in the text; else as its letters suggest: a hyphen between lower-case
    letters is the typesetter's; beside a capital or a digit, as in "TNF-alpha" or "IL-2", it is
    part of a name.
    """
    if not (first and second):
        return False
    if first + second in words:
        return True
    if f"{first}-{second}" in words:
        return False
    return (first[1:] or first).islower() and second.islower()
