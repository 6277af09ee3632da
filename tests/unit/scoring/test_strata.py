"""Strata of articles: scores on each, and unpaired differences against Welch's test."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scoring import (
    ActGold,
    Classification,
    FormatError,
    Hit,
    ItemGold,
    OptionError,
    RunScorer,
    evaluate_files,
    read_gold,
    read_strata,
    stratum_differences,
    stratum_scores,
)
from scoring.cli import main
from scoring.scorecard import Scorecard
from scoring.strata import NONE, gold_of, scorecard_of
from scoring.tasks import Task

ARTICLES = [f"a{place}" for place in range(60)]
GOLD = ItemGold(task=Task.INT, items={article: frozenset({"P1"}) for article in ARTICLES})
EASY = frozenset(ARTICLES[:25])
STRATA = {"part": {"public": EASY, "secret": frozenset(ARTICLES) - EASY}}


def run(name: str, ranks: list[int]) -> Scorecard:
    scorer = RunScorer("INT", GOLD, run=name)
    for article, rank in zip(ARTICLES, ranks, strict=True):
        wrong = [Hit(f"X{place}", place, 0.5) for place in range(1, rank)]
        if rank:
            scorer.put(article, [*wrong, Hit("P1", rank, 0.5)])
    return scorer.scorecard()


def ranks(seed: int, easy: int, hard: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return [*rng.integers(1, easy, 25).tolist(), *rng.integers(1, hard, 35).tolist()]


CARDS = [run("one", ranks(1, 3, 6)), run("two", ranks(2, 3, 7))]


def areas(card: Scorecard, articles: frozenset[str]) -> np.ndarray:
    found = [score.auc_ipr for name, score in card.articles.items() if name in articles]
    return np.array(found, dtype=float)


def test_scores_of_strata_and_their_mean() -> None:
    scores = {(one.run, one.value): one for one in stratum_scores(GOLD, CARDS, STRATA)}
    for card in CARDS:
        means = []
        for value, articles in STRATA["part"].items():
            found = scores[card.run, value]
            assert found.scores["auc_ipr"] == pytest.approx(areas(card, articles).mean())
            assert found.articles_scored == found.articles_in_gold == len(articles)
            means.append(found.scores["auc_ipr"])
        assert scores[card.run, "*"].scores["auc_ipr"] == pytest.approx(np.mean(means))


def test_a_stratum_scores_as_a_gold_of_its_own(tmp_path: Path) -> None:
    """The same file, evaluated on the gold of the stratum alone, has the same digits."""
    rng = np.random.default_rng(4)
    names = [f"a{place:02d}" for place in range(30)]
    truth = {name: bool(rng.integers(2)) for name in names}
    classes = {name: bool(rng.integers(2)) for name in names[:25]}
    for kind in (True, False):
        for rank, name in enumerate([n for n in classes if classes[n] == kind], start=1):
            with (tmp_path / "run.tsv").open("a") as file:
                file.write(f"{name}\t{kind:d}\t{rank}\t0.5\n")
    (tmp_path / "gold.tsv").write_text("".join(f"{n}\t{y:d}\n" for n, y in truth.items()))
    gold = read_gold("ACT", tmp_path / "gold.tsv")
    some = frozenset(names[::2])
    part = gold_of(gold, some)
    cards = [evaluate_files("ACT", one, tmp_path / "run.tsv") for one in (gold, part)]
    found = scorecard_of(part, cards[0])
    assert found.to_dict() | {"articles_ignored": 0} == cards[1].to_dict() | {"articles_ignored": 0}


def test_unanswered_articles_of_a_stratum() -> None:
    card = run("half", [*[1] * 10, *[0] * 15, *[2] * 35])
    by_value = {one.value: one for one in stratum_scores(GOLD, [card], STRATA)}
    assert (by_value["public"].articles_scored, by_value["public"].articles_in_gold) == (10, 25)
    assert by_value["public"].scores["auc_ipr"] == 1.0
    nothing = run("late", [*[0] * 25, *[2] * 35])
    by_value = {one.value: one for one in stratum_scores(GOLD, [nothing], STRATA)}
    assert by_value["*"].scores["auc_ipr"] == 0.5  # the stratum without a score has no weight


def test_unpaired_differences_are_welchs() -> None:
    from scipy import stats

    found = {one.run: one for one in stratum_differences(GOLD, CARDS, STRATA, resamples=20_000)}
    values = {card.run: card for card in CARDS}
    sides = STRATA["part"].values()
    samples = {name: [areas(card, side) for side in sides] for name, card in values.items()}
    samples["mean of the runs"] = [
        np.mean([areas(card, side) for card in CARDS], axis=0) for side in sides
    ]
    for name, (easy, hard) in samples.items():
        expected = stats.ttest_ind(easy, hard, equal_var=False)
        interval = expected.confidence_interval(0.95)
        assert found[name].difference == pytest.approx(easy.mean() - hard.mean())
        assert found[name].p == pytest.approx(expected.pvalue, abs=0.003)
        assert found[name].low == pytest.approx(interval.low, abs=0.012)
        assert found[name].high == pytest.approx(interval.high, abs=0.012)
        assert (found[name].articles_a, found[name].articles_b) == (25, 35)


def test_a_run_without_answers_in_a_stratum_is_not_compared_there() -> None:
    late = run("late", [*[0] * 25, *[1, 2] * 17, 1])
    found = {one.run: one for one in stratum_differences(GOLD, [*CARDS, late], STRATA)}
    missing = found["late"]
    assert (missing.articles_a, missing.articles_b) == (0, 35)
    assert (missing.difference, missing.low, missing.high, missing.p) == (None, None, None, None)
    without = {one.run: one for one in stratum_differences(GOLD, CARDS, STRATA)}
    assert found.keys() == without.keys() | {"late"}
    for name, one in without.items():  # nor is it in the mean of the runs
        numbers = ("difference", "low", "high", "p")  # their last digits depend on the runs beside
        values = {key: getattr(one, key) for key in numbers}
        assert {key: getattr(found[name], key) for key in numbers} == pytest.approx(values)
        assert replace(found[name], **values) == one


def test_intervals_of_strata_rest_on_the_articles_that_a_run_answered() -> None:
    from scipy import stats

    few = run("few", [1, 2, 3, *[0] * 22, *[1, 2, 3, 4, 5] * 7])
    (found,) = stratum_differences(GOLD, [few], STRATA, resamples=20_000)
    assert (found.articles_a, found.articles_b) == (3, 35)
    sides = [areas(few, side) for side in STRATA["part"].values()]
    expected = stats.ttest_ind(*sides, equal_var=False)
    assert found.p == pytest.approx(expected.pvalue, abs=0.1)
    assert found.high - found.low > 0.8  # 22 unanswered articles do not make it more certain


def test_a_stratum_of_one_article_has_no_interval() -> None:
    strata = {"part": {"one": frozenset({"a1"}), "rest": frozenset(ARTICLES[2:])}}
    (found,) = stratum_differences(GOLD, CARDS[:1], strata, resamples=50)
    assert (found.low, found.high, found.p) == (None, None, None)
    assert found.difference != 0


def test_lists_of_strata() -> None:
    """MCC of ACT, which only a stratum's whole list has."""
    gold = ActGold(relevant={name: place % 3 == 0 for place, name in enumerate(ARTICLES)})
    scorer = RunScorer("ACT", gold, run="x")
    for place, (name, relevant) in enumerate(gold.relevant.items()):
        wrong = place % 3 != 2 if place >= 25 else place % 12 == 0
        scorer.put(name, Classification(relevant != wrong, 0.5))
    card = scorer.scorecard()
    (found,) = stratum_differences(gold, [card], STRATA, measure="mcc", resamples=500)
    parts = [scorecard_of(gold_of(gold, one), card) for one in STRATA["part"].values()]
    mccs = [part.to_dict()["mcc"] for part in parts]
    assert found.difference == pytest.approx(mccs[0] - mccs[1])
    assert found.p < 0.05


