"""Measurements of one request and its answer, taken while they are under way.

aiohttp's own hooks for this (`TraceConfig`) are coroutines, awaited eight times a request, so the
client marks the steps itself: `HttpClient`, the body of the request, and the `Connector`, which
finds the exchange by the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from metaserver.files.compression import pack
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import Timings
from metaserver.wire.report import Report
from metaserver.wire.xmlrpc import CHUNK

Shortcut: TypeAlias = Callable[[bytes | bytearray], CheckedAnswer | None]
"""A reader of an answer's whole body, in one step; it raises nothing and declines with None."""


class Exchange:
    """The marks (monotonic seconds) and sizes of one request; `raw` returns the answer as received.

    `report` has the notes that the decoder made on the answer. A short body is given to
    `usual` first: what that returns is `checked`, None where the answer is to be decoded.

    One exchange may take several requests: where a kept-alive connection was closed by the server,
    or a busy server asked to wait, the request is sent again, and only the last time counts.
    `bytes_in` counts the bytes of all answers.
    """

    def __init__(self, max_bytes: int, usual: Shortcut = lambda _: None) -> None:
        self.usual = usual
        self._clock = asyncio.get_running_loop().time
        self._max_bytes = max_bytes
        self._taken = self._clock()
        self.bytes_out = 0
        self.bytes_in = 0
        self.restart()

    def restart(self) -> None:
        """Begin the request again: nothing of an earlier answer is kept."""
        self.reused = False
        self._marks: dict[str, float] = {}
        self._left = self._max_bytes
        self._pending = bytearray()
        self._packed: list[bytes] = []
        self.report = Report()
        self.checked: CheckedAnswer | None = None

    @property
    def stale(self) -> bool:
        """True where the request used a kept-alive connection and no answer has begun."""
        return self.reused and "header" not in self._marks

    @property
    def opened(self) -> int:
        """The number of the answer's bytes that were kept, after decompression."""
        return self._max_bytes - self._left

    def mark(self, name: str) -> None:
        """Record the present time under a name; the last call counts."""
        self._marks[name] = self._clock()

    def connected(self) -> None:
        """Record that the request has a connection: a kept-alive one where none was created."""
        self.reused = "connect_begin" not in self._marks

    def keep(self, data: bytes) -> None:
        """Keep a piece of the answer, up to the limit."""
        piece = data[: self._left]
        self._left -= len(piece)
        self._pending += piece
        if len(self._pending) >= CHUNK:
            self._pack()

    def raw(self) -> bytes:
        """Return the bytes kept, as consecutive zstd frames."""
        if self._pending:
            self._pack()
        return b"".join(self._packed)

    def _pack(self) -> None:
        self._packed.append(pack(bytes(self._pending)))
        self._pending.clear()

    def timings(self) -> Timings:
        """Return the seconds of each phase; a phase that was not reached is None."""
        now = self._clock()
        begin = self._marks.get("begin", now)
        last = self._marks.get("last", now)
        dns = self._between("dns_begin", "dns_end")
        connect = self._between("connect_begin", "connect_end")
        connected = self._marks.get("connect_end", begin)
        return Timings(
            queue=begin - self._taken,
            dns=dns,
            connect=None if connect is None else connect - (dns or 0.0),
            send=self._since(connected, "sent"),
            wait=self._between("sent", "header"),
            transfer=self._between("header", "last"),
            parse=None if "last" not in self._marks else now - last,
            total=last - begin,
        )

    def _between(self, first: str, second: str) -> float | None:
        return self._since(self._marks[first], second) if first in self._marks else None

    def _since(self, begin: float, name: str) -> float | None:
        return max(0.0, self._marks[name] - begin) if name in self._marks else None
