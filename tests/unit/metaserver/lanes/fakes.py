"""A lane with a small real caller and recorder in memory."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from metaserver.lanes.events import AttemptEnded, LaneChanged
from metaserver.lanes.lane import Lane
from metaserver.lanes.limits import LaneLimits
from metaserver.model.errors import StaleLaneError
from metaserver.model.lanes import AttemptRecord, CheckedAnswer, Corpus, LaneKey, LaneState
from metaserver.model.records import ArticleId, Attempt, Server, ServerName, ServerReport
from metaserver.model.states import Backoff, Outcome
from tests.answers import ended

SOON = Backoff(base=1e-6, cap=1e-6)
LIMITS = LaneLimits(attempts=3, backoff=SOON, circuit=1000, probe=SOON)


class Peer:
    """A caller with outcomes by article and attempt; OK where none is given."""

    def __init__(self, outcomes: Mapping[tuple[int, int], Outcome] | None = None) -> None:
        self.outcomes = outcomes or {}
        self.calls: list[tuple[int, int]] = []
        self.probes: list[str | None] = []  # what the next probes find; then always None
        self.probed = 0
        self.seconds = 0.0  # until an answer
        self.states: list[ServerReport | None] = []  # what it says of itself; then always the last
        self.asked_at: list[float] = []  # for its state
        self.most_in_flight = self.in_flight = 0

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        self.calls.append((position, number))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.in_flight -= 1
        outcome = self.outcomes.get((position, number), Outcome.OK)
        return ended(server, position, number, outcome)

    async def probe(self, server: Server) -> str | None:
        self.probed += 1
        return self.probes.pop(0) if self.probes else None

    async def state(self, server: Server) -> ServerReport | None:
        self.asked_at.append(asyncio.get_running_loop().time())
        if len(self.states) > 1:
            return self.states.pop(0)
        return self.states[0] if self.states else None


class Memory:
    """A recorder that keeps the entries; it is stale from a given one on."""

    blocked: str | None = None

    def __init__(self, stale_from: int | None = None) -> None:
        self.entries: list[AttemptRecord] = []
        self._stale_from = stale_from

    async def record(self, entry: AttemptRecord) -> None:
        if self._stale_from is not None and len(self.entries) >= self._stale_from:
            raise StaleLaneError("taken")
        self.entries.append(entry)


def lane(
    peer: Peer,
    memory: Memory,
    *,
    articles: int = 5,
    limits: LaneLimits = LIMITS,
    concurrency: int = 1,
    state: LaneState | None = None,
    publish: Callable[[AttemptEnded | LaneChanged], None] = lambda event: None,
    prepare: Callable[[AttemptEnded], Awaitable[None]] | None = None,
    clock: Callable[[], float] = lambda: 1e9,
) -> Lane:
    names = [ArticleId(str(position)) for position in range(articles)]
    key = LaneKey(1, 1)
    return Lane(
        Server(name=ServerName("peer"), url="http://127.0.0.1/", concurrency=concurrency),
        Corpus(id=1, ids=tuple(names), wire_bytes=(0,) * articles),
        state or LaneState(key=key, epoch=1, cursor=0, finished=frozenset(), tries={}),
        limits,
        caller=peer,
        recorder=memory,
        publish=publish,
        prepare=prepare,
        rng=random.Random(1),
        clock=clock,
    )
