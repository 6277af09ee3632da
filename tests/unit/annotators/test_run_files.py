"""Answers as result files, which the evaluator reads back."""

import pytest

from annotators.errors import BadInputError
from annotators.run_files import unwritable, write_result_files
from annotators.score import score
from scoring.files import read_run
from scoring.tasks import Task

ANSWERS = {
    "a1": {
        "interaction": [True, 0.6],
        "normalizations": [
            {"dbid": "P04637", "rank": 3, "confidence": 0.5},
            {"dbid": "Q00987", "rank": 1, "confidence": 0.9},
        ],
        "pairs": [{"dbid_a": "P04637", "dbid_b": "Q00987", "confidence": 0.25}],
        "mentions": [
            {"offset": 3, "mention": "p53\nprotein", "type": "protein"},
            {"offset": 0, "mention": "for display only"},
            {"offset": 20, "mention": "=1+1", "type": "protein"},
        ],
    },
    "a2": {
        "interaction": [True, 0.8],
        "normalizations": [
            {"dbid": "P38398", "confidence": 0.25},
            {"dbid": "P00533", "confidence": 1.0},
        ],
    },
    "a3": {"interaction": [False, 0.7]},
    "a4": {},
}


def test_each_task_that_was_answered_has_a_file(tmp_path):
    files = write_result_files(tmp_path / "runs", ANSWERS)
    assert {path.name: path.read_text() for path in files} == {
        "ACT.tsv": "a2\t1\t1\t0.8\na1\t1\t2\t0.6\na3\t0\t1\t0.7\n",
        "INT.tsv": "a1\tQ00987\t1\t0.9\na1\tP04637\t2\t0.5\n"
        "a2\tP00533\t1\t1.0\na2\tP38398\t2\t0.25\n",
        "IPT.tsv": "a1\tP04637\tQ00987\t1\t0.25\n",
        "NER.tsv": "a1\t3-13\tp53 protein\tprotein\na1\t20-23\t'=1+1\tprotein\n",
    }


@pytest.mark.parametrize("task", ["ACT", "INT", "IPT"])
def test_the_evaluator_reads_them(task, tmp_path):
    write_result_files(tmp_path, ANSWERS)
    read_run(Task(task), tmp_path / f"{task}.tsv")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"normalizations": [{"dbid": "P04637\t1"}]},
            "normalizations[0].dbid: 'P04637\\t1' is no accession",
        ),
        ({"pairs": [{"dbid_a": "P04637", "dbid_b": ""}]}, "pairs[0].dbid_b: '' is no accession"),
        ({"mentions": [{"type": "a b"}]}, "mentions[0].type: 'a b'; expected no white space"),
    ],
)
def test_what_would_break_a_line_is_named(answer, expected):
    assert list(unwritable(answer)) == [expected]


def test_scores_need_the_evaluator(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scoring", None)
    with pytest.raises(BadInputError, match="scoring: is not installed here"):
        score(tmp_path, tmp_path, articles="all")


def test_scores_need_gold_of_a_task(tmp_path):
    write_result_files(tmp_path / "runs", ANSWERS)
    (tmp_path / "gold").mkdir()
    with pytest.raises(BadInputError, match="no gold for ACT, INT, IPT, NER"):
        score(tmp_path / "runs", tmp_path / "gold", articles="all")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="cannot be written"):
        write_result_files(tmp_path / "file", ANSWERS)
