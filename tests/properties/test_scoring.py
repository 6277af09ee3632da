"""Live scores do not depend on the order of answers, and equal the scores of the written file."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring import Classification, Hit, RunScorer, evaluate_files, pair, result_lines
from scoring.gold import ActGold, ItemGold
from scoring.tasks import Task

ARTICLES = [f"article{number}" for number in range(6)]
ITEMS = {
    Task.INT: [f"P{number}" for number in range(12)],
    Task.IPT: [pair(f"P{left}", f"P{right}") for left in range(5) for right in range(left, 5)],
}


def item_golds(task: Task) -> st.SearchStrategy[ItemGold]:
    items = st.frozensets(st.sampled_from(ITEMS[task]), min_size=1, max_size=5)
    return st.dictionaries(st.sampled_from(ARTICLES), items, min_size=1).map(
        lambda found: ItemGold(task=task, items=found)
    )


@st.composite
def hit_lists(draw: st.DrawFn, task: Task) -> list[Hit]:
    items = draw(st.lists(st.sampled_from(ITEMS[task]), unique=True))
    ranks = draw(st.permutations(range(1, len(items) + 1)))
    confidences = st.floats(0, 1, exclude_min=True)
    return [Hit(item, rank, draw(confidences)) for item, rank in zip(items, ranks, strict=True)]


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[Task, Any, dict[str, Any]]:
    task = draw(st.sampled_from(Task))
    articles = st.sampled_from(ARTICLES)
    if task is Task.ACT:
        labels = draw(st.dictionaries(articles, st.booleans(), min_size=1))
        classes = st.builds(
            Classification, st.booleans(), st.sampled_from([0.25, 0.5, 1.0]), st.none()
        )  # few values, so that ties are common
        return task, ActGold(relevant=labels), draw(st.dictionaries(articles, classes))
    return task, draw(item_golds(task)), draw(st.dictionaries(articles, hit_lists(task)))


@pytest.mark.parametrize("policy", ["answered", "all"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(campaign=campaigns(), seed=st.integers(0, 99))
def test_live_scores_equal_file_scores_to_the_last_bit(policy, campaign, seed, tmp_path):
    task, gold, answers = campaign
    path = tmp_path / "run.tsv"
    path.write_text("".join(result_lines(task, answers.items())))
    from_file = evaluate_files(task, gold, path, articles=policy)

    shuffled = list(answers.items())
    random.Random(seed).shuffle(shuffled)
    live = RunScorer(task, gold, articles=policy, run="run")
    for article, answer in shuffled:
        live.put(article, answer)
        live.scorecard()
    assert live.scorecard().to_dict() == from_file.to_dict()
    assert live.scorecard().curve == from_file.curve


@given(campaign=campaigns())
def test_the_area_under_the_curve_is_the_score(campaign):
    task, gold, answers = campaign
    scorer = RunScorer(task, gold, articles="all")
    for article, answer in answers.items():
        scorer.put(article, answer)
    scorecard = scorer.scorecard()
    area = last = 0.0
    for recall, precision in scorecard.curve:
        area += (recall - last) * precision
        last = recall
    values = scorecard.to_dict()
    expected = values["auc_ipr"] if task is Task.ACT else values["macro"]["auc_ipr"]
    assert area == pytest.approx(expected, abs=1e-12)
