"""Model files: what is written is read back, and a hostile file gives a clear error."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from scoring import ConsensusModel, ConsensusRanker, FormatError, Hit, Task
from scoring.consensus import Member, Quality, model_text, parse_model, read_model
from scoring.consensus.model_files import MOST_BYTES, MOST_MEMBERS

MODEL = ConsensusModel(
    task=Task.IPT,
    method="stacked",
    members=(
        Member(name="a", team="one", weights=(0.1, -2.5, 1e-9)),
        Member(name="über b", team="", weights=(1.0, 2.0, 3.0)),
    ),
    panel=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0),
    bias=-4.25,
    threshold=0.02,
    training_cutoff=25,
    selection_cutoff=30,
    articles=145,
    gold="939cffbbfcd5",
    quality=Quality(folds=10, auc_ipr=0.9, f_score=0.95, best_member=0.89, calibration_error=0.01),
)
FUSION = ConsensusModel(task=Task.INT, method="rrf1", members=(Member(name="a", team="a"),))


@pytest.mark.parametrize("model", [MODEL, FUSION])
def test_what_is_written_is_read(model: ConsensusModel, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(model_text(model), encoding="utf-8")
    assert read_model(path) == model
    assert json.loads(path.read_text())["version"] == 1


def changed(*path: str | int, to: Any) -> bytes:
    values: Any = json.loads(model_text(MODEL))
    inner = values
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return json.dumps(values).encode()


def without(name: str) -> bytes:
    values = json.loads(model_text(MODEL))
    del values[name]
    return json.dumps(values).encode()


MEMBER = {"name": "x", "team": "x", "weights": [0, 0, 0]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b" " * (MOST_BYTES + 1), "more than 1,048,576 bytes"),
        (b"[]", "no consensus model"),
        (b'{"format": "pickle"}', "no consensus model"),
        (b'{"format": "a", "format": "b"}', "a name twice"),
        (changed("version", to=2), "version 2; this program reads version 1"),
        (changed("version", to=True), "version True"),
        (changed("bias", to=10**400), "bias: "),
        (model_text(MODEL).replace("-4.25", "NaN").encode(), "NaN is no number"),
        (model_text(MODEL).replace("-4.25", "-Infinity").encode(), "-Infinity is no number"),
        (model_text(MODEL).replace("-4.25", "1e999").encode(), "bias: inf; expected a number"),
        (model_text(MODEL).replace("-4.25", "9" * 5000).encode(), "not JSON"),
        (changed("bias", to=True), "bias: True; expected a number"),
        (changed("bias", to="1"), "bias: '1'; expected a number"),
        (changed("task", to="ACT"), "task: 'ACT'; expected one of INT, IPT"),
        (changed("task", to=["INT"]), "task: a list of 1"),
        (changed("method", to="__import__('os')"), "method: "),
        (changed("panel", to=[0.0] * 6), "panel: a list of 6; expected a list of 7 numbers"),
        (changed("panel", 3, to=None), "panel[3]: None"),
        (changed("members", to=[]), f"members: expected a list of 1 to {MOST_MEMBERS}"),
        (changed("members", to={}), "members: expected a list"),
        (changed("members", to=[MEMBER] * 2), "members: a name is there twice"),
        (changed("members", to=[MEMBER] * (MOST_MEMBERS + 1)), "members: expected a list"),
        (changed("members", 0, to=3), "members[0]: 3; expected an object"),
        (changed("members", 0, "name", to=""), "members[0].name: ''"),
        (changed("members", 0, "name", to="x" * 201), "members[0].name: 'xxx"),
        (changed("members", 0, "name", to="a\x1b[2J"), "members[0].name: "),
        (changed("members", 0, "weights", to=[1e7, 0, 0]), "members[0].weights[0]: 10000000.0"),
        (changed("members", 0, "run", to=1), "members[0]: 'run', which it does not have"),
        (changed("more", to={"a": 1}), "the model: 'more', which it does not have"),
        (without("bias"), "the model: no 'bias'"),
        (changed("threshold", to=1), "threshold: 1"),
        (changed("threshold", to=-0.1), "threshold: -0.1"),
        (changed("training_cutoff", to=0), "training_cutoff: 0; expected an integer from 1"),
        (changed("articles", to=1.5), "articles: 1.5; expected an integer"),
        (changed("quality", to=[1]), "quality: a list of 1; expected an object"),
        (changed("quality", "auc_ipr", to=2), "quality.auc_ipr: 2; expected a number from 0 to 1"),
        (changed("gold", to=5), "gold: 5"),
    ],
)
def test_a_hostile_file_gives_a_clear_error(content: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_model(content, "m.json")
    lines = [str(problem) for problem in caught.value.problems]
    assert any(line.startswith("m.json: ") and message in line for line in lines), lines
    assert all(len(line) < 600 for line in lines)


def test_all_that_is_wrong_is_listed() -> None:
    values = json.loads(model_text(MODEL))
    values |= {"bias": None, "task": 3, "panel": "x"}
    with pytest.raises(FormatError) as caught:
        parse_model(json.dumps(values).encode())
    assert len(caught.value.problems) == 3


def test_mutants_are_refused_or_usable() -> None:
    """Whatever is read can be applied, and gives finite scores."""
    rng = random.Random(54)
    whole = model_text(MODEL).encode()
    read = 0
    for _ in range(1500):
        mutant = bytearray(whole)
        for _ in range(rng.randint(1, 2)):
            mutant[rng.randrange(len(mutant))] = rng.choice(b'0123456789eE-+.,:"{}[]ntx \xff')
        try:
            model = parse_model(bytes(mutant))
        except FormatError:
            continue
        read += 1
        answers = {"a": [Hit(("P1", "P2"), 1, 0.5)], "z": [Hit(("P1", "P3"), 1, 1.0)]}
        for one in ConsensusRanker(model).rank(answers).candidates:
            assert abs(one.score) < 1e9
            assert one.probability is None or 0 <= one.probability <= 1
    assert 30 < read < 1500
