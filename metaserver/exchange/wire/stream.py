"""Streaming parser of any XML-RPC message: expat's events, no document tree.

Accepted beyond the specification (http://xmlrpc.com/spec.md), because peers send it: `i8` and
`nil`, both also in the Apache extension namespace with its other types; exponents in `double`;
`true` and `false` in `boolean`; white space around numbers; members in any order; a missing XML
declaration; white space before it; NUL bytes after the message; an array without `data`; 64 bits
in `int`. Refused: a document type, attributes, unknown elements where no value is expected.

lxml is not used: libxml2 keeps every name it meets, also those of attributes and processing
instructions, in one table per thread, and once a peer has filled it, no more answers can be read.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, IncrementalDecoder
from typing import Final
from xml.parsers import expat

from metaserver.base.states import Outcome
from metaserver.exchange.wire.charset import DECLARATION_BYTES, decoder_for
from metaserver.exchange.wire.report import Report
from metaserver.exchange.wire.target import Target
from metaserver.exchange.wire.values import CHUNK, Limits, Message, WireError

MAX_MARKUP: Final = 2**20
"""The longest tag, comment or processing instruction, in bytes."""

_BEFORE: Final = re.compile(rb"[ \t\r\n]*+(?:\xef\xbb\xbf[ \t\r\n]*+)*+")  # possessive: no stack
_BEHIND: Final = b"\0 \t\r\n"


class Stream:
    """A parser of one message from chunks; its errors name the reason and the place.

    `charset` is that of the HTTP header, in lower case, or None. `report` collects notes that cost
    nothing. `feed` and `close` raise `WireError`; after an error the stream must not be used again.
    """

    def __init__(
        self, limits: Limits, charset: str | None = None, report: Report | None = None
    ) -> None:
        self._limits = limits
        self._charset = charset
        self._target = Target(limits, report or Report())
        self._parser: expat.XMLParserType | None = None
        self._decoder: IncrementalDecoder | None = None
        self._begun = False
        self._ended = False
        self._lines = 0  # before the message
        self._held = bytearray()
        self._parse_at = DECLARATION_BYTES
        self._fed = 0

    def feed(self, data: bytes) -> None:
        """Read the next bytes, of any length, parsing at most `CHUNK` at a time."""
        if not self._begun:
            data = self._without_space(data)
        try:
            for start in range(0, len(data), CHUNK):
                self._take(data[start : start + CHUNK])
        except WireError:
            self._target.forget()
            raise

    def close(self) -> Message:
        """Return the message; raises `WireError` where the bytes are no complete message."""
        try:
            self._parse(bytes(self._held), last=True)
            return self._target.message()
        finally:
            self._target.forget()

    def _without_space(self, data: bytes) -> bytes:
        """Return the data without the white space and byte order marks before the message.

        XML allows nothing before its declaration, but scripts often send a line end there.
        """
        data = bytes(self._held) + data
        self._held.clear()
        match = _BEFORE.match(data)
        assert match is not None
        self._lines += match[0].count(b"\n")
        if BOM_UTF8 in match[0]:
            self._charset = "utf-8"
        rest = data[match.end() :]
        if BOM_UTF8.startswith(rest):  # nothing, or an incomplete mark
            self._held += rest
            return b""
        self._begun = True
        return rest

    def _take(self, chunk: bytes) -> None:
        """Parse the bytes so far, unless they only continue an incomplete token.

        Expat would start on the token again each time; waiting until it has doubled keeps the work
        in proportion to its length, however small the pieces are.
        """
        self._held += chunk
        size = len(self._held)
        waits = size < self._parse_at and size + self._parse_at <= MAX_MARKUP
        if waits and (self._parser or b">" not in chunk):
            return
        data = bytes(self._held)
        self._held.clear()
        self._parse(data, last=False)

    def _parse(self, data: bytes, *, last: bool) -> None:
        parser = self._parser or self._create_parser(data)
        if self._decoder is not None:
            data = self._transcoded(data, last)
        if self._ended:
            self._check_trailing(data)
            return
        try:
            parser.Parse(data, last)
        except expat.ExpatError as error:
            if not self._target.complete:
                raise self._syntax_error(error) from error
            self._check_trailing(data[parser.ErrorByteIndex - self._fed :], error)
            return
        self._fed += len(data)
        self._parse_at = self._fed - parser.CurrentByteIndex
        if self._parse_at > MAX_MARKUP:
            raise WireError(Outcome.SYNTAX, f"a tag or comment of more than {MAX_MARKUP:,} bytes")
        if self._target.count > self._limits.values:
            raise WireError(Outcome.TOO_LARGE, f"more than {self._limits.values:,} values")

    def _check_trailing(self, data: bytes, error: expat.ExpatError | None = None) -> None:
        """Check the bytes after the message: NUL bytes, sent by C programs, and white space."""
        if data.strip(_BEHIND):
            if error is not None:
                raise self._syntax_error(error) from error
            raise WireError(Outcome.SYNTAX, "not well-formed XML: junk after document element")
        self._ended = True

    def _syntax_error(self, error: expat.ExpatError) -> WireError:
        words = expat.ErrorString(error.code).replace(
            "not well-formed (invalid token)", "invalid token"
        )
        place = f"line {error.lineno + self._lines}, column {error.offset}"
        return WireError(Outcome.SYNTAX, f"not well-formed XML: {words}: {place}")

    def _create_parser(self, start: bytes) -> expat.XMLParserType:
        """Create the parser for a message with these first bytes."""
        self._decoder = decoder_for(start[:DECLARATION_BYTES], self._charset)
        target = self._target
        parser = self._parser = expat.ParserCreate("utf-8" if self._decoder else None)
        parser.buffer_text = True  # otherwise character references would arrive one by one
        parser.buffer_size = CHUNK
        parser.StartElementHandler = target.start
        parser.EndElementHandler = target.end
        parser.CharacterDataHandler = target.data
        parser.XmlDeclHandler = None if self._decoder else target.declaration
        parser.StartDoctypeDeclHandler = target.doctype
        return parser

    def _transcoded(self, data: bytes, last: bool) -> bytes:
        assert self._decoder is not None
        try:
            return self._decoder.decode(data, last).encode()
        except UnicodeError as error:
            raise WireError(Outcome.SYNTAX, f"not the declared encoding: {error}"[:200]) from error
