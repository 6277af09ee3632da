"""Items on which all teams contradict the gold."""

import csv
import io
import json
from pathlib import Path

import pytest

from scoring import Hit, ItemGold, Run, changed_gold, doubtful_items, pair, read_gold
from scoring.cli import main
from scoring.files import gold_lines
from scoring.tasks import Item, Task

GOLD = ItemGold(
    task=Task.INT,
    items={"a": frozenset({"P1", "P2"}), "b": frozenset({"P3"}), "c": frozenset({"P4"})},
)


def run(name: str, answers: dict[str, list[Item]], task: Task = Task.INT) -> Run:
    hits = {
        article: [Hit(item, rank, 0.5) for rank, item in enumerate(items, start=1)]
        for article, items in answers.items()
    }
    return Run(task=task, name=name, answers=hits)


RUNS = [
    run("T1_1", {"a": ["P1", "NEW"], "b": ["X"], "c": []}),
    run("T2_1", {"a": ["NEW", "P1"], "b": ["P3", "X"], "c": ["Z"]}),
    run("T3_1", {"a": ["P1", "Q", "NEW"], "b": ["X", "P3"], "c": ["Z"]}),
]


def test_items_that_all_teams_have_or_none() -> None:
    found = doubtful_items(GOLD, RUNS)
    assert [(one.article, one.accessions, one.doubt, one.have, one.teams) for one in found] == [
        ("b", ("X",), "missing", 3, 3),
        ("a", ("NEW",), "missing", 3, 3),
        ("a", ("P2",), "unsupported", 0, 3),
    ]
    assert [one.rank for one in found] == [pytest.approx(4 / 3), 2.0, None]


def test_an_article_that_two_teams_answered_is_no_evidence() -> None:
    assert not [one for one in doubtful_items(GOLD, RUNS) if one.article == "c"]
    assert doubtful_items(GOLD, RUNS[:2]) == []


def test_a_team_counts_once_and_by_its_best_ranks() -> None:
    assert doubtful_items(GOLD, RUNS, teams=["T1", "T2", "T2"]) == []
    more = [*RUNS, run("T1_2", {"a": ["P2"]})]
    found = doubtful_items(GOLD, more, teams=["T1", "T2", "T3", "T1"])
    assert [one.accessions for one in found] == [("X",), ("NEW",)]  # a run of T1 has P2
    cut = doubtful_items(GOLD, RUNS, cutoff=1)
    assert [(one.accessions, one.doubt) for one in cut] == [(("P2",), "unsupported")]


def test_nine_in_ten_are_nearly_all() -> None:
    teams = [run(str(n), {"b": ["P3", "X"] if n else ["P3"]}) for n in range(10)]
    assert [one.have for one in doubtful_items(GOLD, teams)] == [9]
    assert doubtful_items(GOLD, [*teams[:9]]) == []  # 8 of 9


def test_the_changed_gold() -> None:
    changed = changed_gold(GOLD, doubtful_items(GOLD, RUNS))
    assert changed.items == {
        "a": frozenset({"P1", "NEW"}), "b": frozenset({"P3", "X"}), "c": frozenset({"P4"}),
    }  # fmt: skip
    nobody = [run(str(n), {"c": ["Z" + str(n)]}) for n in range(3)]
    assert changed_gold(GOLD, doubtful_items(GOLD, nobody)) == GOLD  # `c` has to keep an item


def test_pairs() -> None:
    old, new = pair("P1", "P2"), pair("P9", "P3")
    gold = ItemGold(task=Task.IPT, items={"a": frozenset({old})})
    found = doubtful_items(gold, [run(str(n), {"a": [new]}, Task.IPT) for n in range(3)])
    result = [(one.accessions, one.doubt) for one in found]
    assert result == [(("P3", "P9"), "missing"), (("P1", "P2"), "unsupported")]
    assert changed_gold(gold, found).items == {"a": frozenset({new})}
    assert list(gold_lines(changed_gold(gold, found))) == ["a\tP3\tP9\n"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.tsv").write_text("".join(gold_lines(GOLD)))
    for one in RUNS:
        lines = [
            f"{article}\t{hit.item}\t{hit.rank}\t0.5\n"
            for article, hits in one.answers.items()
            for hit in hits  # type: ignore[union-attr]
        ]
        (tmp_path / f"{one.name}.tsv").write_text("".join(lines))
    return tmp_path


def articles(folder: Path, *options: str) -> int:
    runs = map(str, sorted(folder.glob("T*.tsv")))
    return main(["articles", "--task", "INT", "--gold", str(folder / "gold.tsv"), *runs, *options])


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "new.tsv"
    assert articles(folder, "--doubtful", "--gold-out", str(out), "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = [(row["article"], row["accessions"], row["doubt"]) for row in rows]
    assert found == [("b", "X", "missing"), ("a", "NEW", "missing"), ("a", "P2", "unsupported")]
    assert read_gold("INT", out) == changed_gold(GOLD, doubtful_items(GOLD, RUNS))
    assert articles(folder, "--doubtful", "--doubt", "unsupported", "--json") == 0
    assert [one["accessions"] for one in json.loads(capsys.readouterr().out)] == [["P2"]]
    assert articles(folder, "--doubtful", "--team", r"(T)\d") == 0
    assert capsys.readouterr().out == "none\n"
    assert articles(folder, "--doubtful", "--format", "latex") == 0
    assert "NEW" in capsys.readouterr().out
    assert articles(folder, "--gold-out", str(out)) == 2
    assert "need --doubtful" in capsys.readouterr().err


def test_doubtful_classes_are_changed_in_the_gold(tmp_path, capsys):
    (tmp_path / "gold.tsv").write_text("a\t1\nb\t0\nc\t1\nd\t0\n")
    for name in ("T1_x", "T1_y", "T2_z"):
        (tmp_path / f"{name}.tsv").write_text("b\t1\t1\t0.9\na\t1\t2\t0.8\nc\t1\t3\t0.7\n")
    runs = [str(tmp_path / f"{name}.tsv") for name in ("T1_x", "T1_y", "T2_z")]
    out = tmp_path / "new.tsv"
    command = ["articles", "--task", "ACT", "--gold", str(tmp_path / "gold.tsv"), *runs]
    assert main([*command, "--doubtful", "--gold-out", str(out), "--json"]) == 0
    assert [one["article"] for one in json.loads(capsys.readouterr().out)] == ["b"]
    assert out.read_text() == "a\t1\nb\t1\nc\t1\nd\t0\n"
    assert main([*command, "--team", "^(T.)", "--json"]) == 0
    ranks = json.loads(capsys.readouterr().out)
    assert {(one["runs"], one["doubtful"]) for one in ranks} == {(2, False)}  # two teams
    assert main([*command, "--doubtful", "--doubt", "missing"]) == 2
    assert "does not apply to ACT" in capsys.readouterr().err
