"""Scorecards as frames, rows, a line and a small table."""

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scoring import ActGold, Classification, RunScorer, evaluate_files, leaderboard
from scoring.cli import main
from scoring.frames import act_rows, item_rows
from scoring.scorecard import ActScorecard, ItemScorecard

GOLD = "a\tP1\na\tP2\nb\tP3\n"
RUN = "a\tP1\t1\t0.9\na\tX\t2\t0.8\nb\tY\t1\t0.7\nb\tP3\t2\t0.6\n"
BEST = "a\tP1\t1\t0.9\na\tP2\t2\t0.8\nb\tP3\t1\t0.7\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"gold": GOLD, "run": RUN, "best": BEST}.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    return tmp_path


def card_of(folder: Path, run: str) -> ItemScorecard:
    card = evaluate_files("INT", folder / "gold.tsv", folder / f"{run}.tsv")
    assert isinstance(card, ItemScorecard)
    return card


def classified() -> ActScorecard:
    scorer = RunScorer("ACT", ActGold(relevant={"a": True, "b": False, "c": True}), run="x<y")
    for article, called, confidence in (("a", True, 0.9), ("b", True, 0.8), ("c", False, 0.4)):
        scorer.put(article, Classification(called, confidence))
    card = scorer.scorecard()
    assert isinstance(card, ActScorecard)
    return card


def test_rows_of_articles(folder: Path) -> None:
    first, second = item_rows(card_of(folder, "run"))
    assert first == {
        "run": "run", "view": "raw", "article": "a", "hits": 2, "gold": 2, "correct": 1,
        "precision": 0.5, "recall": 0.5, "f_score": 0.5, "auc_ipr": 0.5,
    }  # fmt: skip
    assert (second["article"], second["auc_ipr"]) == ("b", 0.5)
    listed = [(row["article"], row["rank"], row["relevant"]) for row in act_rows(classified())]
    assert listed == [("a", 1, True), ("b", 2, False), ("c", 3, True)]
    assert [row["called"] for row in act_rows(classified())] == [True, True, False]
    assert [row["correct"] for row in act_rows(classified())] == [True, False, False]


def test_frames_are_of_pandas(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = card_of(folder, "run").to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["auc_ipr"].mean() == card_of(folder, "run").macro.auc_ipr
    assert list(classified().to_frame()["article"]) == ["a", "b", "c"]
    board = leaderboard([card_of(folder, "run"), card_of(folder, "best")])
    found = list(zip(board["rank"], board["run"], board["macro.auc_ipr"], strict=True))
    assert found == [(1, "best", 1.0), (2, "run", 0.5)]


def test_rows_without_pandas(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert card_of(folder, "run").to_frame() == item_rows(card_of(folder, "run"))
    cards = [card_of(folder, name) for name in ("run", "best", "run")]
    board = leaderboard(cards)
    assert [(row["rank"], row["run"]) for row in board] == [(1, "best"), (2, "run"), (2, "run")]
    assert [row["rank"] for row in leaderboard([classified()])] == [1]
    assert leaderboard([]) == []


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_scorecard_at_a_glance(folder: Path) -> None:
    card = card_of(folder, "run")
    assert str(card) == "run (INT, 2/2 articles): P 0.500, R 0.750, F 0.583, AUC iP/R 0.500"
    act = classified()
    assert str(act).startswith("x<y (ACT, 3/3 articles): spec. 0.000, sens. 0.500, acc. 0.333")
    parsed = _Cells()
    parsed.feed(act._repr_html_())
    assert parsed.texts[:4] == ["run", "task", "view", "articles"]
    assert "x<y" in parsed.texts
    assert parsed.texts[-1] == str(act.signature)


def test_representations_are_small_however_many_articles() -> None:
    names = [f"a{place}" for place in range(2000)]
    scorer = RunScorer("ACT", ActGold(relevant=dict.fromkeys(names, True)), run="x")
    for name in names:
        scorer.put(name, Classification(True, 0.5))
    card = scorer.scorecard()
    assert len(repr(card)) < 1000
    assert len(card._repr_html_()) < 1000


@pytest.mark.parametrize("out", [True, False])
def test_scores_of_each_article(out, folder, capsys):
    command = ["per-article", "--task", "INT", "--gold", str(folder / "gold.tsv")]
    command += [str(folder / "run.tsv"), str(folder / "best.tsv"), "--measures", "AP,P@1"]
    written = folder / "out.tsv"
    assert main([*command, *(["--out", str(written)] if out else [])]) == 0
    text = written.read_text() if out else capsys.readouterr().out
    header, *lines = (line.split("\t") for line in text.splitlines())
    assert header[-3:] == ["auc_ipr", "AP", "P@1"]
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert [(row["run"], row["article"], row["AP"], row["P@1"]) for row in rows] == [
        ("run", "a", "0.5", "1.0"),
        ("run", "b", "0.5", "0.0"),
        ("run", "all", "0.5", "0.5"),
        ("best", "a", "1.0", "1.0"),
        ("best", "b", "1.0", "1.0"),
        ("best", "all", "1.0", "1.0"),
    ]
    assert {key: rows[2][key] for key in ("hits", "gold", "correct", "f_score")} == {
        "hits": "4", "gold": "3", "correct": "2",
        "f_score": str(card_of(folder, "run").macro.f_score),
    }  # fmt: skip


def test_scores_of_each_classification(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "act.tsv").write_text("a\t1\nb\t0\n")
    (folder / "act_run.tsv").write_text("a\t1\t1\t0.9\nb\t1\t2\t0.8\n")
    (folder / "empty.tsv").write_text("")
    command = ["per-article", "--task", "ACT", "--gold", str(folder / "act.tsv")]
    assert main([*command, str(folder / "act_run.tsv")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run\tarticle\trank\trelevant\tcalled\tcorrect",
        "act_run\ta\t1\tTrue\tTrue\tTrue",
        "act_run\tb\t2\tFalse\tTrue\tFalse",
    ]
    assert main([*command, str(folder / "empty.tsv")]) == 0
    assert capsys.readouterr().out == "run\tarticle\n"
    assert main([*command, str(folder / "act_run.tsv"), "--measures", "AP"]) == 2
    assert "--measures does not apply to the articles of ACT" in capsys.readouterr().err
    assert main([*command, str(folder / "act_run.tsv"), "--measures", "no"]) == 2
    assert "measure 'no'; expected one of" in capsys.readouterr().err
