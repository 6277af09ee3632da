"""The hand-checked BC II.5 numbers of ../shared/golden and the published tables."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from scoring import Hit, ItemGold, evaluate_files, evaluate_runs, ranking, read_gold, select_views
from scoring.confusion import Confusion
from scoring.consensus.features import member_features
from scoring.consensus.votes import Votes
from scoring.ranking import Matches, f_beta
from tests.shared import shared

TOLERANCE = 5e-6  # the files print five decimals
HALF = 5e-4  # the tables print three


def golden(name: str) -> dict[str, Any]:
    return json.loads(shared(f"golden/{name}.json").read_text())


def table(name: str) -> list[dict[str, str]]:
    with shared(f"tables/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def write(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def test_area_under_the_interpolated_curve() -> None:
    for case in golden("bc25_ipr_auc")["cases"]:
        matches = Matches(tuple(case["hit_ranks"]), case["n_results"], case["n_gold"])
        found = {
            "auc_ipr": ranking.auc_ipr(matches),
            "average_precision": ranking.average_precision(matches),
            "precision": ranking.precision(matches),
            "trr": ranking.total_reciprocal_rank(matches),
            "rr": ranking.reciprocal_rank(matches),
        }
        expected = {
            name: value if value is None else pytest.approx(value, abs=1e-15)
            for name in found
            for value in [case[name]]
        }
        assert found == expected, case["name"]


def test_classification_cases(tmp_path: Path) -> None:
    content = golden("bc25_act")
    for name, case in content["cases"].items():
        gold, run = write(tmp_path, gold=content["gold"], run=case["results"])
        scorecard = evaluate_files("ACT", gold, run)
        values, expected = scorecard.to_dict(), case["expected"]
        found = [values[key] for key in ("tp", "fp", "fn", "tn")]
        assert found == [expected[key] for key in ("tp", "fp", "fn", "tn")]
        for key in ("specificity", "sensitivity", "accuracy", "mcc", "auc_ipr"):
            assert values[key] == pytest.approx(expected[key], abs=TOLERANCE), (name, key)
        full = values["precision_at_full_recall"]
        assert (
            full is None
            if expected["p_at_full_r"] == "n/a"
            else full == pytest.approx(expected["p_at_full_r"], abs=TOLERANCE)
        )


@pytest.mark.parametrize(
    ("name", "options"),
    [("raw", {}), ("all_docs", {"articles": "all"}), ("cutoff2", {"cutoff": 2})],
)
def test_interactor_cases(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    content = golden("bc25_int_ipt")
    gold, run = write(tmp_path, gold=content["gold"], run=content["results"])
    check(evaluate_files("INT", gold, run, **options).to_dict(), content["expected"][name])


@pytest.mark.parametrize(
    ("name", "view", "policy"),
    [
        ("mapped", "mapped", "answered"),
        ("filtered", "filtered", "answered"),
        ("mapped_filtered", "both", "answered"),
        ("mapped_filtered_all", "both", "all"),
        ("raw", "raw", "answered"),
    ],
)
def test_views(name: str, view: str, policy: Any, tmp_path: Path) -> None:
    content = golden("bc25_int_ipt")
    files = {"gold": "gold", "run": "results", "map": "ho_map", "taxa": "organism_map"}
    paths = write(tmp_path, **{file: content[key] for file, key in files.items()})
    gold = read_gold("INT", paths[0])
    assert isinstance(gold, ItemGold)
    views = select_views(gold, [view], homologs=paths[2], taxa=paths[3])
    (scorecard,) = evaluate_runs("INT", gold, [paths[1]], views=views, articles=policy)
    check(scorecard.to_dict(), content["expected"][name])
    assert scorecard.to_dict()["view"] == view


def test_member_features() -> None:
    for case in golden("bc25_fbeta_ensemble")["features_table5"]:
        rank = case["rank"]
        hits = [Hit(f"P{place}", place, case["confidence"]) for place in range(1, rank + 1)]
        votes = Votes.of({"run": {"a": hits}}, ["a"])
        [found] = member_features(votes)[votes.place == rank]
        assert found.tolist() == [case["guessed"], case["rank_feature"], case["confidence"]]


def test_pair_case(tmp_path: Path) -> None:
    content = golden("bc25_int_ipt")["ipt"]
    gold, run = write(tmp_path, gold=content["gold"], run=content["results"])
    check(evaluate_files("IPT", gold, run).to_dict(), content["expected"])


def check(values: dict[str, Any], expected: dict[str, Any]) -> None:
    found = {
        "n_docs": values["articles_scored"],
        **{key: values[key] for key in ("tp", "fp", "fn")},
        **{
            f"{mean}_{short}": values[mean][key]
            for mean in ("micro", "macro")
            for short, key in zip(
                ("p", "r", "f", "auc"), ("precision", "recall", "f_score", "auc_ipr"), strict=True
            )
        },
    }
    assert found == pytest.approx(expected, abs=TOLERANCE)


def test_f_beta() -> None:
    content = golden("bc25_fbeta_ensemble")
    for case in content["cases"]:
        # 10,000 items to find; as many hits as make the precision, to 12 digits.
        correct = case["r"] * 10_000
        hits = correct / case["p"] if case["p"] else 10
        assert f_beta(correct, hits, 10_000, case["beta"]) == pytest.approx(case["f"], abs=1e-12)


def test_table_1_recomputes() -> None:
    rows = table("table1_act")
    assert len(rows) == 37
    for row in rows:
        counts = Confusion(*(int(row[key]) for key in ("tp", "fp", "fn", "tn")))
        for measure in ("specificity", "sensitivity", "accuracy", "mcc"):
            assert getattr(counts, measure) == pytest.approx(float(row[measure]), abs=5.1e-4)


def test_table_1_ranking_columns_are_possible() -> None:
    """Counts bound what the ranked list can reach: 63 relevant articles were to be found."""
    for row in table("table1_act"):
        tp, fp, fn, tn = (int(row[key]) for key in ("tp", "fp", "fn", "tn"))
        best = (*range(1, tp + 1), *range(tp + fp + 1, tp + fp + fn + 1))
        worst = (*range(fp + 1, fp + tp + 1), *range(fp + tp + tn + 1, fp + tp + tn + fn + 1))
        reported = tp + fp + fn + tn
        for ranks, sign in ((best, 1), (worst, -1)):
            matches = Matches(ranks, reported, 63)
            bound = ranking.auc_ipr(matches)
            assert sign * (bound - float(row["auc_ipr"])) >= -5.1e-4, row
            full = ranking.precision_at_full_recall(matches)
            if row["p_at_full_r"] == "n/a":
                assert full is None
            else:
                assert sign * (full - float(row["p_at_full_r"])) >= -5.1e-4, row


@pytest.mark.parametrize("name", ["table2_int", "table3_ipt"])
def test_tables_2_and_3_keep_within_their_bounds(name: str) -> None:
    """Macro values need the runs; the counts and the other columns bound them.

    F and AUC are means of per-article values, so F <= F(mean P, mean R) (F is concave in P and R)
    and AUC <= mean R (interpolated precision is at most 1); the pooled counts cannot exceed what
    61 articles can hold.
    """
    rows = [row for row in table(name) if row["f"] and "|" not in row["fp"]]
    assert len(rows) == {"table2_int": 43, "table3_ipt": 39}[name]
    for row in rows:
        p, r, f, auc = (float(row[key]) for key in ("precision", "recall", "f", "auc_ipr"))
        most_p, most_r = p + HALF, r + HALF
        assert f - HALF <= 2 * most_p * most_r / (most_p + most_r), row
        assert auc - HALF <= most_r, row
        assert int(row["evdoc"]) <= 61
        assert int(row["tp"]) + int(row["fn"]) <= {"table2_int": 252, "table3_ipt": 216}[name]
