"""A model from runs and gold: trained on all articles that count, its quality cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from scoring.consensus.choice import TeamChoice, counted_articles
from scoring.consensus.features import MEMBER_FEATURES
from scoring.consensus.measures import article_values, calibration_error, macro
from scoring.consensus.model import (
    LEARNED,
    METHODS,
    ConsensusModel,
    Member,
    Quality,
    Weights,
)
from scoring.consensus.training import methods_of, train_weights
from scoring.consensus.validation import FOLDS, CrossValidation, best_threshold, cross_validate
from scoring.consensus.votes import CUTOFF, Votes
from scoring.errors import OptionError
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.scorecard import ArticlePolicy

AUTO = "auto"


def train_model(
    gold: ItemGold,
    runs: Sequence[Run],
    *,
    teams: Sequence[str] | None = None,
    method: str = AUTO,
    articles: ArticlePolicy = "answered",
    choice: TeamChoice | None = None,
    folds: int = FOLDS,
    training_cutoff: int = CUTOFF,
    selection_cutoff: int | None = None,
    label: str = "",
    seed: int = 2009,
    features: Sequence[str] = MEMBER_FEATURES,
) -> ConsensusModel:
    """Return the model of some runs, or with a `choice` of each team's best run.

    A run without an answer to an article did not answer it. `auto` is `stacked` or a fusion,
    whichever has the higher AUC iP/R in cross-validation; with too little gold a fusion. `teams`
    has the team of each run (each its own by default) and `label` a name of the gold that is kept
    in the model. `features` are those of `train_weights`.
    """
    if method not in (AUTO, *METHODS):
        raise OptionError(f"method {method!r}; expected one of {', '.join((AUTO, *METHODS))}")
    counted = counted_articles(gold, runs, articles)
    places = choice.best(counted) if choice else range(len(runs))
    answers = {runs[place].name: item_hits(runs[place]) for place in places}
    of = [article for article in gold.articles if article in counted]
    training = Votes.of(answers, of, gold=gold.items, cutoff=training_cutoff)
    validate = partial(
        cross_validate,
        gold,
        runs,
        articles=articles,
        choice=choice,
        folds=folds,
        training_cutoff=training_cutoff,
        selection_cutoff=selection_cutoff,
        thresholds=True,
        seed=seed,
        features=features,
    )
    methods = methods_of(training) if method == AUTO else (method,)
    validated = max(
        (validate(method=one) for one in methods), key=lambda found: found.macro("auc_ipr")
    )
    method = validated.scorer.method
    chosen_from = selection_cutoff or training_cutoff
    weights, threshold = Weights(servers={}, panel=np.zeros(0), bias=0.0), None
    if method in LEARNED:
        selection = Votes.of(answers, of, gold=gold.items, cutoff=chosen_from)
        sizes = np.array([len(gold.items[article]) for article in of])
        weights = train_weights(method, training, seed=seed, features=features)
        threshold = best_threshold(
            method, training, selection, sizes, folds=folds, seed=seed, features=features
        )
    team_of = dict(
        zip((run.name for run in runs), teams or [run.name for run in runs], strict=True)
    )
    none = Member(name="", team="").weights
    return ConsensusModel(
        task=gold.task,
        method=method,
        members=tuple(
            Member(name=name, team=team_of[name], weights=tuple(weights.servers.get(name, none)))
            for name in training.servers
        ),
        panel=tuple(weights.panel.tolist()) or ConsensusModel.panel,
        bias=weights.bias,
        threshold=threshold,
        training_cutoff=training_cutoff,
        selection_cutoff=chosen_from,
        articles=len(of),
        gold=label,
        quality=_quality(validated, gold, runs),
    )


def _quality(validated: CrossValidation, gold: ItemGold, runs: Sequence[Run]) -> Quality:
    learned = bool(validated.scorer.weights)
    correct = validated.votes.correct.astype(float)
    return Quality(
        folds=len(validated.members),
        auc_ipr=validated.macro("auc_ipr"),
        f_score=validated.macro("f_score", short=learned),
        best_member=max(member_auc(gold, run, validated.votes.articles) for run in runs),
        calibration_error=calibration_error(validated.probabilities, correct) if learned else None,
    )


def member_auc(gold: ItemGold, run: Run, articles: Sequence[str]) -> float:
    """Return a run's macro AUC iP/R on some articles, at the overview's cutoff."""
    votes = Votes.of({run.name: item_hits(run)}, articles, gold=gold.items)
    sizes = np.array([len(gold.items[article]) for article in articles])
    return macro(article_values(votes, sizes, votes.sums(-votes.place), "auc_ipr"))
