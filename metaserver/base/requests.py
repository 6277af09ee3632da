"""Curators' requests: what is asked, which servers answer, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from metaserver.base.publications import UNKNOWN, Publication
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome


class RequestState(StrEnum):
    """A request's state."""

    RECEIVED = "received"  # in the queue
    ASKING = "asking"  # servers are asked
    ANSWERED = "answered"  # all that could be asked have ended
    EXPIRED = "expired"  # its deadline has passed; answers that still arrive are late
    CANCELLED = "cancelled"  # by its curator
    FAILED = "failed"  # no server could be asked


UNFINISHED = frozenset({RequestState.RECEIVED, RequestState.ASKING})
"""The request states that a restarted hub resumes."""


class AskedState(StrEnum):
    """A server's state in a request."""

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
    """Options of a request: tasks and servers (empty: all), and how answers are combined.

    `process` is the hub process that works on it. `from_pdf`: its text was read out of a PDF.
    `publication` is what is known of its publication.
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
    publication: Publication = UNKNOWN


class AskedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server in a request; `since` is when its state began (Unix seconds).

    `seconds` is what its last attempt took, `hits` its answer's number of hits; `late`: it came
    after the deadline.
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
