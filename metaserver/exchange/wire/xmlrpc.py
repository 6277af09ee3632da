"""The XML-RPC codec: bytes to values and back, bounded, without I/O.

Decoding: `Decoder` is fed as bytes arrive (through an `Inflater` where they are compressed);
`decode_response` and `decode_call` take a whole body. Encoding: `encode_call`, `encode_response`,
`encode_fault`, and `call_template` with `escape_text` for requests that share one article.
docs/adr/0003-xmlrpc-codec.md says why the hub has its own codec.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

from metaserver.base.states import Outcome
from metaserver.exchange.wire.charset import UTF8
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.stream import Stream
from metaserver.exchange.wire.values import (
    CHUNK,
    FORBIDDEN,
    INT32,
    INT64,
    EncodeError,
    Fault,
    FaultError,
    Limits,
    Message,
    MethodCall,
    Value,
    WireError,
)

# -- decoding of XML-RPC messages: fed in chunks, bounded, without I/O -----------------------------
# A short answer is held until it is complete, so that `usual` can read it by patterns; all else is
# read as it arrives (`stream`).

DEFAULT_LIMITS: Final = Limits()
BEGINNINGS: Final = (b"<?xml", b"<methodResponse>")
"""The first bytes of a usual answer; other answers need not be held back."""


class Decoder:
    """A decoder for a message from a body's chunks.

    `feed` takes bytes as they arrive and raises `WireError` when they exceed a limit or, unless
    they begin like a usual answer and are no more than `CHUNK`, as soon as they cannot become a
    message; `close` returns the message. After an error the decoder must not be used again.
    `charset` is the HTTP header's, in lower case, or None. `report` collects notes.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        *,
        charset: str | None = None,
        report: Report | None = None,
    ) -> None:
        self._limits = limits
        self._charset = charset
        self._report = report
        self._bytes = 0
        self._held = bytearray()
        self._stream: Stream | None = None

    def feed(self, data: bytes) -> None:
        """Read the next bytes, any number."""
        self._bytes += len(data)
        if self._bytes > self._limits.bytes:
            raise WireError(Outcome.TOO_LARGE, self._limits.exceeded("bytes"))
        usual = bool(self._held) or data.startswith(BEGINNINGS)
        if usual and self._charset in UTF8 and self._stream is None and self._bytes <= CHUNK:
            self._held += data
        else:
            self._streaming().feed(data)

    @property
    def held(self) -> bytearray:
        """The whole body so far where it may be a short usual answer, else nothing."""
        return self._held

    def close(self) -> Message:
        """Return the message; raises `WireError` where the bytes are no complete message."""
        return self._streaming().close()

    def response(self) -> Value:
        """Return a complete answer's value; raises `FaultError` if it is a fault."""
        message = self.close()
        if isinstance(message, Fault):
            raise FaultError(message)
        if isinstance(message, MethodCall):
            raise WireError(Outcome.SYNTAX, "got <methodCall>; expected <methodResponse>")
        return message.value

    def call(self) -> MethodCall:
        """Return a complete request; raises `WireError` if it is an answer."""
        message = self.close()
        if not isinstance(message, MethodCall):
            raise WireError(Outcome.SYNTAX, "got <methodResponse>; expected <methodCall>")
        return message

    def _streaming(self) -> Stream:
        """Return the stream, which is created with the bytes that were held back."""
        if self._stream is None:
            self._stream = Stream(self._limits, self._charset, self._report)
            self._stream.feed(bytes(self._held))
            self._held.clear()
        return self._stream


