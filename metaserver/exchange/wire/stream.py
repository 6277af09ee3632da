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
from collections.abc import Mapping
from typing import Any, Final, NoReturn
from xml.parsers import expat

from metaserver.base.states import Outcome
from metaserver.exchange.wire.charset import DECLARATION_BYTES, NATIVE, decoder_for
from metaserver.exchange.wire.contract import MAX_PROBLEMS, Report, Severity, described
from metaserver.exchange.wire.values import (
    CHUNK,
    EXTENSIONS,
    READERS,
    Fault,
    Limits,
    Message,
    MethodCall,
    MethodResponse,
    Unreadable,
    WireError,
)

# -- grammar of XML-RPC messages, and construction of their values from a parser's events ----------
# In an answer, a scalar that does not match its type and an unknown type are noted and read as
# `Unreadable`, so that nothing else of the answer is lost. In a call they are refused.

# The elements allowed in an element, as tables that refer to one another: a message's grammar.
_Grammar = dict[str, Any]
_TEXT: Final[_Grammar] = {}
_VALUE: Final[_Grammar] = dict.fromkeys(READERS, _TEXT)
_DATA: Final[_Grammar] = {"value": _VALUE}
_ARRAY: Final[_Grammar] = {"data": _DATA}
_MEMBER: Final[_Grammar] = {"name": _TEXT, "value": _VALUE}
_STRUCT: Final[_Grammar] = {"member": _MEMBER}
_VALUE.update(struct=_STRUCT, array=_ARRAY)
_PARAMS: Final[_Grammar] = {"param": {"value": _VALUE}}
_FOREIGN: Final[_Grammar] = {}  # in a type that XML-RPC does not have; compared by identity
_MESSAGE: Final[_Grammar] = {
    "methodResponse": {"params": _PARAMS, "fault": {"value": _VALUE}},
    "methodCall": {"methodName": _TEXT, "params": _PARAMS},
}

_NONE_YET: Final = object()

_UNREADABLE: Final = {name: Unreadable(name) for name in READERS}
_UNKNOWN: Final = Unreadable("type")

_MAX_UNKNOWN_NAMES: Final = 32
"""The most unknown names in a message: the parser keeps them as long as it exists."""

_ELEMENTS: Final = 4  # the most elements that one level of nested values takes

_MAX_CODE: Final = 80  # characters of a fault's code


