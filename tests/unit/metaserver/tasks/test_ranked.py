"""INT and IPT: ranks, duplicates, accessions; gold, scores and result files."""

from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId
from metaserver.exchange.wire.contract import Report
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.uniprot.verdicts import Ruling
from tests.fakes.vocabulary import FakeVocabulary


def hits(*sent: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(("dbid", "confidence", "rank"), values, strict=False)) for values in sent]


def pairs(*sent: tuple[Any, ...]) -> list[dict[str, Any]]:
    names = ("dbid_a", "dbid_b", "confidence", "rank")
    return [dict(zip(names, values, strict=False)) for values in sent]


RELEASE = FakeVocabulary.ruling(
    {
        "Q1": Ruling("P1", "Q1 was merged into P1"),
        "X": Ruling(None, "X is malformed"),
        "Y": Ruling(None, "Y is deleted"),
    }
)
P1 = {"dbid": "P1", "confidence": 0.9, "rank": 1}
ASIDE = {"taxid": "human", "evidence": "binds", "dbname": "UniProt", "extra": []}


@pytest.mark.parametrize(
    ("sent", "kept", "told"),
    [
        (hits(("P3", 0.1, 9), ("P1", 0.2, 2)), [["P1", 2, 0.2], ["P3", 9, 0.1]], []),
        (hits(("P1", 0.5), ("P2", 0.9), ("P3", 0.5), ("P4", 0.7)),
         [["P2", 1, 0.9], ["P4", 2, 0.7], ["P1", 3, 0.5], ["P3", 4, 0.5]], []),
        (hits(("P1", 0.9), ("P2", 0.1, 1)), [["P2", 1, 0.1]],
         ["[0].rank: missing; other hits of the list have a rank"]),
        (hits(("P1", 0.9, 1), ("P2", 0.8, 1), ("P3", 0.7, 2)), [["P1", 1, 0.9], ["P3", 2, 0.7]],
         ["[1].rank: rank 1 again, after normalizations[0]"]),
        (hits(("P1", 7.0, 1), ("P2", 0.8, 1)), [["P2", 1, 0.8]],
         ["[0].confidence: expected a confidence above 0 and up to 1, got 7.0"]),
        (hits(("P1", 1.0), ("P2", 1.1), ("P3", 0.2)), [["P1", 1, 1.0], ["P3", 2, 0.2]],
         ["[1].confidence: expected a confidence above 0 and up to 1, got 1.1"]),
        (hits(("P1", 0.0, 1)), [],
         ["[0].confidence: expected a confidence above 0 and up to 1, got 0.0"]),
        (hits(("P1", -0.1, 1)), [],
         ["[0].confidence: expected a confidence above 0 and up to 1, got -0.1"]),
        (hits(("P1", 1.0000001, 1)), [],
         ["[0].confidence: expected a confidence above 0 and up to 1, got 1.0000001"]),
        (hits(("P1", 0.1, 2), ("P1", 0.9, 1)), [["P1", 1, 0.9]],
         ["[0]: P1 again, after normalizations[1]"]),
        (hits(("P1", 0.9, 1), ("Q1", 0.8, 2)), [["P1", 1, 0.9]],
         ["[1]: P1 again, after normalizations[0]", "[1].dbid: Q1 was merged into P1"]),
        ([P1 | ASIDE], [["P1", 1, 0.9]], ["[0].taxid: expected int, got string 'human'"]),
        ([P1 | {"taxid": "human"}], [["P1", 1, 0.9]],
         ["[0].taxid: expected int, got string 'human'"]),
        ([{"dbid": "P1", "confidence": 0.9, "taxid": "human"}],
         [["P1", 1, 0.9]], ["[0].taxid: expected int, got string 'human'"]),
        ([P1, "P2"], None, ["[1]: expected struct, got string 'P2'"]),
        (pairs(("P9", "P1", 0.5, 1), ("P2", "P2", 1.0, 7)),
         [["P1", "P9", 1, 0.5], ["P2", "P2", 7, 1.0]], []),
        (pairs(("P2", "P2", 1.0, 7), ("P9", "P1", 0.5, 1)),
         [["P1", "P9", 1, 0.5], ["P2", "P2", 7, 1.0]], []),
        (pairs(("P2", "P1", 0.9, 1), ("P1", "P2", 0.8, 2)), [["P1", "P2", 1, 0.9]],
         ["[1]: P1 and P2 again, after pairs[0]"]),
        (pairs(("P1", "P2", 0.9, 1), ("X", "Y", 0.8, 2), ("P1", "Y", 0.7, 3)),
         [["P1", "P2", 1, 0.9]],
         ["[1].dbid_a: X is malformed", "[1].dbid_b: Y is deleted", "[2].dbid_b: Y is deleted"]),
    ],
    ids=["gaps", "no ranks", "one without", "rank twice", "rank of a dropped one", "close up",
         "0", "below 0", "above 1", "the better rank", "secondary", "not scored", "one not scored",
         "one not scored, no rank", "no struct",
         "pairs", "pairs in another order", "the same pair", "refused accessions"],
)  # fmt: skip
def test_hits_are_ranked_once_each_and_what_is_dropped_is_named(sent, kept, told):
    task = IPT if "dbid_a" in sent[0] else INT
    report = Report()
    assert task.check(sent, report, RELEASE) == kept
    assert [str(problem) for problem in report.problems] == [f"{task.key}{one}" for one in told]
    assert report.hits_sent == len(sent)


