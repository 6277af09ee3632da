"""Any XML-RPC message read from a stream of chunks: expat's events, no document tree.

Accepted beyond the specification (http://xmlrpc.com/spec.md), because peers send it: `i8` and
`nil`, both also in the Apache extension namespace with its `i1`, `i2` and `float`; exponents in
`double`; `true` and `false` in `boolean`; white space around numbers; members in any order; a
missing XML declaration; an array without `data`; 64 bits in `int`. Refused: a document type,
attributes, unknown elements, NaN and infinities, integers beyond 64 bits.

Not lxml: libxml2 keeps every name it meets in a table of the thread's, also those of attributes and
processing instructions, and once a peer has filled it, nobody's answers are read any more.
"""

from __future__ import annotations

from codecs import IncrementalDecoder
from collections.abc import Mapping
from typing import Any, Final, NoReturn
from xml.parsers import expat

from metaserver.lifecycle import Outcome
from metaserver.wire.charset import HEAD, NATIVE, declared, transcoder
from metaserver.wire.scalars import EXTENSIONS, READERS
from metaserver.wire.values import (
    CHUNK,
    Fault,
    Limits,
    Message,
    MethodCall,
    MethodResponse,
    WireError,
)

# What may stand in an element, as tables that lead to one another: the grammar of a message.
_Grammar = dict[str, Any]
_TEXT: Final[_Grammar] = {}
_VALUE: Final[_Grammar] = dict.fromkeys(READERS, _TEXT)
_DATA: Final[_Grammar] = {"value": _VALUE}
_ARRAY: Final[_Grammar] = {"data": _DATA}
_MEMBER: Final[_Grammar] = {"name": _TEXT, "value": _VALUE}
_STRUCT: Final[_Grammar] = {"member": _MEMBER}
_VALUE.update(struct=_STRUCT, array=_ARRAY)
_PARAMS: Final[_Grammar] = {"param": {"value": _VALUE}}
_MESSAGE: Final[_Grammar] = {
    "methodResponse": {"params": _PARAMS, "fault": {"value": _VALUE}},
    "methodCall": {"methodName": _TEXT, "params": _PARAMS},
}

_NONE_YET: Final = object()

MAX_MARKUP: Final = 2**20
"""The longest tag, comment or processing instruction, in bytes."""

_MAX_PREFIXED: Final = 32
"""How many names with a prefix a message may have: the parser keeps them while it lives."""


