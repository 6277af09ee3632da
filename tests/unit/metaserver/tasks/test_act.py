"""ACT: one classification an article."""

from pathlib import Path

import pytest

from metaserver.base.records import ArticleId
from metaserver.exchange.wire.contract import Report
from metaserver.tasks.act import ACT
from tests.fakes.vocabulary import FakeVocabulary


@pytest.mark.parametrize(
    ("sent", "payload", "hits_sent"),
    [
        ([True, 0.5], [True, 0.5], 1),
        ([0, 1], [False, 1.0], 1),
        ([True, 0.0], [], 1),
        ([True, 1.5], [], 1),
        ([], [], 0),
        ([True, 0.5, "x"], None, 1),
        ([None, 0.5], None, 1),
        ("yes", None, 0),
    ],
)
def test_check(sent: object, payload: object, hits_sent: int) -> None:
    report = Report()
    assert ACT.check(sent, report, FakeVocabulary.unasked()) == payload
    assert report.hits_sent == hits_sent


def test_both_values_are_looked_at() -> None:
    report = Report()
    assert ACT.check(["x", "y"], report, FakeVocabulary.unasked()) is None
    assert [problem.path for problem in report.problems] == ["interaction[0]", "interaction[1]"]


def test_a_run_is_scored_as_it_lands(tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text("1\t1\n2\t0\n3\t1\n4\t0\n")
    scorer = ACT.scorer(ACT.read_gold(path))
    empty = scorer.score()
    assert (empty.articles_scored, empty.values["mcc"]) == (0, None)
    for article, payload in {"1": [True, 0.9], "2": [True, 0.5], "4": []}.items():
        scorer.put(ArticleId(article), payload)
    assert scorer.score().values["precision_at_full_recall"] is None
    scorer.put(ArticleId("3"), [False, 0.2])
    scorer.put(ArticleId("4"), [False, 0.8])
    score = scorer.score()
    assert (score.articles_scored, score.articles_in_gold) == (4, 4)
    assert tuple(score.values) == tuple(column.key for column in ACT.columns)
    assert set(ACT.order) <= set(score.values)
    assert score.values == {
        "specificity": 0.5, "sensitivity": 0.5, "accuracy": 0.5, "mcc": 0.0,
        "precision_at_full_recall": pytest.approx(2 / 3), "auc_ipr": pytest.approx((1 + 2 / 3) / 2),
    }  # fmt: skip


def test_result_files_rank_each_class_by_confidence() -> None:
    answers = [
        (ArticleId("1"), [False, 0.5]),
        (ArticleId("2"), [True, 0.5]),
        (ArticleId("3"), []),
        (ArticleId("4"), [True, 0.75]),
    ]
    assert list(ACT.result_lines(answers)) == [
        "4\t1\t1\t0.75\n", "2\t1\t2\t0.5\n", "1\t0\t1\t0.5\n",
    ]  # fmt: skip
