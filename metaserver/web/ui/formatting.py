"""Formatting of numbers, times and names in the pages."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

from metaserver.base import zones
from metaserver.base.zones import in_words

NOTHING = "–"
"""Shown if nothing was measured yet."""


def figure(value: float | None) -> str:
    """Write a number of at least 0 with three figures: <0.001, 0.042, 1.25, 53.2, 168."""
    if value is None:
        return NOTHING
    if 0 < value < 0.0005:
        return "<0.001"
    digits = len(str(int(value)).lstrip("0"))
    return f"{value:.{max(0, 3 - digits)}f}"


def small(value: float | None) -> str:
    """Write a number that may be far below 1: 0.0123, 4.56e-06."""
    return NOTHING if value is None else f"{value:.3g}"


def duration(value: float | None) -> str:
    """Write a length of time in words: 45 s, 12 min, 3.5 h, 2.1 d."""
    return NOTHING if value is None else in_words(value)


def countdown(seconds: float) -> str:
    """Write how far a moment is: in 3 days 4 h, in 4 h 12 min, in 12 min, now, 5 h ago."""
    minutes = int(abs(seconds) // 60)
    days, hours = minutes // 1440, minutes // 60 % 24
    several = f"{days} day{'' if days == 1 else 's'}"
    if minutes == 0:
        return "now"
    if seconds < 0:
        return f"{several if days else f'{hours} h' if hours else f'{minutes} min'} ago"
    if days:
        return f"in {several}" + (f" {hours} h" if hours else "")
    return f"in {hours} h {minutes % 60} min" if hours else f"in {minutes} min"


def percent(share: float | None) -> str:
    """Write a share (0 to 1) in percent; only all is 100 %, only nothing 0 %."""
    if share is None:
        return NOTHING
    if 0.995 <= share < 1:
        return "> 99 %"
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def clock(at: float) -> str:
    """Write a moment (seconds since the Unix epoch) as the time of day, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def day(at: float) -> str:
    """Write a moment with its date, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M UTC}"


def in_zone(at: float, zone: str) -> str:
    """Write a moment with its date in a time zone: 2026-12-01 09:00 Europe/Madrid."""
    return zones.in_zone(datetime.fromtimestamp(at, UTC), zone)


def moment(at: float) -> str:
    """Write a moment as a browser reads it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def element_id(kind: str, name: str) -> str:
    """Return the id of the element that shows `name`: unique, and free of white space."""
    return f"{kind}-{quote(name, safe='')}"
