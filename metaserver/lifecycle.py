"""States and outcome codes, and what follows from them, as tables."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How one attempt ended: one word, shown the same everywhere."""

    OK = "ok"  # every hit kept
    PARTIAL = "partial"  # some hits dropped, the valid rest kept
    DNS = "dns"  # the host name did not resolve
    CONNECT = "connect"  # no connection, or it was lost before the answer was whole
    TLS = "tls"  # the TLS handshake failed
    TIMEOUT = "timeout"  # no whole answer within the article's time limit
    HTTP = "http"  # a status other than 200, or not HTTP
    TOO_LARGE = "too_large"  # the answer passed the size limit
    XML = "xml"  # not XML, or not XML-RPC
    FAULT = "fault"  # the server answered with an XML-RPC fault
    SHAPE = "shape"  # a value is not of the agreed type
    NO_VALID_HIT = "no_valid_hit"  # hits were sent, and none could be kept
    CANCELLED = "cancelled"  # by the hub or the team: never counted against the team


class ServerState(StrEnum):
    """What the monitor says of a server."""

    WAITING = "waiting"  # no attempt yet
    UP = "up"  # its last attempts were answered
    SLOW = "slow"  # it answers, but the median answer takes more than half of the time limit
    DOWN = "down"  # its circuit is open: probed, not sent articles
    PAUSED = "paused"  # by the team
    SUSPENDED = "suspended"  # by the organiser
    FINISHED = "finished"  # its queue is empty


ANSWERED = frozenset({Outcome.OK, Outcome.PARTIAL})
"""The outcomes after which an article is done for a lane."""
