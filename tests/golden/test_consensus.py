"""The consensus of the panel of twelve reaches what docs/consensus.md says, for INT and IPT."""

from pathlib import Path

import numpy as np
import pytest

from scoring.consensus import cross_validate
from scoring.consensus.making import member_auc
from scoring.consensus.measures import calibration_error
from scoring.tasks import Task
from tests.shared import shared


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("task", "gain", "f_score"), [(Task.INT, 0.02, 0.95), (Task.IPT, 0.04, 0.84)]
)
def test_the_panel_beats_its_best_member(task: Task, gain: float, f_score: float) -> None:
    from benchmarks import panel

    assert shared("data") == Path(panel.SHARED)
    gold = panel.gold_of(task)
    runs = panel.runs_of(task, panel.texts_of(gold))
    validated = cross_validate(gold, runs, articles="all", thresholds=True)
    best = max(member_auc(gold, run, gold.articles) for run in runs)
    assert validated.macro("auc_ipr") >= best + gain
    assert validated.macro("auc_ipr", short=True) >= best + gain
    assert validated.macro("f_score", short=True) >= f_score
    correct = validated.votes.correct.astype(np.float64)
    assert calibration_error(validated.probabilities, correct) < 0.02
