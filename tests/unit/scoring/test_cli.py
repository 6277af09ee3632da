"""The commands, from the command line in to the text that comes out."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scoring import evaluate_runs, figures, read_gold
from scoring.cli import build_parser, main
from scoring.significance import compare
from tests.loading import commands, loaded

GOLD = "a\tP1\na\tP2\nb\tP3\n"
RUN = "a\tP1\t1\t0.9\na\tX\t2\t0.8\nb\tY\t1\t0.7\nb\tP3\t2\t0.6\n"
ACT_GOLD = "a\t1\nb\t0\nc\t1\nd\t0\n"
ACT_RUN = "a\t1\t1\t0.9\nb\t1\t2\t0.8\nc\t0\t2\t0.4\nd\t0\t1\t0.9\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "one": "other\tP1\t1\t0.9\n", "gold": GOLD, "run": RUN, "act_gold": ACT_GOLD,
        "act_run": ACT_RUN,
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    """Run a command; names ending in .tsv are files of the folder."""
    return main([str(folder / one) if one.endswith(".tsv") else one for one in arguments])


COLUMNS = "article, accession, rank, confidence"
INT = ("--task", "INT", "--gold", "gold.tsv")
ACT = ("--task", "ACT", "--gold", "act_gold.tsv")


def test_evaluate_prints_a_table_with_its_signature(folder, capsys):
    assert run(folder, "evaluate", *INT, "--measures", "AP,R@1", "run.tsv") == 0
    header, row, _, signature = capsys.readouterr().out.splitlines()
    assert dict(zip(header.split(), row.split(), strict=False))["articles"] == "2/2"
    assert row.split()[2:9] == ["2", "2", "1", "0.500", "0.750", "0.583", "0.500"]
    assert row.split()[-2:] == ["0.500", "0.250"]
    assert signature.startswith("INT|gold:")
    assert "|articles:answered|" in signature


def test_formats_have_the_same_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {}
    for style in ("json", "csv", "latex"):
        assert run(folder, "evaluate", *ACT, "act_run.tsv", "--format", style) == 0
        outputs[style] = capsys.readouterr().out
    (values,) = json.loads(outputs["json"])
    (row,) = csv.DictReader(io.StringIO(outputs["csv"]))
    assert {key: str(value) for key, value in values.items()} == row
    assert values["precision_at_full_recall"] == 2 / 3
    assert r"act\_run & 4/4 & 1 & 1 & 1 & 1 & 0.500" in outputs["latex"]


def test_views_in_one_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "map.tsv").write_text("P2\tX\n")
    (folder / "taxa.tsv").write_text("P1\t9606\nP2\t9606\nP3\t9606\nX\t10090\n")
    options = ("--map", "map.tsv", "--taxa", "taxa.tsv")
    assert run(folder, "evaluate", *INT, *options, "--views", "all", "run.tsv", "--json") == 0
    found = {one["view"]: (one["tp"], one["fp"]) for one in json.loads(capsys.readouterr().out)}
    assert found == {"raw": (2, 2), "mapped": (3, 1), "filtered": (2, 0), "both": (3, 0)}
    assert run(folder, "evaluate", *INT, "run.tsv", *options, "--json") == 0
    assert [one["view"] for one in json.loads(capsys.readouterr().out)] == ["both"]


@pytest.mark.parametrize("policy", ["answered", "all"])
def test_faulty_run_among_others_scores_zero(folder, capsys, policy):
    (folder / "bad.tsv").write_text("a\tP1\t0\t0.9\n\n")
    command = ("evaluate", *INT, "--articles", policy)
    assert run(folder, *command, "run.tsv", "bad.tsv", "--json") == 1
    output = capsys.readouterr()
    assert len(output.err.splitlines()) == 2
    good, bad = json.loads(output.out)
    assert run(folder, *command, "run.tsv", "--json") == 0
    assert good == json.loads(capsys.readouterr().out)[0]
    assert (bad["run"], bad["tp"], bad["macro"]["auc_ipr"]) == ("bad", 0, 0.0)
    assert bad["articles_scored"] == {"answered": 0, "all": 2}[policy]
    assert run(folder, *command, "run.tsv", "nowhere.tsv") == 2
    assert capsys.readouterr().out == ""


def test_problems_of_all_files_are_told_and_no_score(folder, capsys):
    (folder / "bad.tsv").write_text("a\tP1\t0\t0.9\n\n")
    (folder / "worse.tsv").write_text("a\tP1\t1\n")
    assert run(folder, "evaluate", *INT, "bad.tsv", "worse.tsv") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert [line.removeprefix(str(folder)) for line in output.err.splitlines()] == [
        "/bad.tsv:1:column 3: rank '0'; expected an integer from 1",
        "/bad.tsv:2: blank line; expected " + COLUMNS,
        "/worse.tsv:1: 3 columns; expected 4 separated by tabs: " + COLUMNS,
    ]


def test_a_problem_of_each_line_does_not_hide_the_others(folder, capsys):
    lines = [f"a\tP{place}\t{place}\n" for place in range(1, 9)] + ["\n"]
    (folder / "worse.tsv").write_text("".join(lines))
    assert run(folder, "evaluate", *INT, "worse.tsv") == 2
    found = capsys.readouterr().err.replace(f"{folder}/", "").splitlines()
    columns = "3 columns; expected 4 separated by tabs: " + COLUMNS
    assert found[:5] == [f"worse.tsv:{line}: {columns}" for line in range(1, 6)]
    assert found[5:] == [
        f"worse.tsv: 3 more like these, the last one: worse.tsv:8: {columns}",
        "worse.tsv:9: blank line; expected " + COLUMNS,
    ]


MISSPELT = "a\tP1\t1\t0.9\nB\tP3\t1\t0.9\nB\tP1\t2\t0.8\nC\tP1\t1\t0.8\n"
TWO = "ignored 2 lines of an article that is not in the gold, the first of 'B': the gold has 'b'"
ALL = "ignored 3 lines of 2 articles that are not in the gold, the first of 'x'"
ISOFORM = (
    "1 items are entry names or isoforms that the gold does not have, the first 'P12345-PRO_1';"
    " they are compared as written"
)
ISOFORMS = ISOFORM.replace("1 items", "2 items").replace("P12345-PRO_1", "P53_HUMAN")
NONE = "x\tP1\t1\t0.9\nx\tP2\t2\t0.8\ny\tP1\t1\t0.9\n"


@pytest.mark.parametrize(
    ("options", "text", "told"),
    [
        (INT, MISSPELT, TWO),
        (INT, MISSPELT.replace("B", "(B)"), TWO.replace("'B'", "'(B)'")),
        ((*INT, "--lenient-ranks"), MISSPELT.replace("2\t0.8", "3\t0.8"), TWO),
        ((*INT, "--views", "all", "--map", "map.tsv", "--taxa", "taxa.tsv"), MISSPELT, TWO),
        ((*INT, "--articles", "all"), MISSPELT, TWO),
        (INT, NONE, ALL),
        (
            ACT,
            "a\t1\t1\t1\nB\t1\t2\t1\nB.\t1\t3\t1\n",
            TWO.replace("an article that is", "2 articles that are"),
        ),
        (INT, f"{MISSPELT}b\tP3\t1\t0.9\n", None),  # all articles of the gold are there
        (INT, MISSPELT.replace("B", "D"), None),  # more articles than the gold
        (INT, "a\tP1\t1\t0.9\n", None),
        (INT, "", "empty; no article has an answer"),
        (ACT, "", "empty; no article has an answer"),
        (INT, "a\tP53_HUMAN\t1\t1\na\tP12345-2\t2\t1\na\tP12345\t3\t1\n", ISOFORMS),
        ((*INT, "--views", "raw", "--lenient-ranks"), "a\tP12345-PRO_1\t2\t1\n", ISOFORM),
        (INT, "a\tP12345-2\t1\t1\n\x62\tMDM2-p53\t1\t1\n", ISOFORM.replace("PRO_1", "2")),
    ],
)
def test_lines_that_seem_to_be_of_misspelt_articles_are_told(options, text, told, folder, capsys):
    (folder / "map.tsv").write_text("P1\tQ1\n")
    (folder / "taxa.tsv").write_text("P1\t1\nP2\t1\nP3\t1\n")
    (folder / "some.tsv").write_text(text)
    assert run(folder, "evaluate", *options, "some.tsv") == 0
    output = capsys.readouterr()
    assert "some" in output.out
    assert output.err == (f"warning: {folder / 'some.tsv'}: {told}\n" if told else "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", *ACT, "act_run.tsv", "--cutoff", "3"), "a cutoff does not apply to ACT"),
        (("evaluate", *ACT, "act_run.tsv", "--views", "mapped"), "do not apply to ACT"),
        (("evaluate", *INT, "run.tsv", "--views", "mapped"), "needs --map"),
        (("evaluate", *INT, "run.tsv", "--measures", "XYZ"), "measure 'XYZ'; expected one of"),
        (("evaluate", *INT, "run.tsv", "--beta", "0"), "a beta of 0.0"),
        (("evaluate", *INT, "run.tsv", "--beta", "nan"), "a beta of nan"),
        (("evaluate", *INT, "run.tsv", "--beta", "1e200"), "a beta of 1e+200"),
        (("explain", "run.tsv", "zzz", *INT), "article 'zzz' is not in the gold"),
        (("explain", "act_run.tsv", "zzz", *ACT), "article 'zzz' is not in the gold"),
        (("compare", *INT, "run.tsv", "--measure", "mcc"), "measure 'mcc'; expected one of"),
        (("compare", *INT, *map(str, range(301))), "all pairs of 301 runs"),  # before they are read
        (("plot", *INT, "run.tsv", "--out", "x.bmp"), "expected a name that ends in .svg"),
    ],
)
def test_options_that_do_not_apply(arguments, message, folder, capsys):
    assert run(folder, *arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert len(output.err.splitlines()) == 1


def test_isoforms_that_the_gold_has_are_no_oddity(folder, capsys):
    (folder / "isoforms.tsv").write_text("a\tP12345-2\n")
    (folder / "some.tsv").write_text("a\tP12345-2\t1\t1\n")
    assert run(folder, "evaluate", "--task", "INT", "--gold", "isoforms.tsv", "some.tsv") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", *INT, "--gold", "gold.tsv", "run.tsv"),
        ("corpus", *INT, "--task", "ACT"),
        ("consensus", "train", *INT, "run.tsv", "--task", "IPT"),
        ("ner", "--gold", "gold.tsv", "--run", "run.tsv", "--run", "one.tsv"),
        ("report", "--act", "act_gold.tsv", "act_run.tsv", "--act", "act_gold.tsv", "act_run.tsv"),
    ],
)
def test_no_option_is_given_twice_and_lost(arguments, folder, capsys):
    with pytest.raises(SystemExit) as ended:
        run(folder, *arguments)
    assert ended.value.code == 2
    assert "given twice; expected it once" in capsys.readouterr().err


def test_many_warnings_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["a\tP1\t1\t1\n"]
    lines += [f"d{n}\tP1\t1\t0.1\nd{n}\tP2\t2\t0.9\n" for n in range(9)]
    (folder / "rising.tsv").write_text("".join(lines))
    (folder / "extra.tsv").write_text("a\tP1\t1\t0.9\tx\t\na\tP2\t2\t0.8\ty\t\n")
    assert run(folder, "evaluate", *INT, "rising.tsv", "extra.tsv") == 0
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5 + 1 + 1
    assert told[5] == f"warning: {folder / 'rising.tsv'}: 4 more"


def test_a_plot_of_runs_that_found_nothing(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    (folder / "empty.tsv").write_text("")
    for kind in ("curves", "scatter", "intervals", "articles"):
        out = str(folder / f"{kind}.svg")
        assert run(folder, "plot", *INT, "empty.tsv", "--kind", kind, "--out", out) == 0


def test_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "best.tsv").write_text("a\tP1\t1\t0.9\na\tP2\t2\t0.8\nb\tP3\t1\t0.7\n")
    assert run(folder, "compare", *INT, "run.tsv", "best.tsv", "--resamples", "99") == 0
    text = capsys.readouterr().out
    assert text.startswith("auc_ipr: 95% intervals (expanded), 99 resamples")
    assert "seed:2009" in text
    assert run(folder, "compare", *INT, "run.tsv", "best.tsv", "--json", "--no-pairs") == 0
    values = json.loads(capsys.readouterr().out)
    assert [one["run"] for one in values["intervals"]] == ["best", "run"]
    assert values["tests"] is None


def test_a_comparison_has_counts_of_articles_in_every_format(folder, capsys):
    (folder / "half.tsv").write_text("b\tP3\t1\t0.7\n")
    outputs = {}
    for style in ("text", "json", "csv", "latex"):
        command = ("compare", *INT, "run.tsv", "half.tsv", "--resamples", "20")
        assert run(folder, *command, "--format", style) == 0
        outputs[style] = capsys.readouterr().out
    lines = outputs["text"].splitlines()
    assert lines[1].split()[:3] == ["run", "articles", "score"]
    assert [line.split()[:2] for line in lines[2:4]] == [["half", "1/2"], ["run", "2/2"]]
    assert lines[6].split()[:5] == ["a", "b", "articles", "difference", "low"]
    assert lines[7].split()[:4] == ["run", "half", "1/2", "-0.500"]
    values = json.loads(outputs["json"])
    found = [(one["articles_scored"], one["articles_in_gold"]) for one in values["intervals"]]
    assert found == [(1, 2), (2, 2)]
    (pair,) = values["tests"]["pairs"]
    assert (pair["articles_scored"], pair["articles_in_gold"]) == (1, 2)
    rows = csv.DictReader(io.StringIO(outputs["csv"]))
    result = [(row["articles_scored"], row["articles_in_gold"]) for row in rows]
    assert result == [("1", "2"), ("2", "2")]
    assert r"half & 1/2 & \textbf{1.000} & [" in outputs["latex"]
    assert outputs["latex"].startswith("% INT|gold:")


VIEWS = ("--map", "map.tsv", "--taxa", "taxa.tsv", "--views")


@pytest.fixture
def viewed(folder: Path) -> Path:
    """Files of views, in which the run's wrong hit of `a` counts as P2."""
    (folder / "map.tsv").write_text("P2\tX\n")
    (folder / "taxa.tsv").write_text("P1\t9606\nP2\t9606\nP3\t9606\nX\t10090\nY\t9606\n")
    (folder / "best.tsv").write_text("a\tP1\t1\t0.9\na\tP2\t2\t0.8\nb\tP3\t1\t0.7\n")
    return folder


