"""A consensus of runs: maximum entropy (logistic regression) over each run's view of a candidate.

After the ensemble of the BC II.5 overview (Leitner et al. 2010, Table 5): a row is an (article,
candidate); each run gives it three features, whether it has the candidate, 1/rank, and its
confidence. Candidates are ranked by the probability that they are correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.errors import OptionError
from scoring.files import Run
from scoring.gold import ItemGold
from scoring.tasks import Classification, Hit, Item

Hits: TypeAlias = Mapping[str, Sequence[Hit]]
FEATURES = ("guessed", "1/rank", "confidence")
CUTOFF = 30
"""The paper's cutoff: candidates a run ranks below it are not used."""
LEAST_CONFIDENCE = 1e-9
"""The least probability of a candidate: 0 is not allowed in a result."""


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """A trained consensus: the members' names, and a weight for each member's three features.

    `training_cutoff` is how many of each member's best ranks it has learned from,
    `selection_cutoff` how many are candidates when it ranks.
    """

    members: tuple[str, ...]
    weights: NDArray[np.float64]  # (members, 3)
    bias: float
    training_cutoff: int = CUTOFF
    selection_cutoff: int = CUTOFF

    def rank(
        self,
        runs: Sequence[Run],
        *,
        cutoff: int | None = CUTOFF,
        articles: frozenset[str] | None = None,
    ) -> Hits:
        """Return the members' candidates of each article, or of some, by falling probability.

        `cutoff` keeps that many of an article. `runs` are the members' runs in the order of
        `members`; equal probabilities are ordered by item.
        """
        hits = [item_hits(run) for run in runs]
        if len(hits) != len(self.members):
            raise OptionError(f"{len(hits)} runs; expected {len(self.members)}, one a member")
        ranked: dict[str, Sequence[Hit]] = {}
        for article in _articles(hits):
            if articles is not None and article not in articles:
                continue
            items, rows = candidate_features(hits, article, self.selection_cutoff)
            scores = rows.reshape(len(items), -1) @ self.weights.ravel() + self.bias
            order = sorted(range(len(items)), key=lambda row: (-scores[row], items[row]))
            ranked[article] = [
                Hit(items[row], rank, max(LEAST_CONFIDENCE, float(_logistic(scores[row]))))
                for rank, row in enumerate(order[:cutoff], start=1)
            ]
        return ranked

    def explain(self, runs: Sequence[Run], article: str, item: Item) -> Mapping[str, float]:
        """Return what each member adds to the log-odds that a candidate is correct, and `bias`."""
        hits = [item_hits(run) for run in runs]
        items, rows = candidate_features(hits, article, self.selection_cutoff)
        if item not in items:
            raise OptionError(f"no run has {item!r} among its candidates for {article!r}")
        parts = (rows[items.index(item)] * self.weights).sum(axis=1)
        return {**dict(zip(self.members, parts.tolist(), strict=True)), "bias": self.bias}


def train(
    gold: ItemGold,
    runs: Sequence[Run],
    *,
    training_cutoff: int = CUTOFF,
    selection_cutoff: int | None = None,
    articles: frozenset[str] | None = None,
) -> Ensemble:
    """Train a consensus on runs and gold, on the gold's articles or on some of them.

    It learns from the `training_cutoff` best ranks of each run, and is to select from the
    `selection_cutoff` best (by default as many).
    """
    # These take a second to load: only when training.
    from scipy.sparse import csr_array, vstack
    from sklearn.linear_model import LogisticRegression

    hits = [item_hits(run) for run in runs]
    rows, labels = [], []
    for article, correct in gold.items.items():
        if articles is None or article in articles:
            items, features = candidate_features(hits, article, training_cutoff)
            if not items:
                continue
            rows.append(csr_array(features.reshape(len(items), len(hits) * len(FEATURES))))
            labels += [item in correct for item in items]
    if len(set(labels)) < 2:
        raise OptionError("the runs have no correct and wrong candidates to learn from")
    model = LogisticRegression(max_iter=1000).fit(vstack(rows, format="csr"), labels)
    return Ensemble(
        members=tuple(run.name for run in runs),
        weights=model.coef_.reshape(len(runs), len(FEATURES)),
        bias=float(model.intercept_[0]),
        training_cutoff=training_cutoff,
        selection_cutoff=selection_cutoff or training_cutoff,
    )


def item_hits(run: Run) -> Hits:
    """Return a run's hits; raises `OptionError` for an ACT run, which has none."""
    hits: dict[str, Sequence[Hit]] = {}
    for article, answer in run.answers.items():
        if isinstance(answer, Classification):
            raise OptionError(f"{run.name}: an ensemble needs INT or IPT runs")
        hits[article] = answer
    return hits


def _articles(hits: Sequence[Hits]) -> Iterator[str]:
    return iter(dict.fromkeys(article for run in hits for article in run))


def candidate_features(
    hits: Sequence[Hits], article: str, cutoff: int
) -> tuple[list[Item], NDArray[np.float64]]:
    """Return an article's candidates and their features, of shape (candidates, runs, 3)."""
    best = [sorted(run.get(article, ()), key=lambda hit: hit.rank)[:cutoff] for run in hits]
    rows = {
        item: row for row, item in enumerate(dict.fromkeys(hit.item for run in best for hit in run))
    }
    features = np.zeros((len(rows), len(hits), len(FEATURES)))
    for column, run in enumerate(best):
        for place, hit in enumerate(run, start=1):
            features[rows[hit.item], column] = 1.0, 1 / place, hit.confidence
    return list(rows), features


def _logistic(score: np.float64) -> np.float64:
    return np.float64(1 / (1 + np.exp(-score)))