def test_a_file_of_strata(tmp_path: Path) -> None:
    path = tmp_path / "strata.tsv"
    path.write_text("a0\tspecies\thuman\na0\tspecies\tmouse\na1\tyear\t2008\nzzz\tyear\t2008\n")
    strata, ignored = read_strata(path, GOLD)
    assert ignored == 1
    assert strata["species"]["human"] == strata["species"]["mouse"] == {"a0"}
    assert strata["species"][NONE] == frozenset(ARTICLES[1:])
    assert strata["year"]["2008"] == {"a1"}
    path.write_text("a0\tspecies\thuman\na0\tspecies\thuman\na0\tspecies\n")
    with pytest.raises(FormatError) as raised:
        read_strata(path, GOLD)
    assert [problem.line for problem in raised.value.problems] == [2, 3]
    path.write_text("")
    with pytest.raises(FormatError, match="empty; expected lines of article, name, value"):
        read_strata(path, GOLD)


INT = ("--task", "INT", "--gold")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.tsv").write_text("".join(f"{name}\tP1\n" for name in "abcd"))
    (tmp_path / "run.tsv").write_text("".join(f"{name}\tP1\t1\t1\n" for name in "abcd"))
    lines = [f"{name}\tpart\t{'one' if name < 'c' else 'two'}\n" for name in "abcd"]
    (tmp_path / "strata.tsv").write_text("".join([*lines, "z\tyear\t2008\na\tyear\t2009\n"]))
    return tmp_path


