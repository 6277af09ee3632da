"""Words and sentences of the pages and docstrings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

ODD = re.compile(
    r"\b(?:told|tells?|telling|wanted|anew|afresh|whence|led\s+on|made\s+of|stands?\s+in|by\s+hand"
    r"|(?<!control.)rooms?|the\s+head|(?:answer's|request's|response's|HTTP)\s+heads?)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"(`+).+?\1")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LABEL = re.compile(r"^\*\*[^*]+\.\*\*\s+")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|Fig|No|[A-Z])\.$")
BOUNDARY = re.compile(r"(?<=[.!?])[)\]\"'”’*_]*\s+(?=[(\[\"'“‘*_]*[A-Z])")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of prose, without its list marker and its label (**Context.**).

    Code spans and links are their text alone.
    """

    number: int
    text: str
    goes_on: bool


def odd_words(text: str) -> list[str]:
    """Return the words of a text, code spans aside, that its readers stumble over."""
    return ODD.findall(CODE.sub("`Code`", text))


def prose(page: str) -> Iterator[Line]:
    """Yield the lines that are no heading, table, image, markup, or code."""
    lines = page.splitlines()
    fenced = False
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        kept.append((number, "" if fenced or _is_none(line) else line))
    for (number, line), (_, following) in zip(kept, [*kept[1:], (0, "")], strict=True):
        text = plain(line)
        if text:
            ended = re.search(r"[.!?:;][)\]\"'”’*_]*$", text) is not None
            goes_on = not ended and bool(following) and not ITEM.match(following)
            yield Line(number=number, text=text, goes_on=goes_on)


def plain(line: str) -> str:
    """Return a line without list marker, label and links, its code spans as one word."""
    return LINK.sub(r"\1", CODE.sub("Code", LABEL.sub("", ITEM.sub("", line)))).strip()


def sentences(text: str) -> list[str]:
    """Return the sentences of a text: each ends before white space and a capital letter."""
    found = [""]
    for part in BOUNDARY.split(text):
        if found[-1] and not ABBREVIATION.search(found[-1]):
            found.append(part)
        else:
            found[-1] = f"{found[-1]} {part}".lstrip()
    return found


def _is_none(line: str) -> bool:
    return line.startswith(("#", "![", "    ")) or line.lstrip().startswith(("|", "<"))
