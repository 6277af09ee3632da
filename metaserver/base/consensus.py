"""Consensus models: their training data and their quality."""

from __future__ import annotations

import msgspec


class ModelGold(msgspec.Struct, frozen=True, kw_only=True):
    """A closed phase's gold that a model was trained on."""

    phase: str
    version: int


class ModelMember(msgspec.Struct, frozen=True, kw_only=True):
    """A server that a model knows; `version` is what it reported then, if anything.

    `auc_ipr` is its run's on the training articles.
    """

    server: str
    team: str
    auc_ipr: float
    version: str = ""


class MethodQuality(msgspec.Struct, frozen=True, kw_only=True):
    """A method's quality in cross-validation, on articles that it was not trained on.

    `f_score` is F_10 at 30 candidates, `short_f_score` that for lists cut at the minimum
    probability, `candidates` their mean length, `calibration_error` is the expected calibration
    error. They are null for methods without probabilities.
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
    """A team's part in the consensus, in AUC iP/R.

    `value` is its Shapley value with the 95 % interval `low` to `high`, null if random team orders
    left it unsure; `missing` is what the consensus would lose without the team, `alone` what the
    team reaches alone.
    """

    team: str
    value: float | None
    low: float | None
    high: float | None
    missing: float
    alone: float


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """A model's report: what was compared on how many articles, and who contributed what.

    `best_member` is the highest AUC iP/R among members. `left_out` counts gold articles that are
    also in a phase that is not closed.
    """

    articles: int
    left_out: int
    best_member: float
    methods: tuple[MethodQuality, ...]
    calibration: tuple[CalibrationBin, ...] = ()
    contributions: tuple[TeamContribution, ...] = ()
