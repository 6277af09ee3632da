"""Servers whose answers are valid and huge: they are scored and stored, and disturb nobody.

`undisturbed` fails where the hub is silent for 2 s; scored on the event loop they took 4 s or more.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metaserver.base.records import Article, ArticleId, TaskName
from metaserver.boards.monitor import ServerMonitor
from metaserver.boards.scoreboard import Scoreboard, ScoredTask
from metaserver.boards.windows import Windows
from metaserver.lanes.events import LaneLimits
from metaserver.lanes.lane import Lane
from metaserver.phases.checkpoints import Basis
from metaserver.phases.follower import Follower
from metaserver.phases.live import LiveBoards
from metaserver.phases.restore import stored_answers
from metaserver.store import logs
from metaserver.store.store import open_store
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.tasks.ner import NER, read_gold
from metaserver.tasks.ranked import RankedTask
from scoring import ItemGold
from scoring.tasks import Item, Task
from tests.fakes.vocabulary import FakeVocabulary
from tests.integration.callers import TEXT, article_caller, server
from tests.integration.hostile import END, VALUE, flood, undisturbed
from tests.integration.peers import peer
from tests.kept import keep_lane, keep_phase, take_lane
from tests.unit.metaserver.uniprot.samples import SOURCES, build

pytestmark = [
    pytest.mark.one_store("it measures the event loop while an answer is scored"),
    pytest.mark.slow,
]

HITS, PAIRS, MENTIONS = 200_000, 150_000, 100_000
ARTICLE = ArticleId("a0")


def accession(number: int) -> str:
    return f"A0A{number // 1_000:03}A{number % 1_000:03}"


def struct(**values: str) -> str:
    members = "".join(
        f"<member><name>{name}</name><value>{value}</value></member>"
        for name, value in values.items()
    )
    return f"<value><struct>{members}</struct></value>"


def hit(number: int) -> str:
    rank = f"<i4>{number + 1}</i4>"
    return struct(dbid=accession(number), rank=rank, confidence="<double>.5</double>")


def both(number: int) -> str:
    rank, one = f"<i4>{number + 1}</i4>", accession(number)
    return struct(dbid_a="P04637", dbid_b=one, rank=rank, confidence="<double>.5</double>")


def mention(number: int) -> str:
    return struct(offset=f"<i4>{number}</i4>", mention="abc", type=f"t{number}")


def answer(key: str, item: Callable[[int], str], count: int) -> Callable[[], Iterator[bytes]]:
    """Return what yields an answer with so many items, a thousand at a time."""

    def pieces() -> Iterator[bytes]:
        head = f"<value><struct><member><name>{key}</name><value><array><data>"
        yield VALUE + head.encode()
        for start in range(0, count, 1_000):
            yield "".join(map(item, range(start, min(count, start + 1_000)))).encode()
        yield b"</data></array></value></member></struct></value>" + END

    return pieces


def ranked(plugin: RankedTask, items: frozenset[Item], folder: Path) -> ScoredTask:
    release = build(folder, SOURCES)
    gold = ItemGold(task=Task(plugin.name), items={ARTICLE: items})
    views = plugin.view_scorers(gold, release)
    assert len(views) == 3
    return ScoredTask(plugin=plugin, gold=gold, release="r", views=views)


def ints(folder: Path) -> ScoredTask:
    return ranked(INT, frozenset({"P04637", accession(7), accession(HITS - 1)}), folder)


def ipts(folder: Path) -> ScoredTask:
    return ranked(IPT, frozenset({("P02340", "P04637"), (accession(7), "P04637")}), folder)


def ners(folder: Path) -> ScoredTask:
    (folder / "gold.tsv").write_text(f"{ARTICLE}\t0-2\tabc\tdrug\n")
    return ScoredTask(plugin=NER, gold=read_gold(folder / "gold.tsv"), release="r")


ATTACKS = {
    "200,000 proteins": (ints, answer("normalizations", hit, HITS), HITS),
    "150,000 pairs": (ipts, answer("pairs", both, PAIRS), PAIRS),
    "100,000 mentions, each of a type of its own": (
        ners,
        answer("mentions", mention, MENTIONS),
        MENTIONS,
    ),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.nightly] * ("mentions" not in one)) for one in ATTACKS],
)
async def test_a_huge_valid_answer_is_scored_aside(name: str, tmp_path: Path) -> None:
    make, pieces, count = ATTACKS[name]
    task = make(tmp_path)
    watch = ServerMonitor("test", 1, 600.0)
    boards = LiveBoards(watch, Scoreboard([task]), lambda: None)
    async with (
        open_store(tmp_path / "store.sqlite") as store,
        article_caller(vocabulary=FakeVocabulary.of_everything()) as caller,
        article_caller() as ordinary,
        peer(flood(b"", pieces)) as there,
    ):
        corpus = await store.add_corpus([Article(id=ARTICLE, text=TEXT)])
        one = server(there.url)
        watch.add(one, there.url)
        key = await keep_lane(store, await keep_phase(store, corpus), one)
        lane = Lane(
            one,
            corpus,
            await take_lane(store, key),
            LaneLimits(),
            caller=caller,
            recorder=store,
            publish=boards.publish,
            prepare=boards.prepare,
            rng=random.Random(1),
        )
        async with undisturbed(ordinary) as meanwhile:
            await lane.run()
        restored = LiveBoards(ServerMonitor("test", 1, 600.0), Scoreboard([task]), lambda: None)
        restored.server_monitor.add(one, there.url)
        follower = Follower(
            store,
            restored,
            Windows(600.0),
            corpus,
            basis=Basis(time_limit=600.0, release="r"),
            measuring=lambda: (ServerMonitor("test", 1, 600.0), Windows(600.0)),
            clock=time.time,
        )
        async with store.reading() as connection:
            follower.add(one, key, await logs.end(connection, key))
        async with undisturbed(ordinary) as again:
            await follower.catch_up()
        [[stored]] = [some async for some in stored_answers(store, corpus, one.name, key)]
    assert len(stored.payloads[task.plugin.name]) == count
    again_scored = Scoreboard([task])
    again_scored.put(one.name, ARTICLE, stored.payloads)
    for view in again_scored.views(TaskName(task.plugin.name)):
        board = boards.scoreboard.board(task.plugin.name, view)
        assert board == again_scored.board(task.plugin.name, view)
        assert board == restored.scoreboard.board(task.plugin.name, view)
        assert board.rows[0].articles_scored == 1
    print(f"{name}: silence {meanwhile.silence:.2f} s, {again.silence:.2f} s when it is restored")
