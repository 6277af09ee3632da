"""Usefulness of runs to a curator: what is found by cutoff, and the time that screening takes.

After section 4 of the BC II.5 overview (Leitner et al. 2010) and its Fig. 8: a curator looks at the
first N candidates of an article, 10 s each, instead of reading for what authors need 15 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scoring.errors import OptionError
from scoring.gold import ItemGold
from scoring.intervals import LEVEL, Bounds
from scoring.ranking import Matches, f_beta, precision, recall
from scoring.report import n_of_gold
from scoring.resampling import resampled
from scoring.scorecard import ItemScorecard
from scoring.tables import Cell, Table

CUTOFFS = (1, 2, 3, 5, 10, 15, 20, 30)
SECONDS = 10.0
"""Seconds that a curator needs for a candidate."""
AUTHOR_MINUTES = 15.0
"""Minutes that an author needs for an article."""
BETA = 10.0
IDEAL = "ideal"
"""The name of the system that lists the gold first, and wrong candidates without end after it."""


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """A run's gain in the first `cutoff` candidates of each article: means over articles.

    `candidates` are those looked at, which are fewer than the cutoff if lists are shorter;
    `minutes` is the time that they take. `cutoff` is None for whole lists. `f_score` weighs recall
    by `beta`.
    """

    run: str
    view: str
    articles_scored: int
    articles_in_gold: int
    cutoff: int | None
    candidates: float
    minutes: float
    precision: float
    precision_bounds: Bounds | None
    recall: float
    recall_bounds: Bounds | None
    beta: float
    f_score: float
    f_bounds: Bounds | None


def usefulness(
    gold: ItemGold,
    runs: Sequence[ItemScorecard],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    betas: Sequence[float] | None = None,
    seconds: float = SECONDS,
    resamples: int = 10_000,
    seed: int = 2009,
) -> list[Usefulness]:
    """Return the usefulness of each run at each cutoff and beta, then that of the ideal system.

    `betas` are by default the one of the runs' signature. Intervals are of resamples of the
    articles that a run is scored on, the same resamples for every cutoff; 0 resamples leave them
    out. Without runs there is the ideal system alone, and `betas` is required.
    """
    if any(card.run == IDEAL for card in runs):
        raise OptionError(
            f"a run is named {IDEAL!r}, as the ideal system is; expected another name"
        )
    useful = _Useful(
        articles_in_gold=len(gold),
        seconds=seconds,
        betas=betas or [runs[0].signature.beta],
        resamples=resamples,
        seed=seed,
    )
    rows: list[Usefulness] = []
    for card in runs:
        lists = _lists(card)
        rows += useful.rows(card.run, card.signature.view, dict.fromkeys(cutoffs, lists))
    view = runs[0].signature.view if runs else "raw"
    return rows + useful.rows(IDEAL, view, {cutoff: _ideal(gold, cutoff) for cutoff in cutoffs})


def authors_usefulness(
    gold: ItemGold,
    authors: ItemScorecard,
    *,
    betas: Sequence[float] | None = None,
    minutes: float = AUTHOR_MINUTES,
    resamples: int = 10_000,
    seed: int = 2009,
) -> list[Usefulness]:
    """Return the usefulness of the authors' own answers at each beta.

    They took the authors `minutes` per article.
    """
    useful = _Useful(
        articles_in_gold=len(gold),
        seconds=0.0,
        betas=betas or [authors.signature.beta],
        resamples=resamples,
        seed=seed,
    )
    rows = useful.rows(authors.run, authors.signature.view, {None: _lists(authors)})
    return [replace(row, minutes=minutes) for row in rows]


def best_cutoff(gold: ItemGold, beta: float) -> tuple[int, float]:
    """Return the cutoff at which the ideal system's mean F is highest, and that F.

    It is at most the size of the largest gold: of more candidates all are wrong. Of equal cutoffs
    the lowest is taken.
    """
    sizes = np.array([size for size in gold.sizes.tolist() if size])
    cutoffs = np.arange(1, sizes.max() + 1)[:, np.newaxis]
    found = np.minimum(cutoffs, sizes)
    means = ((1 + beta**2) * found / (beta**2 * sizes + cutoffs)).mean(axis=1)
    best = int(means.argmax())
    return best + 1, float(means[best])


def _lists(card: ItemScorecard) -> list[Matches]:
    return [score.matches for score in card.articles.values() if score.matches.gold]


def _ideal(gold: ItemGold, cutoff: int) -> list[Matches]:
    return [
        Matches(tuple(range(1, items + 1)), max(cutoff, items), items)
        for items in gold.sizes.tolist()
        if items
    ]


@dataclass(frozen=True, kw_only=True)
class _Useful:
    """The usefulness of lists, an article each."""

    articles_in_gold: int
    seconds: float
    betas: Sequence[float]
    resamples: int
    seed: int

    def rows(
        self, run: str, view: str, lists: Mapping[int | None, Sequence[Matches]]
    ) -> list[Usefulness]:
        """Return a row for each cutoff and beta, from a run's lists by cutoff."""
        tables = {cutoff: self._values(some, cutoff) for cutoff, some in lists.items()}
        bounds = iter(_bounds(np.hstack(list(tables.values())), self.resamples, self.seed))
        rows = []
        for cutoff, values in tables.items():
            articles = len(values)
            candidates, precise, found, *scores = (
                values.mean(axis=0) if articles else np.zeros(values.shape[1])
            ).tolist()
            _, precision_bounds, recall_bounds = islice(bounds, 3)
            for beta, score in zip(self.betas, scores, strict=True):
                rows.append(
                    Usefulness(
                        run=run,
                        view=view,
                        articles_scored=articles,
                        articles_in_gold=self.articles_in_gold,
                        cutoff=cutoff,
                        candidates=candidates,
                        minutes=candidates * self.seconds / 60,
                        precision=precise,
                        precision_bounds=precision_bounds,
                        recall=found,
                        recall_bounds=recall_bounds,
                        beta=beta,
                        f_score=score,
                        f_bounds=next(bounds),
                    )
                )
        return rows

    def _values(self, lists: Sequence[Matches], cutoff: int | None) -> NDArray[np.float64]:
        """Return hits, precision, recall and F by beta in the first `cutoff` of each list."""
        rows = [
            (
                one.hits,
                precision(one),
                recall(one),
                *(f_beta(len(one.ranks), one.hits, one.gold, beta) for beta in self.betas),
            )
            for one in (matches.cut(cutoff) for matches in lists)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 3 + len(self.betas))


