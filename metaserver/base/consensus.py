"""Values of consensus models that the hub keeps: what one was trained on, and how good it is."""

from __future__ import annotations

import msgspec


class ModelGold(msgspec.Struct, frozen=True, kw_only=True):
    """The gold of a closed phase that a model was trained on."""

    phase: str
    version: int


class ModelMember(msgspec.Struct, frozen=True, kw_only=True):
    """A server that a model knows; `version` is what it reported of itself then, if anything.

    `auc_ipr` is that of its run on the articles of the training.
    """

    server: str
    team: str
    auc_ipr: float
    version: str = ""


class MethodQuality(msgspec.Struct, frozen=True, kw_only=True):
    """The quality of a method in cross-validation, on articles that it was not trained on.

    `f_score` is F_10 at 30 candidates, `short_f_score` that of lists that end at the least
    probability and `candidates` their mean length; `calibration_error` is the expected one. They
    are null of methods without probabilities.
    """

    method: str
    auc_ipr: float
    f_score: float
    short_f_score: float | None = None
    candidates: float | None = None
    calibration_error: float | None = None


class CalibrationBin(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates whose probability is in a tenth: the mean of it, and the share correct."""

    candidates: int
    probability: float
    correct: float


class TeamContribution(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a team in the consensus, in AUC iP/R.

    `value` is its Shapley value with the 95 % interval `low` to `high`, null where random orders of
    the teams did not make it sure; `missing` is what the consensus would lose without the team,
    `alone` what the team reaches alone.
    """

    team: str
    value: float | None
    low: float | None
    high: float | None
    missing: float
    alone: float


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report on a model: what was compared on how many articles, and who contributed what.

    `best_member` is the highest AUC iP/R of a member. `left_out` counts the articles of the gold
    that are in a phase that is not closed, too.
    """

    articles: int
    left_out: int
    best_member: float
    methods: tuple[MethodQuality, ...]
    calibration: tuple[CalibrationBin, ...] = ()
    contributions: tuple[TeamContribution, ...] = ()
