"""Result files that were previewed and wait to be sent: kept in memory, bounded in all ways."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from metaserver.operations.run_previews import RunPreview

MOST_OF_TEAM, MOST = 2, 32
"""Files kept at a time: of one team, in all; the oldest goes first."""
MOST_BYTES = 128 * 2**20
"""Bytes kept at a time; the oldest file goes first."""
SECONDS = 1_800.0
"""Seconds for which a file is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldRun:
    """A result file with what was found in it; `source` is its name.

    One that cannot be uploaded is kept for what was found alone: `content` is empty.
    """

    team: str
    phase: str
    task: str
    run: str
    content: bytes
    source: str
    preview: RunPreview


class HeldRuns:
    """The held files of one hub by random keys, each for its team alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, HeldRun]] = {}

    def keep(self, held: HeldRun) -> str:
        """Keep a file; return its key."""
        self._forget()
        own = [key for key, (_, one) in self._kept.items() if one.team == held.team]
        for key in own[: len(own) - MOST_OF_TEAM + 1]:
            del self._kept[key]
        while self._kept and (
            len(self._kept) >= MOST or self._bytes + len(held.content) > MOST_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        key = secrets.token_hex(16)
        self._kept[key] = (self._clock(), held)
        return key

    def get(self, key: str, team: str) -> HeldRun | None:
        """Return a team's file; None where it is kept no longer, or is another team's."""
        self._forget()
        _, held = self._kept.get(key, (0.0, None))
        return held if held is not None and held.team == team else None

    def drop(self, key: str) -> None:
        """Forget a file."""
        self._kept.pop(key, None)

    @property
    def _bytes(self) -> int:
        return sum(len(held.content) for _, held in self._kept.values())

    def _forget(self) -> None:
        due = self._clock() - SECONDS
        for key in [key for key, (at, _) in self._kept.items() if at < due]:
            del self._kept[key]
