"""Strata of articles, such as species, journals, years or parts: scores in each, and differences.

A stratum is a value that articles have under a name (species: human). A file of strata has a line
an article, name and value; an article may have several values of one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import numpy as np

from scoring.biocreative import ItemScorer, new_scorer
from scoring.bounds import Floats, student_bounds
from scoring.columns import Truths
from scoring.errors import OptionError
from scoring.gold import ActGold, Gold, ItemGold
from scoring.resampling import Matrix, on_resamples, resampled
from scoring.rows import TabFile
from scoring.scorecard import ItemScorecard, Scorecard
from scoring.tasks import Classification

Strata: TypeAlias = Mapping[str, Mapping[str, frozenset[str]]]
"""Names, their values, and the articles that have each."""

COLUMNS = ("article", "name", "value")
NONE = "(none)"
"""The value of articles that have none under a name."""
ALL_RUNS = "mean of the runs"
MOST_VALUES = 50
"""Values of a name that are compared by pairs, at most."""


def read_strata(path: Path, gold: Gold) -> tuple[Strata, int]:
    r"""Read a file of strata; return those of gold articles, and how many lines are of others.

    Articles of the gold without a value of a name have the value `NONE`. Raises `FormatError`.

    >>> _ = Path("strata.tsv").write_text("10.1\tjournal\tEMBO J\n10.9\tjournal\tCell\n")
    >>> from scoring import ItemGold, Task
    >>> gold = ItemGold(task=Task.INT, items={"10.1": frozenset({"P04637"})})
    >>> read_strata(Path("strata.tsv"), gold)
    ({'journal': {'EMBO J': frozenset({'10.1'})}}, 1)
    """
    sheet = TabFile(path, COLUMNS)
    articles = set(_articles(gold))
    found: dict[str, dict[str, set[str]]] = {}
    ignored = 0
    for line, fields in sheet.rows():
        if not sheet.names(line, fields):
            continue
        article, name, value = fields
        members = found.setdefault(name, {}).setdefault(value, set())
        if article in members:
            sheet.problem(line, 1, f"{name} {value!r} again for article {article!r}")
        members.add(article)
        ignored += article not in articles
    if not found and not sheet.problems:
        sheet.problem(0, 0, f"empty; expected lines of {', '.join(COLUMNS)}")
    sheet.finish()
    strata: dict[str, dict[str, frozenset[str]]] = {}
    for name, values in found.items():
        known = {value: frozenset(some & articles) for value, some in values.items()}
        known[NONE] = frozenset(articles.difference(*known.values()))
        strata[name] = {value: some for value, some in known.items() if some}
    return strata, ignored


def _articles(gold: Gold) -> Iterable[str]:
    return gold.relevant if isinstance(gold, ActGold) else gold.items


def gold_of(gold: Gold, articles: frozenset[str]) -> Gold:
    """Return the part of a gold standard that some articles have."""
    if isinstance(gold, ActGold):
        return ActGold(relevant={one: yes for one, yes in gold.relevant.items() if one in articles})
    items = {one: found for one, found in gold.items.items() if one in articles}
    return ItemGold(task=gold.task, items=items)


def scorecard_of(part: Gold, card: Scorecard) -> Scorecard:
    """Return a run's score on a part of the gold that it was scored on (`gold_of`)."""
    signature = replace(card.signature, gold=part.digest if card.signature.gold else None)
    scorer = new_scorer(part, signature, card.run)
    if isinstance(card, ItemScorecard):
        assert isinstance(part, ItemGold)
        assert isinstance(scorer, ItemScorer)
        for article, score in card.articles.items():
            if article in part.items:
                scorer.put_matches(article, score.matches)
    else:
        assert isinstance(part, ActGold)
        places, calls = card.ranked.tolist(), card.called.tolist()
        for rank, (place, called) in enumerate(zip(places, calls, strict=True), start=1):
            if card.articles[place] in part.relevant:
                # Positives come by rising rank, then negatives by falling rank.
                own = rank if called else len(places) + 1 - rank
                scorer.put(card.articles[place], Classification(called, 1.0, own))
    return scorer.scorecard()


@dataclass(frozen=True, kw_only=True)
class StratumScore:
    """A run's score on the articles of a stratum.

    Of the value `*`, the mean of the scores of a name's strata, each of which weighs the same.
    """

    name: str
    value: str
    run: str
    articles_scored: int
    articles_in_gold: int
    scores: Mapping[str, float]


def stratum_scores(
    gold: Gold, scorecards: Sequence[Scorecard], strata: Strata
) -> list[StratumScore]:
    """Return the scores of each run on each stratum, and their mean over the strata of a name."""
    found = []
    for name, values in strata.items():
        parts = {value: gold_of(gold, articles) for value, articles in values.items()}
        for card in scorecards:
            own = []
            for value, part in parts.items():
                scored = scorecard_of(part, card)
                own.append(
                    StratumScore(
                        name=name,
                        value=value,
                        run=card.run,
                        articles_scored=scored.articles_scored,
                        articles_in_gold=scored.articles_in_gold,
                        scores=_scores(scored),
                    )
                )
            found += [*own, _mean(own, card)]
    return found


