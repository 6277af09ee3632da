"""Result files that were previewed and wait to be sent: kept in memory, bounded in all ways."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from metaserver.operations.run_previews import RunPreview

MOST_OF_TEAM, MOST = 2, 32
"""Files kept at a time: per team, in total; the oldest goes first."""
MOST_BYTES = 128 * 2**20
"""Bytes kept at a time; the oldest file goes first."""
SECONDS = 1_800.0
"""Seconds for which a file is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldRun:
    """A result file with what was found in it; `source` is its name.

    A file that cannot be uploaded is kept only for what was found: `content` is empty.
    """

    team: str
    phase: str
    task: str
    run: str
    content: bytes
    source: str
    preview: RunPreview


class HeldRuns:
    """A hub's held files by random keys, each only for its team."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, HeldRun]] = {}

    def keep(self, run: HeldRun) -> str:
        """Keep a file; return its key."""
        self._forget()
        keys = [key for key, (_, kept_run) in self._kept.items() if kept_run.team == run.team]
        for key in keys[: len(keys) - MOST_OF_TEAM + 1]:
            del self._kept[key]
        while self._kept and (
            len(self._kept) >= MOST or self._bytes + len(run.content) > MOST_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        key = secrets.token_hex(16)
        self._kept[key] = (self._clock(), run)
        return key

    def get(self, key: str, team: str) -> HeldRun | None:
        """Return a team's file; None if it is no longer kept, or another team's."""
        self._forget()
        _, run = self._kept.get(key, (0.0, None))
        return run if run is not None and run.team == team else None

    def drop(self, key: str) -> None:
        """Forget a file."""
        self._kept.pop(key, None)

    @property
    def _bytes(self) -> int:
        return sum(len(run.content) for _, run in self._kept.values())

    def _forget(self) -> None:
        due = self._clock() - SECONDS
        for key in [key for key, (at, _) in self._kept.items() if at < due]:
            del self._kept[key]
