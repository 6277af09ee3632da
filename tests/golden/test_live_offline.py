"""Uploads to offline tasks on the data of ../shared: scored as the commands of `scoring` do."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from metaserver.base.boards import Score
from metaserver.base.records import TaskName
from metaserver.tasks.drug_names import DDI_NER
from metaserver.tasks.plugin import OfflineTask, offline_tasks
from metaserver.tasks.predictors import PPI_3D
from scoring.alignment import length
from scoring.bacteria_biotope import SubTask, evaluate_paths
from scoring.intervals import bounds_of
from tests.golden.test_semeval import cases, mentions
from tests.shared import shared

PARENTS = "data/bb2016/OntoBiotope_BioNLP-ST-2016_parents.txt"


def uploaded(task: OfflineTask, gold: Path, run: Path) -> Score:
    read = task.read_gold(gold)
    found = task.read_upload(run, read)
    assert not found.faults
    scorer = task.scorer(read)
    for article, payload in json.loads(json.dumps(found.payloads)).items():
        scorer.keep(article, scorer.prepare(article, payload))
    return scorer.score()


def zip_of(path: Path, **sources: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sources.items():
            archive.writestr(name, content)
    return path


def spoiled(content: bytes, number: int) -> bytes:
    """Return annotations without every third event and every fourth category."""
    lines = content.decode().splitlines(keepends=True)
    kept = [
        line
        for place, line in enumerate(lines, number)
        if not (line.startswith("R") and place % 3 == 0)
        and not (line.startswith("N") and place % 4 == 0)
    ]
    return "".join(kept).encode()


@pytest.mark.slow
@pytest.mark.parametrize("subtask", list(SubTask))
def test_a_spoiled_gold_of_bacteria_biotope(subtask: SubTask, tmp_path: Path) -> None:
    real = shared(f"data/bb2016/BioNLP-ST-2016_BB-{subtask}_dev.zip")
    with zipfile.ZipFile(BytesIO(real.read_bytes())) as archive:
        members = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.endswith((".txt", ".a1", ".a2"))
        }
    parents = shared(PARENTS)
    gold = zip_of(tmp_path / "gold.zip", **members, **{"ontology.tsv": parents.read_bytes()})
    annotations = [name for name in members if name.endswith(".a2")]
    run = zip_of(
        tmp_path / "run.zip",
        **{name: spoiled(members[name], n) for n, name in enumerate(annotations) if n % 5},
    )
    task = offline_tasks()[TaskName(f"BB-{subtask}")]
    score = uploaded(task, gold, run)
    card = evaluate_paths(subtask, real, run, parents)
    assert score.detail["scores"] == card.to_dict()["scores"]
    assert 0 < score.articles_scored == card.articles_answered < score.articles_in_gold
    found = task.intervals(None, {"run": score.card}, task.order[0])["run"]  # type: ignore[attr-defined]
    assert (found.low, found.high) == bounds_of(card.scores[0].on_resamples())


def test_the_hand_checked_cases_of_task_9_1(tmp_path: Path) -> None:
    for case in cases():
        if not case["gold"]:
            continue  # a gold without a name is refused
        places = dict.fromkeys(place for place, *_ in case["gold"])
        lines = [
            f"{place}\t{offsets}\t{'n' * length(gold.span)}\t{kind}\n"
            for (place, offsets, kind), gold in zip(
                case["gold"], mentions(case["gold"]), strict=True
            )
        ]
        lines += [f"{one[0]}\n" for one in case["pred"] if one[0] not in places]
        gold, run = tmp_path / "gold", tmp_path / "run"
        gold.write_text("".join(dict.fromkeys(lines)))
        run.write_text("".join(f"{p}\t{offsets}\tn\t{kind}\n" for p, offsets, kind in case["pred"]))
        micro = uploaded(DDI_NER, gold, run).detail["micro"]
        for criterion, expected in case["expected"].items():
            names = {"P": "precision", "R": "recall", "F1": "f_score"}
            for key, value in expected.items():
                shown = micro[criterion][names.get(key, key.lower())]
                assert shown == pytest.approx(value, abs=1e-12), (case["name"], criterion, key)


def test_the_hand_made_example_of_predictors(tmp_path: Path) -> None:
    example = json.loads(shared("golden/metric3d.json").read_text())["hand_example"]
    pairs = [f"p{number}" for number in range(len(example["y"]))]
    gold, run = tmp_path / "gold", tmp_path / "run"
    gold.write_text("".join(f"{pair}\t{y}\n" for pair, y in zip(pairs, example["y"], strict=True)))
    lines = [f"{pair}\t{s}\n" for pair, s in zip(pairs, example["score"], strict=True)]
    run.write_text("".join(reversed(lines)))
    values = uploaded(PPI_3D, gold, run).values
    assert values["a1"] == pytest.approx(example["A1"], abs=1e-15)
    assert values["a2"] == pytest.approx(example["A2"], abs=1e-15)
    assert values["score"] == pytest.approx(example["score3d"], abs=1e-15)