def test_views_are_compared_each(viewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("compare", *INT, "run.tsv", "best.tsv", "--resamples", "50", *VIEWS)
    assert run(viewed, *command, "all", "--json") == 0
    found = {one["view"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(found) == ["raw", "mapped", "filtered", "both"]
    scores = {
        view: {each["run"]: each["score"] for each in one["intervals"]}["run"]
        for view, one in found.items()
    }
    assert scores == {"raw": 0.5, "mapped": 0.75, "filtered": 0.5, "both": 0.75}
    assert "|view:both|files:" in found["both"]["signature"]
    assert run(viewed, *command, "all", "--format", "csv", "--table", "pairs") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    result = [(row["view"], row["difference"]) for row in rows]
    assert result == [("raw", "-0.5"), ("mapped", "-0.25"), ("filtered", "-0.5"), ("both", "-0.25")]
    assert run(viewed, *command, "both", "--json") == 0
    assert json.loads(capsys.readouterr().out)["view"] == "both"


def test_other_commands_take_a_view(viewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(viewed, "articles", *INT, "run.tsv", *VIEWS, "mapped", "--json") == 0
    found = {one["article"]: one["mean"] for one in json.loads(capsys.readouterr().out)}
    assert found == {"a": 1.0, "b": 0.5}
    (viewed / "gold4.tsv").write_text("".join(f"{one}\tP1\n{one}\tP2\n" for one in "abcd"))
    lines = "".join(f"{one}\tP1\t1\t1\n{one}\tW\t2\t1\n{one}\tX\t3\t1\n" for one in "abcd")
    (viewed / "run4.tsv").write_text(lines)
    options = ("--methods", "maxent", "--folds", "2", *VIEWS, "mapped", "--json")
    command = ("consensus", "report", "--task", "INT", "--gold", "gold4.tsv", "run4.tsv")
    assert run(viewed, *command, *options) == 0
    first, consensus, _ = json.loads(capsys.readouterr().out)
    assert (first["view"], first["tp"]) == ("mapped", 8)
    assert "|view:mapped|files:" in consensus["signature"]
    assert consensus["tp"] == 8
    pytest.importorskip("matplotlib")
    out = str(viewed / "x.svg")
    assert run(viewed, "plot", *INT, "run.tsv", *VIEWS, "mapped", "--out", out) == 0
    assert run(viewed, "articles", *ACT, "act_run.tsv", "--views", "mapped") == 2
    assert "do not apply to ACT" in capsys.readouterr().err


@pytest.mark.parametrize("style", ["text", "json", "csv", "latex"])
def test_differences_in_every_format(style, viewed, capsys):
    command = ("compare", *INT, "run.tsv", "best.tsv", "--resamples", "99", "--power")
    options = ("--table", "pairs") if style == "csv" else ()
    assert run(viewed, *command, "--interval", "percentile", "--format", style, *options) == 0
    text = capsys.readouterr().out
    for name in ("difference", "low", "high", "effect", "p_adjusted", "articles_needed"):
        assert name.replace("_", r"\_" if style == "latex" else "_") in text
    if style == "text":
        assert text.startswith("auc_ipr: 95% intervals (percentile), 99 resamples")
        assert "note: 2 of 2 runs are scored on fewer than 30 articles" in text
        assert "note: articles_needed is for a power of 80% at 0.05" in text
    assert run(viewed, *command[:-1], "--format", style, *options) == 0
    assert ("needed" in capsys.readouterr().out) == (style == "json")


def test_one_run_has_no_pairs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("compare", *INT, "run.tsv", "--resamples", "20")
    assert run(folder, *command) == 0
    assert "sign-flip" not in capsys.readouterr().out
    for style in ("text", "csv", "latex"):
        assert run(folder, *command, "--table", "pairs", "--format", style) == 2
        assert "no pairs of runs were compared" in capsys.readouterr().err


def test_a_comparison_of_all_articles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "half.tsv").write_text("b\tP3\t1\t0.7\n")
    options = ("--articles", "all", "--resamples", "20", "--json")
    assert run(folder, "compare", *INT, "run.tsv", "half.tsv", *options) == 0
    values = json.loads(capsys.readouterr().out)
    assert {one["articles_scored"] for one in values["intervals"]} == {2}
    assert values["tests"]["pairs"][0]["articles_scored"] == 2
    assert "|articles:all|" in values["signature"]


@pytest.mark.parametrize(("resamples", "flips"), [("9", "9 random"), ("10000", "all 16")])
def test_a_comparison_says_what_it_could_not_find(resamples, flips, tmp_path, capsys):
    """Five articles have 16 flips, and 9 random flips a p of 0.1 at least."""
    articles = "abcde"
    (tmp_path / "gold.tsv").write_text("".join(f"{name}\tP1\n" for name in articles))
    for run_, item in (("right", "P1"), ("wrong", "X")):
        lines = "".join(f"{name}\t{item}\t1\t0.5\n" for name in articles)
        (tmp_path / f"{run_}.tsv").write_text(lines)
    command = ("compare", *INT, "right.tsv", "wrong.tsv", "--resamples", resamples)
    assert run(tmp_path, *command) == 0
    text = capsys.readouterr().out
    floor = r"0\.[1-9]" if flips.startswith("9") else r"0\.0625"
    assert re.search(
        f"^note: with {flips} flips no p_adjusted can be below {floor}, "
        r"so that nothing can be found at 0\.05$",
        text,
        re.MULTILINE,
    )
    assert "note: 1 of 1 pairs have a p_floor above 0.05" in text
    assert run(tmp_path, *command, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["notes"]) == 3  # few articles, too


def test_runs_with_no_article_in_common(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.tsv").write_text("a\tP1\t1\t0.7\n")
    (folder / "second.tsv").write_text("b\tP3\t1\t0.7\n")
    assert run(folder, "compare", *INT, "first.tsv", "second.tsv", "--resamples", "20") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5] == "paired sign-flip tests of auc_ipr, the only flip, step-down maxT"
    assert lines[7].split() == ["first", "second", "0/2", *["n/a"] * 4, *["1.000"] * 3]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--seed", "-1"), ("--seed", "x"), ("--resamples", "0"), ("--resamples", "1000001")],
)
def test_numbers_that_no_comparison_can_use(option, value, folder, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(folder, "compare", *INT, "run.tsv", option, value)
    assert stopped.value.code == 2
    assert f"argument {option}: {value!r}; expected an integer" in capsys.readouterr().err


def test_explain_shows_the_sum_behind_the_score(folder, capsys):
    assert run(folder, "explain", "run.tsv", "a", *INT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run, a: 1 of 2 found"
    assert lines[2].split() == ["1", "*", "1.000", "0.500", "1.000", "0.90000", "P1"]
    assert "missed: P2" in lines
    assert "AUC iP/R 0.50000 = (1.000) / 2" in lines
    assert run(folder, "explain", "act_run.tsv", "c", *ACT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["act_run, c: relevant in the gold", "called not relevant, rank 3 of 4"]


def test_articles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "articles", *INT, "run.tsv", "--json") == 0
    assert [one["article"] for one in json.loads(capsys.readouterr().out)] == ["a", "b"]
    assert run(folder, "articles", *ACT, "act_run.tsv", "--doubtful") == 0
    assert capsys.readouterr().out == "none\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["curves", "scatter", "intervals", "articles"])
@pytest.mark.parametrize("task", [INT, ACT])
def test_plots_are_the_same_bytes_each_time(kind: str, task: tuple[str, ...], folder: Path) -> None:
    pytest.importorskip("matplotlib")
    result = "run.tsv" if task is INT else "act_run.tsv"
    pictures = []
    for name in ("one.svg", "two.svg"):
        out = folder / name
        assert run(folder, "plot", *task, result, "--kind", kind, "--out", str(out)) == 0
        pictures.append(out.read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"<?xml")


def test_plots_name_the_articles_that_count_if_not_all_do(folder: Path) -> None:
    gold = read_gold("INT", folder / "gold.tsv")
    (folder / "half.tsv").write_text("b\tP3\t1\t0.7\n")
    cards = evaluate_runs("INT", gold, [folder / "run.tsv", folder / "half.tsv"])
    for chart in (figures.curves(cards), figures.scatter(cards)):
        assert [one.name for one in chart.panels[0].series] == ["run (2/2)", "half (1/2)"]
    cards = evaluate_runs("INT", gold, [folder / "half.tsv"], articles="all")
    assert figures.curves(cards).panels[0].series[0].name == "half"
    assert figures.intervals(compare(gold, cards, resamples=2)).panels[0].y.names == ["half"]


@pytest.mark.slow
def test_help_of_every_command_loads_numpy_alone() -> None:
    lines = [[*words, "--help"] for words in commands(build_parser())]
    assert len(lines) > 9
    for words, libraries in zip(lines, loaded("scoring.cli", lines), strict=True):
        assert libraries <= {"numpy"}, words


@pytest.mark.parametrize(
    "words", [("per-article", "--out"), ("articles", "--doubtful", "--gold-out")]
)
def test_files_are_utf_8_in_any_locale(folder: Path, words: tuple[str, ...]) -> None:
    for file in ("gold", "run"):
        path = folder / f"{file}.tsv"
        path.write_text(path.read_text().replace("a\t", "\u00e4\t"), "utf-8")
    written = folder / "written.tsv"
    inputs = (*words, str(written), "--task", "INT", "--gold", str(folder / "gold.tsv"))
    command = [sys.executable, "-m", "scoring", *inputs, str(folder / "run.tsv")]
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env = {**os.environ, **ascii_only, "PYTHONIOENCODING": "utf-8"}
    subprocess.run(command, env=env, capture_output=True, check=True)
    assert "\u00e4\t" in written.read_text("utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", *INT],
        ["compare", *INT],
        ["usefulness", *INT],
        ["plot", "--out", "plot.svg", *INT],
        ["articles", "--doubtful", *INT],
        ["usefulness", *INT, "--authors"],  # the other file is the authors', not a run
        ["ner", "--gold", "gold.tsv", "--run"],
        ["bb", "--task", "event", "--gold", ".", "--run"],
        ["ppi3d", "--gold", "gold.tsv", "--scores"],
        ["ppi3d", "--out", "plot.svg", "--scores"],
    ],
)
def test_two_files_of_one_name_are_refused(folder, capsys, command):
    (folder / "other").mkdir()
    other = folder / "other" / "run.tsv.gz"
    other.touch()
    if "--authors" in command:
        assert run(folder, *command[:-1], "run.tsv", "--authors", str(other)) == 2
    else:
        assert run(folder, *command, "run.tsv", str(other)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{folder / 'run.tsv'} and {other} are both runs 'run'" in err


def test_no_run_has_the_name_of_the_ideal_system(folder, capsys):
    (folder / "ideal.tsv").write_text(RUN)
    assert run(folder, "usefulness", *INT, "ideal.tsv") == 2
    assert "'ideal'" in capsys.readouterr().err
