"""Digests of texts, by which an article is recognised in another form."""

from __future__ import annotations

import hashlib
import re
import unicodedata

SHORT = 200
"""Characters below which a text without its first line says little of which article it is."""
BLOCK = 32
"""The articles of a corpus whose texts are read at a time."""
_MARKS = 30
"""Combining marks in a row that are normalised together (UAX #15, section 13)."""
_JOINER = "\u034f"
"""The combining grapheme joiner, which ends a run of marks."""
_RUN = re.compile(rf"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){{{_MARKS + 1},}}")
"""Runs of which marks may be a part: they are no letters, but for two of the half width."""


def folded_text(text: str) -> str:
    """Return the form of a text by which it is compared: NFKC, in small letters.

    It is the form of its Stream-Safe Text Format (UAX #15, section 13): the time that marks in a
    row take grows with the square of their number, and no thread runs meanwhile.
    """
    return unicodedata.normalize("NFKC", _RUN.sub(_stream_safe, text)).casefold()


def _stream_safe(run: re.Match[str]) -> str:
    letters, marks = [], 0
    for letter in run[0]:
        is_mark = unicodedata.combining(unicodedata.normalize("NFKD", letter)[0])
        marks = marks + 1 if is_mark else 0
        if marks > _MARKS:
            letters.append(_JOINER)
            marks = 1
        letters.append(letter)
    return "".join(letters)


def fingerprints(text: str) -> frozenset[bytes]:
    """Return the digests by which a text is recognised: of all of it, and without its first line.

    Forms of the same character (NFKC), case and blanks do not matter.
    """
    head, _, body = text.strip().partition("\n")
    whole = _fingerprint(text)
    return (
        frozenset({whole, _fingerprint(body)})
        if len(body) >= SHORT and head
        else frozenset({whole})
    )


def _fingerprint(text: str) -> bytes:
    folded = " ".join(folded_text(text).split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).digest()
