"""Decoding of XML-RPC messages: fed in chunks, bounded, without I/O.

A short plain answer is read at once (`plain`), and anything else as a stream (`stream`), which also
produces the error messages.
"""

from __future__ import annotations

from typing import Final

from metaserver.base.states import Outcome
from metaserver.exchange.wire.charset import UTF8
from metaserver.exchange.wire.plain import BEGINNINGS, plain_response
from metaserver.exchange.wire.report import Report
from metaserver.exchange.wire.stream import Stream
from metaserver.exchange.wire.values import (
    CHUNK,
    Fault,
    FaultError,
    Limits,
    Message,
    MethodCall,
    Value,
    WireError,
)

DEFAULT_LIMITS: Final = Limits()


class Decoder:
    """A decoder of one message from the chunks of a body.

    `feed` takes bytes as they arrive and raises `WireError` when they exceed a limit or, unless
    they begin like a plain answer and are no more than `CHUNK`, as soon as they cannot become a
    message; `close` returns the message. After an error the decoder must not be used again.
    `charset` is that of the HTTP header, in lower case, or None. `report` collects notes.
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
        """Read the next bytes, of any length."""
        self._bytes += len(data)
        if self._bytes > self._limits.bytes:
            raise WireError(Outcome.TOO_LARGE, f"more than {self._limits.bytes:,} bytes")
        plain = bool(self._held) or data.startswith(BEGINNINGS)
        if plain and self._charset in UTF8 and self._stream is None and self._bytes <= CHUNK:
            self._held += data
        else:
            self._streaming().feed(data)

    @property
    def held(self) -> bytearray:
        """The whole body so far where it may be a short plain answer, else nothing."""
        return self._held

    def close(self) -> Message:
        """Return the message; raises `WireError` where the bytes are no complete message."""
        if self._stream is None:
            response = plain_response(bytes(self._held), self._limits)
            if response is not None:
                return response
        return self._streaming().close()

    def response(self) -> Value:
        """Return the value of a complete answer; raises `FaultError` where it is a fault."""
        message = self.close()
        if isinstance(message, Fault):
            raise FaultError(message)
        if isinstance(message, MethodCall):
            raise WireError(Outcome.SYNTAX, "<methodCall> where <methodResponse> is expected")
        return message.value

    def call(self) -> MethodCall:
        """Return a complete request; raises `WireError` where it is an answer."""
        message = self.close()
        if not isinstance(message, MethodCall):
            raise WireError(Outcome.SYNTAX, "<methodResponse> where <methodCall> is expected")
        return message

    def _streaming(self) -> Stream:
        """Return the stream, which is created with the bytes that were held back."""
        if self._stream is None:
            self._stream = Stream(self._limits, self._charset, self._report)
            self._stream.feed(bytes(self._held))
            self._held.clear()
        return self._stream


def decode_response(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Value:
    """Return the value of an answer; raises `WireError`, and `FaultError` where it is a fault."""
    return _decoded(body, limits).response()


def decode_call(body: bytes, limits: Limits = DEFAULT_LIMITS) -> MethodCall:
    """Return a request; raises `WireError`."""
    return _decoded(body, limits).call()


def _decoded(body: bytes, limits: Limits) -> Decoder:
    decoder = Decoder(limits)
    decoder.feed(body)
    return decoder
