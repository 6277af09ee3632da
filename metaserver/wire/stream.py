"""Any XML-RPC message read from a stream of chunks: an lxml parser target, no document tree.

Accepted beyond the specification (http://xmlrpc.com/spec.md), because peers send it: `i8` and
`nil`, both also in the Apache extension namespace with its `i1`, `i2` and `float`; exponents in
`double`; `true` and `false` in `boolean`; white space around numbers; members in any order; a
missing XML declaration; an array without `data`; 64 bits in `int`. Refused: a document type,
attributes, unknown elements, NaN and infinities, integers beyond 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from lxml import etree

from metaserver.lifecycle import Outcome
from metaserver.wire.scalars import APACHE, READERS
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
            self._refuse_element(tag, attributes)
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
            if self.value is not _NONE_YET:
                self._refuse("two values where one is expected")
            try:
                self.value = READERS[tag]("".join(self.pieces))
            except (ValueError, KeyError):
                self._refuse_text(tag)
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

    def doctype(self, *_: object) -> None:
        self._refuse("a document type is not allowed")

    def close(self) -> None:
        """Do nothing: lxml also calls it after an error, so the message is asked for apart."""

    def forget(self) -> None:
        """Let go of all that was read: lxml's parser lives until the next garbage collection."""
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

    def _end_message_part(self, tag: str) -> None:
        if tag == "param" and self.params is not None:
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

    def _refuse_element(self, tag: str, attributes: Mapping[str, str]) -> NoReturn:
        if attributes:
            self._refuse(f"<{tag[:80]}> has attributes; XML-RPC has none")
        self._refuse(f"<{tag[:80]}> is not allowed here")

    def _refuse_text(self, tag: str) -> NoReturn:
        text = "".join(self.pieces)
        self._refuse(f"{text[:40]!r} is no {tag.replace(APACHE, 'ex:')}")

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
        # libxml2's own limits stay on: 10 MB for a tag, 256 elements deep (64 structs make 198).
        target: Any = self._target  # lxml's stubs ask for more methods than lxml does
        self._parser = etree.XMLParser(target=target, resolve_entities=False, no_network=True)
        self._joined = 0

    def feed(self, data: bytes) -> None:
        """Read the next bytes; any length, parsed at most `CHUNK` at a time."""
        try:
            for start in range(0, len(data), CHUNK):
                self._parse(data[start : start + CHUNK])
        except WireError:
            self._target.forget()
            raise

    def close(self) -> Message:
        """Return the message; raises `WireError` where the bytes so far are no whole message."""
        try:
            self._parser.close()
            return self._target.message()
        except etree.LxmlError as error:
            raise _not_xml(error) from error
        finally:
            self._target.forget()

    def _parse(self, chunk: bytes) -> None:
        try:
            self._parser.feed(chunk)
        except etree.LxmlError as error:
            raise _not_xml(error) from error
        target = self._target
        if target.count > self._limits.values:
            raise WireError(Outcome.TOO_LARGE, f"more than {self._limits.values:,} values")
        # Character references arrive one by one: join them a chunk, so that they cannot pile up.
        target.pieces[self._joined :] = ["".join(target.pieces[self._joined :])]
        self._joined = len(target.pieces)


def _not_xml(error: etree.LxmlError) -> WireError:
    return WireError(Outcome.XML, f"not well-formed XML: {error}")