def _bounds(values: NDArray[np.float64], resamples: int, seed: int) -> Sequence[Bounds | None]:
    """Return the bounds of each column's mean, all on the same resamples of the articles."""
    if not len(values) or not resamples:
        return [None] * values.shape[1]
    blocks = resampled(np.random.default_rng(seed), len(values), resamples)
    drawn = np.concatenate([weights @ values for weights in blocks]) / len(values)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).tolist()
    return [Bounds(*ends) for ends in zip(low, high, strict=True)]


def usefulness_table(rows: Sequence[Usefulness]) -> Table:
    """Return the usefulness of runs as a table, one line per run and cutoff; F by beta in columns.

    Views have a column if there is any other than `raw`.
    """
    views = any(one.view != "raw" for one in rows)
    betas = list(dict.fromkeys(one.beta for one in rows))
    header: list[Cell] = ["run", *["view"] * views, "articles", "cutoff", "candidates", "minutes"]
    header += ["precision", "95 % of precision", "recall", "95 % of recall"]
    header += [name for beta in betas for name in (f"F_{beta:g}", f"95 % of F_{beta:g}")]
    lines: list[list[Cell]] = [header]
    for first, *others in zip(*[iter(rows)] * len(betas), strict=True):
        lines.append(
            [
                first.run,
                *[first.view] * views,
                n_of_gold(first),
                "all" if first.cutoff is None else first.cutoff,
                first.candidates,
                first.minutes,
                first.precision,
                str(first.precision_bounds or "n/a"),
                first.recall,
                str(first.recall_bounds or "n/a"),
            ]
        )
        for one in (first, *others):
            lines[-1] += [one.f_score, str(one.f_bounds or "n/a")]
    return lines
