"""Agreement of annotators: against statsmodels, krippendorff and plain loops; the command."""

import csv
import io
import json
import math
import random
import tracemalloc
from itertools import permutations
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.agreement import agree, masi
from scoring.cli import main
from scoring.errors import OptionError

_SETS = st.frozensets(st.sampled_from("pqrst"), max_size=4)
_INT = st.dictionaries(st.sampled_from("abcdefgh"), _SETS, min_size=1)
_ACT = st.dictionaries(st.sampled_from("abcdefgh"), st.booleans(), min_size=1)


def close(found: float | None, expected: float) -> bool:
    """Return whether a measure is the expected one; an undefined one is None here, NaN there."""
    return math.isnan(expected) if found is None else found == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@given(annotators=st.lists(_ACT, min_size=2, max_size=4))
def test_act_agrees_with_statsmodels_scikit_learn_and_krippendorff(annotators):
    from sklearn.metrics import cohen_kappa_score, f1_score
    from statsmodels.stats.inter_rater import fleiss_kappa

    named = {str(place): one for place, one in enumerate(annotators)}
    found = agree(named, resamples=0)
    for pair in found.pairs:
        a, b = named[pair.a], named[pair.b]
        common = sorted(set(a) & set(b))
        left, right = [a[one] for one in common], [b[one] for one in common]
        assert pair.articles == len(common)
        if not common:
            assert {one.value for one in pair.measures.values()} == {None}
            continue
        if len({*left, *right}) == 2:
            assert close(pair.measures["cohen_kappa"].value, cohen_kappa_score(left, right))
        if any([*left, *right]):
            assert close(pair.measures["f_score"].value, f1_score(left, right))
        same = sum(x == y for x, y in zip(left, right, strict=True)) / len(common)
        assert close(pair.measures["accuracy"].value, same)
    articles = sorted({article for one in annotators for article in one})
    shared = [article for article in articles if all(article in one for one in annotators)]
    votes = [[sum(one[article] for one in annotators)] for article in shared]
    table = np.array([[yes, len(annotators) - yes] for (yes,) in votes])
    kappa = found.overall["fleiss_kappa"].value
    if shared and table.sum(axis=0).all():
        assert close(kappa, fleiss_kappa(table))
    else:
        assert kappa is None
    data = [
        [float(one[article]) if article in one else np.nan for article in articles]
        for one in annotators
    ]
    paired = [column for column in zip(*data, strict=True) if sum(map(math.isfinite, column)) > 1]
    alpha = found.overall["krippendorff_alpha"].value
    if len({value for column in paired for value in column if math.isfinite(value)}) > 1:
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
        assert close(alpha, theirs)
    else:
        assert alpha is None


def plain_alpha(annotators: list[dict[str, frozenset[str]]]) -> float:
    """Return alpha with the distance 1 - MASI by its definition, value by value."""
    articles = {article for one in annotators for article in one}
    units = [[one[article] for one in annotators if article in one] for article in articles]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    observed = sum(
        (1 - masi(a, b)) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)
    )
    expected = sum(1 - masi(a, b) for a, b in permutations(values, 2))
    if not expected:
        return math.nan
    return 1 - (observed / len(values)) / (expected / (len(values) * (len(values) - 1)))


@given(annotators=st.lists(_INT, min_size=2, max_size=4))
def test_sets_agree_with_plain_loops(annotators: list[dict[str, frozenset[str]]]) -> None:
    named = {str(place): one for place, one in enumerate(annotators)}
    found = agree(named, resamples=0)
    alpha = found.overall["krippendorff_alpha"].value
    assert close(alpha, plain_alpha(annotators))
    for pair in found.pairs:
        a, b = named[pair.a], named[pair.b]
        common = [article for article in a if article in b]
        if not common:
            continue
        total = sum(len(a[one]) + len(b[one]) for one in common)
        shared = sum(len(a[one] & b[one]) for one in common)
        assert close(pair.measures["f_score"].value, 2 * shared / total if total else math.nan)
        assert close(
            pair.measures["masi"].value, sum(masi(a[one], b[one]) for one in common) / len(common)
        )


