"""`scoring export-trec`: other programs read the files, and find the same scores."""

from collections import defaultdict
from pathlib import Path

import pytest
import pytrec_eval

from scoring.cli import main
from scoring.evaluation import evaluate_runs
from scoring.measures import mean_of
from scoring.samples import write_samples


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("trec") / "samples"
    write_samples(folder)
    return folder


@pytest.mark.parametrize("task", ["INT", "IPT", "ACT"])
def test_mean_average_precision_is_that_of_trec_eval(task, samples, tmp_path, capsys):
    gold, run = samples / task.lower() / "gold.tsv", samples / task.lower() / "T10_R1.tsv"
    command = ["export-trec", "--task", task, "--gold", str(gold), str(run)]
    assert main([*command, "--out", str(tmp_path)]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["qrels.txt", "T10_R1.run"]
    qrels: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in (tmp_path / "qrels.txt").read_text().splitlines():
        topic, zero, document, relevance = line.split()
        assert zero == "0"
        qrels[topic][document] = int(relevance)
    listed: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for line in (tmp_path / "T10_R1.run").read_text().splitlines():
        topic, _, document, rank, score, name = line.split()
        assert float(score) == 1 / int(rank)
        assert name == "T10_R1"
        listed[topic][document] = float(score)
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(listed)
    (card,) = evaluate_runs(task, gold, [run])
    result = sum(one["map"] for one in found.values()) / len(found)
    assert result == pytest.approx(mean_of("AP", card))


def test_names_with_spaces_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold.tsv").write_text("PMID 1\tP1\n")
    (tmp_path / "run.tsv").write_text("PMID 1\tP1\t1\t1\n")
    command = ["export-trec", "--task", "INT", "--gold", str(tmp_path / "gold.tsv")]
    assert main([*command, str(tmp_path / "run.tsv"), "--out", str(tmp_path / "new")]) == 2
    assert "no names with spaces" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
