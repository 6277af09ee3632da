"""Places of runs: tables computed by hand, live and from files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.plans import ArticlePolicy, Ranking, Ties
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.coverage import Coverage
from metaserver.boards.gold import scored_tasks
from metaserver.boards.scoreboard import Scoreboard
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import ReleaseVocabulary
from scoring import evaluate_files
from tests.fakes.vocabulary import FakeVocabulary
from tests.unit.metaserver.uniprot.samples import SOURCES, build

INT, ACT, NER = TaskName("INT"), TaskName("ACT"), TaskName("NER")
CORPUS = {ArticleId(f"a{number}"): number for number in range(10)}
GOLD = {
    INT: "".join(f"a{number}\tP0463{number % 10}\n" for number in range(12)),  # two are outside
    ACT: "".join(f"a{number}\t{int(number < 5)}\n" for number in range(12)),
}


@dataclass
class Phase:
    """What of a phase is over for each run."""

    is_open: bool = True
    done: dict[str, set[int]] = field(default_factory=dict)

    def over(self, run: ServerName) -> bytes | None:
        bits = sum(1 << place for place in self.done[run]) if run in self.done else None
        return None if bits is None else bits.to_bytes(2, "little")

    @property
    def coverage(self) -> Coverage:
        return Coverage(positions=CORPUS, over=self.over, is_open=lambda: self.is_open)


def board_of(folder: Path, phase: Phase, ranking: Ranking) -> Scoreboard:
    golds = {}
    for task, text in GOLD.items():
        (folder / task).write_text(text)
        golds[task] = installed_tasks()[task].read_gold(folder / task)
    vocabulary = ReleaseVocabulary(release=build(folder, SOURCES))
    tasks = scored_tasks(golds, vocabulary, corpus=CORPUS)
    return Scoreboard(tasks, ranking, phase.coverage)


def right(number: int, confidence: float = 1.0) -> list[list[Any]]:
    return [[f"P0463{number % 10}", 1, confidence]]


def answer(board: Scoreboard, run: str, numbers: Sequence[int], *, confidence: float = 1.0) -> None:
    for number in numbers:
        payloads = {INT: right(number, confidence), ACT: [number < 5, confidence]}
        board.put(ServerName(run), ArticleId(f"a{number}"), payloads)


def table(board: Scoreboard, task: TaskName, policy: ArticlePolicy | None = None) -> list[Any]:
    return [
        (row.run, row.place, row.values["auc_ipr"], row.articles_scored, row.counted)
        for row in board.board(task, policy=policy).rows
    ]


def test_a_run_of_one_article_gets_no_place_and_gold_outside_does_not_count(tmp_path):
    board = board_of(tmp_path, Phase(is_open=False), Ranking())
    answer(board, "all", range(9))
    answer(board, "one", [0])
    assert table(board, INT) == [("all", 1, 0.9, 9, 10), ("one", None, 0.1, 1, 10)]
    assert [row.below for row in board.board(INT).rows] == [False, True]
    published = table(board, INT, ArticlePolicy.ANSWERED)
    assert published == [("all", 1, 1.0, 9, 10), ("one", None, 1.0, 1, 10)]
    assert board.scored_task(INT).outside == ["a10", "a11"]
    assert table(board, ACT) == [("all", 1, 1.0, 9, 10), ("one", None, 0.2, 1, 10)]


def test_an_open_phase_counts_what_is_over_and_a_frozen_one_all(tmp_path: Path) -> None:
    phase = Phase(done={"online": {0, 1, 2, 3}})
    board = board_of(tmp_path, phase, Ranking(min_coverage=0.7))
    answer(board, "online", [0, 1, 2])  # the fourth was given up
    assert table(board, INT) == [("online", 1, 0.75, 3, 4)]
    assert table(board, ACT) == [("online", 1, 0.75, 3, 4)]  # of 4 relevant ones, not of 5
    assert board.board(INT).provisional
    phase.done["online"] |= {5}
    board.touch(ServerName("online"))
    assert table(board, INT) == [("online", None, 0.6, 3, 5)]
    assert table(board, ACT) == [("online", None, 0.75, 3, 5)]
    phase.is_open = False
    assert table(board, INT) == [("online", None, 0.3, 3, 10)]
    assert not board.board(INT).provisional


def test_a_run_that_began_late_stands_below_while_the_phase_is_open(tmp_path: Path) -> None:
    phase = Phase(done={"first": set(range(8)), "late": {0, 1}})
    board = board_of(tmp_path, phase, Ranking(min_coverage=0.5))
    answer(board, "first", range(7))
    answer(board, "late", [0, 1])
    assert table(board, INT) == [("first", 1, 0.875, 7, 8), ("late", None, 1.0, 2, 2)]
    assert [row.below for row in board.board(INT).rows] == [False, True]
    answer(board, "late", [2, 3])
    phase.done["late"] |= {2, 3}
    board.touch(ServerName("late"))
    assert table(board, INT) == [("late", 1, 1.0, 4, 4), ("first", 2, 0.875, 7, 8)]


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    board = board_of(tmp_path, Phase(is_open=False), Ranking())
    answer(board, "run", [0])
    for number in range(1, 10):
        board.put(ServerName("run"), ArticleId(f"a{number}"), {INT: []})
    assert table(board, INT) == [("run", 1, 0.1, 10, 10)]
    published = table(board, INT, ArticlePolicy.ANSWERED)
    assert published == [("run", None, 1.0, 1, 10)]  # of the one article that it has a hit for


def test_a_file_has_the_place_of_a_server_with_the_same_hits(tmp_path: Path) -> None:
    board = board_of(tmp_path, Phase(is_open=False), Ranking())
    answer(board, "server", range(5))
    for number in range(5, 10):
        board.put(ServerName("server"), ArticleId(f"a{number}"), {INT: []})
    plugin, file = installed_tasks()[INT], tmp_path / "run.tsv"
    answers = [(ArticleId(f"a{number}"), right(number)) for number in range(5)]
    file.write_text("".join(plugin.result_lines(answers)))  # type: ignore[attr-defined]
    known = FakeVocabulary(lambda accession: None)
    for article, payload in plugin.read_run(file, CORPUS, known).payloads.items():  # type: ignore[attr-defined]
        board.put(ServerName("file"), article, {INT: payload})
    assert table(board, INT) == [("file", 1, 0.5, 10, 10), ("server", 1, 0.5, 10, 10)]


@pytest.mark.parametrize(
    ("ties", "places"),
    [
        (Ties.CONFIDENCE, {"sure": 1, "also sure": 1, "unsure": 3}),
        (Ties.SHARE, {"sure": 1, "also sure": 1, "unsure": 1}),
    ],
)
def test_equal_runs_come_by_their_average_confidence(tmp_path, ties, places):
    board = board_of(tmp_path, Phase(is_open=False), Ranking(ties=ties))
    answer(board, "unsure", range(10), confidence=0.5)
    answer(board, "sure", range(10), confidence=0.75)
    answer(board, "also sure", range(10), confidence=0.75)
    assert {row.run: row.place for row in board.board(INT).rows} == places


def test_another_measure_gives_the_places_where_the_task_has_it(tmp_path: Path) -> None:
    board = board_of(tmp_path, Phase(is_open=False), Ranking(measure="mcc", min_coverage=0))
    answer(board, "run", range(10))
    assert board.board(ACT).order[0] == "mcc"
    assert board.board(INT).order[0] == "auc_ipr"


@pytest.mark.parametrize("task", [INT, ACT])
def test_the_board_has_the_digits_of_scoring_with_all_articles(tmp_path, task):
    board = board_of(tmp_path, Phase(is_open=False), Ranking(min_coverage=0))
    answer(board, "run", [0, 2, 3, 7], confidence=0.5)
    plugin = installed_tasks()[task]
    answers = [
        (ArticleId(f"a{number}"), {INT: right(number, 0.5), ACT: [number < 5, 0.5]}[task])
        for number in (0, 2, 3, 7)
    ]
    (tmp_path / "run.tsv").write_text("".join(plugin.result_lines(answers)))  # type: ignore[attr-defined]
    gold = board.scored_task(task).gold
    [score] = board.scores(task).values()
    found = evaluate_files(str(task), gold, tmp_path / "run.tsv", articles="all").to_dict()
    result = {key: found[key] for key in found if key not in {"run", "signature"}}
    assert result == {key: score.detail[key] for key in found if key not in {"run", "signature"}}
    assert "|articles:all|" in board.board(task).signature


def test_a_kept_scorer_keeps_the_confidences(tmp_path: Path) -> None:
    board = board_of(tmp_path, Phase(is_open=False), Ranking())
    answer(board, "run", range(10), confidence=0.25)
    [score] = board.scores(INT).values()
    scored = board.scored_task(INT)
    again, first = (scored.plugin.scorer(scored.gold) for _ in range(2))
    for number in range(10):
        prepared = first.prepare(ArticleId(f"a{number}"), right(number, 0.25))
        first.keep(ArticleId(f"a{number}"), prepared)
    again.load(first.dump())  # type: ignore[attr-defined]
    assert again.score().confidence == score.confidence == 0.25
