"""Lanes on a fake caller and a fake recorder."""

import random
from collections.abc import Awaitable, Callable

from metaserver.base.lanes import Corpus, LaneKey, LaneState
from metaserver.base.records import ArticleId, Server, ServerName
from metaserver.base.states import Backoff
from metaserver.lanes.events import AttemptEnded, LaneChanged, LaneLimits
from metaserver.lanes.lane import Lane
from tests.fakes.caller import FakeCaller
from tests.fakes.recorder import FakeRecorder

SOON = Backoff(base=1e-6, cap=1e-6)
LIMITS = LaneLimits(attempts=3, backoff=SOON, circuit=1000, probe=SOON)


def lane(
    peer: FakeCaller,
    memory: FakeRecorder,
    *,
    articles: int = 5,
    limits: LaneLimits = LIMITS,
    concurrency: int = 1,
    state: LaneState | None = None,
    publish: Callable[[AttemptEnded | LaneChanged], None] = lambda event: None,
    prepare: Callable[[AttemptEnded], Awaitable[None]] | None = None,
    clock: Callable[[], float] = lambda: 1e9,
    down: str = "",
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
        down=down,
    )
