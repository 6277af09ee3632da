"""The hub's exceptions.

MetaserverError
├── InputError          invalid input: an article, a gold file, a URL, a release, a setting
├── RefusedError        a request that an interface refuses; carries a status
├── PeerError           an annotation server's fault; carries the outcome code of the attempt
├── CallbackError       a server's callback that the hub does not take; carries the reason
└── HubError            the hub's own fault: the attempt is not charged to the team
    ├── StaleLaneError     another hub has taken the lane: stop working on it
    ├── ReplacedError      another process leads the hub
    └── UnavailableError   the store cannot take an answer now (disk full, database locked)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum, auto
from pathlib import Path
from typing import Any

from metaserver.base.states import STALL_OUTCOMES, Outcome


class MetaserverError(Exception):
    """Root of the hub's exceptions."""


class InputError(MetaserverError):
    """Invalid input, reported on one line: `place: what is wrong; what was expected`.

    `place` is a file, `file:line`, an option or a setting. The command line exits with status 2.
    """

    def __init__(self, place: str | Path, message: str, *, line: int | None = None) -> None:
        self.place = str(place) if line is None else f"{place}:{line}"
        self.message = message
        super().__init__(f"{self.place}: {message}")


class Refusal(IntEnum):
    """The reason for refusing a request: an HTTP status, also the fault code of XML-RPC."""

    TOKEN = 401  # missing, invalid or expired
    NOT_YOURS = 403
    UNKNOWN = 404  # it does not exist, or the caller may not know of it
    STATE = 409  # not possible in the present state
    TOO_LARGE = 413
    INVALID = 422  # an invalid value; the message names the field
    TOO_MANY = 429  # too many requests


class RefusedError(MetaserverError):
    """A refused request, reported on one line; `field` is the parameter at fault.

    `detail` is what a program needs to continue, JSON-ready; the JSON interface sends it too.
    """

    def __init__(
        self,
        refusal: Refusal,
        message: str,
        *,
        field: str = "",
        retry_after: float | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self.refusal = refusal
        self.message = message
        self.field = field
        self.retry_after = retry_after  # seconds
        self.detail = detail
        super().__init__(f"{field}: {message}" if field else message)


class PeerError(MetaserverError):
    """A failure at the annotation server's side, with the attempt's outcome code.

    `stalled` is the number of seconds the hub stood still while the request was under way.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        self.outcome = outcome
        self.message = message
        self.stalled = 0.0
        super().__init__(f"{outcome}: {message}")

    @property
    def void(self) -> bool:
        """True if it may be the hub's own fault, so that the request is sent again."""
        return self.stalled > 0.0 and self.outcome in STALL_OUTCOMES

    def excuse(self) -> str:
        """Return why a void failure does not count, in one line."""
        return f"the hub stood still for {self.stalled:.1f} s, so this does not count: {self}"


class CallbackFault(Enum):
    """The reason why a callback is not taken."""

    NO_ID = auto()  # it names no communication
    UNKNOWN = auto()  # no communication of this server: another's is not told apart
    CLOSED = auto()  # it was answered before, or is not waited for any more
    EXPIRED = auto()  # it comes after the deadline of its article
    BUSY = auto()  # another callback of the same communication is being read
    NO_DOCUMENT = auto()  # its article is not fetched, or another one was asked for


class CallbackError(MetaserverError):
    """A callback that the hub does not take; what it waits for stays as it is."""

    def __init__(self, fault: CallbackFault, message: str) -> None:
        self.fault = fault
        self.message = message
        super().__init__(message)


class HubError(MetaserverError):
    """The hub's own fault: never charged to a team."""


class StaleLaneError(HubError):
    """The lane's epoch is no longer ours: another hub works on it."""


class ReplacedError(HubError):
    """Another process leads the hub, so that this process may not write as its leader."""


class UnavailableError(HubError):
    """The store cannot be written now, for `reason`; the hub waits and tries again.

    `place`, a file on the hub's machine, is shown at the command line only.
    """

    def __init__(self, reason: str, place: str | Path | None = None) -> None:
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)

    def advice(self, seconds: float) -> str:
        """Return why no change can be stored now, and in how many `seconds` to try again."""
        return (
            f"no change can be stored until this is over: {self.reason}; check whether this change"
            f" was made, and if not, try again in {seconds:.0f} s"
        )


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, as in `1 server` and `2 servers`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(texts: Sequence[object], most: int = 20) -> str:
    """Return the first of some texts, and how many follow.

    Example: `listed(["a", "b", "c"], 2)` returns `"a; b (and 1 more)"`.
    """
    more, first = len(texts) - most, "; ".join(map(str, texts[:most]))
    return f"{first} (and {more} more)" if more > 0 else first
