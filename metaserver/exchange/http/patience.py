"""Waits that busy servers ask for by `Retry-After` (RFC 9110, section 10.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metaserver.base.errors import PeerError
from metaserver.exchange.protocols.polling import retry_after

BUSY: Final = frozenset({429, 503})
"""The statuses with which a server may ask to wait (RFC 6585; RFC 9110, 15.6.4)."""

MAX_WAITS = 30
"""The most times an article is sent again in one attempt because a server asked to wait."""

MIN_WAIT = 1.0  # seconds; a server that says 0 is not sent requests as fast as it answers


class BusyError(PeerError):
    """A server asked to wait for `wait` seconds; `failure` is the error of its answer."""

    def __init__(self, failure: PeerError, wait: float) -> None:
        self.failure = failure
        self.wait = wait
        super().__init__(failure.outcome, failure.message)

    def out_of_time(self) -> PeerError:
        """Return the failure of an attempt with no time or try left to wait."""
        wait_words = f"the server asks to wait {self.wait:,.0f} s, for which no time or try is left"
        return PeerError(self.outcome, f"{self.message}; {wait_words}")


def requested_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a busy server asks to wait, at least 1; None where it does not."""
    wait = retry_after(headers) if status in BUSY else None
    return None if wait is None else max(MIN_WAIT, wait)
