"""Boards that continue from a dump: the same scores, to the last bit, as those scored again."""

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.base.boards import Score
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.gold import scored_tasks
from metaserver.boards.scoreboard import GoldMark, Scoreboard, ScoredTask, ScorerDump
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import ReleaseVocabulary
from tests.unit.metaserver.uniprot.samples import SOURCES, build

ONE, OTHER = ServerName("one"), ServerName("other")
ACT, INT, IPT, NER = map(TaskName, ("ACT", "INT", "IPT", "NER"))
HUMAN, MOUSE, RAT, COW, COLI = "P04637", "P02340", "P10361", "P68250", "P0A7G6"
NAMES = [HUMAN, MOUSE, RAT, COW, COLI, "Q00000"]
GOLD = {
    ACT: "a1\t1\na2\t0\na3\t1\n",
    INT: f"a3\t{HUMAN}\na3\t{MOUSE}\na1\t{COLI}\na2\t{RAT}\n",
    IPT: f"a1\t{HUMAN}\t{COLI}\na1\t{MOUSE}\t{COLI}\na2\t{RAT}\t{COW}\n",
    NER: "a1\t0-3\tMDM4\tprotein\na1\t9-11\tp53\tgene\na2\na3\t4-6\tabc\todd one\n",
}
ARTICLES = ["a1", "a2", "a3", "x1", "x2"]  # the last two have no gold

Answer = tuple[ArticleId, Mapping[TaskName, Any]]