class Target:
    """Builds values from the parser's events.

    The three hot methods, called 14 times for a hit, use only plain list and dict operations.
    `pieces` is the text since the last text element began, `value` the last value read that is not
    in its container yet, `open` the containers around it and `names` the member names on the path
    to it.
    """

    def __init__(self, limits: Limits, report: Report) -> None:
        self.limits = limits
        self.report = report
        self.grammar = [_MESSAGE]
        self.open: list[Any] = []
        self.names: list[str | None] = []
        self.known_names: dict[str, str] = {}
        self.unknown_names: set[str] = set()
        self.pieces: list[str] = []
        self.data = self.pieces.append
        self.value: Any = _NONE_YET
        self.count = 0
        self.root = ""
        self.method: str | None = None
        self.params: list[Any] | None = None
        self.fault: Any = _NONE_YET

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle an element's start."""
        inner = self.grammar[-1].get(tag)
        if inner is None or attributes:
            inner = self._unusual(tag, attributes)
        self.grammar.append(inner)
        if inner is _TEXT:
            self.pieces.clear()
        elif inner is _VALUE:
            if self.value is not _NONE_YET:
                self._refuse("two values where one is expected")
            self.pieces.clear()
            self.count += 1
        elif inner is _MEMBER:
            self.names.append(None)
        elif inner is _STRUCT:
            self._enter({})
        elif inner is _ARRAY:
            self._enter([])
        elif inner is _PARAMS:
            if self.params is not None:
                self._refuse("a second <params>")
            self.params = []
        elif len(self.grammar) == 2:
            self.root = tag

    def end(self, tag: str) -> None:
        """Handle an element's end."""
        grammar = self.grammar
        if grammar.pop() is _FOREIGN:
            self._end_foreign(tag)
        elif tag == "value":
            if self.value is _NONE_YET:
                self.value = "".join(self.pieces)
            if grammar[-1] is _DATA:
                self.open[-1].append(self.value)
                self.value = _NONE_YET
        elif tag in READERS:
            self._scalar(tag, tag)
        elif tag == "name":
            name = "".join(self.pieces)
            self.names[-1] = self.known_names.setdefault(name, name)
        elif tag == "member":
            if self.value is _NONE_YET or self.names[-1] is None:
                self._refuse("a member needs a name and a value")
            if self.names[-1] in self.open[-1]:
                self._note("a second member of this name; the last one counts")
            self.open[-1][self.names.pop()] = self.value
            self.value = _NONE_YET
        elif tag in {"struct", "array"}:
            self.value = self.open.pop()
        else:
            self._end_message_part(tag)

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        """Refuse an undetected declared encoding before Python looks it up."""
        if encoding is not None and encoding.lower() not in NATIVE:
            self._refuse(f"the encoding {encoding[:40]!r} is not known")

    def doctype(self, *_: object) -> None:
        """Refuse a document type."""
        self._refuse("a document type is not allowed")

    @property
    def complete(self) -> bool:
        """True if the message has been read to its end."""
        return bool(self.root) and len(self.grammar) == 1

    def forget(self) -> None:
        """Release all values read: an error may outlive the message it reports."""
        self.pieces.clear()
        self.open.clear()
        self.params = None
        self.value = self.fault = _NONE_YET

    def message(self) -> Message:
        """Return the complete message; raises `WireError` if it is not valid."""
        if self.root == "methodCall":
            if not self.method:
                self._refuse("a call without a method name")
            return MethodCall(method=self.method, params=self.params or [])
        if self.fault is not _NONE_YET:
            return self._fault()
        if self.params is None or len(self.params) != 1:
            self._refuse("a response holds one value or a fault")
        return MethodResponse(value=self.params[0])

    def _enter(self, container: Any) -> None:
        if self.value is not _NONE_YET:
            self._refuse("two values where one is expected")
        self.open.append(container)
        if len(self.open) > self.limits.depth:
            self._refuse(f"nested deeper than {self.limits.depth}")

    def _scalar(self, name: str, tag: str) -> None:
        if self.value is not _NONE_YET:
            self._refuse("two values where one is expected")
        text = "".join(self.pieces)
        try:
            self.value = READERS[name](text)
        except (ValueError, KeyError):
            self._unreadable(name, f"{text[:40]!r} is no {tag[:80]}")

    def _unreadable(self, kind: str, message: str) -> None:
        """Note a value that cannot be read, or refuse it in a call."""
        if self.root != "methodResponse":
            self._refuse(message)
        self._note(message)
        self.value = _UNREADABLE.get(kind, _UNKNOWN)

    def _note(self, message: str) -> None:
        """Report a note at the current path; beyond the number kept it is only counted."""
        has_room = self.report.count(Severity.NOTE) < MAX_PROBLEMS
        self.report.note(self._path() if has_room else "", message)

    def _end_foreign(self, tag: str) -> None:
        """Treat an element with an unknown type as a value that cannot be read."""
        if self.grammar[-1] is not _FOREIGN:
            self._unreadable(tag, f"<{tag[:80]}> is no type of XML-RPC")

    def _end_message_part(self, tag: str) -> None:
        if ":" in tag:
            self._scalar(tag.rpartition(":")[2], tag)
        elif tag == "param" and self.params is not None:
            self.params.append(self._take())
        elif tag == "fault":
            self.fault = self._take()
        elif tag == "methodName":
            self.method = "".join(self.pieces).strip()

    def _take(self) -> Any:
        value = self.value
        if value is _NONE_YET:
            self._refuse("a value is missing")
        self.value = _NONE_YET
        return value

    def _fault(self) -> Fault:
        """Return the fault; a value that is not a struct becomes its string."""
        fault = self.fault if isinstance(self.fault, dict) else {"faultString": self.fault}
        code = fault.get("faultCode")
        return Fault(
            code=code if isinstance(code, int) else _words(code)[:_MAX_CODE] or 0,
            string=_words(fault.get("faultString")),
        )

    def _unusual(self, tag: str, attributes: Mapping[str, str]) -> _Grammar:
        """Return the grammar for an element with an unknown name, or with attributes."""
        around = self.grammar[-1]
        local = tag.rpartition(":")[2]
        inner: _Grammar | None = around.get(local if local in EXTENSIONS else tag)
        if inner is None:
            inner = self._foreign(tag, around)
        elif any(name != "xmlns" and ":" not in name for name in attributes):
            self._refuse(f"<{tag[:80]}> has attributes; XML-RPC has none")
        self.unknown_names.update(attributes, [tag])
        if len(self.unknown_names) > _MAX_UNKNOWN_NAMES:
            self._refuse(f"more than {_MAX_UNKNOWN_NAMES} names that XML-RPC does not have")
        return inner

    def _foreign(self, tag: str, around: _Grammar) -> _Grammar:
        """Begin or continue an element with an unknown type if a value is expected."""
        if self.root != "methodResponse" or (around is not _VALUE and around is not _FOREIGN):
            self._refuse(f"<{tag[:80]}> is not allowed here")
        if self.value is not _NONE_YET:
            self._refuse("two values where one is expected")
        self.count += 1
        if len(self.grammar) > _ELEMENTS * (self.limits.depth + 2):
            self._refuse(f"nested deeper than {self.limits.depth}")
        return _FOREIGN

    def _refuse(self, message: str) -> NoReturn:
        path = self._path()
        raise WireError(Outcome.SYNTAX, f"{path}: {message}" if path else message)

    def _path(self) -> str:
        """Return the current path, such as `normalizations[3].rank`."""
        names = iter(self.names)
        steps = (
            f"[{len(container)}]" if isinstance(container, list) else f".{next(names, None) or '?'}"
            for container in self.open
        )
        return "".join(steps).removeprefix(".")[:200]


def _words(value: object) -> str:
    """Return a member of a fault as text, or its description if it has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    return "" if value is None else described(value)


# -- streaming parser of any XML-RPC message: expat's events, no document tree ---------------------

MAX_MARKUP: Final = 2**20
"""The longest tag, comment or processing instruction, in bytes."""

_BEFORE: Final = re.compile(rb"[ \t\r\n]*+(?:\xef\xbb\xbf[ \t\r\n]*+)*+")  # possessive: no stack
_BEHIND: Final = b"\0 \t\r\n"


class Stream:
    """A parser for a message in chunks; its errors name the reason and the place.

    `charset` is the HTTP header's, in lower case, or None. `report` collects notes that cost
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
        """Read the next bytes, any number, parsing at most `CHUNK` at a time."""
        if not self._begun:
            data = self._without_space(data)
        try:
            for start in range(0, len(data), CHUNK):
                self._take(data[start : start + CHUNK])
        except WireError:
            self._target.forget()
            raise

    def close(self) -> Message:
        """Return the message; raises `WireError` if the message is incomplete."""
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
            raise WireError(Outcome.TOO_LARGE, self._limits.exceeded("values"))

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
