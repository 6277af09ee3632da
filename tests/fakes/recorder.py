"""The fake of `metaserver.lanes.events.Recorder`."""

from collections.abc import Awaitable, Callable, Sequence

from metaserver.base.errors import HubError, StaleLaneError
from metaserver.base.lanes import AttemptRecord
from metaserver.base.states import Outcome

Step = Callable[[AttemptRecord], Awaitable[None]]


async def _at_once(_entry: AttemptRecord) -> None:
    return


class FakeRecorder:
    """A recorder that keeps the entries in memory.

    From the entry numbered `stale_from` on its lanes are another hub's; what the lane of `broken`
    records fails. `before` and `after` are awaited before and after an entry is kept.
    """

    def __init__(
        self,
        *,
        stale_from: int | None = None,
        broken: str = "",
        before: Step = _at_once,
        after: Step = _at_once,
    ) -> None:
        self.blocked: str | None = None
        self.entries: list[AttemptRecord] = []
        self._stale_from = stale_from
        self._broken = broken
        self._before = before
        self._after = after

    @property
    def attempts(self) -> Sequence[tuple[int, int, Outcome]]:
        """Position, number and outcome of each entry, as they came."""
        return [(e.position, e.attempt.number, e.attempt.outcome) for e in self.entries]

    @property
    def places(self) -> Sequence[tuple[str, int]]:
        """Server and position of each entry, sorted."""
        return sorted((str(e.attempt.server), e.position) for e in self.entries)

    async def record(self, entry: AttemptRecord) -> int:
        if self._stale_from is not None and len(self.entries) >= self._stale_from:
            raise StaleLaneError("taken")
        if entry.attempt.server == self._broken:
            raise HubError("not stored: no reason")
        await self._before(entry)
        self.entries.append(entry)
        serial = sum(one.lane == entry.lane for one in self.entries)
        await self._after(entry)
        return serial
