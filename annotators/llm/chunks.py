"""An article in parts that fit into a model's context, cut where a text may be cut."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from annotators.baselines.sentences import sentences

MAX_TITLE = 300


def chunks(text: str, size: int) -> list[str]:
    """Return parts of at most `size` characters; each later one begins with the title again.

    Parts are cut between paragraphs, else between sentences, else anywhere.
    """
    if len(text) <= size:
        return [text]
    title = text.partition("\n")[0]
    head = f"{title}\n" if len(title) <= min(MAX_TITLE, size // 2) else ""
    parts: list[str] = []
    part = ""
    for piece in _pieces(text.removeprefix(head), size - len(head)):
        if part and len(head) + len(part) + len(piece) > size:
            parts.append(head + part)
            part = ""
        part += piece
    return [*parts, head + part]


def _pieces(text: str, size: int) -> Iterator[str]:
    for paragraph in text.splitlines(keepends=True):
        if len(paragraph) <= size:
            yield paragraph
            continue
        before = 0
        for start, _ in [*sentences(paragraph)][1:]:
            yield from _cut(paragraph[before:start], size)
            before = start
        yield from _cut(paragraph[before:], size)


def _cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def enclosed(text: str) -> str:
    """Return a text between two markers that it does not contain; the same for the same text."""
    marker = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    while marker in text:
        marker = sha256(marker.encode()).hexdigest()[:16]
    return f"ARTICLE {marker}\n{text}\nARTICLE {marker}"
