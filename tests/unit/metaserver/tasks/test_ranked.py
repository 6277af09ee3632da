"""INT and IPT: ranks, duplicates, accessions; gold, scores and result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import InputError
from metaserver.base.records import ArticleId
from metaserver.exchange.wire.validation import Report, Ruling
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from tests.fakes.vocabulary import FakeVocabulary

ANY = FakeVocabulary.of_everything()


def hits(*sent: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(("dbid", "confidence", "rank"), values, strict=False)) for values in sent]


def pairs(*sent: tuple[Any, ...]) -> list[dict[str, Any]]:
    names = ("dbid_a", "dbid_b", "confidence", "rank")
    return [dict(zip(names, values, strict=False)) for values in sent]


def messages(report: Report) -> list[str]:
    return [str(problem) for problem in report.problems]


class TestRanks:
    def test_hits_are_kept_by_rank_with_their_gaps(self) -> None:
        sent = hits(("P3", 0.1, 9), ("P1", 0.2, 2))
        assert INT.check(sent, Report(), ANY) == [["P1", 2, 0.2], ["P3", 9, 0.1]]

    def test_without_ranks_confidence_orders_and_ties_stay_as_sent(self) -> None:
        sent = hits(("P1", 0.5), ("P2", 0.9), ("P3", 0.5), ("P4", 0.7))
        assert INT.check(sent, Report(), ANY) == [
            ["P2", 1, 0.9],
            ["P4", 2, 0.7],
            ["P1", 3, 0.5],
            ["P3", 4, 0.5],
        ]

    def test_a_hit_without_a_rank_among_ranked_ones_is_dropped(self) -> None:
        report = Report()
        assert INT.check(hits(("P1", 0.9), ("P2", 0.1, 1)), report, ANY) == [["P2", 1, 0.1]]
        assert messages(report) == ["normalizations[0].rank: missing, though other hits have one"]

    def test_a_rank_twice_keeps_the_first(self) -> None:
        report = Report()
        sent = hits(("P1", 0.9, 1), ("P2", 0.8, 1), ("P3", 0.7, 2))
        assert INT.check(sent, report, ANY) == [["P1", 1, 0.9], ["P3", 2, 0.7]]
        assert messages(report) == ["normalizations[1].rank: rank 1 again, after normalizations[0]"]

    def test_a_hit_that_is_dropped_leaves_its_rank_to_others(self) -> None:
        sent = hits(("P1", 7.0, 1), ("P2", 0.8, 1))
        assert INT.check(sent, Report(), ANY) == [["P2", 1, 0.8]]

    def test_unranked_hits_close_up_over_a_dropped_one(self) -> None:
        sent = hits(("P1", 1.0), ("P2", 1.1), ("P3", 0.2))
        assert INT.check(sent, Report(), ANY) == [["P1", 1, 1.0], ["P3", 2, 0.2]]


def test_the_order_of_usual_hits_is_that_of_their_ranks() -> None:
    sent = pairs(("P9", "P1", 0.5, 1), ("P2", "P2", 1.0, 7))
    assert IPT.check(sent, Report(), ANY) == [["P1", "P9", 1, 0.5], ["P2", "P2", 7, 1.0]]
    assert IPT.check(sent[::-1], Report(), ANY) == [["P1", "P9", 1, 0.5], ["P2", "P2", 7, 1.0]]


@pytest.mark.parametrize("confidence", [0.0, -0.1, 1.0000001])
def test_confidence_lies_above_0_and_up_to_1(confidence: float) -> None:
    report = Report()
    assert INT.check(hits(("P1", confidence, 1)), report, ANY) == []
    assert messages(report) == [f"normalizations[0].confidence: expected ]0, 1], got {confidence}"]


class TestDuplicates:
    def test_the_better_ranked_is_kept(self) -> None:
        report = Report()
        assert INT.check(hits(("P1", 0.1, 2), ("P1", 0.9, 1)), report, ANY) == [["P1", 1, 0.9]]
        assert messages(report) == ["normalizations[0]: P1 again, after normalizations[1]"]

    def test_a_pair_in_the_other_order_is_the_same_pair(self) -> None:
        report = Report()
        sent = pairs(("P2", "P1", 0.9, 1), ("P1", "P2", 0.8, 2))
        assert IPT.check(sent, report, ANY) == [["P1", "P2", 1, 0.9]]
        assert messages(report) == ["pairs[1]: P1 and P2 again, after pairs[0]"]

    def test_a_protein_may_interact_with_itself(self) -> None:
        assert IPT.check(pairs(("P1", "P1", 0.9, 1)), Report(), ANY) == [["P1", "P1", 1, 0.9]]

    def test_a_secondary_accession_may_make_one(self) -> None:
        report = Report()
        release = FakeVocabulary.ruling({"Q1": Ruling("P1", "Q1 was merged into P1")})
        assert INT.check(hits(("P1", 0.9, 1), ("Q1", 0.8, 2)), report, release) == [["P1", 1, 0.9]]
        assert messages(report) == [
            "normalizations[1]: P1 again, after normalizations[0]",
            "normalizations[1].dbid: Q1 was merged into P1",
        ]


def test_each_refused_accession_of_a_pair_is_named() -> None:
    report = Report()
    release = FakeVocabulary.ruling(
        {"X": Ruling(None, "X is malformed"), "Y": Ruling(None, "Y is deleted")}
    )
    sent = pairs(("P1", "P2", 0.9, 1), ("X", "Y", 0.8, 2), ("P1", "Y", 0.7, 3))
    assert IPT.check(sent, report, release) == [["P1", "P2", 1, 0.9]]
    assert messages(report) == [
        "pairs[1].dbid_a: X is malformed",
        "pairs[1].dbid_b: Y is deleted",
        "pairs[2].dbid_b: Y is deleted",
    ]


def test_members_that_are_not_scored_cost_nothing() -> None:
    report = Report()
    (first,) = hits(("P1", 0.9, 1))
    sent = [{**first, "taxid": "human", "evidence": "binds", "dbname": "UniProt", "extra": []}]
    assert INT.check(sent, report, ANY) == [["P1", 1, 0.9]]
    assert messages(report) == ["normalizations[0].taxid: expected int, got string 'human'"]


def test_a_hit_of_another_type_makes_the_member_unusable() -> None:
    report = Report()
    assert INT.check([*hits(("P1", 0.9, 1)), "P2"], report, ANY) is None
    assert report.hits_sent == 2


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
            "tp": 1,
            "fp": 1,
            "fn": 1,
            "precision": 0.5,
            "recall": 0.5,
            "f_score": 0.5,
            "auc_ipr": 0.5,
        }
        assert score.curve == ((0.5, 1.0),)
        assert score.detail["task"] == "INT"

    def test_the_columns_are_the_values(self, gold: Any) -> None:
        values = INT.scorer(gold).score().values
        assert tuple(values) == tuple(column.key for column in INT.columns)
        assert set(INT.order) <= set(values)

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


def test_a_gold_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.tsv"):
        IPT.read_gold(tmp_path / "gone.tsv")


def test_result_files_have_consecutive_ranks() -> None:
    answers = [(ArticleId("1"), [["P1", 2, 0.5], ["P3", 7, 0.25]]), (ArticleId("2"), [])]
    assert "".join(INT.result_lines(answers)) == "1\tP1\t1\t0.5\n1\tP3\t2\t0.25\n"
    pair = [(ArticleId("1"), [["P1", "P2", 1, 0.5]])]
    assert list(IPT.result_lines(pair)) == ["1\tP1\tP2\t1\t0.5\n"]


def test_count() -> None:
    assert INT.count([["P1", 1, 0.5]]) == 1
