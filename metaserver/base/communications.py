"""Communications: requests that a server acknowledges at once and answers later, by itself."""

from __future__ import annotations

from dataclasses import dataclass

from metaserver.base.records import ArticleId


@dataclass(frozen=True, kw_only=True, slots=True)
class Callback:
    """An answer that a server brings by itself: its format ("json") and its body."""

    format: str
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchanged:
    """The article that a communication is about, and the attempt for which it was begun.

    `scope` is what the attempt belongs to, so that a hub that is started again finds the
    communication; empty: nobody goes on with it.
    """

    article: ArticleId
    number: int
    scope: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Communication:
    """A stored communication with a server. Times are Unix seconds.

    `id` is random: 31 bits, because servers read it as a 32-bit integer. `acknowledged_at` is None
    until the server has it, `answered_at` until its callback is stored, `closed_at` until the hub
    waits no longer. `packed` is the callback's body, compressed, if it is still needed.
    """

    id: int
    server_id: int
    about: Exchanged
    opened_at: float
    expires_at: float
    acknowledged_at: float | None = None
    answered_at: float | None = None
    closed_at: float | None = None
    format: str = ""
    packed: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallingServer:
    """A server that a callback comes from, as its key says."""

    id: int
    name: str
