"""What the overview shows: usefulness, the corpus, the four tables; from files to text."""

import contextlib
import csv
import io
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.cli import main
from scoring.corpora import (
    check_words,
    count_items,
    count_species,
    frequent_words,
    read_texts,
    species_agreements,
    word_rates,
)
from scoring.errors import FormatError, OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.gold import ItemGold
from scoring.scorecard import ItemScorecard
from scoring.tasks import Task, pair
from scoring.usefulness import IDEAL, best_cutoff, usefulness
from scoring.views import VIEWS

GOLD = "a\tP1\na\tP2\nb\tP3\n"
RUN = "a\tP1\t1\t0.9\na\tX\t2\t0.8\na\tP2\t3\t0.7\nb\tY\t1\t0.7\nb\tP3\t2\t0.6\n"
POOR = "a\tX\t1\t0.9\na\tP1\t2\t0.8\n"
ACT_GOLD = "a\t1\nb\t0\nc\t1\nd\t0\n"
ACT_RUN = "a\t1\t1\t0.9\nb\t1\t2\t0.8\nc\t0\t2\t0.4\nd\t0\t1\t0.9\n"
ACT_OTHER = "c\t1\t1\t0.9\na\t1\t2\t0.8\nb\t0\t2\t0.4\nd\t0\t1\t0.9\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = {
        "gold": GOLD,
        "run": RUN,
        "poor": POOR,
        "authors": POOR,
        "ipt": "a\tP1\tP2\na\tP1\tP3\nb\tP4\tP4\n",
        "ipt_run": "a\tP2\tP1\t1\t0.9\nb\tP4\tP5\t1\t0.9\n",
        "act": ACT_GOLD,
        "act_run": ACT_RUN,
        "act_other": ACT_OTHER,
        "taxa": "P1\thuman\nP2\thuman\nP3\tmouse\nP4\tyeast\nX\tmouse\nY\tmouse\n",
        "map": "P3\tY\n",
        "texts": "a\tInteraction of two.\nb\tNone.\nc\tThese interact; interactions\nd\t\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


USEFUL = ("usefulness", "--task", "INT", "--gold", "gold.tsv", "run.tsv", "poor.tsv")


def test_usefulness_by_cutoff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*USEFUL, "--cutoffs", "2,1,30", "--authors", "authors.tsv", "--resamples", "50"]
    assert main([*words, "--format", "csv"]) == 0
    found = {(row["run"], row["cutoff"]): row for row in rows_of(capsys)}
    assert list(found) == [
        *((run, cutoff) for run in ("run", "poor", "ideal") for cutoff in ("1", "2", "30")),
        ("authors", "all"),
    ]
    at_2 = found["run", "2"]
    assert float(at_2["recall"]) == (1 / 2 + 1) / 2
    assert float(at_2["candidates"]) == 2
    assert float(at_2["minutes"]) == pytest.approx(20 / 60)
    assert float(found["run", "30"]["candidates"]) == 2.5
    f_10 = [101 * 1 / (100 * 2 + 2), 101 * 1 / (100 * 1 + 2)]
    assert float(at_2["F_10"]) == pytest.approx(sum(f_10) / 2)
    assert [found[IDEAL, cutoff]["recall"] for cutoff in ("1", "2")] == ["0.75", "1.0"]
    assert float(found[IDEAL, "30"]["candidates"]) == 30
    assert float(found[IDEAL, "2"]["precision"]) == (2 / 2 + 1 / 2) / 2
    assert found["poor", "30"]["articles"] == "1/2"
    assert float(found["authors", "all"]["minutes"]) == 15
    low, high = json.loads(at_2["95 % of recall"])
    assert low <= 0.75 <= high


