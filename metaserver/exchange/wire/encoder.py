"""Encoding of XML-RPC messages: strings joined, nothing parsed, without I/O.

Every string keeps its white space (a carriage return is sent as a character reference, because an
XML parser would turn it into a line feed). A value that XML-RPC cannot carry raises `EncodeError`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

from metaserver.exchange.wire.values import FORBIDDEN, INT32, INT64, EncodeError, Limits, Value

_DECLARATION: Final = "<?xml version='1.0' encoding='UTF-8'?>"
_DEPTH: Final = Limits().depth


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTemplate:
    """A request without its article: the body is `prefix`, the escaped text, `suffix`.

    A text escaped once (`escape_text`) is shared by all servers and attempts, and the length of a
    body is known before the body is built.
    """

    prefix: bytes
    suffix: bytes

    def body(self, text: bytes) -> bytes:
        """Return the request's body around an escaped text."""
        return b"".join((self.prefix, text, self.suffix))


def call_template(
    method: str, context: Mapping[str, Value] | None = None, secret: str | None = None
) -> CallTemplate:
    """Return the request to `method` for a text and, if `context` is given, a context struct.

    A `secret` is sent as a string before the text.
    """
    params: list[Value] = [""] if context is None else ["", context]
    first = [] if secret is None else [secret]
    request = encode_call(method, [*first, *params])
    head, *tags = request.split(b"<string></string>", 1)
    return CallTemplate(prefix=head + b"<string>", suffix=b"</string>" + tags[0])


def escape_text(text: str) -> bytes:
    """Return an article's text as it is sent in a request: UTF-8, escaped.

    A character that XML forbids becomes U+FFFD, one code point for one, so that offsets hold.
    """
    return _escaped(FORBIDDEN.sub("\ufffd", text)).encode()


def unescape_text(text: bytes) -> str:
    """Return the text that `escape_text` escaped, with U+FFFD for what XML forbids."""
    plain = text.decode().replace("&#13;", "\r").replace("&gt;", ">").replace("&lt;", "<")
    return plain.replace("&amp;", "&")


def encode_call(method: str, params: Sequence[Value], *, nil: bool = False) -> bytes:
    """Return a request; `nil` allows None, which only some peers understand."""
    inside = "".join(f"<param>{_encoded(param, nil)}</param>" for param in params)
    name = _text(method)
    return (
        f"{_DECLARATION}<methodCall><methodName>{name}</methodName><params>{inside}</params></methodCall>"
    ).encode()


def encode_response(value: Value, *, nil: bool = False) -> bytes:
    """Return an answer that holds `value`."""
    inside = _encoded(value, nil)
    return (
        f"{_DECLARATION}<methodResponse><params><param>{inside}</param></params></methodResponse>"
    ).encode()


def encode_fault(code: int, string: str) -> bytes:
    """Return an answer that is a fault."""
    inside = _encoded({"faultCode": code, "faultString": string}, nil=False)
    return f"{_DECLARATION}<methodResponse><fault>{inside}</fault></methodResponse>".encode()


def _encoded(value: Value, nil: bool) -> str:
    pieces: list[str] = []
    _Encoder(pieces.append, nil).write(value)
    return "".join(pieces)


def _escaped(text: str) -> str:
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    )


def _text(text: str) -> str:
    if text.isalnum():  # an accession, a plain word: nothing to escape, nothing forbidden
        return text
    # Nothing printable is forbidden, and isprintable is many times faster than the expression.
    if not text.isprintable() and (bad := FORBIDDEN.search(text)):
        raise EncodeError(f"XML cannot carry U+{ord(bad[0]):04X} in {text[:40]!r}")
    return _escaped(text)


def _string(value: str) -> str:
    return f"<value><string>{_text(value)}</string></value>"


def _integer(value: int) -> str:
    if -INT32 <= value < INT32:
        return f"<value><int>{value:d}</int></value>"
    if -INT64 <= value < INT64:
        return f"<value><i8>{value:d}</i8></value>"
    raise EncodeError(f"an integer beyond 64 bits: {value.bit_length()} bits")


def _double(value: float) -> str:
    if not isfinite(value):
        raise EncodeError(f"XML-RPC has no {value!r}")
    return f"<value><double>{float.__repr__(value)}</double></value>"


def _boolean(value: bool) -> str:
    return f"<value><boolean>{value:d}</boolean></value>"


def _moment(value: datetime) -> str:
    if value.tzinfo is not None:  # the type has no zone: the contract says UTC
        value = value.astimezone(UTC)
    stamp = f"{value.year:04}{value:%m%dT%H:%M:%S}"
    return f"<value><dateTime.iso8601>{stamp}</dateTime.iso8601></value>"


def _binary(value: bytes) -> str:
    return f"<value><base64>{b64encode(value).decode()}</base64></value>"


_SCALARS: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: _boolean,  # before int, which it is one of
    str: _string,
    int: _integer,
    float: _double,
    bytes: _binary,
    datetime: _moment,
}


class _Encoder:
    """An encoder of one value and its members; member names are kept with their markup."""

    def __init__(self, write: Callable[[str], None], nil: bool) -> None:
        self._write = write
        self._nil = nil
        self._names: dict[str, str] = {}
        self._depth = 0

    def write(self, value: Value) -> None:
        scalar = _SCALARS.get(type(value))
        if scalar is not None:
            self._write(scalar(value))
        elif isinstance(value, dict | Mapping):  # dict first: a tenth of the time
            self._struct(value)
        elif isinstance(value, list | tuple):
            self._array(value)
        elif value is None and self._nil:
            self._write("<value><nil/></value>")
        else:
            self._write(_scalar_of_subclass(value))

    def _struct(self, struct: Mapping[str, Any]) -> None:
        self._enter()
        write, names = self._write, self._names
        write("<value><struct>")
        for name, value in struct.items():
            opening = names.get(name)
            if opening is None:
                opening = names[name] = f"<member><name>{_text(name)}</name>"
            # The three types of a hit's members are written here: a call each would cost a third.
            kind = type(value)
            if kind is str:
                text = value if value.isalnum() else _text(value)
                write(f"{opening}<value><string>{text}</string></value></member>")
            elif kind is int and -INT32 <= value < INT32:
                write(f"{opening}<value><int>{value}</int></value></member>")
            elif kind is float and isfinite(value):
                write(f"{opening}<value><double>{value!r}</double></value></member>")
            else:
                write(opening)
                self.write(value)
                write("</member>")
        write("</struct></value>")
        self._depth -= 1

    def _array(self, array: Sequence[Value]) -> None:
        self._enter()
        self._write("<value><array><data>")
        for value in array:
            self.write(value)
        self._write("</data></array></value>")
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise EncodeError(f"nested deeper than {_DEPTH}")


def _scalar_of_subclass(value: object) -> str:
    """Encode an enum's member, a NumPy double and the like as the plain type they extend."""
    for kind, scalar in _SCALARS.items():
        if isinstance(value, kind):
            return scalar(value)
    raise EncodeError(f"XML-RPC has no type for {type(value).__name__}")
