"""The pace of looks at jobs: each host is looked at so often a second, whoever looks.

A host may serve many servers, and a server many lanes: services for all, such as NCBI's, count the
requests of an address, not those of a job.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Origin: TypeAlias = tuple[str, str | None, int | None]
KNOWN: Final = 1_000
"""Hosts whose last turn is remembered; those whose turn is long over are forgotten."""


class HostPace:
    """The turns of looks at each host, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._free: dict[Origin, float] = {}

    def turn(self, origin: Origin, pause: float, now: float, end: float) -> float:
        """Return the seconds until the next turn comes, and take it unless it is after `end`.

        The turn after it is `pause` seconds later. Times are of any clock that does not go back.
        """
        at = max(now, self._free.get(origin, now))
        if at >= end:
            return at - now
        if len(self._free) >= KNOWN and origin not in self._free:
            self._free = {host: free for host, free in self._free.items() if free > now}
        self._free[origin] = at + pause
        return at - now
