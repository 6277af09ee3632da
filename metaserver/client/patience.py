"""Waits that busy servers ask for by `Retry-After` (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from metaserver.model.errors import PeerError

BUSY: Final = frozenset({429, 503})
"""The statuses with which a server may ask to wait (RFC 6585; RFC 9110, 15.6.4)."""

MAX_WAITS = 30
"""The most times an article is sent again in one attempt because a server asked to wait."""

MIN_WAIT = 1.0  # seconds; a server that says 0 is not sent requests as fast as it answers

_MAX_LENGTH: Final = 40  # characters; a date of any form that HTTP has is shorter
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class BusyError(PeerError):
    """A server asked to wait for `wait` seconds; `failure` is the error of its answer."""

    def __init__(self, failure: PeerError, wait: float) -> None:
        self.failure = failure
        self.wait = wait
        super().__init__(failure.outcome, failure.message)

    def out_of_time(self) -> PeerError:
        """Return the failure of an attempt with no time or try left to wait."""
        asked = f"the server asks to wait {self.wait:,.0f} s, for which no time or try is left"
        return PeerError(self.outcome, f"{self.message}; {asked}")


def requested_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a busy server asks to wait, at least 1; None where it asks nothing.

    A date is compared with the server's own `Date` where it sends one: its clock may be wrong.
    """
    text = headers.get("Retry-After", "").strip()
    if status not in BUSY or len(text) > _MAX_LENGTH:
        return None
    if _SECONDS.fullmatch(text):
        return max(MIN_WAIT, float(text))
    until = _moment(text)
    if until is None:
        return None
    now = _moment(headers.get("Date", "")) or datetime.now(UTC)
    return max(MIN_WAIT, (until - now).total_seconds())


def _moment(text: str) -> datetime | None:
    """Return the moment of an HTTP date, in UTC; None where it is not valid."""
    if not 0 < len(text) <= _MAX_LENGTH:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