def decode_response(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Value:
    """Return an answer's value; raises `WireError`, and `FaultError` if it is a fault.

    >>> decode_response(encode_response({"rank": 1}))
    {'rank': 1}
    """
    return _decoded(body, limits).response()


def decode_call(body: bytes, limits: Limits = DEFAULT_LIMITS) -> MethodCall:
    """Return a request; raises `WireError`.

    >>> decode_call(encode_call("Annotator.getAnnotation", ["MDM2 binds p53."])).params
    ['MDM2 binds p53.']
    """
    return _decoded(body, limits).call()


def _decoded(body: bytes, limits: Limits) -> Decoder:
    decoder = Decoder(limits)
    decoder.feed(body)
    return decoder


# -- encoding of XML-RPC messages: strings joined, nothing parsed, without I/O ---------------------
# Every string keeps its white space (a carriage return is sent as a character reference, because
# an XML parser would turn it into a line feed). A value that XML-RPC cannot carry raises
# `EncodeError`.

_DECLARATION: Final = "<?xml version='1.0' encoding='UTF-8'?>"
_DEPTH: Final = Limits().depth


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTemplate:
    """A request without its article: the body is `prefix`, the escaped text, `suffix`.

    A text escaped once (`escape_text`) is shared by all servers and attempts, and a body's length
    is known before it is built.
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
    """Return an article's text as sent in a request: UTF-8, escaped.

    A character that XML forbids becomes U+FFFD, a single code point, so that offsets hold.

    Example: `escape_text("p < 0.05")` returns `b"p &lt; 0.05"`.
    """
    return _escaped(FORBIDDEN.sub("\ufffd", text)).encode()


def unescape_text(text: bytes) -> str:
    """Return the text that `escape_text` escaped, with U+FFFD for what XML forbids."""
    plain = text.decode().replace("&#13;", "\r").replace("&gt;", ">").replace("&lt;", "<")
    return plain.replace("&amp;", "&")


def encode_call(method: str, params: Sequence[Value], *, nil: bool = False) -> bytes:
    """Return a request; `nil` allows None, which only some peers understand.

    >>> encode_call("f", [True]).decode().partition("<methodCall>")[2]
    '<methodName>f</methodName><params><param><value><boolean>1</boolean></value></param></params></methodCall>'
    """
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
    """An encoder for a value and its members; member names are kept with their markup."""

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


# -- decompression of answers in bounded steps: a decompression bomb stops at the limit ------------

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""The Content-Encoding values that `Inflater` decompresses (RFC 9110, section 8.4.1)."""

MAX_STREAMS = 1_000
"""The maximum number of gzip streams in a body: millions of empty streams would fit."""

_GZIP = b"\x1f\x8b"
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS


class Inflater:
    """A decompressor for a gzip or zlib stream; `feed` yields at most `CHUNK` bytes at a time.

    A `deflate` stream is also read without its zlib header: RFC 9110, section 8.4.1.2, notes that
    servers omit it. The caller counts the bytes (as `Decoder` does) and stops; nothing is
    decompressed ahead. Raises `WireError`: `syntax` on a broken stream, and in `close` on a
    truncated stream; `too_large` on too many streams.
    """

    def __init__(self, encoding: str = "gzip") -> None:
        self._format = None if encoding == "deflate" else _ZLIB_OR_GZIP  # not known yet
        self._stream = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._first = b""
        self._started = False
        self._streams = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed `data`; consume all of it before the next call."""
        if self._format is None:
            data = self._detect_format(data)
        full = False  # zlib may hold more output, although it has taken all of `data`
        while data or (full and not self._stream.eof):
            if self._stream.eof:  # gzip members may follow one another (RFC 1952, section 2.2)
                self._next_stream()
            try:
                opened = self._stream.decompress(data, CHUNK)
            except zlib.error as error:
                raise WireError(
                    Outcome.SYNTAX, f"the compressed body is broken: {error}"
                ) from error
            self._started = True
            data = self._stream.unconsumed_tail or self._stream.unused_data
            full = len(opened) == CHUNK
            if opened:
                yield opened

    def _detect_format(self, data: bytes) -> bytes:
        """Return the bytes to decompress, once the first two show the format."""
        data = self._first + data
        if len(data) < 2:
            self._first, self._started = data, bool(data)
            return b""
        self._format = _ZLIB_OR_GZIP if data.startswith(_GZIP) or _is_zlib(data) else _RAW
        self._stream = zlib.decompressobj(self._format)
        return data

    def _next_stream(self) -> None:
        self._streams += 1
        if self._streams > MAX_STREAMS:
            raise WireError(Outcome.TOO_LARGE, f"more than {MAX_STREAMS:,} gzip streams")
        self._stream = zlib.decompressobj(self._format or _ZLIB_OR_GZIP)

    def close(self) -> None:
        """Check that the stream is complete; raises `WireError` if not."""
        if self._started and not self._stream.eof:
            raise WireError(Outcome.SYNTAX, "the compressed body ends before its data are complete")


def _is_zlib(data: bytes) -> bool:
    """Return whether two bytes are a zlib header: its method, and its check (RFC 1950, 2.2)."""
    return data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
