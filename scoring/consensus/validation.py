"""Cross-validation of a consensus: its lists of articles that it was not trained on.

All that is learned is learned from the training articles of each fold alone: the weights, the
choice of a team's run, and the least probability, by a second cross-validation among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scoring.columns import Places, Truths
from scoring.consensus.choice import TeamChoice, counted_articles
from scoring.consensus.features import MEMBER_FEATURES, member_features, panel_features
from scoring.consensus.fusion import FUSIONS
from scoring.consensus.logistic import logistic
from scoring.consensus.measures import article_values, macro, ranked_rows
from scoring.consensus.model import LEARNED, METHODS, Learned, Weights
from scoring.consensus.training import train_weights
from scoring.consensus.votes import CUTOFF, Floats, Hits, Votes
from scoring.errors import OptionError
from scoring.files import Run, item_hits
from scoring.gold import ItemGold
from scoring.scorecard import ArticlePolicy
from scoring.tasks import Hit

FOLDS, INNER_FOLDS = 10, 5
THRESHOLDS = np.concatenate([np.geomspace(0.001, 0.1, 41), np.linspace(0.12, 0.5, 20)])
"""The least probabilities to choose from."""
LEAST_CONFIDENCE = 1e-9
"""The least confidence of a candidate: 0 is not allowed in a result."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldScorer:
    """The scores of candidates by what was trained on the other folds' articles.

    `fold_of` has the fold of each article; `weights` are of each fold, none for a fusion.
    """

    method: str
    fold_of: Places
    weights: Sequence[Weights]

    def scores(self, votes: Votes) -> Floats:
        """Return the score of each candidate, of the same articles with any of the servers."""
        equal = np.ones(len(votes.servers))
        if not self.weights:
            return FUSIONS[self.method](votes, equal)
        fold = self.fold_of[votes.article_of]
        tables, panels, biases = self._arrays(votes.servers)
        parts = (member_features(votes) * tables[fold[votes.row], votes.server]).sum(axis=1)
        panel = (panel_features(votes, equal) * panels[fold]).sum(axis=1)
        scores: Floats = votes.sums(parts) + panel + biases[fold]
        return scores

    def _arrays(self, servers: Sequence[str]) -> tuple[Floats, Floats, Floats]:
        tables = [[one.servers[name] for name in servers] for one in self.weights]
        panels = [one.panel for one in self.weights]
        return np.array(tables), np.array(panels), np.array([one.bias for one in self.weights])


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossValidation:
    """A consensus of articles that the weights of their fold were not trained on.

    `votes` are those of the members that take part in each article's fold, `sizes` the articles'
    numbers of gold items. `members` has a tuple a fold: the places, among the runs, of those that
    took part. `thresholds` are the folds' least probabilities, none for a fusion.
    """

    votes: Votes
    sizes: Places
    scorer: FoldScorer
    members: Sequence[tuple[int, ...]]
    thresholds: Sequence[float]

    @cached_property
    def scores(self) -> Floats:
        """The score of each candidate: log-odds of learned methods."""
        return self.scorer.scores(self.votes)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability of each candidate that it is correct; learned methods alone have them."""
        return logistic(self.scores)

    @property
    def least(self) -> Floats | None:
        """The least score of each article, by the threshold of its fold; None for a fusion."""
        return (
            _log_odds(np.array(self.thresholds))[self.scorer.fold_of] if self.thresholds else None
        )

    def hits(self, cutoff: int | None = CUTOFF, *, short: bool = False) -> Hits:
        """Return the ranked lists; `short` ones end at the least probability."""
        least = self.least if short else None
        return hits_of(
            self.votes,
            self.scores,
            ranked_rows(self.votes, self.scores, cutoff=cutoff, least=least),
            log_odds=bool(self.scorer.weights),
        )

    def macro(self, measure: str, *, cutoff: int | None = CUTOFF, short: bool = False) -> float:
        """Return a macro-average over the articles; F is F_10."""
        least = self.least if short else None
        votes, sizes = self.votes, self.sizes
        return macro(article_values(votes, sizes, self.scores, measure, cutoff=cutoff, least=least))


def cross_validate(
    gold: ItemGold,
    runs: Sequence[Run],
    *,
    method: str = "stacked",
    articles: ArticlePolicy = "answered",
    choice: TeamChoice | None = None,
    author: Run | None = None,
    folds: int = FOLDS,
    training_cutoff: int = CUTOFF,
    selection_cutoff: int | None = None,
    thresholds: bool = False,
    seed: int = 2009,
    features: Sequence[str] = MEMBER_FEATURES,
) -> CrossValidation:
    """Score each counted article by weights that are trained on those of the other folds.

    `articles` says which count (`counted_articles`). With a `choice`, a fold has each team's best
    run on its training articles. An `author`'s answers are one more member. With `thresholds`, each
    fold gets a least probability. Articles are dealt to the folds at random. `features` are those
    of `train_weights`.
    """
    if method not in METHODS:
        raise OptionError(f"method {method!r}; expected one of {', '.join(METHODS)}")
    members = [*runs, *([author] if author else [])]
    counted = counted_articles(gold, members, articles)
    of = [article for article in gold.articles if article in counted]
    answers = {run.name: item_hits(run) for run in members}
    if len(answers) < len(members):
        raise OptionError("two runs of one name; expected a name a run")
    fold_of = dealt(len(of), folds, seed)
    chosen = _chosen(runs, choice, of, fold_of)
    takes_part = _mask(answers, [run.name for run in runs], chosen, author)
    selection = Votes.of(answers, of, gold=gold.items, cutoff=selection_cutoff or training_cutoff)
    training = Votes.of(answers, of, gold=gold.items, cutoff=training_cutoff)
    sizes = np.array([len(gold.items[article]) for article in of])
    weights: list[Weights] = []
    least: list[float] = []
    if method in LEARNED:
        for fold, mask in enumerate(takes_part):
            inside = fold_of != fold
            part = _part(training, mask, inside)
            weights.append(train_weights(method, part, seed=seed, features=features))
            if thresholds:
                some = _part(selection, mask, inside)
                least.append(
                    best_threshold(method, part, some, sizes, seed=seed, features=features)
                )
    return CrossValidation(
        votes=selection.of_servers(takes_part[fold_of]),
        sizes=sizes,
        scorer=FoldScorer(method=method, fold_of=fold_of, weights=weights),
        members=chosen,
        thresholds=least,
    )


def dealt(articles: int, folds: int, seed: int) -> Places:
    """Return a fold for each of some articles, at random, of nearly equal size."""
    fold_of = np.empty(articles, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(articles)
    for fold, held_out in enumerate(np.array_split(order, min(folds, articles))):
        fold_of[held_out] = fold
    return fold_of


def best_threshold(
    method: Learned,
    training: Votes,
    selection: Votes,
    sizes: Places,
    *,
    folds: int = INNER_FOLDS,
    seed: int = 2009,
    features: Sequence[str] = MEMBER_FEATURES,
) -> float:
    """Return the least probability that gives the best F_10 at 30, by cross-validation.

    Articles without an answer have no part in it. Of equal thresholds the lowest is returned, and
    also where there are too few articles to compare them.
    """
    present = np.flatnonzero(training.answered.any(axis=1))
    fold_of = np.zeros(len(training.articles), dtype=np.int64)
    fold_of[present] = dealt(len(present), folds, seed)
    try:
        weights = [
            train_weights(
                method, training.of_articles(fold_of != fold), seed=seed, features=features
            )
            for fold in range(min(folds, len(present)))
        ]
    except OptionError:  # too few articles to be divided again
        return float(THRESHOLDS[0])
    scores = FoldScorer(method=method, fold_of=fold_of, weights=weights).scores(selection)
    everywhere = np.ones(len(selection.articles))
    found = [
        macro(
            article_values(selection, sizes, scores, "f_score", least=_log_odds(one) * everywhere)[
                present
            ]
        )
        for one in THRESHOLDS
    ]
    return float(THRESHOLDS[int(np.argmax(found))])


def hits_of(votes: Votes, scores: Floats, listed: Places, *, log_odds: bool) -> Hits:
    """Return listed rows as hits; their confidences are probabilities, or shares of the best."""
    ranked: dict[str, list[Hit]] = {}
    confidences = logistic(scores) if log_odds else scores
    best: dict[str, float] = {}  # of a fusion: its lists begin with their best score
    for row in listed.tolist():
        article, value = votes.articles[votes.article_of[row]], float(confidences[row])
        if not log_odds:
            value /= best.setdefault(article, value)
        hits = ranked.setdefault(article, [])
        hits.append(Hit(votes.items[row], len(hits) + 1, min(1.0, max(LEAST_CONFIDENCE, value))))
    return ranked


def as_many_as(given: Hits, ranked: Hits) -> Hits:
    """Return lists cut to the lengths of others: the overview's author-plus-systems variant."""
    return {article: hits[: len(given.get(article, ()))] for article, hits in ranked.items()}


def _chosen(
    runs: Sequence[Run], choice: TeamChoice | None, articles: Sequence[str], fold_of: Places
) -> list[tuple[int, ...]]:
    """Return the places of the runs that take part in each fold."""
    folds = range(int(fold_of.max()) + 1)
    if choice is None:
        return [tuple(range(len(runs))) for _ in folds]
    return [
        tuple(
            choice.best(
                frozenset(a for a, its in zip(articles, fold_of, strict=True) if its != fold)
            )
        )
        for fold in folds
    ]


def _mask(
    answers: Mapping[str, Hits],
    names: Sequence[str],
    chosen: Sequence[tuple[int, ...]],
    author: Run | None,
) -> Truths:
    """Return which servers, in the order of votes, take part in each fold."""
    taking = [
        {*(names[place] for place in one), *([author.name] if author else [])} for one in chosen
    ]
    return np.array([[name in some for name in sorted(answers)] for some in taking])


def _part(votes: Votes, servers: Truths, articles: Truths) -> Votes:
    return votes.of_servers(servers & articles[:, None])


def _log_odds(probability: Floats) -> Floats:
    return np.log(probability / (1 - probability))
