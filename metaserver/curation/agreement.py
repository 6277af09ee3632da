"""Agreement of curators who decided on the same articles: what a set's page shows.

The measures are those of `scoring.agreement`, with intervals from resamples of the articles, and
Krippendorff's alpha over single decisions: each candidate that a curator saw is accepted or
rejected, a candidate not seen or not decided is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from metaserver.curation.decisions import CurationState
from metaserver.curation.experiments import UNSAID
from scoring import Agreement, OptionError, Task, agree, pair
from scoring.agreement import Annotations, Estimate, masi
from scoring.intervals import LEVEL, Bounds
from scoring.resampling import Matrix, resampled
from scoring.tasks import Item

RESAMPLES = 2_000
SEED = 2009


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorWork:
    """A curator's finished curations by article."""

    curator: str
    states: Mapping[str, CurationState]

    def annotations(self, task: Task) -> Annotations:
        """Return the accepted items of each article (INT, IPT), or its class if classified."""
        if task is Task.ACT:
            relevant = {article: state.relevant for article, state in self.states.items()}
            return {article: value for article, value in relevant.items() if value is not None}
        return {
            article: frozenset(map(item_of, state.accepted(task)))
            for article, state in self.states.items()
        }

    def methods(self) -> Annotations:
        """Return the accepted pairs of each article, once with each of their detection methods."""
        return {
            article: frozenset(
                " ".join((*item, one.method))
                for item in state.accepted(Task.IPT)
                for one in state.items[Task.IPT, item].experiments or (UNSAID,)
            )
            for article, state in self.states.items()
        }

    def decided(self, task: Task) -> Mapping[str, Mapping[Item, bool]]:
        """Return, by article, whether each decided item is accepted."""
        return {
            article: {
                **{item_of(item): False for item in state.rejected(task)},
                **{item_of(item): True for item in state.accepted(task)},
            }
            for article, state in self.states.items()
        }


class ArticleAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement on an article: the mean MASI of all pairs of curators (ACT: equal classes)."""

    article: str
    value: float
    curators: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorAgreement:
    """The agreement of all curators of a set on one task.

    `measured` has the F of each pair's items, of IPT also that of pairs with methods, MASI, Cohen's
    kappa (ACT). `decisions` is Krippendorff's alpha over decided candidates, None for ACT.
    `articles` begins with those of the least agreement.
    """

    task: Task
    measured: Agreement
    decisions: Estimate | None
    articles: Sequence[ArticleAgreement]


def measure(
    works: Sequence[CuratorWork], task: Task | str, *, resamples: int = RESAMPLES
) -> CuratorAgreement:
    """Measure the agreement of at least two curators; raises `OptionError` for fewer.

    The work grows with articles, curators and resamples: call it in a thread.
    """
    task = Task(task)
    annotated = {work.curator: work.annotations(task) for work in works}
    if len(annotated) < len(works):
        raise OptionError("a curator is named twice")
    measured = agree(annotated, resamples=resamples, seed=SEED)
    if task is Task.IPT:
        methods = {work.curator: work.methods() for work in works}
        measured = _with_methods(measured, agree(methods, resamples=resamples, seed=SEED))
    return CuratorAgreement(
        task=task,
        measured=measured,
        decisions=None if task is Task.ACT else alpha_of_decisions(works, task, resamples),
        articles=_by_article(annotated.values()),
    )


def _with_methods(measured: Agreement, methods: Agreement) -> Agreement:
    """Return the agreement on pairs, with the F of pairs with their methods."""
    pairs = [
        replace(one, measures={**one.measures, "methods_f_score": other.measures["f_score"]})
        for one, other in zip(measured.pairs, methods.pairs, strict=True)
    ]
    return replace(measured, pairs=pairs)


def alpha_of_decisions(
    works: Sequence[CuratorWork], task: Task, resamples: int = RESAMPLES
) -> Estimate:
    """Return Krippendorff's alpha (nominal) of accepted against rejected, by candidate.

    A candidate that only one curator decided on has no pair and does not count. Intervals resample
    whole articles: an article's candidates are not independent.
    """
    decided = [work.decided(task) for work in works]
    articles = sorted({article for states in decided for article in states})
    rows = np.zeros((len(articles), 3))  # disagreement, accepted and rejected of pairable values
    for row, article in enumerate(articles):
        by_curator = [states.get(article, {}) for states in decided]
        for item in sorted({item for states in by_curator for item in states}):
            values = [states[item] for states in by_curator if item in states]
            if len(values) > 1:
                yes = sum(values)
                no = len(values) - yes
                rows[row] += (2 * yes * no / (len(values) - 1), yes, no)

    def alpha(weights: Matrix) -> Matrix:
        unlike, yes, no = (weights @ rows).T
        expected = 2 * yes * no
        with np.errstate(invalid="ignore", divide="ignore"):
            alphas: Matrix = np.where(expected > 0, 1 - unlike * (yes + no - 1) / expected, np.nan)
        return alphas

    value = float(alpha(np.ones((1, len(articles))))[0]) if articles else np.nan
    if np.isnan(value):
        return Estimate(value=None, bounds=None)
    drawn = [
        alpha(weights)
        for weights in resampled(np.random.default_rng(SEED), len(articles), resamples)
    ]
    alphas = np.concatenate(drawn) if drawn else np.empty(0)
    alphas = alphas[~np.isnan(alphas)]
    if not len(alphas):
        return Estimate(value=value, bounds=None)
    low, high = np.quantile(alphas, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Estimate(value=value, bounds=Bounds(low, high))


def item_of(item: tuple[str, ...]) -> Item:
    """Return a decided item as the evaluator has it."""
    return item[0] if len(item) == 1 else pair(*item)


def _by_article(annotated: Iterable[Annotations]) -> list[ArticleAgreement]:
    values: dict[str, list[frozenset[Item] | bool]] = {}
    for values_of in annotated:
        for article, value in values_of.items():
            values.setdefault(article, []).append(value)
    agreements = [
        ArticleAgreement(
            article=article, value=_mean_agreement(article_values), curators=len(article_values)
        )
        for article, article_values in values.items()
        if len(article_values) > 1
    ]
    return sorted(agreements, key=lambda agreement: (agreement.value, agreement.article))


def _mean_agreement(values: Sequence[frozenset[Item] | bool]) -> float:
    pairs = [(a, b) for place, a in enumerate(values) for b in values[place + 1 :]]
    return sum(_agreement(a, b) for a, b in pairs) / len(pairs)


def _agreement(a: frozenset[Item] | bool, b: frozenset[Item] | bool) -> float:
    if isinstance(a, bool) or isinstance(b, bool):
        return float(a == b)
    return masi(a, b)