def strata_of(folder: Path, *options: str) -> int:
    files = (str(folder / name) for name in ("gold.tsv", "run.tsv", "strata.tsv"))
    gold, result, strata = files
    command = ["strata", *INT, gold, result, "--strata", strata, "--resamples", "50"]
    return main([*command, *options])


def test_the_command_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert strata_of(folder) == 0
    output = capsys.readouterr()
    assert "1 lines of articles that are not in the gold" in output.err
    assert output.out.splitlines()[0].split()[:4] == ["name", "value", "run", "articles"]
    assert "differences of auc_ipr, articles of each stratum resampled" in output.out
    assert strata_of(folder, "--json", "--name", "part") == 0
    values = json.loads(capsys.readouterr().out)
    assert [one["value"] for one in values["scores"]] == ["one", "two", "*"]
    assert [(one["a"], one["b"]) for one in values["differences"]] == [("one", "two")]
    assert "|seed:2009" in values["signature"]
    assert strata_of(folder, "--format", "csv", "--table", "differences") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = {(row["name"], row["a"], row["b"]) for row in rows}
    assert found == {("part", "one", "two"), ("year", "2009", NONE)}
    assert strata_of(folder, "--format", "csv") == 0
    assert capsys.readouterr().out.startswith("name,value,run,articles,precision")
    assert strata_of(folder, "--format", "latex") == 0
    assert capsys.readouterr().out.count(r"\begin{tabular}") == 2


def test_options_that_do_not_apply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert strata_of(folder, "--name", "zzz") == 2
    assert "--name 'zzz'; expected one of part, year" in capsys.readouterr().err
    assert strata_of(folder, "--measure", "mcc") == 2
    assert "measure 'mcc'; expected one of auc_ipr" in capsys.readouterr().err
    (folder / "strata.tsv").write_text("".join(f"{name}\tpart\tone\n" for name in "abcd"))
    assert strata_of(folder) == 0
    assert "differences" not in capsys.readouterr().out
    assert strata_of(folder, "--table", "differences") == 2
    assert "one stratum only" in capsys.readouterr().err


def test_many_strata_are_scored_but_not_compared() -> None:
    strata = {"id": {article: frozenset({article}) for article in ARTICLES}}
    with pytest.raises(OptionError, match="60 values of 'id' to compare; expected at most 50"):
        stratum_differences(GOLD, CARDS, strata, resamples=1)
    assert len(stratum_scores(GOLD, CARDS[:1], strata)) == 61
