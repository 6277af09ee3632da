"""Result files checked like answers, each problem with its line."""

from pathlib import Path
from typing import Any

import pytest

from metaserver.base.records import ArticleId, TaskName
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.tasks.plugin import FiledTask, RunFile, StatedTask, answered_tasks
from metaserver.uniprot.verdicts import Ruling
from tests.fakes.vocabulary import FakeVocabulary

ARTICLES = [ArticleId("1"), ArticleId("2")]


def rule(accession: str) -> Ruling | None:
    """Accept accessions that begin with P, and mend those with S."""
    if accession[0] == "P":
        return None
    mended = accession[0] == "S"
    return Ruling("P9", f"{accession} is secondary") if mended else Ruling(None, f"{accession}: no")


KNOWN = FakeVocabulary(rule)


def read(task: FiledTask, folder: Path, *lines: str) -> RunFile:
    path = folder / "run.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return task.read_run(path, ARTICLES, KNOWN)


def messages(found: RunFile) -> list[str]:
    return [str(problem) for problem in found.problems]


def test_invalid_hits_are_left_out_and_reported_with_their_line(tmp_path: Path) -> None:
    lines = ["1\tP1\t1\t0.9", "2\tX1\t1\t0.9", "1\tX2\t2\t0.8", "9\tP1\t1\t1", "1\tS3\t3\t0.7"]
    found = read(INT, tmp_path, *lines)
    assert (found.payloads, found.stated) == ({"1": [["P1", 1, 0.9], ["P9", 3, 0.7]], "2": []}, 1)
    assert messages(found) == [
        "line 3: X2: no",
        "line 5: S3 is secondary",
        "line 2: X1: no",
        "line 4: article '9' is not an article of this phase: 1 line is left out",
    ]


def test_every_format_error_has_its_line(tmp_path: Path) -> None:
    found = read(INT, tmp_path, "1\tP1\t1\t0.9", "1\tP2\t2", "", "2\tP1\t1\t7", "2\tP1\tx\t0.5")
    assert not found.payloads
    assert [str(fault).partition(":")[0] for fault in found.faults] == [
        "line 2", "line 3", "line 4, column 4", "line 5, column 3",
    ]  # fmt: skip


def test_pairs_are_unordered(tmp_path: Path) -> None:
    found = read(IPT, tmp_path, "1\tP2\tP1\t1\t0.9", "1\tX2\tP1\t2\t0.9")
    assert found.payloads == {"1": [["P1", "P2", 1, 0.9]], "2": []}
    assert messages(found) == ["line 2: X2: no"]


def test_evidence_follows_the_hits_that_are_kept(tmp_path: Path) -> None:
    lines = ["1\tP1\t2\t0.8\t binds\tmore", "1\tX1\t1\t0.9\tlost", "1\tP2\t3\t0.7\t"]
    lines += [f"2\tP{rank}\t{rank}\t0.9\t{'é' * 2_001}" for rank in range(1, 1_002)]
    found = read(INT, tmp_path, *lines)
    assert found.asides == {"1": [("binds", None), ("", None)], "2": [("é" * 2_000, None)] * 1_000}
    assert messages(found)[0].startswith("line 1, column 6: extra columns ignored")
    assert not read(IPT, tmp_path, "1\tP2\tP1\t1\t0.9").asides
    assert read(IPT, tmp_path, "1\tP2\tP1\t1\t0.9\tx").asides == {"1": [("x", None)]}


def test_act_keeps_its_ranks(tmp_path: Path) -> None:
    found = read(ACT, tmp_path, "1\t1\t2\t0.5", "2\t1\t1\t0.4")
    assert found.payloads == {"1": [True, 0.5, 2], "2": [True, 0.4, 1]}
    assert list(ACT.result_lines(found.payloads.items())) == ["2\t1\t1\t0.4\n", "1\t1\t2\t0.5\n"]
    result = messages(found)
    assert result == ["line 1, column 4: confidence rises with rank 2; expected it to fall"]


@pytest.mark.parametrize("task", answered_tasks().values(), ids=lambda task: task.name)
def test_which_tasks_have_files_and_labels(task: object) -> None:
    assert isinstance(task, StatedTask)
    assert isinstance(task, FiledTask) == (getattr(task, "name", "") != "NER")


@pytest.mark.parametrize(
    ("task", "gold", "payload"),
    [
        ("ACT", "1\t0\n", [False, 0.5]),
        ("INT", "1\tP2\n1\tP1\n", [["P1", 1, 0.9], ["P2", 2, 0.8]]),
        ("IPT", "1\tP2\tP1\n", [["P1", "P2", 1, 0.9]]),
        ("NER", "1\t3-6\tMDM4\tprotein\n", [[3, "MDM4", "protein"]]),
    ],
)
def test_an_answer_with_all_of_the_gold_states_its_labels(
    tmp_path: Path, task: str, gold: str, payload: list[Any]
) -> None:
    plugin, path = answered_tasks()[TaskName(task)], tmp_path / "gold.tsv"
    path.write_text(gold)
    assert isinstance(plugin, StatedTask)
    assert plugin.stated(payload) == plugin.labels(plugin.read_gold(path))[ArticleId("1")]
    assert not plugin.stated([])


def test_an_article_without_a_line_is_answered_with_nothing_but_not_classified(tmp_path):
    assert read(INT, tmp_path, "2\tP1\t1\t0.9").payloads == {"1": [], "2": [["P1", 1, 0.9]]}
    assert read(ACT, tmp_path, "2\t1\t1\t0.9").payloads == {"2": [True, 0.9, 1]}
    assert not read(INT, tmp_path, "2\tX1\t1\t0.9").payloads  # it has no valid answer at all
