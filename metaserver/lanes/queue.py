"""A lane's article queue. Pure: the time is an argument (monotonic seconds)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from metaserver.base.lanes import Tries


class Work(NamedTuple):
    """An article to send: its position, and its attempt counts so far."""

    position: int
    tries: Tries


class Later(NamedTuple):
    """The time before which there is nothing to send; infinity while all the rest is in flight."""

    at: float


NEW = Tries(0, 0)
Next: TypeAlias = Work | Later | None


class ArticleQueue:
    """The positions 0 to total-1 in order, each until it is finished.

    New articles begin in order; a failed article waits for its back-off while later ones are sent,
    and precedes them when its time has come. `cursor` is the lowest unfinished position.
    """

    def __init__(
        self,
        total: int,
        *,
        cursor: int = 0,
        finished: Iterable[int] = (),
        tries: Mapping[int, Tries] | None = None,
    ) -> None:
        self.total = total
        self.cursor = cursor
        self._finished = {position for position in finished if position >= cursor}
        self._tries = dict(tries or {})
        self._retries: list[tuple[float, int]] = []
        self._next = cursor  # the lowest position not yet begun by this queue
        self._in_flight: set[int] = set()
        self._advance()

    @property
    def in_flight(self) -> int:
        """The number of articles taken that are neither finished nor queued again."""
        return len(self._in_flight)

    @property
    def finished(self) -> bool:
        """True if every article is finished."""
        return self.cursor >= self.total

    def take(self, now: float, *, eager: bool = False) -> Next:
        """Return the article to send now, the time to ask again, or None if all are finished.

        `eager` ignores the back-off of articles that are sent again.
        """
        if self._retries and (eager or self._retries[0][0] <= now):
            return self._begin(heapq.heappop(self._retries)[1])
        position = next(self._new(), None)
        if position is not None:
            self._next = position + 1
            return self._begin(position)
        if self._retries:
            return Later(self._retries[0][0])
        return Later(float("inf")) if self._in_flight else None

    def finish(self, position: int) -> None:
        """Finish an article that was taken: answered, or given up."""
        self._in_flight.remove(position)
        self._tries.pop(position, None)
        self._finished.add(position)
        self._advance()

    def requeue(self, work: Work, at: float) -> None:
        """Queue an article that was taken to be sent again at `at`, with its new counts."""
        self._in_flight.remove(work.position)
        self._tries[work.position] = work.tries
        heapq.heappush(self._retries, (at, work.position))

    def _new(self) -> Iterator[int]:
        """Yield the positions not yet begun by this queue, in order."""
        return (at for at in range(self._next, self.total) if at not in self._finished)

    def _begin(self, position: int) -> Work:
        self._in_flight.add(position)
        return Work(position, self._tries.get(position, NEW))

    def _advance(self) -> None:
        while self.cursor in self._finished:
            self._finished.remove(self.cursor)
            self.cursor += 1
        self._next = max(self._next, self.cursor)