class TestRankedScoring:
    @pytest.fixture
    def gold(self, tmp_path: Path) -> Any:
        path = tmp_path / "gold.tsv"
        path.write_text("1\tP1\n1\tP2\n2\tP3\n")
        return INT.read_gold(path)

    def test_a_run_is_scored_as_it_lands(self, gold: Any) -> None:
        scorer = INT.scorer(gold)
        scorer.put(ArticleId("1"), [["P1", 1, 0.9], ["P9", 2, 0.8]])
        scorer.put(ArticleId("elsewhere"), [["P1", 1, 0.9]])
        score = scorer.score()
        assert (score.articles_scored, score.articles_in_gold) == (1, 2)
        assert score.values == {
            "tp": 1, "fp": 1, "fn": 1, "precision": 0.5, "recall": 0.5, "f_score": 0.5,
            "auc_ipr": 0.5,
        }  # fmt: skip
        assert (score.curve, score.detail["task"]) == (((0.5, 1.0),), "INT")

    def test_the_columns_are_the_values(self, gold: Any) -> None:
        values = INT.scorer(gold).score().values
        assert tuple(values) == tuple(column.key for column in INT.columns)
        assert set(INT.order) <= set(values)
        assert [(column.heading, column.help.partition(",")[0]) for column in INT.columns] == [
            ("TP", "Hits that are in the gold"),
            ("FP", "Hits that are not in the gold"),
            ("FN", "Gold items that were not found"),
            ("P", "Precision"),
            ("R", "Recall"),
            ("F", "F-score"),
            ("AUC iP/R", "Area under the interpolated precision/recall curve"),
        ]

    def test_no_article_no_measure(self, gold: Any) -> None:
        values = INT.scorer(gold).score().values
        assert (values["tp"], values["auc_ipr"]) == (0, None)

    def test_pairs_are_scored_in_either_order(self, tmp_path: Path) -> None:
        path = tmp_path / "gold.tsv"
        path.write_text("1\tP2\tP1\n")
        scorer = IPT.scorer(IPT.read_gold(path))
        scorer.put(ArticleId("1"), [["P1", "P2", 1, 0.9]])
        assert scorer.score().values["f_score"] == 1.0


def test_a_bad_gold_file_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text("1\tP1\n1\tP2\tP3\n1\n")
    with pytest.raises(InputError) as caught:
        INT.read_gold(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert str(caught.value).endswith("(and 1 more)")
    assert "\n" not in str(caught.value)


def test_result_files_have_consecutive_ranks() -> None:
    answers = [(ArticleId("1"), [["P1", 2, 0.5], ["P3", 7, 0.25]]), (ArticleId("2"), [])]
    assert "".join(INT.result_lines(answers)) == "1\tP1\t1\t0.5\n1\tP3\t2\t0.25\n"
    pair = [(ArticleId("1"), [["P1", "P2", 1, 0.5]])]
    assert list(IPT.result_lines(pair)) == ["1\tP1\tP2\t1\t0.5\n"]
