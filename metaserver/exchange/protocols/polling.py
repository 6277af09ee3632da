"""Waits between two looks at a job, and waits that busy servers ask for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Annotated, Final

from msgspec import Meta
from yarl import URL

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.json_body import ACCEPT, whole_body
from metaserver.exchange.protocols.plugin import Request, Response, ServerChannel

LEAST: Final = 0.34
"""Seconds between two polls of a job: NCBI's services allow three requests per second."""
FIRST: Final = 1.0
MOST: Final = 10.0
NOT_READY: Final = frozenset({202, 404})
"""The statuses of a job's result that is not there yet."""

_MAX_LENGTH: Final = 40  # characters; a date of any form that HTTP has is shorter
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MAX_ADDRESS: Final = 2_000


Looks = Annotated[float, Meta(gt=0, le=20)]
"""Polls per second at a host, by all servers and lanes together."""


class Pauses:
    """The waits for a job, in seconds: as the server asks, else from `FIRST` doubled to `MOST`."""

    def __init__(self) -> None:
        self._next = FIRST

    def next(self, headers: Mapping[str, str], expected: object = None) -> float:
        """Return the next wait; `expected` is a number of seconds that the answer itself has."""
        advised = retry_after(headers)
        if advised is None and isinstance(expected, int | float) and isfinite(expected):
            advised = float(expected)
        if advised is not None:
            return max(LEAST, advised)
        pause, self._next = self._next, min(MOST, self._next * 2)
        return pause


async def look(channel: ServerChannel, place: str, looks_a_second: float) -> Response[bytes]:
    """Return what is at the address of a job or a result."""
    pause = 1 / looks_a_second
    request = Request(None, "", method="GET", url=place, statuses=None, accept=ACCEPT, pause=pause)
    return await channel.send(request, whole_body(channel.limits))


async def look_until_there(
    channel: ServerChannel,
    place: str,
    looks_a_second: float,
    *,
    submitted: Response[bytes],
    state: str,
) -> Response[bytes]:
    """Look at a result's place until the answer says something else than `NOT_READY`."""
    pauses, headers = Pauses(), submitted.headers
    while True:
        await channel.wait(pauses.next(headers), state)
        response = await look(channel, place, looks_a_second)
        if response.status not in NOT_READY:
            return response
        headers, state = response.headers, f"not ready ({response.status})"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After` (RFC 9110, 10.2.3), or None.

    A date is compared with the server's own `Date` if sent: its clock may be wrong.

    Example: `retry_after({"Retry-After": "120"})` returns `120.0`.
    """
    text = headers.get("Retry-After", "").strip()
    if len(text) > _MAX_LENGTH:
        return None
    if _SECONDS.fullmatch(text):
        return float(text)
    until = _moment(text)
    if until is None:
        return None
    now = _moment(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def job_address(
    location: object,
    at: str | URL,
    registered: str,
    origins: Collection[str],
    name: str = "Location",
) -> str:
    """Return where a job is: at the registered scheme, host and port, or at one of `origins`.

    Raises `PeerError` for any other place: a server must not choose where the hub connects to.
    """
    if not isinstance(location, str) or not location:
        raise PeerError(Outcome.HTTP, f"the job has no {name}")
    try:
        if len(location) > _MAX_ADDRESS:
            raise ValueError(name)  # before it is normalised
        place = URL(at).join(URL(location))
        usable = place.user is None and place.scheme in ("http", "https") and bool(place.host)
        origins_allowed = {origin_of(URL(url)) for url in (registered, *origins)}
        allowed = usable and origin_of(place) in origins_allowed
    except ValueError:
        usable = allowed = False
    if not usable:
        raise PeerError(Outcome.HTTP, f"{name} is not an address")
    if not allowed:
        origin = str(place.origin())[:200]
        raise PeerError(
            Outcome.HTTP, f"{name} is at {origin}; poll_origins of its options allow it"
        )
    return str(place)


def check_origins(origins: Collection[str]) -> None:
    """Raise `ValueError` for any of `poll_origins` that no job can be at."""
    for origin in origins:
        place = URL(origin)
        if place.scheme not in ("http", "https") or not place.host:
            raise ValueError(f"poll_origins: expected https://HOST:PORT, got {origin[:80]!r}")


def origin_of(url: URL) -> tuple[str, str | None, int | None]:
    """Return the scheme, host and port of an address: what a server's secrets may be sent to."""
    return url.scheme, url.host, url.port


def _moment(text: str) -> datetime | None:
    """Return an HTTP date's moment, in UTC; None if it is not valid."""
    if not 0 < len(text) <= _MAX_LENGTH:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# -- waits that busy servers ask for by `Retry-After` (RFC 9110, section 10.2.3) -------------------

BUSY: Final = frozenset({429, 503})
"""The statuses with which a server may ask to wait (RFC 6585; RFC 9110, 15.6.4)."""

MAX_WAITS = 30
"""How often an article is sent again in one attempt because a server asked to wait."""

MIN_WAIT = 1.0  # seconds; a server that says 0 is not sent requests as fast as it answers


class BusyError(PeerError):
    """A server asked to wait for `wait` seconds; `failure` is its answer's error."""

    def __init__(self, failure: PeerError, wait: float) -> None:
        self.failure = failure
        self.wait = wait
        super().__init__(failure.outcome, failure.message)

    def out_of_time(self) -> PeerError:
        """Return the failure for an attempt with no time or try left to wait."""
        wait_words = f"the server asks to wait {self.wait:,.0f} s, for which no time or try is left"
        return PeerError(self.outcome, f"{self.message}; {wait_words}")


def requested_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a busy server asks to wait, at least 1; None if it does not."""
    wait = retry_after(headers) if status in BUSY else None
    return None if wait is None else max(MIN_WAIT, wait)
