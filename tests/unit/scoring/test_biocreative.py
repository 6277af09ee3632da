"""The live scorer: replaced answers, unknown articles, any order, same digits as a file."""

from pathlib import Path
from typing import Any

import pytest

from scoring import Classification, Hit, OptionError, RunScorer, evaluate_files, result_lines
from scoring.gold import ActGold, ItemGold
from scoring.tasks import Task

GOLD = ItemGold(
    task=Task.INT,
    items={"a": frozenset({"P1", "P2"}), "b": frozenset({"P3"}), "c": frozenset({"P4"})},
)


def test_articles_without_gold_are_ignored_and_counted_once() -> None:
    scorer = RunScorer("INT", GOLD)
    scorer.put("elsewhere", [Hit("P1", 1, 0.5)])
    scorer.put("elsewhere", [Hit("P1", 1, 0.5), Hit("P2", 2, 0.4)])
    values = scorer.scorecard().to_dict()
    assert (values["articles_ignored"], values["hits_ignored"]) == (1, 2)
    assert values["articles_scored"] == 0


def test_an_empty_answer_does_not_count_as_answered() -> None:
    scorer = RunScorer("INT", GOLD)
    scorer.put("a", [])
    assert scorer.scorecard().articles_scored == 0
    scorer = RunScorer("INT", GOLD, articles="all")
    scorer.put("a", [])
    assert scorer.scorecard().articles_scored == 3


def test_options_that_do_not_apply() -> None:
    act = ActGold(relevant={"a": True})
    with pytest.raises(OptionError, match="cutoff does not apply to ACT"):
        RunScorer("ACT", act, cutoff=3)
    with pytest.raises(OptionError, match="INT cannot score IPT"):
        RunScorer("IPT", GOLD)
    with pytest.raises(OptionError, match="classification cannot be scored"):
        RunScorer("INT", GOLD).put("a", Classification(True, 0.5))
    with pytest.raises(OptionError, match="hits cannot be scored as ACT"):
        RunScorer("ACT", act).put("a", [])
    with pytest.raises(OptionError, match="expected answered or all"):
        RunScorer("INT", GOLD, articles="some")  # type: ignore[arg-type]


def test_equal_positives_come_by_rising_and_equal_negatives_by_falling_id(tmp_path: Path) -> None:
    gold = ActGold(relevant=dict.fromkeys("abcd", True))
    answers = {article: Classification(article in "bc", 0.5) for article in "dbca"}
    scorer = RunScorer("ACT", gold, run="run")
    for article, answer in answers.items():
        scorer.put(article, answer)
    card = scorer.scorecard()
    assert [card.articles[place] for place in card.ranked] == ["b", "c", "d", "a"]
    run = tmp_path / "run.tsv"
    run.write_text("".join(result_lines("ACT", answers.items())))
    assert evaluate_files("ACT", gold, run) == card


@pytest.mark.parametrize(
    ("task", "gold", "answer"),
    [
        ("INT", GOLD, [Hit("X", 1, 0.5), Hit("P1", 2, 0.4)]),
        ("ACT", ActGold(relevant={"a": True, "b": False}), Classification(True, 0.5)),
    ],
)
def test_an_answer_can_be_prepared_by_another_scorer(task: str, gold: Any, answer: Any) -> None:
    put, kept, other = (RunScorer(task, gold) for _ in range(3))
    for article in ("a", "elsewhere"):
        put.put(article, answer)
        kept.keep(article, other.prepare(article, answer))
    assert kept.scorecard() == put.scorecard()
    assert other.scorecard() == RunScorer(task, gold).scorecard()
