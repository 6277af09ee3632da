"""Measuring a request and its answer while they are under way.

aiohttp's own hooks for this (`TraceConfig`) are coroutines, awaited eight times per request, so the
client marks the steps itself: `HttpClient`, the request's body, and the `Connector`, which finds
the exchange by the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from metaserver.base.compression import pack
from metaserver.base.records import Timings
from metaserver.exchange.http.urls import MASK
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import CHUNK

LARGE: Final = 2**20  # bytes; half a million hits, all wrong, take seconds to check
FIRST: Final = frozenset({"begin", "dns_begin", "dns_end", "connect_begin", "connect_end", "sent"})
"""The marks on a request that later requests in the same attempt do not have."""


class Exchange:
    """An attempt's marks (monotonic seconds) and sizes; `raw` returns the answer as received.

    `report` has the reader's notes on the answer. Any of `secrets` in the answer is kept as ***.

    An attempt may take several requests. If a kept-alive connection was closed by the server, or a
    busy server asked to wait, the request is sent again, and only the last time counts; after
    `answered` the next requests poll a job that the server works on: its time is waiting time.
    `bytes_in` counts all answers' bytes, `bytes_opened` those after decompression. `asked_wait` are
    the seconds that a busy server asked to wait when no time was left to do so.
    """

    def __init__(self, max_bytes: int) -> None:
        self.secrets: Sequence[bytes] = ()
        self.asked_wait = 0.0
        self._followed = False
        self._clock = asyncio.get_running_loop().time
        self._max_bytes = max_bytes
        self._taken = self._clock()
        self.bytes_out = 0
        self.bytes_in = 0
        self.bytes_opened = 0
        self.restart()

    def restart(self) -> None:
        """Begin a request: nothing from an earlier answer is kept."""
        self.reused = False
        marks = self._marks if self._followed else {}
        self._marks: dict[str, float] = (
            {name: at for name, at in marks.items() if name in FIRST} if marks else {}
        )
        self._left = self._max_bytes
        self._pending = bytearray()
        self._packed: list[bytes] = []
        self.report = Report()

    def answered(self) -> None:
        """Record that from now on requests belong to an answered request."""
        self._followed = True

    @property
    def stale(self) -> bool:
        """True if the request used a kept-alive connection and no answer has begun."""
        return self.reused and "header" not in self._marks

    @property
    def opened(self) -> int:
        """The number of answer bytes kept, after decompression."""
        return self._max_bytes - self._left

    @property
    def large(self) -> bool:
        """True if the answer takes so long to read and check that it has turns with others."""
        return self.opened > LARGE

    def resumed(self) -> None:
        """Record that the request was sent before the hub was started again."""
        self.mark("begin")
        self.mark("sent")
        self.answered()

    def called_back(self, body: bytes) -> None:
        """Record the answer that the server sent by its own call.

        Its time grows with the body's size.
        """
        self.answered()
        self.restart()
        self.mark("header")
        self.bytes_in += len(body)
        self.keep(body)
        self.mark("last")

    def mark(self, name: str) -> None:
        """Record the present time under a name; the last call counts."""
        if not (self._followed and name in FIRST):
            self._marks[name] = self._clock()

    def connected(self) -> None:
        """Record that the request has a connection: a kept-alive connection if none was created."""
        self.reused = self._followed or "connect_begin" not in self._marks

    def keep(self, data: bytes) -> None:
        """Keep a piece of the answer, up to the limit."""
        self.bytes_opened += len(data)
        piece = data[: self._left]
        self._left -= len(piece)
        self._pending += piece
        if len(self._pending) >= CHUNK:
            self._pack(max(map(len, self.secrets), default=1) - 1)

    def raw(self) -> bytes:
        """Return the bytes kept, as consecutive zstd frames."""
        if self._pending:
            self._pack(0)
        return b"".join(self._packed)

    def _pack(self, held_back: int) -> None:
        """Compress what is pending but for the last bytes, which may begin a secret."""
        for secret in self.secrets:
            self._pending = self._pending.replace(secret, MASK.encode())
        size = len(self._pending) - held_back
        self._packed.append(pack(bytes(self._pending[:size])))
        del self._pending[:size]

    def timings(self) -> Timings:
        """Return each phase's seconds; None for a phase not reached."""
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
