"""Durations in words."""

from __future__ import annotations


def in_words(seconds: float) -> str:
    """Write a duration in words.

    Example: `in_words(720)` returns "12 min".
    """
    for unit, size, limit in (("s", 1, 60), ("min", 60, 5400), ("h", 3600, 172800)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} d"