class _Target:
    """Builds values from the parser's events.

    The three hot methods, called 14 times for a hit, are kept to plain list and dict operations.
    `pieces` is the text since the last start of a text element, `value` the value that was read
    and not yet put in its place, `open` the containers around it and `names` the member names on
    the way to it.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.grammar = [_MESSAGE]
        self.open: list[Any] = []
        self.names: list[str | None] = []
        self.known_names: dict[str, str] = {}
        self.prefixed: set[str] = set()
        self.pieces: list[str] = []
        self.data = self.pieces.append
        self.value: Any = _NONE_YET
        self.count = 0
        self.root = ""
        self.method: str | None = None
        self.params: list[Any] | None = None
        self.fault: Any = _NONE_YET

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
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
        grammar = self.grammar
        grammar.pop()
        if tag == "value":
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
            self.open[-1][self.names.pop()] = self.value
            self.value = _NONE_YET
        elif tag in {"struct", "array"}:
            self.value = self.open.pop()
        else:
            self._end_message_part(tag)

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        """Refuse, before Python looks for it, an encoding that was not seen to be declared."""
        if encoding is not None and encoding.lower() not in NATIVE:
            self._refuse(f"the encoding {encoding[:40]!r} is not known")

    def doctype(self, *_: object) -> None:
        self._refuse("a document type is not allowed")

    def forget(self) -> None:
        """Let go of all that was read: an error may live longer than what it tells of."""
        self.pieces.clear()
        self.open.clear()
        self.params = None
        self.value = self.fault = _NONE_YET

    def message(self) -> Message:
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
            self._refuse(f"{text[:40]!r} is no {tag[:80]}")

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
        if not isinstance(self.fault, dict):
            self._refuse("a fault is a struct of faultCode and faultString")
        code = self.fault.get("faultCode", 0)
        string = self.fault.get("faultString", "")
        return Fault(code=code if isinstance(code, int) else str(code), string=str(string))

    def _unusual(self, tag: str, attributes: Mapping[str, str]) -> _Grammar:
        """Return what may stand in an element that declares a namespace or has a prefix."""
        if any(name != "xmlns" and not name.startswith("xmlns:") for name in attributes):
            self._refuse(f"<{tag[:80]}> has attributes; XML-RPC has none")
        local = tag.rpartition(":")[2]
        inner: _Grammar | None = self.grammar[-1].get(local if local in EXTENSIONS else tag)
        if inner is None:
            self._refuse(f"<{tag[:80]}> is not allowed here")
        self.prefixed.update(attributes, [tag])
        if len(self.prefixed) > _MAX_PREFIXED:
            self._refuse(f"more than {_MAX_PREFIXED} names with a prefix")
        return inner

    def _refuse(self, message: str) -> NoReturn:
        path = self._path()
        raise WireError(Outcome.XML, f"{path}: {message}" if path else message)

    def _path(self) -> str:
        """Where reading stands, as in `normalizations[3].rank`."""
        names = iter(self.names)
        steps = (
            f"[{len(container)}]" if isinstance(container, list) else f".{next(names, None) or '?'}"
            for container in self.open
        )
        return "".join(steps).removeprefix(".")[:200]


class Stream:
    """Reads one message from chunks; its errors say why something is none, and where.

    `feed` and `close` raise `WireError`; after an error the stream is of no further use.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._target = _Target(limits)
        self._parser: expat.XMLParserType | None = None
        self._decoder: IncrementalDecoder | None = None
        self._held = bytearray()
        self._wanted = HEAD
        self._fed = 0

    def feed(self, data: bytes) -> None:
        """Read the next bytes; any length, parsed at most `CHUNK` at a time."""
        try:
            for start in range(0, len(data), CHUNK):
                self._take(data[start : start + CHUNK])
        except WireError:
            self._target.forget()
            raise

    def close(self) -> Message:
        """Return the message; raises `WireError` where the bytes so far are no whole message."""
        try:
            self._parse(bytes(self._held), last=True)
            return self._target.message()
        finally:
            self._target.forget()

    def _take(self, chunk: bytes) -> None:
        """Parse what has come, unless it is only more of what could not be read to its end.

        Expat would begin with that again each time; waiting until it has doubled keeps the work
        in proportion to its length, in however small pieces it comes.
        """
        self._held += chunk
        held = len(self._held)
        waits = held < self._wanted and held + self._wanted <= MAX_MARKUP
        if waits and (self._parser or b">" not in chunk):
            return
        data = bytes(self._held)
        self._held.clear()
        self._parse(data, last=False)

    def _parse(self, data: bytes, *, last: bool) -> None:
        parser = self._parser or self._begun(data)
        if self._decoder is not None:
            data = self._transcoded(data, last)
        try:
            parser.Parse(data, last)
        except expat.ExpatError as error:
            words = str(error).replace("not well-formed (invalid token)", "invalid token")
            raise WireError(Outcome.XML, f"not well-formed XML: {words}") from error
        self._fed += len(data)
        self._wanted = self._fed - parser.CurrentByteIndex
        if self._wanted > MAX_MARKUP:
            raise WireError(Outcome.XML, f"a tag or comment of more than {MAX_MARKUP:,} bytes")
        if self._target.count > self._limits.values:
            raise WireError(Outcome.TOO_LARGE, f"more than {self._limits.values:,} values")

    def _begun(self, head: bytes) -> expat.XMLParserType:
        """Return the parser for a message that begins so."""
        name = declared(head[:HEAD])
        if name is not None and name not in NATIVE:
            self._decoder = transcoder(name)
        target = self._target
        parser = self._parser = expat.ParserCreate("utf-8" if self._decoder else None)
        parser.buffer_text = True  # or character references would arrive one by one
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
            raise WireError(Outcome.XML, f"not the declared encoding: {error}"[:200]) from error
