"""Files that were looked at and wait to be set: kept in memory between preview and confirmation."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 8
"""Files kept at a time; the oldest goes first. Each is at most as large as what may be uploaded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldDraft:
    """A gold file that was looked at; `replaces` is the version that was then the newest, or 0."""

    phase: str
    task: str
    content: bytes
    source: str
    replaces: int


class Drafts:
    """The drafts of one hub, by the ids of the jobs that looked at them."""

    def __init__(self) -> None:
        self._kept: dict[str, GoldDraft] = {}

    def keep(self, key: str, draft: GoldDraft) -> None:
        """Keep a draft."""
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = draft

    def get(self, key: str) -> GoldDraft | None:
        """Return a draft; None if it is kept no longer."""
        return self._kept.get(key)

    def drop(self, key: str) -> None:
        """Forget a draft."""
        self._kept.pop(key, None)
