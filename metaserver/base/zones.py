"""Dates written in a time zone, moments shown in one, lengths of time in words.

A clock change skips local times in spring and repeats some in autumn. Both are refused, with the
two moments that may be meant; a repeated time is always shown with its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

YEARS = range(1970, 3000)
"""The years in which dates may be: in `datetime`'s first and last, some zones have no local time.
"""

FIRST = datetime(YEARS[0] - 1, 12, 31, tzinfo=UTC).timestamp()
LAST = datetime(YEARS[-1] + 1, 1, 2, tzinfo=UTC).timestamp()
"""The bounds for moments whose local year, in any zone, is one in `YEARS`."""


def known_zone(name: str) -> tzinfo | None:
    """Return a time zone by its IANA name, None if this machine does not have it.

    Example: `known_zone("Europe/Madrid")` is a zone, `known_zone("Mars/Olympus")` is None.
    """
    if name == "UTC":  # also on a machine without any zone
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def shown_name(name: str) -> str:
    """Return the zone in which moments are shown: UTC if this machine does not know the zone."""
    return "UTC" if known_zone(name) is None else name


def to_zone(at: datetime, name: str) -> datetime:
    """Return a moment in the zone that it is shown in (`shown_name`)."""
    return at.astimezone(known_zone(name) or UTC)


def is_dated(at: datetime) -> bool:
    """Return whether every time zone can show a moment."""
    return FIRST <= at.timestamp() < LAST


def read_moment(text: str, zone: str) -> datetime:
    """Read a date that is written in a time zone or with an offset.

    Raises `ValueError`, with the reason in words, for a text that is no date, a date out of range
    or a local time that does not exist, or comes twice.

    >>> read_moment("2026-11-27 09:00", "Europe/Madrid").isoformat()
    '2026-11-27T09:00:00+01:00'
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date such as 2026-12-01T09:00") from error
    if moment.year not in YEARS:
        raise ValueError(f"{text!r} is not from {YEARS[0]} to {YEARS[-1]}")
    return moment if moment.tzinfo else _in_zone(moment, zone)


def readings(text: str, zone: str) -> Sequence[datetime]:
    """Return the two moments that a local time may mean, the earlier first; else nothing.

    A repeated time is two moments. A skipped time is read by the clock before the change and by the
    clock after it.

    Example: `readings("2026-10-25T02:30", "Europe/Madrid")` has 00:30 and 01:30 UTC.
    """
    local_zone = known_zone(zone)
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        return ()
    if local_zone is None or local.tzinfo is not None or local.year not in YEARS:
        return ()
    instants = [
        local.replace(tzinfo=local_zone, fold=fold).astimezone(UTC).astimezone(local_zone)
        for fold in (0, 1)
    ]
    return (
        sorted(instants, key=datetime.timestamp)
        if len({*map(datetime.timestamp, instants)}) > 1
        else ()
    )


def _in_zone(local: datetime, name: str) -> datetime:
    zone = known_zone(name)
    if zone is None:
        offset = f"{local:%Y-%m-%dT%H:%M}Z"
        raise ValueError(
            f"this machine does not know the time zone {name!r}: write an offset, such as {offset}"
        )
    if instants := readings(local.isoformat(), name):
        first, second = (f"{instant:%Y-%m-%dT%H:%M}{_offset(instant)}" for instant in instants)
        moment = local.replace(tzinfo=zone)
        if is_repeated(moment):
            why = "comes twice", "clocks are set back there"
        else:
            why = "does not exist", "clocks are set forward there"
        raise ValueError(f"{_text(local)} {why[0]} in {name}: {why[1]}. Write {first} or {second}")
    return local.replace(tzinfo=zone)


def in_zone(at: datetime, name: str) -> str:
    """Write a moment in a time zone: 2026-12-01 09:00 Europe/Madrid.

    A local time that is repeated has its offset too. UTC is used for a zone that this machine does
    not know.
    """
    there = to_zone(at, name)
    offset = f", UTC{_offset(there)}" if is_repeated(there) else ""
    return f"{_text(there)} {shown_name(name)}{offset}"


def is_repeated(there: datetime) -> bool:
    """Return whether a local time is repeated, so that it means two moments."""
    return there.replace(fold=0).timestamp() < there.replace(fold=1).timestamp()


def _offset(there: datetime) -> str:
    return f"{there:%z}"[:3] + ":" + f"{there:%z}"[3:5]


def _text(local: datetime) -> str:
    return f"{local:%Y-%m-%d %H:%M}"


# -- durations in words ----------------------------------------------------------------------------


def in_words(seconds: float) -> str:
    """Write a duration in words.

    Example: `in_words(720)` returns "12 min".
    """
    for unit, size, limit in (("s", 1, 60), ("min", 60, 5400), ("h", 3600, 172800)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    days = seconds / 86400
    return f"{days:.3g} d" if days < 1000 else f"{days:,.0f} d"
