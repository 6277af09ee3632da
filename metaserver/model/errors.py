"""Every exception the hub raises on purpose.

MetaserverError
├── InputError          what the user gave: an article, a gold file, a URL, a release, a setting
├── RefusedError        a request of an interface that cannot be done; carries a status
├── PeerError           an annotation server's fault; carries the outcome code of the attempt
└── HubError            ours: the attempt is not charged to the team
    ├── StaleLaneError     another hub has taken the lane: stop working on it
    └── UnavailableError   the store cannot take an answer now (disk full, database locked)
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

from metaserver.model.states import UNSURE, Outcome


class MetaserverError(Exception):
    """Root of the hub's exceptions."""


class InputError(MetaserverError):
    """Bad input, told in one line: `place: what is wrong; what was expected`.

    `place` is a file, `file:line`, an option or a setting. The command line exits with status 2.
    """

    def __init__(self, place: str | Path, message: str, *, line: int | None = None) -> None:
        self.place = str(place) if line is None else f"{place}:{line}"
        self.message = message
        super().__init__(f"{self.place}: {message}")


class Refusal(IntEnum):
    """Why a request was refused: HTTP's statuses, and the fault codes of XML-RPC."""

    TOKEN = 401  # none, or not (or no longer) a valid one
    NOT_YOURS = 403
    UNKNOWN = 404  # no such thing, or none that the caller may know of
    STATE = 409  # not now
    TOO_LARGE = 413
    INVALID = 422  # a value; the message names the field
    TOO_MANY = 429  # requests


class RefusedError(MetaserverError):
    """A request that an interface refuses, in one line; `field` is the parameter at fault."""

    def __init__(
        self, refusal: Refusal, message: str, *, field: str = "", retry_after: float | None = None
    ) -> None:
        self.refusal = refusal
        self.message = message
        self.field = field
        self.retry_after = retry_after  # seconds
        super().__init__(f"{field}: {message}" if field else message)


class PeerError(MetaserverError):
    """An attempt failed at the annotation server's side, with the attempt's outcome code.

    `stalled` is for how many seconds the hub stood still while the request was under way.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        self.outcome = outcome
        self.message = message
        self.stalled = 0.0
        super().__init__(f"{outcome}: {message}")

    @property
    def void(self) -> bool:
        """Whether it may be the hub's own fault, so that the request is to be sent again."""
        return self.stalled > 0.0 and self.outcome in UNSURE

    def excuse(self) -> str:
        """Return one line on why it does not count, if it is void."""
        return f"the hub stood still for {self.stalled:.1f} s, so this does not count: {self}"


class HubError(MetaserverError):
    """The hub's own fault: never charged to a team."""


class StaleLaneError(HubError):
    """The lane's epoch is no longer ours: another hub works on it."""


class UnavailableError(HubError):
    """The store can take nothing now, for this reason; dispatch waits and tries again.

    `place` is told at the command line alone: it is a file of the hub's machine.
    """

    def __init__(self, reason: str, place: str | Path | None = None) -> None:
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)
