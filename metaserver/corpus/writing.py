"""Writers whose output `corpus.reader` reads back: text file names, BioC JSON.

The title is a passage of its own if the text begins with it, so that every offset is into the
article's text, in Unicode characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from metaserver.base.records import Article

PART_BYTES = 64 * 2**20
PART_DOCUMENTS = 20_000
"""The maximum bytes and documents in a collection, well below what is read from a file."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_NOT_READ = re.compile(
    r"(readme|license|licence|copying|notice|con|prn|aux|nul|com\d|lpt\d)(\..*)?"
)
_BEGIN = (
    b'{"source":"BioCreative Meta-Server","date":"","key":"articles.key","infons":{},"documents":['
)
_END = b"\n]}\n"


class TextNames:
    """Text file names: an article's id if it can be a name, else its number."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def name(self, article: str, number: int) -> str:
        """Return the name for article `number`; no two differ by case alone."""
        folded = article.lower()
        plain = _PLAIN.fullmatch(article) and not _NOT_READ.fullmatch(folded)
        stem = article if plain and folded not in self._known else f"_{number}"
        self._known.add(stem.lower())
        return f"{stem}.txt"


def bioc_collections(articles: Iterable[Article]) -> Iterator[Iterator[bytes]]:
    """Yield collections in BioC JSON, each in parts that follow each other.

    Read each to its end before asking for the next.
    """
    remaining = iter(articles)
    for first in remaining:
        yield _collection(first, remaining)


def _collection(first: Article, remaining: Iterator[Article]) -> Iterator[bytes]:
    document = _document(first)
    size, count = len(document), 1
    yield _BEGIN + b"\n" + document
    while size < PART_BYTES and count < PART_DOCUMENTS and (article := next(remaining, None)):
        document = _document(article)
        size, count = size + len(document), count + 1
        yield b",\n" + document
    yield _END


def split_title(title: str, text: str) -> list[tuple[int, str, str]]:
    """Return an article's passages, each with its offset, its kind and its text.

    They are the title and the text if the text begins with the title, else the whole text.
    """
    begin = f"{title}\n"
    if title and title == title.strip() and text.startswith(begin) and text != begin:
        return [(0, "title", title), (len(begin), "text", text[len(begin) :])]
    return [(0, "text", text)]


def _document(article: Article) -> bytes:
    passages = split_title(article.title, article.text)
    titled = len(passages) > 1 or not article.title
    return msgspec.json.encode(
        {
            "id": article.id,
            "infons": {} if titled else {"title": article.title},
            "passages": [_passage(*passage) for passage in passages],
            "annotations": [],
            "relations": [],
        }
    )


def _passage(offset: int, kind: str, text: str) -> dict[str, Any]:
    return {
        "offset": offset,
        "infons": {"type": kind},
        "text": text,
        "sentences": [],
        "annotations": [],
        "relations": [],
    }
