"""Form bodies into their fields, as the bytes come: pure, bounded in fields and in text.

The first field can be read before the others have come. A form is UTF-8; whatever is no form raises
`ValueError`, of which the errors below and those of the library are special cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import parse_qsl

from multidict import MultiDict
from multipart import MultipartSegment, ParserLimitReached, PushMultipartParser

FIELDS = 1_000  # of an urlencoded form
PARTS = 64  # of a multipart form: that of a phase has two a task and about 25 more
PART_HEADERS = 4  # of each of them, where browsers send two
HEADER_BYTES = 4_096  # of each of those
MAX_BOUNDARY = 70  # RFC 2046, section 5.1.1
TEXT_BYTES = 2**20
"""The maximum bytes in a form's fields that are not files."""


class TooLargeError(ValueError):
    """A form with more than a limit, which the message names as what the form has."""


class CharsetError(ValueError):
    """A form that says it is not UTF-8, or one of its fields."""


class SentFile(NamedTuple):
    """A file that came with a form, and what it was called; without a file, no bytes."""

    content: bytes
    source: str


Field: TypeAlias = tuple[str, str | SentFile]
"""A field's name and its value."""
Form: TypeAlias = MultiDict[str | SentFile]


class FormBody(Protocol):
    """A form's body that is being read."""

    @property
    def first(self) -> Field | None:
        """The first field; None as long as its end has not been read."""

    def feed(self, data: bytes) -> None:
        """Read the next bytes, at least one."""

    def close(self) -> Form:
        """Return the body's fields, which has ended."""


class Pairs:
    """The body of an urlencoded form."""

    def __init__(self) -> None:
        self._read = bytearray()

    @property
    def first(self) -> Field | None:
        """The first field; None as long as its end has not been read."""
        pair, end, _ = self._read.partition(b"&")
        return next(iter(_pairs(pair).items()), None) if end else None

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        if len(self._read) + len(data) > TEXT_BYTES:
            raise TooLargeError(f"more than {TEXT_BYTES:,} bytes in its fields")
        self._read += data

    def close(self) -> Form:
        """Return the body's fields, which has ended."""
        if self._read.count(b"&") >= FIELDS:
            raise TooLargeError(f"more than {FIELDS:,} fields")
        return _pairs(self._read)


def _pairs(text: bytearray) -> Form:
    return MultiDict(parse_qsl(text.decode(), keep_blank_values=True, errors="strict"))


class MultipartForm:
    """The body of a multipart form."""

    def __init__(self, boundary: str) -> None:
        if not 0 < len(boundary) <= MAX_BOUNDARY:
            raise ValueError("no boundary, or one that is too long")
        self._parser = PushMultipartParser(
            boundary,
            max_segment_count=PARTS,
            max_header_count=PART_HEADERS,
            max_header_size=HEADER_BYTES,
        )
        self._form: Form = MultiDict()
        self._part: MultipartSegment | None = None
        self._content = BytesIO()
        self._text = 0

    @property
    def first(self) -> Field | None:
        """The first field; None as long as its end has not been read."""
        return next(iter(self._form.items()), None)

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        try:
            for event in self._parser.parse(data):
                self._take(event)
        except ParserLimitReached as error:
            message = (
                f"more than {PARTS} fields, or a field with more than {PART_HEADERS} headers"
                f" or with a header above {HEADER_BYTES:,} bytes"
            )
            raise TooLargeError(message) from error

    def close(self) -> Form:
        """Return the body's fields, which has ended."""
        self._parser.close()
        return self._form

    def _take(self, event: Any) -> None:
        if event is None:
            self._end()
        elif isinstance(event, bytes):
            self._add(event)
        else:
            self._part, self._content = event, BytesIO()
            if event.filename is None:
                check_charset(event.charset)

    def _add(self, data: bytes) -> None:
        assert self._part is not None
        if self._part.filename is None:
            self._text += len(data)
            if self._text > TEXT_BYTES:
                raise TooLargeError(f"more than {TEXT_BYTES:,} bytes in its fields")
        self._content.write(data)

    def _end(self) -> None:
        assert self._part is not None
        name, source, content = self._part.name, self._part.filename, self._content.getvalue()
        self._form.add(name, content.decode() if source is None else SentFile(content, source))
        self._content = BytesIO()


def check_charset(name: str | None) -> None:
    """Raise `CharsetError` for a form's character set that is given and is not UTF-8."""
    if name is not None and name.lower() not in {"utf-8", "utf8"}:
        raise CharsetError("not UTF-8")


def body_of(kind: str, options: Mapping[str, str]) -> FormBody | None:
    """Return what reads the body of a content type; None for what is no form."""
    check_charset(options.get("charset"))
    if kind == "multipart/form-data":
        return MultipartForm(options.get("boundary", ""))
    return Pairs() if kind == "application/x-www-form-urlencoded" else None
