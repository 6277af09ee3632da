"""Scorecards of runs: the values that reports, leaderboards and `--json` show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from scoring import frames, ranking
from scoring.article_scores import ArticleScores
from scoring.averages import deviation, macro_curve, mean, micro_auc
from scoring.columns import Places, Truths
from scoring.confusion import Confusion
from scoring.errors import FileProblem, OptionError
from scoring.ranking import Curve, Matches
from scoring.tasks import Task

ArticlePolicy: TypeAlias = Literal["answered", "all"]
"""The gold articles that count: those with a hit in the run (BC II.5), or all of them."""

MOST_BETA = 1e6
"""A higher beta is refused: F is recall by then, and the square of more is no number any more."""

SCORER_VERSION = "3"
"""Raised with every change that gives the same answers another score."""


@dataclass(frozen=True, kw_only=True)
class Signature:
    """All that must be equal for two scores to be comparable.

    `gold` is the gold's digest, None where the signature is shown to viewers who may not see the
    gold: the digest would confirm a guess of the gold. `view` is the transformation of the hits
    (`scoring.views`), `files` the digests of the files it read; `release` is the UniProt
    release that answers were checked against; `seed` is set where chance is involved. Printed in
    one line, after sacreBLEU (Post 2018).
    """

    task: Task
    gold: str | None
    articles: ArticlePolicy = "answered"
    view: str = "raw"
    files: str | None = None
    cutoff: int | None = None
    beta: float = 1.0
    ranks: Literal["strict", "lenient"] = "strict"
    release: str | None = None
    seed: int | None = None
    version: str = SCORER_VERSION

    def __post_init__(self) -> None:
        if self.cutoff is not None and self.task is Task.ACT:
            raise OptionError("a cutoff does not apply to ACT")
        if self.cutoff is not None and self.cutoff < 1:
            raise OptionError(f"a cutoff of {self.cutoff}; expected at least 1")
        if not 0 < self.beta <= MOST_BETA:
            expected = f"a number above 0, at most {MOST_BETA:g}"
            raise OptionError(f"a beta of {self.beta}; expected {expected}")
        if self.articles not in get_args(ArticlePolicy):
            raise OptionError(f"articles {self.articles!r}; expected answered or all")

    def __str__(self) -> str:
        named = {name: value for name, value in asdict(self).items() if value is not None}
        task = named.pop("task")
        return "|".join([str(task), *(f"{name}:{value}" for name, value in named.items())])


class Pooled(NamedTuple):
    """Micro-averages: the counts of all scored articles pooled. Each lies in [0, 1]."""

    precision: float
    recall: float
    f_score: float
    auc_ipr: float


class Means(NamedTuple):
    """Macro-averages over articles, all in [0, 1]."""

    precision: float
    recall: float
    f_score: float
    auc_ipr: float


class Averaged(NamedTuple):
    """Macro-averages over articles with their population standard deviations, all in [0, 1]."""

    precision: float
    recall: float
    f_score: float
    auc_ipr: float
    sd_precision: float
    sd_recall: float
    sd_f_score: float
    sd_auc_ipr: float


class _Shown:
    """A scorecard as people see it: a line, a small table, a frame."""

    def __str__(self) -> str:
        return frames.line_of(cast("Scorecard", self))

    def _repr_html_(self) -> str:
        return frames.html_of(cast("Scorecard", self))


@dataclass(frozen=True, kw_only=True)
class ItemScorecard(_Shown):
    """The score of an INT or IPT run.

    `articles` holds the scored articles in gold order; `hits_ignored` are hits on articles that
    are not in the gold, `articles_ignored` the articles that have one. `macro` and `micro` are 0
    where no article was scored. `warnings` are what was odd in the result file; `confidence` is the
    average confidence (`evaluation.average_confidence`), None of a run that is scored live. What is
    not a field is computed when it is first asked for.
    """

    run: str
    articles: ArticleScores = field(repr=False)
    articles_in_gold: int
    articles_ignored: int
    hits_ignored: int
    signature: Signature
    warnings: tuple[FileProblem, ...] = field(default=(), compare=False)
    confidence: float | None = field(default=None, compare=False)

    @property
    def task(self) -> Task:
        """INT or IPT."""
        return self.signature.task

    @cached_property
    def tp(self) -> int:
        """The number of correct hits."""
        return len(self.articles.lists.ranks)

    @cached_property
    def fp(self) -> int:
        """The number of wrong hits."""
        return int(self.articles.lists.hits.sum(dtype=np.int64)) - self.tp

    @cached_property
    def fn(self) -> int:
        """The number of gold items of the scored articles that were not found."""
        return int(self.articles.gold.sum()) - self.tp

    @cached_property
    def means(self) -> Means:
        """The macro-averages, without their deviations; those of `macro`."""
        return Means(*(mean(self.articles.counted(measure).tolist()) for measure in Means._fields))

    @cached_property
    def macro(self) -> Averaged:
        """The macro-averages and their deviations; articles without gold items do not count."""
        deviations = (
            deviation(self.articles.counted(measure).tolist(), mean)
            for measure, mean in self.means._asdict().items()
        )
        return Averaged(*self.means, *deviations)

    @cached_property
    def micro(self) -> Pooled:
        """The micro-averages."""
        correct, hits, gold = self.tp, self.tp + self.fp, self.tp + self.fn
        return Pooled(
            correct / hits if hits else 0.0,
            correct / gold if gold else 0.0,
            ranking.f_beta(correct, hits, gold, self.signature.beta),
            micro_auc(self.articles.lists, gold),
        )

    @property
    def articles_scored(self) -> int:
        """The number of articles of the gold that were scored.

        No gold file has an article without an item; one that is created in code counts here, and
        the means leave it out.
        """
        return len(self.articles)

    @property
    def curve(self) -> Curve:
        """The macro-averaged interpolated curve; the area under it is the macro AUC iP/R."""
        return macro_curve(self.articles.lists, self.articles.gold)

    def to_frame(self) -> frames.Frame:
        """Return a row for each article that was scored, in gold order (`frames.Frame`)."""
        return frames.framed(frames.item_rows(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON-ready builtins, the objects that `--json` prints."""
        return {
            "task": str(self.task),
            "run": self.run,
            "view": self.signature.view,
            "articles_scored": self.articles_scored,
            "articles_in_gold": self.articles_in_gold,
            "articles_ignored": self.articles_ignored,
            "hits_ignored": self.hits_ignored,
            "tp": self.tp,
            "fp": self.fp,
            "fn": self.fn,
            "macro": self.macro._asdict(),
            "micro": self.micro._asdict(),
            "signature": str(self.signature),
        }


