"""Values of curators' requests: what is asked, of which servers, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from metaserver.base.records import ServerName
from metaserver.base.states import Outcome


class RequestState(StrEnum):
    """The state of a request."""

    RECEIVED = "received"  # in the queue
    ASKING = "asking"  # servers are asked
    ANSWERED = "answered"  # all that could be asked have ended
    EXPIRED = "expired"  # its deadline has passed; answers that still arrive are late
    CANCELLED = "cancelled"  # by its curator
    FAILED = "failed"  # no server could be asked


UNFINISHED = frozenset({RequestState.RECEIVED, RequestState.ASKING})
"""The states of requests that a hub that is started again goes on with."""


class AskedState(StrEnum):
    """The state of one server in a request."""

    WAITING = "waiting"  # for its turn
    BUSY = "busy"  # with a challenge, whose articles come first
    ASKED = "asked"  # the article was sent
    AGAIN = "again"  # sent a second time after a failure
    ANSWERED = "answered"
    FAILED = "failed"
    NOT_ASKED = "not asked"  # the message says why


ENDED = frozenset({AskedState.ANSWERED, AskedState.FAILED, AskedState.NOT_ASKED})
"""The states that do not change any more."""


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a request: tasks and servers (none: all), and how answers are combined.

    `process` is the process of the hub that works on it. `from_pdf`: its text was read out of a
    PDF.
    """

    tasks: tuple[str, ...] = ()
    servers: tuple[ServerName, ...] = ()
    deadline: float = 120.0
    method: str = "auto"
    weights: Mapping[str, float] = {}
    threshold: float | None = None
    cutoff: int = 30
    process: str = ""
    from_pdf: bool = False


class AskedServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server in a request; `since` is the time of its state (Unix seconds).

    `seconds` is what its last attempt took, `hits` the number of hits of its answer; `late`: it
    came after the deadline.
    """

    server: ServerName
    team: str
    state: AskedState
    since: float
    outcome: Outcome | None = None
    message: str = ""
    seconds: float | None = None
    hits: int = 0
    late: bool = False