def test_alpha_is_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    annotators = {
        name: {str(a): frozenset(rng.sample("pqrstuvw", rng.randrange(4))) for a in range(30)}
        for name in "xyz"
    }
    whole = agree(annotators, resamples=0).overall["krippendorff_alpha"].value
    monkeypatch.setattr("scoring.agreement.SIMILAR_AT_ONCE", 100)
    assert close(agree(annotators, resamples=0).overall["krippendorff_alpha"].value, whole or 0)
    assert close(whole, plain_alpha(list(annotators.values())))


def test_articles_that_share_a_protein_need_little_memory() -> None:
    """Each of 1,600 sets has an item in common with each other one."""
    annotators = {
        name: {str(a): frozenset(["P04637", f"{name}{a}"]) for a in range(800)} for name in "xy"
    }
    tracemalloc.start()
    found = agree(annotators, resamples=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # a number for each two sets of items would be some 600 MB
    assert close(found.overall["krippendorff_alpha"].value, 0)  # any two sets are as unlike


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("", "", 1), ("p", "", 0), ("pq", "pq", 1), ("pq", "p", 1 / 3), ("pq", "qr", 1 / 9)],
)
def test_masi(a: str, b: str, expected: float) -> None:
    assert masi(frozenset(a), frozenset(b)) == pytest.approx(expected)


def test_intervals_hold_the_value_and_repeat() -> None:
    rng = random.Random(1)
    items = [f"P{number}" for number in range(40)]
    truth = {str(article): frozenset(rng.sample(items, 4)) for article in range(80)}

    def annotated(kept: float) -> dict[str, frozenset[str]]:
        return {
            article: frozenset(item for item in chosen if rng.random() < kept)
            for article, chosen in truth.items()
        }

    annotators = {"x1": annotated(0.97), "x2": annotated(0.97), "y1": annotated(0.7)}
    found = agree(annotators, group_of=lambda name: name[0], resamples=500)
    for one in [*found.overall.values(), *found.groups.values(), *found.pairs[0].measures.values()]:
        assert one.bounds.low <= one.value <= one.bounds.high
        assert one.bounds.low < one.bounds.high
    assert found == agree(annotators, group_of=lambda name: name[0], resamples=500)
    within, between = found.groups["within a group"], found.groups["between groups"]
    assert within.value == found.pairs[0].measures["f_score"].value
    others = [pair.measures["f_score"].value for pair in found.pairs[1:]]
    assert between.value == pytest.approx(sum(value or 0 for value in others) / 2)
    assert set(found.groups) == {"within x", "within a group", "x and y", "between groups"}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    texts = {
        "mint_1": "a\tP1\na\tP2\nb\tP3\n",
        "mint_2": "a\tP1\nb\tP3\nc\tP4\n",
        "intact_1": "a\tP1\na\tP2\nb\tQ9\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    return [str(tmp_path / f"{name}.tsv") for name in texts]


def test_the_command(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["agree", "--task", "INT", *files, "--group", r"^([a-z]+)_", "--resamples", "50"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[:5] == ["a", "b", "articles", "f_score", "95"]
    assert "3 annotators, 3 articles" in out
    assert "mean f_score within mint" in out
    assert main([*words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    first = values["pairs"][0]
    assert (first["a"], first["b"], first["articles"]) == ("mint_1", "mint_2", 2)
    assert first["measures"]["f_score"]["value"] == pytest.approx(0.8)
    assert main([*words, "--articles", "all", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["articles"], row["f_score"]) for row in rows[:1]] == [("3", str(2 / 3))]
    assert main([*words, "--format", "latex", "--caption", "Curators", "--label", "tab:a"]) == 0
    assert r"\caption{Curators}" in capsys.readouterr().out


def test_bad_input_is_refused(files, tmp_path, capsys):
    assert main(["agree", "--task", "INT", files[0]]) == 2
    assert "expected at least two" in capsys.readouterr().err
    assert main(["agree", "--task", "INT", files[0], files[0]]) == 2
    assert "the same name" in capsys.readouterr().err
    for name in ("bad", "worse"):
        (tmp_path / f"{name}.tsv").write_text("a\n")
    bad = [str(tmp_path / "bad.tsv"), str(tmp_path / "worse.tsv")]
    assert main(["agree", "--task", "INT", *bad]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line.split(":")[0] for line in captured.err.splitlines()] == bad
    with pytest.raises(OptionError, match="has none"):
        agree({"x": {"a": True}, "y": {"b": True}}, everywhere=True)