@pytest.mark.slow
def test_usefulness_is_drawn_and_in_every_format(folder, capsys):
    words = [*USEFUL, "--resamples", "0", "--authors", "authors.tsv"]
    assert main([*words, "--out", "a.svg", "--html", "a.html", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert {one["recall_bounds"] for one in values} == {None}
    assert Path("a.svg").read_text().startswith("<?xml")
    assert "ideal system" in Path("a.html").read_text()
    assert main([*words, "--format", "latex", "--caption", "Use"]) == 0
    assert r"\caption{Use}" in capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("INT|gold:")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.floats(0.5, 20))
def test_best_cutoff_of_the_ideal_system(sizes: list[int], beta: float) -> None:
    articles = {
        str(place): frozenset(f"P{n}" for n in range(size)) for place, size in enumerate(sizes)
    }
    gold = ItemGold(task=Task.INT, items=articles)
    cutoff, best = best_cutoff(gold, beta)
    cutoffs = range(1, 60)
    rows = usefulness(gold, [], cutoffs=cutoffs, betas=[beta], resamples=0)
    expected = []
    for row in rows:
        precision = [min(row.cutoff or 0, size) / (row.cutoff or 0) for size in sizes]
        recall = [min(row.cutoff or 0, size) / size for size in sizes]
        assert row.precision == pytest.approx(sum(precision) / len(sizes))
        assert row.recall == pytest.approx(sum(recall) / len(sizes))
        weighed = [
            (1 + beta**2) * p * r / (beta**2 * p + r)
            for p, r in zip(precision, recall, strict=True)
        ]
        expected.append(sum(weighed) / len(sizes))
        assert row.f_score == pytest.approx(expected[-1])
    assert best == pytest.approx(max(expected))
    assert expected[cutoff - 1] == pytest.approx(best)


@pytest.mark.slow
def test_ideal_system_needs_no_run_and_has_every_beta(folder, capsys):
    words = ["usefulness", "--task", "INT", "--gold", "gold.tsv", "--cutoffs", "1-3"]
    words += ["--beta", "1,10", "--resamples", "0", "--out", "ideal.svg"]
    assert main([*words, "--format", "csv"]) == 0
    rows = rows_of(capsys)
    assert [(row["run"], row["cutoff"]) for row in rows] == [(IDEAL, str(n)) for n in (1, 2, 3)]
    f_1 = [(2 * 2 / (2 + 2) + 2 * 1 / (1 + 2)) / 2, (2 * 2 / (2 + 3) + 2 * 1 / (1 + 3)) / 2]
    assert [float(row["F_1"]) for row in rows[1:]] == pytest.approx(f_1)
    assert "F_10" in rows[0]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "F_10 is highest at cutoff 2:" in text
    assert len([line for line in text.splitlines() if line.startswith("INT|gold:")]) == 2


def test_authors_are_scored_in_the_view_of_the_runs(folder, capsys):
    words = [*USEFUL, "--taxa", "taxa.tsv", "--authors", "authors.tsv", "--resamples", "0"]
    assert main([*words, "--json"]) == 0
    authors = json.loads(capsys.readouterr().out)[-1]
    assert (authors["view"], authors["candidates"]) == ("filtered", 1.0)  # X is a mouse's
    assert "view:filtered" in authors["signature"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cutoff", "3"), "expected --cutoffs"),
        (("--cutoffs", "0"), "expected an integer from 1"),
        (("--cutoffs", "3-1"), "expected cutoffs that rise"),
        (("--beta", "1,0"), "expected a number above 0"),
        (("--seconds", "-1"), "expected a number above 0"),
        (("--author-minutes", "soon"), "expected a number above 0"),
        (("--out", "a.bmp"), "a.bmp: expected a name"),
    ],
)
def test_options_of_usefulness_that_do_not_apply(folder, capsys, words, message):
    with contextlib.suppress(SystemExit):  # raised for a value that no option may have
        assert main([*USEFUL, *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_recall_at_a_cutoff_is_that_of_the_run_scored_with_it(folder: Path) -> None:
    gold = read_gold("INT", "gold.tsv")
    assert isinstance(gold, ItemGold)
    (whole,) = evaluate_runs("INT", gold, ["run.tsv"], beta=10)
    assert isinstance(whole, ItemScorecard)
    for one in usefulness(gold, [whole], cutoffs=(1, 2, 3), resamples=0)[:3]:
        (cut,) = evaluate_runs("INT", gold, ["run.tsv"], cutoff=one.cutoff, beta=10)
        assert (one.recall, one.f_score) == pytest.approx((cut.macro.recall, cut.macro.f_score))


_ACCESSIONS = st.sampled_from(["P1", "P2", "P3", "P4"])
TAXA = {"P1": "human", "P2": "human", "P3": "mouse", "P4": "yeast"}
_ITEMS = st.dictionaries(
    st.sampled_from("abcde"),
    st.frozensets(st.builds(pair, _ACCESSIONS, _ACCESSIONS), min_size=1, max_size=5),
    min_size=1,
)


@given(first=_ITEMS, second=_ITEMS)
def test_agreement_of_species_by_a_loop_over_proteins(first, second):
    golds = {"a": ItemGold(task=Task.IPT, items=first), "b": ItemGold(task=Task.IPT, items=second)}
    (found,) = species_agreements(golds, TAXA)
    annotated = [
        [one for items in side.values() for one in {two for item in items for two in item}]
        for side in (first, second)
    ]
    for proteins, agreement in (
        (annotated, found.annotations),
        ([sorted(set(side)) for side in annotated], found.accessions),
    ):
        kinds = [{TAXA[one] for one in side} for side in proteins]
        shared = sum(TAXA[one] in kinds[1] for one in proteins[0])
        shared += sum(TAXA[one] in kinds[0] for one in proteins[1])
        assert agreement == pytest.approx(shared / sum(map(len, proteins)))


@given(items=_ITEMS, second=_ITEMS, most=st.integers(1, 4))
def test_counts_of_items_and_species(items, second, most):
    gold = ItemGold(task=Task.IPT, items=items)
    proteins, pairs = count_items(gold)
    assert pairs.total == sum(map(len, items.values()))
    assert sum(k * n for k, n in proteins.articles.items()) == proteins.total
    assert proteins.mean == pytest.approx(proteins.total / len(items))
    golds = {"one": gold, "two": ItemGold(task=Task.IPT, items=second)}
    found, other = count_species(golds, TAXA, most)
    kinds = [{TAXA[one] for item in chosen for one in item} for chosen in items.values()]
    others = [{TAXA[one] for item in chosen for one in item} for chosen in second.values()]
    articles = Counter(kind for one in [*kinds, *others] for kind in one)
    names = [name for name in found.names if name != "others"]
    assert other.names == found.names
    assert sorted(articles[name] for name in names) == sorted(articles.values())[-most:]
    for x, a in enumerate(names):
        for y, b in enumerate(names):
            assert found.together[x][y] == sum({a, b} <= one for one in kinds)
            assert other.together[x][y] == sum({a, b} <= one for one in others)
    everywhere = {one for chosen in items.values() for item in chosen for one in item}
    assert sum(found.proteins) == len(everywhere)
    assert sum(found.annotations) == proteins.total
    assert found.one_species == sum(len(one) == 1 for one in kinds)


def test_rates_of_words() -> None:
    texts = {"a": "Interaction, INTERACTS: x-y binding", "b": "no hits at all here", "c": ""}
    groups = {"one": ["a", "b"], "none": ["c"]}
    found = word_rates(texts, groups, ["interact*", "interacts", "x-y"], resamples=200)
    rates = {(one.word, one.group): one for one in found}
    assert rates["interact*", "one"].rate == pytest.approx(1000 * 2 / 9)
    assert (rates["interacts", "one"].occurrences, rates["x-y", "one"].occurrences) == (1, 1)
    assert rates["interact*", "none"].rate is None
    assert rates["interact*", "none"].bounds is None
    bounds = rates["interact*", "one"].bounds
    assert math.isclose(bounds.low, 0)
    assert bounds.high == pytest.approx(1000 * 2 / 4)


def test_words_of_most_articles_without_function_words(folder, capsys):
    texts = {"a": "The yeast, the Yeast and 42 genes", "b": "yeast of genes", "c": "yeast; mice"}
    assert frequent_words(texts, 3) == ["yeast", "genes", "mice"]
    words = ["corpus", "--task", "ACT", "--gold", "act.tsv", "--texts", "texts.tsv"]
    options = ["--words", "bind*", "--frequent", "1", "--resamples", "0", "--format", "csv"]
    assert main([*words, *options]) == 0
    assert {row["word"] for row in rows_of(capsys)} == {"bind*", "interact"}


def test_nouns_of_most_articles_from_tagged_texts(folder, capsys):
    lines = ["a\tStrong/JJ complexes/NNS bind/VBP p53/Mdm2/NN ./.", "b\tThey/PRP complex/VBP"]
    lines += ["c\tThe/DT complexes/NOUN of/ADP p53/PROPN", "d\tcomplex/NNS strong/JJ bind/VB"]
    Path("tagged.tsv").write_text("".join(f"{line}\n" for line in lines))
    words = ["corpus", "--task", "ACT", "--gold", "act.tsv", "--texts", "tagged.tsv", "--tagged"]
    options = ["--words", "bind", "--frequent", "3", "--resamples", "0", "--format", "csv"]
    assert main([*words, *options]) == 0
    found: dict[str, int] = {}
    for row in rows_of(capsys):
        found[row["word"]] = found.get(row["word"], 0) + int(row["occurrences"])
    assert list(found.items()) == [("bind", 2), ("complexes", 2), ("p53", 2), ("complex", 2)]
    Path("tagged.tsv").write_text("a\tx/NN y\nb\t/NN\nc\tx/\nd\t\n")
    assert main([*words, *options]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ", 1)[1] for line in lines if "no tag" in line] == [
        f"article {article!r}: token {token!r} has no tag; expected word/TAG"
        for article, token in (("a", "y"), ("b", "/NN"), ("c", "x/"))
    ]


@pytest.mark.parametrize("word", ["", "*", "two words", "in*ter"])
def test_what_is_no_word_is_refused(word: str) -> None:
    with pytest.raises(OptionError, match="expected one word"):
        check_words([word])


def test_texts_are_read_from_a_folder_or_a_table(folder: Path) -> None:
    assert read_texts(folder / "texts.tsv", ["a", "d"])["d"] == ""
    (folder / "texts").mkdir()
    (folder / "texts" / "10.1_x.txt").write_text("one\ntwo")
    assert read_texts(folder / "texts", ["10.1/x"]) == {"10.1/x": "one\ntwo"}
    with pytest.raises(FormatError, match="no text of article 'b'") as caught:
        read_texts(folder / "texts", ["10.1/x", "b", "../gold"])
    assert len(caught.value.problems) == 2
    (folder / "texts" / "b.txt").write_bytes(b"\xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_texts(folder / "texts", ["b"])
    (folder / "texts.tsv").write_text("a\tx\na\ty\n")
    with pytest.raises(FormatError, match="'a' again"):
        read_texts(folder / "texts.tsv", ["a"])


@pytest.mark.slow
def test_the_corpus_of_items(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["corpus", "--task", "IPT", "--gold", "ipt.tsv", "--taxa", "taxa.tsv"]
    assert main([*words, "--out", "c.png", "--html", "c.html"]) == 0
    text = capsys.readouterr().out
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["proteins", "of", "ipt", "2", "4", "4", "2.000", "2.000", "3"],
        ["pairs", "of", "ipt", "2", "3", "3", "1.500", "1.500", "2"],
    ]
    assert Path("c.png").stat().st_size > 10_000
    assert main([*words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    (species,) = values["species"]
    assert species["names"] == ["human", "mouse", "yeast"]
    assert (species["together"], species["one_species"]) == ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], 1)


@pytest.mark.slow
def test_golds_and_authors_are_counted_side_by_side(folder, capsys):
    Path("other.tsv").write_text("a\tP1\na\tP4\nc\tP1\n")
    words = ["corpus", "--task", "INT", "--gold", "gold.tsv", "--gold", "second=other.tsv"]
    words += ["--authors", "authors.tsv", "--taxa", "taxa.tsv", "--out", "c.svg"]
    assert main([*words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    counts = {one["source"]: one for one in values["counts"]}
    assert {name: (one["total"], one["distinct"]) for name, one in counts.items()} == {
        "gold": (3, 3), "second": (3, 2), "authors": (2, 2),
    }  # fmt: skip
    by_source = {one["source"]: one for one in values["species"]}
    found = (by_source["second"]["annotations"], by_source["second"]["proteins"])
    assert found == ([2, 0, 1], [1, 0, 1])
    # human occurs in both golds: 2 + 2 of 3 + 3 annotations, 2 + 1 of 3 + 2 accessions
    found = values["agreements"]
    assert found == [{"a": "gold", "b": "second", "annotations": 4 / 6, "accessions": 3 / 5}]
    assert Path("c.svg").read_text().startswith("<?xml")
    assert main(words) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["human", "2", "0.667", "2", "0.667", "2", "0.667", "1", "0.500"] in lines
    assert ["gold", "second", "0.667", "0.600"] in lines


def test_words_of_easy_and_hard_articles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["corpus", "--task", "ACT", "--gold", "act.tsv", "--texts", "texts.tsv"]
    options = ["--words", "interact*", "--resamples", "20", "--out", "w.svg"]
    assert main([*words, *options, "--format", "csv"]) == 0
    found = {row["group"]: float(row["per 1,000 words"]) for row in rows_of(capsys)}
    assert found == {"relevant": 500.0, "irrelevant": 0.0}
    assert main([*words, "act_run.tsv", "act_other.tsv", *options, "--json"]) == 0
    groups = [one["group"] for one in json.loads(capsys.readouterr().out)["words"]]
    assert groups[-1] == "irrelevant"
    assert all(group.startswith("relevant, ") for group in groups[:-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("INT", "gold.tsv", "run.tsv"), "result files are of ACT"),
        (("INT", "gold.tsv", "--texts", "texts.tsv"), "--frequent and result files are of ACT"),
        (("INT", "gold.tsv", "--tagged"), "--tagged, --frequent and result files are of ACT"),
        (("ACT", "act.tsv"), "expected --texts"),
        (("ACT", "act.tsv", "--taxa", "taxa.tsv"), "are of INT and IPT"),
        (("ACT", "act.tsv", "--gold", "b=act.tsv"), "ACT has one --gold"),
        (("INT", "gold.tsv", "--gold", "gold=authors.tsv"), "two golds are named 'gold'"),
        (("INT", "gold.tsv", "--authors", "gold.tsv"), "a gold is named 'gold'"),
    ],
)
def test_a_corpus_with_what_does_not_apply(folder, capsys, words, message):
    task, gold, *more = words
    assert main(["corpus", "--task", task, "--gold", gold, *more]) == 2
    assert message in capsys.readouterr().err


REPORT = (
    *("report", "--act", "act.tsv", "act_run.tsv", "act_other.tsv"),
    *("--int", "gold.tsv", "poor.tsv", "run.tsv", "--ipt", "ipt.tsv", "ipt_run.tsv"),
)


def test_the_four_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*REPORT, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert list(values) == ["act", "int", "ipt", "views"]
    assert [one["run"] for one in values["act"]] == ["act_other", "act_run"]
    assert [one["run"] for one in values["int"]] == ["run", "poor"]
    found = [(one["task"], one["view"]) for one in values["views"]]
    assert found == [("INT", "raw"), ("IPT", "raw")]
    assert main(list(REPORT)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ACT: article classification" in lines
    (best,) = [line for line in lines if line.startswith("act_other")]
    assert best.endswith("1.000*")
    assert main([*REPORT, "--format", "latex", "--label", "t"]) == 0
    latex = capsys.readouterr().out
    assert [latex.count(rf"\label{{t:{name}}}") for name in values] == [1, 1, 1, 1]
    assert main([*REPORT, "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.split("\n\n")) == 4


def test_raw_best_run_is_followed_and_best_of_each_view_is_named(folder, capsys):
    Path("wrong_species.tsv").write_text("a\tP1\t1\t0.9\na\tP2\t2\t0.8\nb\tY\t1\t0.9\n")
    runs = ["poor.tsv", "run.tsv", "wrong_species.tsv"]
    words = ["report", "--int", "gold.tsv", *runs, "--map", "map.tsv", "--taxa", "taxa.tsv"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["views"]
    followed = [("raw", view) for view in VIEWS]
    found = [(row["chosen_in"], row["view"]) for row in rows]
    assert found == [*followed, *((view, view) for view in VIEWS[1:])]
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for view in VIEWS:
        files = ["--map", "map.tsv", "--taxa", "taxa.tsv", "--views", view]
        command = ["evaluate", "--task", "INT", "--gold", "gold.tsv", *files]
        assert main([*command, *runs, "--json"]) == 0
        evaluated = json.loads(capsys.readouterr().out)
        scores[view] = {score["run"]: score["macro"] for score in evaluated}
    for row in rows:
        for run, measure in (("f_run", "f_score"), ("auc_run", "auc_ipr")):
            chosen = scores[row["chosen_in"]]
            assert chosen[row[run]][measure] == max(one[measure] for one in chosen.values())
            assert row[measure] == scores[row["view"]][row[run]][measure]
    assert {row["f_run"] for row in rows if row["chosen_in"] == "mapped"} == {"wrong_species"}
    assert {row["f_run"] for row in rows if row["chosen_in"] == "raw"} != {"wrong_species"}
    assert main(words) == 0
    text = capsys.readouterr().out
    assert [line for line in ("INT raw mapped", "INT best both") if line not in text] == []


def test_equal_runs_are_ordered_by_average_confidence(folder, capsys):
    """Of each article the mean of its hits, of these the mean; the name decides last."""
    for name, sure in {"a_unsure": "0.5", "b_sure": "0.75"}.items():
        Path(f"{name}.tsv").write_text(f"a\tP1\t1\t{sure}\na\tX\t2\t0.25\nb\tP3\t1\t{sure}\n")
    runs = ["a_unsure.tsv", "b_sure.tsv"]
    found = {"a_unsure": ((0.5 + 0.25) / 2 + 0.5) / 2, "b_sure": ((0.75 + 0.25) / 2 + 0.75) / 2}
    int_gold = ["--task", "INT", "--gold", "gold.tsv"]
    for extra in ([], ["--taxa", "taxa.tsv", "--views", "raw"], ["--views", "raw"]):
        words = ["evaluate", *int_gold, *runs, "--measures", "confidence", "--format", "csv"]
        assert main([*words, *extra]) == 0
        assert {r["run"]: float(r["measures.confidence"]) for r in rows_of(capsys)} == found
    assert main(["report", "--int", "gold.tsv", *runs, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [one["run"] for one in values["int"]] == ["b_sure", "a_unsure"]
    assert values["views"][0]["f_run"] == "b_sure"
    compare = ["compare", *int_gold, *runs, "--resamples", "20", "--format", "csv"]
    assert main([*compare, "--table", "runs"]) == 0
    rows = rows_of(capsys)
    assert [row["run"] for row in rows] == ["b_sure", "a_unsure"]
    assert {row["run"]: float(row["confidence"]) for row in rows} == found
    assert main(["evaluate", "--task", "ACT", "--gold", "act.tsv", "act_run.tsv", "--json",
                 "--measures", "confidence"]) == 0  # fmt: skip
    (act,) = json.loads(capsys.readouterr().out)
    assert act["measures"]["confidence"] == pytest.approx((0.9 + 0.8 + 0.4 + 0.9) / 4)


def test_a_report_of_nothing_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 2
    assert "expected --act, --int or --ipt" in capsys.readouterr().err
    assert main(["report", "--int", "gold.tsv"]) == 2
    assert "expected result files" in capsys.readouterr().err
