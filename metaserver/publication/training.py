"""Training a consensus model, with the report that says what it is worth.

It reads the store by itself: its work is done in its own process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from metaserver.base.curations import (
    CalibrationBin,
    MethodQuality,
    ModelGold,
    ModelMember,
    TeamContribution,
    TrainingReport,
)
from metaserver.base.errors import HubError
from metaserver.base.structs import convert
from metaserver.config import Settings
from metaserver.phases.jobs import OnProgress, Progress, RowCounter, ignore_progress
from metaserver.publication.panels import TrainingOrder, TrainingPanel, read_panel
from metaserver.store.reader import open_reader
from scoring import Run
from scoring.consensus import (
    ConsensusModel,
    CrossValidation,
    TeamChoice,
    contributions,
    cross_validate,
    model_text,
    score_hits,
    train_model,
)
from scoring.consensus.making import member_auc
from scoring.consensus.measures import BETA, BINS, LIKELY, calibration_error
from scoring.consensus.model import LEARNED
from scoring.consensus.votes import CUTOFF
from scoring.errors import FormatError, OptionError
from scoring.files import item_hits
from scoring.scorecard import Signature

COMPARED = ("stacked", "maxent", "rrf1", "votes")
"""The methods in a report."""
CRITERION = "auc_ipr"
"""The measure by which a team's run is chosen."""


class TrainedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that was trained; `content` is its file."""

    task: str
    method: str
    golds: tuple[ModelGold, ...]
    members: tuple[ModelMember, ...]
    report: TrainingReport
    content: bytes


def train(
    store: Path, settings: Settings, order: TrainingOrder, *, on_progress: OnProgress
) -> TrainedModel:
    """Train a model from a hub's store; raises `HubError` if it cannot be learned."""
    return asyncio.run(_train(store, settings, order, on_progress))


async def _train(
    store: Path, settings: Settings, order: TrainingOrder, on_progress: OnProgress
) -> TrainedModel:
    counted = RowCounter(Progress(), on_progress)
    async with open_reader(store) as reader:
        panel = await read_panel(reader, settings, order, counted)
    return trained(panel, order.method, counted)


def trained(panel: TrainingPanel, method: str, counted: RowCounter | None = None) -> TrainedModel:
    """Return a panel's model; raises `HubError` if nothing can be learned from it."""
    counted = counted or RowCounter(Progress(), ignore_progress)
    steps = (f"{version.phase} {version.version}" for version in panel.golds)
    try:
        counted.begin("training")
        choice = _choice(panel)
        model = train_model(
            panel.gold,
            panel.runs,
            teams=[panel.teams[run.name] for run in panel.runs],
            method=method,
            articles="all",
            choice=choice,
            label=", ".join(steps)[:200],
        )
        content = model_text(model).encode()
        report = _report(panel, model, choice, counted)
    except (OptionError, FormatError) as error:
        raise HubError(f"no model of {panel.gold.task} can be learned: {error}") from error
    return TrainedModel(
        task=panel.gold.task,
        method=model.method,
        golds=panel.golds,
        members=_members(panel, model),
        report=report,
        content=content,
    )


def _choice(panel: TrainingPanel) -> TeamChoice | None:
    """Return which run is each team's best, None if each team has a single run."""
    teams = [panel.teams[run.name] for run in panel.runs]
    if len(set(teams)) == len(teams):
        return None
    signature = Signature(task=panel.gold.task, gold=None, articles="all", cutoff=CUTOFF, beta=BETA)
    cards = [score_hits(panel.gold, item_hits(run), run.name, signature) for run in panel.runs]
    return TeamChoice(teams, cards, panel.gold, CRITERION)


def _members(panel: TrainingPanel, model: ConsensusModel) -> tuple[ModelMember, ...]:
    by_name: Mapping[str, Run] = {run.name: run for run in panel.runs}
    return tuple(
        ModelMember(
            server=member.name,
            team=member.team,
            auc_ipr=member_auc(panel.gold, by_name[member.name], panel.gold.articles),
            version=panel.versions.get(member.name, ""),
        )
        for member in model.members
    )


def _report(
    panel: TrainingPanel, model: ConsensusModel, choice: TeamChoice | None, counted: RowCounter
) -> TrainingReport:
    methods: list[MethodQuality] = []
    best: CrossValidation | None = None
    for method in dict.fromkeys((model.method, *COMPARED)):
        counted.begin(f"cross-validating {method}")
        try:
            validated = _validated(panel, choice, method)
        except OptionError:
            if method == model.method:
                raise
            continue  # too little to learn from: the table is without it
        methods.append(_quality(method, validated))
        best = best or validated
    assert best is not None
    counted.begin("comparing the teams")
    assert model.quality is not None
    return TrainingReport(
        articles=model.articles,
        left_out=panel.left_out,
        best_member=model.quality.best_member,
        methods=tuple(sorted(methods, key=lambda method: -method.auc_ipr)),
        calibration=_calibration(best) if model.calibrated else (),
        contributions=tuple(
            convert(contribution, TeamContribution)
            for contribution in contributions(best, panel.teams)
        ),
    )


def _validated(panel: TrainingPanel, choice: TeamChoice | None, method: str) -> CrossValidation:
    return cross_validate(
        panel.gold, panel.runs, method=method, articles="all", choice=choice, thresholds=True
    )


def _quality(method: str, validated: CrossValidation) -> MethodQuality:
    if method not in LEARNED:
        return MethodQuality(
            method=method, auc_ipr=validated.macro("auc_ipr"), f_score=validated.macro("f_score")
        )
    listed = sum(map(len, validated.hits(short=True).values()))
    said, correct = validated.probabilities, validated.votes.correct.astype(float)
    return MethodQuality(
        method=method,
        auc_ipr=validated.macro("auc_ipr"),
        f_score=validated.macro("f_score"),
        short_f_score=validated.macro("f_score", short=True),
        candidates=listed / len(validated.votes.articles),
        calibration_error=calibration_error(said, correct),
        likely_error=calibration_error(said, correct, least=LIKELY),
    )


def _calibration(validated: CrossValidation) -> tuple[CalibrationBin, ...]:
    """Return what was said and what was right, by tenths of the probability, without empty bins."""
    said, correct = validated.probabilities, validated.votes.correct.astype(float)
    tenth = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(tenth, minlength=BINS)
    return tuple(
        CalibrationBin(
            candidates=int(counts[place]),
            probability=float(said[tenth == place].mean()),
            correct=float(correct[tenth == place].mean()),
        )
        for place in np.flatnonzero(counts).tolist()
    )
