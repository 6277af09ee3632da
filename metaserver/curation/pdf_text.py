"""The running text of a PDF's paragraphs: their lines joined, and words that a line's end breaks.

PDFium writes U+0002 or U+FFFE for the hyphen at a line's end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import normalize

LONGEST_WORD = 64
"""The characters of a broken word that are looked at, on each side."""

LEAST_PART = 4
"""The least letters of two words that a hyphen of their own joins."""

_GREEK = frozenset(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "kappa", "lambda"])
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
    **{code: normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)},  # of formulas
    0x02: _BREAK,  # as older PDFium wrote it
    0x09: " ",
    0x0A: "\n",
    0x0D: " ",
    0x85: " ",
    0x2028: " ",
    0x2029: " ",
    0xFFFE: _BREAK,
}
_BLANKS = re.compile(" {2,}")
_HYPHEN_AT_END = re.compile(r"(?<=\w)[-\u2010\u00ad\x02\ufffe]\r(?=\w)")
_WORD = re.compile(r"\w+(?:[-\u2010]\w+)*")
_BROKEN = re.compile(r"(?<!\w)\w+\x02\w+")
_LAST_WORD, _FIRST_WORD = re.compile(r"(?<!\w)\w+\Z"), re.compile(r"\w+")


def joined(paragraphs: Sequence[Sequence[str]]) -> str:
    """Return the paragraphs of which the lines are given, each as a line."""
    text = "\n".join(_HYPHEN_AT_END.sub(_BREAK, "\r".join(lines)) for lines in paragraphs)
    text = _BLANKS.sub(" ", text.translate(_CHARACTERS))
    words = frozenset(_WORD.findall(_BROKEN.sub(" ", text)))
    first, *rest = text.split(_BREAK)
    parts = [first]
    for part in rest:
        parts += [
            "" if _is_one_word(_last_word(parts[-1]), _first_word(part), words) else "-",
            part,
        ]
    return "".join(parts)


def _last_word(text: str) -> str:
    match = _LAST_WORD.search(text[-LONGEST_WORD:])
    return match[0] if match else ""


def _first_word(text: str) -> str:
    match = _FIRST_WORD.match(text[:LONGEST_WORD])
    return match[0] if match else ""


def _is_one_word(first: str, second: str, words: frozenset[str]) -> bool:
    """Return whether a word that was broken has no hyphen of its own.

    As it stands elsewhere in the text, or both of its parts do; else as its letters suggest: a
    hyphen between lower-case letters is the typesetter's, unless the first are those of a Greek
    one; beside a capital or a digit, as in "TNF-alpha" or "IL-2", it is part of a name.
    """
    if not (first and second):
        return False
    if first + second in words:
        return True
    if f"{first}-{second}" in words or first in _GREEK:
        return False
    if min(len(first), len(second)) >= LEAST_PART and {first, second} <= words:
        return False
    return (first[1:] or first).islower() and second.islower()
