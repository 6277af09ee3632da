"""Usefulness of runs to a curator: what is found by cutoff, and the time that screening takes.

After section 4 of the BC II.5 overview (Leitner et al. 2010) and its Fig. 8: a curator looks at the
first N candidates of an article, 10 s each, instead of reading for what authors need 15 minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.errors import OptionError
from scoring.gold import ItemGold
from scoring.intervals import LEVEL, Bounds
from scoring.ranking import Matches, f_beta, recall
from scoring.report import n_of_gold
from scoring.resampling import resampled
from scoring.scorecard import ItemScorecard
from scoring.tables import Table

CUTOFFS = (1, 2, 3, 5, 10, 15, 20, 30)
SECONDS = 10.0
"""Seconds that a curator needs for a candidate."""
AUTHOR_MINUTES = 15.0
"""Minutes that an author needs for an article."""
BETA = 10.0
IDEAL = "ideal"
"""The name of the system that lists the gold and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """A run's gain in the first `cutoff` candidates of each article: means over articles.

    `candidates` are those looked at, which are fewer than the cutoff where lists are shorter;
    `minutes` is the time that they take. `cutoff` is None for whole lists.
    """

    run: str
    articles_scored: int
    articles_in_gold: int
    cutoff: int | None
    candidates: float
    minutes: float
    recall: float
    recall_bounds: Bounds | None
    f_score: float
    f_bounds: Bounds | None


def usefulness(
    gold: ItemGold,
    runs: Sequence[ItemScorecard],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    seconds: float = SECONDS,
    resamples: int = 10_000,
    seed: int = 2009,
) -> list[Usefulness]:
    """Return the usefulness of each run at each cutoff, and then that of the ideal system.

    F weighs recall by the beta of the runs' signature. Intervals are of resamples of the articles
    that a run is scored on, the same resamples for every cutoff; 0 resamples leave them out.
    """
    if any(card.run == IDEAL for card in runs):
        raise OptionError(
            f"a run is named {IDEAL!r}, as the ideal system is; expected another name"
        )
    found = []
    beta = runs[0].signature.beta
    for card in runs:
        lists = [score.matches for score in card.articles.values() if score.matches.gold]
        found += [
            _useful(card.run, lists, len(gold), cutoff, seconds, beta, resamples, seed)
            for cutoff in cutoffs
        ]
    ideal = [
        Matches(tuple(range(1, items + 1)), items, items) for items in gold.sizes.tolist() if items
    ]
    return found + [
        _useful(IDEAL, ideal, len(gold), cutoff, seconds, beta, resamples, seed)
        for cutoff in cutoffs
    ]


def authors_usefulness(
    gold: ItemGold,
    authors: ItemScorecard,
    *,
    minutes: float = AUTHOR_MINUTES,
    resamples: int = 10_000,
    seed: int = 2009,
) -> Usefulness:
    """Return the usefulness of the authors' own answers, which took them `minutes` an article."""
    lists = [score.matches for score in authors.articles.values() if score.matches.gold]
    beta = authors.signature.beta
    found = _useful(authors.run, lists, len(gold), None, 0.0, beta, resamples, seed)
    return Usefulness(**{**vars(found), "minutes": minutes})


def _useful(
    run: str,
    lists: Sequence[Matches],
    articles_in_gold: int,
    cutoff: int | None,
    seconds: float,
    beta: float,
    resamples: int,
    seed: int,
) -> Usefulness:
    cut = [matches.cut(cutoff) for matches in lists]
    rows = np.array(
        [(one.hits, recall(one), f_beta(len(one.ranks), one.hits, one.gold, beta)) for one in cut]
    ).reshape(-1, 3)
    means = rows.mean(axis=0).tolist() if len(rows) else [0.0, 0.0, 0.0]
    bounds = _bounds(rows[:, 1:], resamples, seed)
    return Usefulness(
        run=run,
        articles_scored=len(lists),
        articles_in_gold=articles_in_gold,
        cutoff=cutoff,
        candidates=means[0],
        minutes=means[0] * seconds / 60,
        recall=means[1],
        recall_bounds=bounds[0],
        f_score=means[2],
        f_bounds=bounds[1],
    )


def _bounds(
    rows: NDArray[np.float64], resamples: int, seed: int
) -> tuple[Bounds | None, Bounds | None]:
    if not len(rows) or not resamples:
        return None, None
    blocks = resampled(np.random.default_rng(seed), len(rows), resamples)
    drawn = np.concatenate([weights @ rows for weights in blocks]) / len(rows)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).tolist()
    return Bounds(low[0], high[0]), Bounds(low[1], high[1])


def usefulness_table(rows: Sequence[Usefulness], beta: float) -> Table:
    """Return the usefulness of runs as a table; `beta` is that of F."""
    header = ["run", "articles", "cutoff", "candidates", "minutes"]
    return [
        [*header, "recall", "95 % of recall", f"F_{beta:g}", f"95 % of F_{beta:g}"],
        *(
            [
                one.run,
                n_of_gold(one),
                "all" if one.cutoff is None else one.cutoff,
                one.candidates,
                one.minutes,
                one.recall,
                str(one.recall_bounds or "n/a"),
                one.f_score,
                str(one.f_bounds or "n/a"),
            ]
            for one in rows
        ),
    ]
