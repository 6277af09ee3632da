"""An answer as its team reads it: every value at a place of its own, to which problems lead.

A place's id is `answer.` and the path that problems name: `answer.normalizations[3].rank`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from metaserver.base.errors import PeerError
from metaserver.base.records import Problem
from metaserver.exchange.wire.contract import type_name
from metaserver.exchange.wire.values import FaultError, Limits, Value
from metaserver.exchange.wire.xmlrpc import decode_response

READ_BYTES = 8 * 2**20
"""A longer answer is shown as text: reading it would hold up other pages."""
SHOWN_VALUES, SHOWN_CHARACTERS = 2_000, 2_000
SHOWN_LINES, LINE_CHARACTERS = 200, 400
_ERROR_AT = re.compile(r"line (\d+), column (\d+)")
_LAST_STEP = re.compile(r"(?:\.[^.\[]*|\[\d+\]|^[^.\[]+)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A problem, and the id of the place in the answer that it is about."""

    problem: Problem
    place: str

    @property
    def href(self) -> str:
        """The place's address, within the page."""
        return f"#{quote(self.place, safe='')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A whole answer with its values at their places."""

    html: Markup
    links: Sequence[Link]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line in an answer that could not be read; `at` is where in `text` reading stopped."""

    number: int
    text: str
    at: int | None = None
    cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Lines in an answer around where reading stopped, or its first."""

    lines: Sequence[Line]
    total: int


def read_answer(raw: bytes, problems: Sequence[Problem]) -> Tree | None:
    """Return the answer with its places; None if it cannot be read, or is too long."""
    try:
        value: Value = decode_response(raw, Limits(bytes=READ_BYTES))
    except FaultError as error:
        value = {"faultCode": error.fault.code, "faultString": error.fault.string}
    except PeerError:
        return None
    return tree(value, problems)


def tree(value: Value, problems: Sequence[Problem]) -> Tree:
    """Return a value with its places, bounded; what a problem is about is always shown."""
    drawing = _Drawing(problems)
    html = Markup('<ul class="tree"><li id="answer">{}</li></ul>').format(drawing.answer(value))
    links = [
        Link(problem=problem, place=_nearest(problem.path, drawing.places)) for problem in problems
    ]
    return Tree(html=html, links=links)


class _Drawing:
    """Draws values until there are enough, and after that only what problems are about."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.places: set[str] = set()
        self._problems: dict[str, list[str]] = {}
        for problem in problems:
            self._problems.setdefault(problem.path, []).append(problem.message)
        self._shown = {step for path in self._problems for step in _ancestors(path)}
        self._left = SHOWN_VALUES
        self._share = 0

    def answer(self, value: Value) -> Markup:
        """Draw an answer; its members share what may be shown."""
        if isinstance(value, Mapping) and value:
            self._share = SHOWN_VALUES // len(value)
        return self.value(value, "")

    def value(self, value: Any, path: str) -> Markup:
        kind = Markup('<span class="kind">{}</span>').format(type_name(value))
        if isinstance(value, Mapping):
            steps = (
                (name, f"{path}.{name}" if path else name, item) for name, item in value.items()
            )
            return kind + self._wrong(path) + self._children(steps, len(value))
        if isinstance(value, list | tuple):
            places = ((f"[{i}]", f"{path}[{i}]", item) for i, item in enumerate(value))
            return kind + self._wrong(path) + self._children(places, len(value))
        return kind + Markup(" <code>{}</code>").format(_scalar(value)) + self._wrong(path)

    def _children(self, steps: Iterator[tuple[str, str, Any]], count: int) -> Markup:
        if not count:
            return Markup(" empty")
        items, left_out = [], 0
        for name, path, value in steps:
            if self._share and "." not in path and "[" not in path:
                self._left = self._share
            if self._left <= 0 and path not in self._shown:
                left_out += 1
                continue
            self._left -= 1
            items.append(self._item(name, path, value))
        if left_out:
            items.append(Markup('<li class="muted">… {} more, not shown</li>').format(left_out))
        return Markup("<ul>{}</ul>").format(Markup("").join(items))

    def _item(self, name: str, path: str, value: Any) -> Markup:
        mark = Markup("")
        if path not in self.places:
            self.places.add(path)
            mark = Markup(' id="{}"').format(_id(path))
        inner = self.value(value, path)
        return Markup('<li{}><span class="key">{}</span> {}</li>').format(mark, name, inner)

    def _wrong(self, path: str) -> Markup:
        messages = "; ".join(self._problems.get(path, ()))
        return Markup(' <span class="wrong">{}</span>').format(messages) if messages else Markup("")


def _scalar(value: Any) -> str:
    text = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
    more = len(text) - SHOWN_CHARACTERS
    return f"{text[:SHOWN_CHARACTERS]} … {more} more characters" if more > 0 else text


def _id(path: str) -> str:
    """Return a path's id; ids hold no white space."""
    return "answer." + re.sub(r"\s", "_", path) if path else "answer"


def _ancestors(path: str) -> Iterator[str]:
    """Yield a path and those that lead to it, without the answer itself."""
    while path:
        yield path
        step = _LAST_STEP.search(path)
        path = path[: step.start()] if step else ""


def _nearest(path: str, places: set[str]) -> str:
    """Return the id of a path's place, or of the nearest around it, for missing places."""
    return _id(next((step for step in _ancestors(path) if step in places), ""))


def read_lines(raw: bytes, message: str) -> Lines:
    """Return the lines of an answer as text, those around the place that an error names."""
    lines = raw[:READ_BYTES].decode("utf-8", "replace").split("\n")
    places = _ERROR_AT.findall(message)
    at, column = map(int, places[-1]) if places else (0, 0)
    first = max(0, min(at - SHOWN_LINES // 2, len(lines) - SHOWN_LINES))
    return Lines(
        lines=[
            _line(number, text, column if number == at else None)
            for number, text in enumerate(lines[first : first + SHOWN_LINES], first + 1)
        ],
        total=len(lines),
    )


def _line(number: int, text: str, at: int | None) -> Line:
    """Return a line, cut to what can be read: about the place if reading stopped."""
    if at is not None:
        at = min(at, len(text))
    begin = max(0, (at or 0) - LINE_CHARACTERS // 2)
    end = begin + LINE_CHARACTERS
    return Line(
        number=number,
        text=text[begin:end],
        at=None if at is None else at - begin,
        cut=begin > 0 or end < len(text),
    )
