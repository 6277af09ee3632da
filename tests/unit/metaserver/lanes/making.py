"""Lanes on a fake caller and a fake recorder."""

import random

from metaserver.base.lanes import Corpus, LaneKey, LaneState
from metaserver.base.records import ArticleId, Server, ServerName
from metaserver.base.states import Backoff
from metaserver.lanes.events import LaneLimits
from metaserver.lanes.lane import Lane

SOON = Backoff(base=1e-6, cap=1e-6)
LIMITS = LaneLimits(attempts=3, backoff=SOON, circuit=1000, probe=SOON)


def lane(
    peer,
    memory,
    *,
    articles=5,
    limits=LIMITS,
    concurrency=1,
    state=None,
    publish=lambda event: None,
    prepare=None,
    clock=lambda: 1e9,
    down="",
):
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