@dataclass(frozen=True, kw_only=True)
class ActScorecard(_Shown):
    """The score of an ACT run.

    `confusion` counts the articles the run classified. `matches` is its ranked list: every
    relevant article of the gold is to be found, reported or not. `articles` are those of the gold,
    sorted by id; `ranked` is the list as places among them; `called` is, for each, whether the run
    calls it relevant. `counted` says for each article of the gold whether it is to be found if it
    is relevant; None: all are. `confidence` is that of `ItemScorecard`.
    """

    run: str
    articles_in_gold: int
    articles_ignored: int
    confusion: Confusion
    matches: Matches = field(repr=False)
    articles: Sequence[str] = field(compare=False, repr=False)
    ranked: Places = field(compare=False, repr=False)
    called: Truths = field(compare=False, repr=False)
    counted: Truths | None = field(default=None, compare=False, repr=False)
    signature: Signature
    warnings: tuple[FileProblem, ...] = field(default=(), compare=False)
    confidence: float | None = field(default=None, compare=False)

    @property
    def task(self) -> Task:
        """ACT."""
        return self.signature.task

    @property
    def articles_scored(self) -> int:
        """The number of gold articles that the run classified."""
        return self.matches.hits

    @property
    def auc_ipr(self) -> float:
        """AUC iP/R of the ranked list, in [0, 1]; 0 for a gold without relevant articles."""
        return ranking.auc_ipr(self.matches) or 0.0

    @property
    def precision_at_full_recall(self) -> float | None:
        """Precision where the last relevant article is found; None where one never is."""
        return ranking.precision_at_full_recall(self.matches)

    @property
    def curve(self) -> Curve:
        """The run's interpolated precision/recall curve."""
        return ranking.curve(self.matches)

    def to_frame(self) -> frames.Frame:
        """Return a row for each article that was classified, in list order (`frames.Frame`)."""
        return frames.framed(frames.act_rows(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON-ready builtins, the objects that `--json` prints."""
        return {
            "task": str(self.task),
            "run": self.run,
            "articles_scored": self.articles_scored,
            "articles_in_gold": self.articles_in_gold,
            "articles_ignored": self.articles_ignored,
            **self.confusion._asdict(),
            "specificity": self.confusion.specificity,
            "sensitivity": self.confusion.sensitivity,
            "accuracy": self.confusion.accuracy,
            "mcc": self.confusion.mcc,
            "precision_at_full_recall": self.precision_at_full_recall,
            "auc_ipr": self.auc_ipr,
            "signature": str(self.signature),
        }


Scorecard: TypeAlias = ItemScorecard | ActScorecard
