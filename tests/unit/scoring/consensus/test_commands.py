"""`scoring consensus`, from the command line in to the text and the files that come out."""

import csv
import io
import json
from pathlib import Path

import pytest

from scoring import ItemGold, Run, read_model
from scoring.cli import main
from scoring.files import result_lines
from tests.unit.scoring.campaign import campaign

TEAMS = ("--team", r"(T\d)_R\d")


def write(folder: Path, gold: ItemGold, runs: list[Run]) -> list[str]:
    """Write a campaign's files into a folder; return the runs' paths."""
    folder.mkdir(exist_ok=True)
    lines = [f"{article}\t{item}\n" for article in gold.items for item in gold.items[article]]
    (folder / "gold.tsv").write_text("".join(lines))
    paths = [folder / f"{one.name}.tsv" for one in runs]
    for path, one in zip(paths, runs, strict=True):
        path.write_text("".join(result_lines("INT", one.answers.items())))
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a past campaign in `old` and of a new one in `new`, and a model of the old."""
    folder = tmp_path_factory.mktemp("consensus")
    old = write(folder / "old", *campaign(articles=20))
    write(folder / "new", *campaign(articles=12, seed=6, first=500))
    command = ["consensus", "train", *gold_of(folder / "old"), "--folds", "2"]
    assert main([*command, "--model", str(folder / "model.json"), *old]) == 0
    return folder


def gold_of(folder: Path) -> tuple[str, ...]:
    return ("--task", "INT", "--gold", str(folder / "gold.tsv"))


def runs_of(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("T*.tsv"))]


@pytest.mark.slow
def test_a_model_of_old_runs_combines_new_ones(files, capsys):
    out = files / "consensus.tsv"
    applied = ["--model", str(files / "model.json"), *runs_of(files / "new")]
    assert main(["consensus", "apply", *applied, "--out", str(out), "--threshold", "0"]) == 0
    assert capsys.readouterr() == ("", "")
    options = ["--json", "--beta", "10", "--cutoff", "30"]
    evaluate = ["evaluate", *gold_of(files / "new"), *options]
    assert main([*evaluate, *runs_of(files / "new"), str(out)]) == 0
    *members, consensus = json.loads(capsys.readouterr().out)
    for measure in ("f_score", "auc_ipr"):
        best = max(one["macro"][measure] for one in members)
        assert consensus["macro"][measure] > best

    short = files / "short.tsv"
    assert main(["consensus", "apply", *applied, "--out", str(short)]) == 0
    assert len(short.read_text()) < len(out.read_text()) / 2
    assert main([*evaluate, str(short)]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["macro"]["f_score"] > consensus["macro"]["f_score"]
    assert main(["consensus", "apply", *applied]) == 0  # without --out it is printed
    assert capsys.readouterr().out == short.read_text()


def test_servers_that_are_absent_unknown_or_weighed(files, capsys):
    unknown = files / "new" / "another.tsv"
    unknown.write_text("article500\tP1\t1\t0.5\n")
    some = [*runs_of(files / "new")[:2], str(unknown)]
    command = ["consensus", "explain", "article500", *some, "--model", str(files / "model.json")]
    assert main(command) == 0
    listed, warnings = capsys.readouterr()
    assert warnings.splitlines() == [
        "warning: no run of T1_R2, T1_R3, T2_R4, T2_R5, which the model knows",
        "warning: the model does not know another",
    ]
    rows = [line.split() for line in listed.splitlines()]
    assert rows[0][:5] == ["item", "rank", "score", "probability", "agreement"]
    scores = [float(row[2]) for row in rows[1:]]
    assert scores == sorted(scores, reverse=True)
    [found] = [row for row in rows if row[-1] == "another" and row[0] == "P1"] or [None]
    assert found is None or found[4] == "0.333"

    assert main([*command, "--item", rows[1][0]]) == 0
    lines = capsys.readouterr().out.splitlines()
    parts = [float(line.split()[0]) for line in lines[1:-1]]
    assert lines[-2].endswith("bias")
    assert sum(parts) == pytest.approx(float(lines[-1].split()[0]), abs=5e-4)
    assert main([*command, "--item", rows[1][0], "--weight", "T0_R0=0", "--weight", "T0_R1=0"]) == 0
    assert "a probability of 0.0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_report_shows_members_and_methods(files, capsys):
    out = files / "validated.tsv"
    command = ["consensus", "report", *gold_of(files / "old"), *runs_of(files / "old"), *TEAMS]
    command += ["--folds", "3", "--methods", "maxent,rrf1"]
    assert main([*command, "--out", str(out), "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)
    names = ["consensus maxent", "consensus maxent, short", "consensus rrf1"]
    assert [card["run"] for card in cards[6:]] == names
    assert [card["member"] for card in cards].count("yes") == 3
    assert sum(int(card["folds"].removesuffix("/3")) for card in cards[:6]) == 3 * 3
    assert cards[6]["member"] is None
    assert 0 < cards[6]["ECE"] < cards[6]["ECE above 0.1"] < 0.2
    assert cards[7]["candidates"] < cards[6]["candidates"] <= 30
    best = max(card["macro"]["f_score"] for card in cards[:6])
    assert best < cards[6]["macro"]["f_score"] < cards[7]["macro"]["f_score"]
    assert main(["evaluate", *gold_of(files / "old"), str(out), "--json", "--cutoff", "30"]) == 0
    [evaluated] = json.loads(capsys.readouterr().out)
    assert evaluated["macro"]["auc_ipr"] == cards[6]["macro"]["auc_ipr"]

    assert main(command) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].split()[:3] == ["run", "articles", "TP"]
    assert text[0].split()[-6:] == ["ECE", "ECE", "above", "0.1", "folds", "member"]


@pytest.mark.slow
def test_a_report_of_progress_and_of_contributions(files, capsys):
    command = ["consensus", "report", *gold_of(files / "old"), *runs_of(files / "old")]
    command += ["--folds", "2", "--methods", "maxent,votes", "--format", "csv"]
    assert main([*command, "--table", "progressive"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["answered"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    maxent = [float(row["maxent"]) for row in rows]
    assert maxent[0] < maxent[2] < maxent[-1]
    assert all(float(row["maxent"]) > float(row["votes"]) for row in rows)
    assert main([*command, "--table", "contributions", *TEAMS]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sorted(row["team"] for row in rows) == ["T0", "T1", "T2"]
    assert all(0 < float(row["value"]) < float(row["alone"]) for row in rows)
    assert all(float(row["error"]) == 0 for row in rows)


@pytest.mark.slow
def test_a_report_scores_all_on_the_same_articles(tmp_path, capsys):
    gold, runs = campaign(systems=3, articles=12)
    paths = write(tmp_path, gold, runs)
    for place, one in enumerate(runs):
        left_out = {f"article{place}", f"article{place + 1}"}
        kept = [answer for answer in one.answers.items() if answer[0] not in left_out]
        Path(paths[place]).write_text("".join(result_lines("INT", kept)))
    command = ["consensus", "report", *gold_of(tmp_path), *paths]
    command += ["--folds", "3", "--methods", "maxent,rrf1"]
    for style in ("text", "latex"):
        assert main([*command, "--articles", "answered", "--format", style]) == 0
        output = capsys.readouterr()
        assert output.err == (
            "warning: 4 of 12 gold articles are left out: not all runs answered them; "
            "--articles all counts them\n"
        )
        assert output.out.count(" 8/12 ") == 6
    assert main([*command, "--articles", "all", "--format", "csv"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    rows = list(csv.DictReader(io.StringIO(output.out)))
    assert [(row["articles_scored"], row["articles_in_gold"]) for row in rows] == [("12", "12")] * 6
    assert all("|articles:all|" in row["signature"] for row in rows)
    for number, path in enumerate(paths):  # no article is answered by all
        kept = [a for place, a in enumerate(runs[number].answers.items()) if place % 3 != number]
        Path(path).write_text("".join(result_lines("INT", kept)))
    assert main([*command, "--format", "csv"]) == 0
    output = capsys.readouterr()
    assert "runs answered 8 of 12 gold articles: all of these count" in output.err
    assert "--articles answered counts the 0 that all runs answered" in output.err
    rows = list(csv.DictReader(io.StringIO(output.out)))
    assert all("|articles:all|" in row["signature"] for row in rows)
    assert main([*command, "--articles", "answered"]) == 2


def test_authors_and_systems_are_scored_on_the_authors_articles(tmp_path, capsys):
    gold, runs = campaign(articles=30)
    paths = write(tmp_path, gold, runs[:2])
    authored = list(gold.items)[:12]
    author = tmp_path / "author.tsv"
    author.write_text("".join(f"{one}\t{min(gold.items[one])}\t1\t1\n" for one in authored))
    command = ["consensus", "report", *gold_of(tmp_path), *paths, *TEAMS]
    command += ["--author", str(author), "--methods", "maxent"]
    for policy in ("answered", "all"):
        assert main([*command, "--articles", policy, "--json"]) == 0
        output = capsys.readouterr()
        assert "18 of 30 gold articles are left out: their authors gave no answer" in output.err
        cards = json.loads(output.out)
        counts = {(card["articles_scored"], card["articles_in_gold"]) for card in cards}
        assert counts == {(12, 12)}
        assert len(cards) == 4  # two runs, the author, the consensus
        assert cards[0]["folds"].endswith("/5")
        assert cards[-1]["tp"] + cards[-1]["fp"] == 12  # as many as the authors gave
    author.write_text("zzz\tP1\t1\t1\n")
    assert main(command) == 2
    assert "author has answers for no article of the gold" in capsys.readouterr().err


def test_little_gold_makes_a_fusion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write(tmp_path, *campaign(articles=6))
    model = tmp_path / "model.json"
    assert main(["consensus", "train", *gold_of(tmp_path), *paths, "--model", str(model)]) == 0
    summary = capsys.readouterr().out.splitlines()
    assert summary[0] == "INT, rrf1: 6 members, 6 articles"
    assert "ECE" not in "".join(summary)
    assert read_model(model).method == "rrf1"
    assert main(["consensus", "apply", "--model", str(model), *paths]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    assert first[2:] == ["1", "1.0"]


MODEL = "model.json"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "GOLD", "RUN", "--folds", "1"), "--folds 1; expected at least 2"),
        (("report", "GOLD", "RUN", "--team", "("), "'(' names no teams"),
        (("report", "GOLD", "other.tsv"), "no article of the gold is answered by any"),
        (("report", "GOLD", "RUN", "--methods", "x"), "method 'x'; expected one of stacked"),
        (("report", "GOLD", "RUN", "--beta", "0"), "a beta of 0.0"),
        (("report", "GOLD", "RUN", "--features", "named,x"), "expected some of named, 1/rank"),
        (
            ("report", "GOLD", "RUN", "--author", "other.tsv", "--table", "progressive"),
            "--author goes with the table of scores",
        ),
        (("train", "GOLD", "RUN", "--model", "nowhere/m.json"), "nowhere: no such folder"),
        (("apply", "RUN", "--model", "old/gold.tsv"), "gold.tsv: not JSON"),
        (("apply", "RUN", "--model", "nothing.json"), "No such file"),
        (("apply", "RUN", "--model", MODEL, "--threshold", "1"), "a threshold of 1.0"),
        (("apply", "RUN", "--model", MODEL, "--weight", "T0_R0"), "expected RUN=NUMBER"),
        (("apply", "RUN", "--model", MODEL, "--weight", "T0_R0=-1"), "a weight of -1.0"),
        (("apply", "RUN", "--model", MODEL, "--weight", "zzz=1"), "no run of this name"),
        (("explain", "zzz", "RUN", "--model", MODEL), "no run has candidates for 'zzz'"),
        (
            ("explain", "article3", "RUN", "--model", MODEL, "--item", "P1,P2"),
            "expected an accession",
        ),
        (
            ("explain", "article3", "RUN", "--model", MODEL, "--item", "nothing"),
            "'nothing' is not among the candidates of any run",
        ),
    ],
)
def test_options_that_do_not_apply(arguments, message, files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    Path("other.tsv").write_text("other\tP1\t1\t0.9\n")
    words: list[str] = []
    for one in arguments:
        given = {"GOLD": gold_of(files / "old"), "RUN": runs_of(files / "old")[:3]}
        words += given.get(one, [one])
    assert main(["consensus", *words]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err.splitlines()[-1]