class Tasks(tuple[ScoredTask, ...]):
    """Tasks whose text is short: Hypothesis prints what a test was given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Tasks()"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Sequence[ScoredTask]:
    folder = tmp_path_factory.mktemp("dumps")
    vocabulary = ReleaseVocabulary(release=build(folder, SOURCES))
    golds = {}
    for name, text in GOLD.items():
        (folder / name).write_text(text)
        golds[name] = installed_tasks()[name].read_gold(folder / name)
    marks = {name: GoldMark(1, f"{name} c0ffee") for name in GOLD}
    return Tasks(scored_tasks(golds, vocabulary, marks))


def ranked(items: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[Any]:
    listed = st.lists(items, max_size=300 if items is pairs else 6, unique=True)
    gaps = st.sampled_from([1, 300])
    return st.builds(
        lambda found, gap: [[*item, rank * gap, 0.5] for rank, item in enumerate(found, start=1)],
        listed,
        gaps,
    )


names = st.sampled_from(NAMES)
pairs = st.tuples(names, names).map(lambda pair: tuple(sorted(pair)))
payloads = st.fixed_dictionaries(
    {},
    optional={
        ACT: st.just([])
        | st.tuples(st.booleans(), st.floats(0.01, 1.0)).map(list)
        | st.tuples(st.booleans(), st.floats(0.01, 1.0), st.integers(1, 9)).map(list),
        INT: ranked(names.map(lambda name: (name,))),
        IPT: ranked(pairs),
        NER: st.lists(
            st.tuples(
                st.integers(0, 12),
                st.sampled_from(["p53", "MDM4"]),
                st.sampled_from(["protein", "gene", "new"]),
            ).map(list),
            max_size=4,
            unique_by=lambda mention: (mention[0], len(mention[1]), mention[2]),
        ),
    },
)
answers = st.lists(st.tuples(st.sampled_from(ARTICLES).map(ArticleId), payloads), max_size=12)


def put(board: Scoreboard, given: Sequence[Answer]) -> Scoreboard:
    for article, found in given:
        board.put(ONE, article, found)
    return board


def shown(board: Scoreboard) -> Iterator[tuple[Any, ...]]:
    """Yield all that can be seen of a board, with the values that its runs are compared by."""
    for task in board.tasks():
        for view in board.views(task.name):
            yield task.name, view, board.board(task.name, view)
            for run, score in board.scores(task.name, view).items():
                yield run, score, _card(score)


def _card(score: Score) -> Any:
    card = score.card
    if card is None:
        return None
    if hasattr(card, "articles"):
        return dict(card.articles)
    if hasattr(card, "by_article"):
        return dict(card.by_article)
    return card.ranked.tolist(), card.called.tolist()


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(before=answers, after=answers)
def test_a_board_goes_on_from_a_dump_to_the_last_bit(before, after, tasks):
    first, second = put(Scoreboard(tasks), before), Scoreboard(tasks)
    assert second.load(ONE, first.dump(ONE)) == {}
    assert list(shown(second)) == list(shown(first))
    assert second.dump(ONE) == first.dump(ONE)
    put(second, after)
    assert list(shown(second)) == list(shown(put(Scoreboard(tasks), [*before, *after])))
    assert list(shown(first)) == list(shown(put(Scoreboard(tasks), before)))  # it is left as it was


def test_all_tasks_of_the_hub_have_scorers_that_can_be_kept(tasks: Sequence[ScoredTask]) -> None:
    dumps = put(Scoreboard(tasks), []).dump(ONE)
    assert [(dump.task, dump.view) for dump in dumps] == [
        (ACT, "raw"),
        *((task, view) for task in (INT, IPT) for view in ("raw", "mapped", "filtered", "both")),
        (NER, "raw"),
    ]
    assert not any(dump.data for dump in dumps)


def test_a_server_is_replaced_and_the_others_stay(tasks: Sequence[ScoredTask]) -> None:
    board = put(Scoreboard(tasks), [(ArticleId("a1"), {ACT: [True, 0.5]})])
    dumps = board.dump(ONE)
    board.put(ONE, ArticleId("a2"), {ACT: [True, 0.5], INT: [[RAT, 1, 0.5]]})
    board.put(OTHER, ArticleId("a2"), {ACT: [True, 0.5]})
    assert board.load(ONE, dumps) == {}
    found = {run: one.articles_scored for run, one in board.scores(ACT).items()}
    assert found == {ONE: 1, OTHER: 1}
    assert board.scores(INT) == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda task: replace(task, mark=GoldMark(2, "INT c0ffee")),
        lambda task: replace(task, mark=GoldMark(1, "INT badcab")),
        lambda task: replace(task, mark=None),
        lambda task: replace(task, release="another"),
        lambda task: replace(task, views={**task.views, "new": task.views["both"]}),
    ],
    ids=["version", "content", "unknown gold", "release", "view"],
)
def test_a_stale_dump_is_refused(change: Any, tasks: Sequence[ScoredTask]) -> None:
    answer = {ACT: [True, 0.5], INT: [[COLI, 1, 0.5]]}
    dumps = put(Scoreboard(tasks), [(ArticleId("a1"), answer)]).dump(ONE)
    changed = [change(task) if task.plugin.name == INT else task for task in tasks]
    board = Scoreboard(changed)
    refused = board.load(ONE, dumps)
    assert list(refused) == [INT]
    assert refused[INT]
    assert board.runs(INT) == []
    assert board.runs(ACT) == [ONE]
    unmarked = [task for task in changed if task.mark is None]
    found = {dump.task for dump in board.dump(ONE)}
    assert found == set(GOLD) - {task.plugin.name for task in unmarked}


@pytest.mark.parametrize("name", GOLD)
def test_a_dump_that_cannot_be_read_is_refused(name: TaskName, tasks: Sequence[ScoredTask]) -> None:
    answer = {ACT: [True, 0.5], INT: [[COLI, 1, 0.5]], IPT: [[HUMAN, COLI, 1, 0.5]]}
    answer[NER] = [[0, "MDM4", "protein"]]
    given = [(ArticleId(article), answer) for article in ("a1", "a2", "a3")]
    dumps = put(Scoreboard(tasks), given).dump(ONE)
    [data] = [dump.data for dump in dumps if dump.task == name and dump.view == "raw"]
    other = next(dump.data for dump in dumps if dump.task == (ACT if name != ACT else INT))
    whole = Scoreboard(tasks).scored_task(name).plugin.scorer
    gold = Scoreboard(tasks).scored_task(name).gold
    for broken in (b"", b"no dump", data[:-1], other, re.sub(rb" [12]", b" 0", data, count=1)):
        scorer = whole(gold)
        with pytest.raises(ValueError, match=r"."):
            scorer.load(broken)
        stale = [dump._replace(data=broken or b"0") for dump in dumps]
        assert name in Scoreboard(tasks).load(ONE, stale)


def test_a_dump_of_another_gold_does_not_fit(tasks: Sequence[ScoredTask], tmp_path: Path) -> None:
    """Even if it were taken for one of this gold."""
    answer = {ACT: [True, 0.5], INT: [[HUMAN, 1, 0.5], [MOUSE, 2, 0.5]], NER: [[0, "ab", "new"]]}
    answer[IPT] = [[COLI, HUMAN, 1, 0.5]]
    given = [(ArticleId(article), answer) for article in ("a1", "a2", "a3")]
    dumps = {dump.task: dump for dump in put(Scoreboard(tasks), given).dump(ONE)[::-1]}
    for name, line in {ACT: "a9\t1\n", INT: "a9\tP04637\n", IPT: "a9\tA\tB\n", NER: "a9\n"}.items():
        (tmp_path / name).write_text(line)
        plugin = installed_tasks()[name]
        scorer = plugin.scorer(plugin.read_gold(tmp_path / name))
        with pytest.raises(ValueError, match="gold"):
            scorer.load(dumps[name].data)


async def test_what_waits_for_a_mean_is_in_the_dump(tasks: Sequence[ScoredTask]) -> None:
    given = [
        (ArticleId(article), {ACT: [True, 0.5], INT: [[COLI, 1, 0.5]]}) for article in ARTICLES
    ]
    board = put(Scoreboard(tasks), given[:1])
    begun, may_end = threading.Event(), threading.Event()
    scorer = board._runs[INT, "raw"].scorers[ONE]
    score = scorer.score

    def slow() -> Score:
        begun.set()
        assert may_end.wait(60)
        return score()

    scorer.score = slow  # type: ignore[method-assign]
    mean = asyncio.create_task(board.average(INT, "raw", ONE))
    assert await asyncio.to_thread(begun.wait, 60)
    put(board, given[1:])
    assert board.averaging(INT, "raw", ONE)
    dumps = board.dump(ONE)
    may_end.set()
    await mean
    other = Scoreboard(tasks)
    assert other.load(ONE, dumps) == {}
    assert list(shown(other)) == list(shown(put(Scoreboard(tasks), given)))


def test_a_scorer_that_cannot_be_kept_is_scored_again(tasks: Sequence[ScoredTask]) -> None:
    [act] = [task for task in tasks if task.plugin.name == ACT]

    class Plain:
        """A scorer without a dump."""

        def __init__(self, scorer: Any) -> None:
            self.prepare, self.keep, self.score = scorer.prepare, scorer.keep, scorer.score

    class Task:
        """A task whose scorers have no dump."""

        def __getattr__(self, name: str) -> Any:
            return getattr(act.plugin, name)

        def scorer(self, gold: Any) -> Any:
            return Plain(act.plugin.scorer(gold))

    plugin: Any = Task()
    board = Scoreboard([replace(act, plugin=plugin)])
    board.put(ONE, ArticleId("a1"), {ACT: [True, 0.5]})
    assert board.dump(ONE) == []
    [kept] = put(Scoreboard([act]), [(ArticleId("a1"), {ACT: [True, 0.5]})]).dump(ONE)
    assert isinstance(kept, ScorerDump)
    assert list(board.load(ONE, [kept])) == [ACT]
    assert board.runs(ACT) == []