def _scores(card: Scorecard) -> dict[str, float]:
    if isinstance(card, ItemScorecard):
        macro = card.macro
        return {
            "precision": macro.precision,
            "recall": macro.recall,
            "f_score": macro.f_score,
            "auc_ipr": macro.auc_ipr,
        }
    return {"accuracy": card.confusion.accuracy, "mcc": card.confusion.mcc, "auc_ipr": card.auc_ipr}


def _mean(own: Sequence[StratumScore], card: Scorecard) -> StratumScore:
    scored = [one for one in own if one.articles_scored]
    names = own[0].scores
    return StratumScore(
        name=own[0].name,
        value="*",
        run=card.run,
        articles_scored=card.articles_scored,
        articles_in_gold=card.articles_in_gold,
        scores={
            measure: fmean(one.scores[measure] for one in scored) if scored else 0.0
            for measure in names
        },
    )


@dataclass(frozen=True, kw_only=True)
class StratumDifference:
    """The difference of the scores on two strata of one name, by an unpaired bootstrap.

    `run` may be `ALL_RUNS`, the mean of those that are scored on both. `articles_a` and
    `articles_b` are scored. `difference` is the score on `a` less that on `b`, None where the run
    is scored on no article of one; `p` is two-sided, not corrected. `low`, `high` and `p` are None
    where it is scored on fewer than two.
    """

    name: str
    a: str
    b: str
    run: str
    articles_a: int
    articles_b: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None


def stratum_differences(
    gold: Gold,
    scorecards: Sequence[Scorecard],
    strata: Strata,
    *,
    measure: str = "auc_ipr",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 2009,
) -> list[StratumDifference]:
    """Compare the strata of each name, by pairs: was one part of the articles harder?

    The articles of each stratum are resampled by themselves. The interval and the p have the
    spread of resamples widened to that of samples, and Student's quantile with the degrees of
    freedom of Welch 1947. An article that two strata share counts in both.
    """
    for name, values in strata.items():
        if len(values) > MOST_VALUES:
            count = f"{len(values)} values of {name!r}"
            raise OptionError(f"{count} to compare; expected at most {MOST_VALUES}")
    found = []
    for name, values in strata.items():
        sampled = {}
        for place, (value, articles) in enumerate(values.items()):
            rng = np.random.default_rng([seed, place])
            part = gold_of(gold, articles)
            cards = [scorecard_of(part, card) for card in scorecards]
            sampled[value] = _Sampled.of(part, cards, measure, rng, resamples)
        runs = [card.run for card in scorecards]
        for a, b in combinations(values, 2):
            found += _differences(name, (a, b), sampled[a], sampled[b], runs, level)
    return found


@dataclass(frozen=True)
class _Sampled:
    """Scores on one stratum: observed, on resamples, and which articles each run is scored on."""

    observed: Floats
    resamples: Matrix
    scored: Truths  # (articles, runs)

    @classmethod
    def of(
        cls,
        part: Gold,
        cards: Sequence[Scorecard],
        measure: str,
        rng: np.random.Generator,
        resamples: int,
    ) -> _Sampled:
        values, scores = on_resamples(part, cards, measure)
        drawn = [scores(weights) for weights in resampled(rng, len(values), resamples)]
        every = np.concatenate([scores(np.ones((1, len(values)))), *drawn])
        return cls(every[0], every[1:], ~np.isnan(values))

    @property
    def articles(self) -> Floats:
        """The number of articles that each run is scored on."""
        articles: Floats = self.scored.sum(axis=0).astype(np.float64)
        return articles

    def with_mean(self, runs: Truths) -> _Sampled:
        """Return the scores with the mean of some runs as one run more."""
        return _Sampled(
            np.append(self.observed, self.observed[runs].mean()),
            np.column_stack([self.resamples, self.resamples[:, runs].mean(axis=1)]),
            np.column_stack([self.scored, self.scored[:, runs].any(axis=1)]),
        )


def _differences(
    name: str, pair: tuple[str, str], a: _Sampled, b: _Sampled, runs: Sequence[str], level: float
) -> list[StratumDifference]:
    both = (a.articles > 0) & (b.articles > 0)
    names = [*runs]
    if len(runs) > 1 and both.any():
        a, b, names = a.with_mean(both), b.with_mean(both), [*names, ALL_RUNS]
    observed = a.observed - b.observed
    fewest = np.minimum(a.articles, b.articles)
    articles = (np.maximum(a.articles, 2), np.maximum(b.articles, 2))  # of one nothing is shown
    low, high, p = student_bounds(observed, (_strays(a), _strays(b)), articles, level)
    return [
        StratumDifference(
            name=name,
            a=pair[0],
            b=pair[1],
            run=run,
            articles_a=int(a.articles[column]),
            articles_b=int(b.articles[column]),
            difference=float(observed[column]) if fewest[column] else None,
            low=float(low[column]) if fewest[column] > 1 else None,
            high=float(high[column]) if fewest[column] > 1 else None,
            p=float(p[column]) if fewest[column] > 1 else None,
        )
        for column, run in enumerate(names)
    ]


def _strays(sampled: _Sampled) -> Matrix:
    """Return how far resamples stray, widened from a sample's own spread to its estimate."""
    widened: Matrix = (sampled.resamples - sampled.observed) * np.sqrt(
        sampled.articles / np.maximum(sampled.articles - 1, 1)
    )
    return widened
