"""SemEval-2013 task 9.1: recognition and classification of drug names.

Segura-Bedmar, Martínez & Herrero-Zazo 2013 (https://aclanthology.org/S13-2056), after the measures
of MUC (Chinchor & Sundheim 1993, https://aclanthology.org/M93-1007): every gold and every predicted
mention is correct (COR), incorrect (INC), partial (PAR), missing (MIS) or spurious (SPU).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.alignment import Indices, Span, lexical_pairing, overlaps
from scoring.errors import OptionError
from scoring.intervals import RESAMPLES, Values, on_resamples
from scoring.ranking import added

TYPES = ("drug", "brand", "group", "drug_n")
"""The four types of the task; the macro average is always over these."""


class Criterion(StrEnum):
    """The matching criterion of a pair: the properties that must agree; see `_pair_counts`."""

    STRICT = "strict"  # same characters and same type
    EXACT = "exact"  # same characters, any type
    PARTIAL = "partial"  # some shared characters: PAR; the same ones: COR; any type
    TYPE = "type"  # same type, some shared characters


class Compat(StrEnum):
    """A program whose arithmetic is followed where it differs from the definitions."""

    SEMEVAL2013 = "semeval2013"  # the organisers' program: `scoring.semeval_program`


class MentionSpan(NamedTuple):
    """A name in a text: `place` is the sentence or article that `span` counts characters in."""

    place: str
    span: Span
    type: str


class MentionCounts(NamedTuple):
    """Mentions by outcome; counts of several places may be added member by member.

    All are >= 0, but for MIS as the organisers' program counts (`scoring.semeval_program`).
    """

    cor: int = 0
    inc: int = 0
    par: int = 0
    mis: int = 0
    spu: int = 0

    @property
    def pos(self) -> int:
        """POS: gold mentions."""
        return self.cor + self.inc + self.par + self.mis

    @property
    def act(self) -> int:
        """ACT: predicted mentions."""
        return self.cor + self.inc + self.par + self.spu

    def precision(self, compat: Compat | None = None) -> float:
        """Return (COR + PAR/2) / ACT, in [0, 1], 0 where nothing was predicted."""
        partial = 0.0 if compat is Compat.SEMEVAL2013 else 0.5 * self.par
        return (self.cor + partial) / self.act if self.act else 0.0

    def recall(self) -> float:
        """Return (COR + PAR/2) / POS, in [0, 1], 0 where the gold has no mention."""
        return (self.cor + 0.5 * self.par) / self.pos if self.pos else 0.0

    def f_score(self, compat: Compat | None = None) -> float:
        """Return the harmonic mean of precision and recall, 0 where both are 0."""
        precision, recall = self.precision(compat), self.recall()
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def to_dict(self, compat: Compat | None = None) -> dict[str, float]:
        """Return the counts and what follows from them as JSON-ready values."""
        return {
            **self._asdict(),
            "pos": self.pos,
            "act": self.act,
            "precision": self.precision(compat),
            "recall": self.recall(),
            "f_score": self.f_score(compat),
        }


class Pairing(NamedTuple):
    """Gold mention `gold[k]` is paired with predicted mention `run[k]`."""

    gold: Indices
    run: Indices
    same_span: NDArray[np.bool_]
    same_type: NDArray[np.bool_]


Table: TypeAlias = Mapping[Criterion, MentionCounts]


@dataclass(frozen=True, kw_only=True, slots=True)
class NerScorecard:
    """A run's counts: by article over all types, and by type with both sides cut to that type."""

    by_article: Mapping[str, Table]
    per_type: Mapping[str, Table]
    compat: Compat | None = None

    @property
    def micro(self) -> Table:
        """The counts over all articles and types."""
        return total(self.by_article.values())

    def on_resamples(self, criterion: Criterion, resamples: int = RESAMPLES) -> Values:
        """Return the F-score by a criterion on resamples of the articles."""
        rows = [table[criterion] for _, table in sorted(self.by_article.items())]
        return on_resamples(
            rows, lambda *row: MentionCounts(*row).f_score(self.compat), resamples=resamples
        )

    def f_scores(self, criterion: Criterion) -> dict[str, float]:
        """Return the F-score by a criterion of each article that has a mention, or a prediction."""
        counts = {name: table[criterion] for name, table in sorted(self.by_article.items())}
        return {
            name: one.f_score(self.compat) for name, one in counts.items() if one.pos or one.act
        }

    def macro(self) -> dict[str, float]:
        """Return the unweighted means over the four types of strict P, R and F, each in [0, 1].

        A type that neither the gold nor the run has counts as 0, as in the task's own program.
        """
        strict = [self.per_type[name][Criterion.STRICT] for name in TYPES]
        return {
            "precision": added(counts.precision() for counts in strict) / len(TYPES),
            "recall": added(counts.recall() for counts in strict) / len(TYPES),
            "f_score": added(counts.f_score() for counts in strict) / len(TYPES),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the scorecard as JSON-ready values."""
        return {
            "compat": self.compat,
            "articles": len(self.by_article),
            "micro": self._values(self.micro),
            "per_type": {name: self._values(table) for name, table in self.per_type.items()},
            "macro": self.macro(),
        }

    def _values(self, table: Table) -> dict[str, dict[str, float]]:
        return {str(criterion): counts.to_dict(self.compat) for criterion, counts in table.items()}


def evaluate(
    gold: Iterable[MentionSpan],
    run: Iterable[MentionSpan],
    *,
    article_of: Mapping[str, str] | None = None,
) -> NerScorecard:
    """Score predicted mentions against gold mentions; the order of either has no effect.

    `article_of` says which article each place is a part of, where places are sentences. Raises
    `OptionError` for a mention that comes twice on one side.
    """
    gold, run = sorted(gold), sorted(run)
    by_article: dict[str, Table] = {}
    if article_of is not None:
        by_article = dict.fromkeys(article_of.values(), total([]))
    for place, table in count_by_place(gold, run).items():
        article = place if article_of is None else article_of[place]
        by_article[article] = total([by_article.get(article, total([])), table])
    per_type = {
        name: total(count_by_place(_only(gold, name), _only(run, name)).values())
        for name in dict.fromkeys([*TYPES, *(mention.type for mention in gold)])
    }
    return NerScorecard(by_article=by_article, per_type=per_type)


def total(tables: Iterable[Table]) -> Table:
    """Return the counts of all tables together; zeros for none."""
    rows = list(tables)
    return {
        criterion: MentionCounts(*map(sum, zip(*(row[criterion] for row in rows), strict=True)))
        for criterion in Criterion
    }


def _only(mentions: Iterable[MentionSpan], name: str) -> list[MentionSpan]:
    return [mention for mention in mentions if mention.type == name]


def count_by_place(gold: Iterable[MentionSpan], run: Iterable[MentionSpan]) -> dict[str, Table]:
    """Return the counts of every place that has a mention; their sums are the micro counts."""
    gold, run = _checked(gold, "gold"), _checked(run, "run")
    pairing = pair_mentions(gold, run)
    positive = Counter(mention.place for mention in gold)
    actual = Counter(mention.place for mention in run)
    kinds: Counter[tuple[str, bool, bool]] = Counter(
        (gold[index].place, bool(same_span), bool(same_type))
        for index, same_span, same_type in zip(
            pairing.gold, pairing.same_span, pairing.same_type, strict=True
        )
    )
    return {
        place: _pair_counts(
            {kind: kinds[place, *kind] for kind in _KINDS}, positive[place], actual[place]
        )
        for place in sorted(positive | actual)
    }


_KINDS = ((True, True), (True, False), (False, True), (False, False))  # same span, same type


def _pair_counts(pairs: Mapping[tuple[bool, bool], int], positive: int, actual: int) -> Table:
    """Count the pairs of one place by criterion, as Tables 1 and 2 of the task do."""
    total = sum(pairs.values())
    correct = {
        Criterion.STRICT: pairs[True, True],
        Criterion.EXACT: pairs[True, True] + pairs[True, False],
        Criterion.PARTIAL: pairs[True, True] + pairs[True, False],
        Criterion.TYPE: pairs[True, True] + pairs[False, True],
    }
    return {
        criterion: MentionCounts(
            cor=cor,
            inc=0 if criterion is Criterion.PARTIAL else total - cor,
            par=total - cor if criterion is Criterion.PARTIAL else 0,
            mis=positive - total,
            spu=actual - total,
        )
        for criterion, cor in correct.items()
    }


def pair_mentions(gold: Sequence[MentionSpan], run: Sequence[MentionSpan]) -> Pairing:
    """Pair mentions of the same place one to one.

    As many as possible of the same characters, of such pairings as many as possible of the same
    characters and type; then as many pairs as possible, of these as many of the same type, of these
    those that share most (Jaccard). So no count depends on how types are named or ordered. The
    organisers' program takes the first overlap it meets instead.
    """
    found = overlaps(
        [(mention.place, mention.span) for mention in gold],
        [(mention.place, mention.span) for mention in run],
    )
    same_span = found.jaccard == 1
    kinds = {name: number for number, name in enumerate({m.type for m in (*gold, *run)})}
    gold_kind = np.array([kinds[mention.type] for mention in gold], dtype=np.int64)
    run_kind = np.array([kinds[mention.type] for mention in run], dtype=np.int64)
    same_type = gold_kind[found.left] == run_kind[found.right]

    # A mention has one equal to it at most, and most of both kinds is all of these pairs.
    equal = np.flatnonzero(same_span & same_type)
    free = np.flatnonzero(
        ~np.isin(found.left, found.left[equal]) & ~np.isin(found.right, found.right[equal])
    )
    levels = (same_span[free], np.ones(len(free), dtype=np.bool_), same_type[free])
    best = lexical_pairing(found.left[free], found.right[free], levels, found.jaccard[free])
    chosen = np.concatenate([equal, free[best]])
    return Pairing(found.left[chosen], found.right[chosen], same_span[chosen], same_type[chosen])


class MentionPair(NamedTuple):
    """A gold mention and the prediction paired with it; either may be missing."""

    reference: MentionSpan | None
    prediction: MentionSpan | None

    def outcome(self, criterion: Criterion) -> str:
        """Return COR, INC, PAR, MIS or SPU."""
        if self.prediction is None:
            return "MIS"
        if self.reference is None:
            return "SPU"
        kind = (
            self.reference.span == self.prediction.span,
            self.reference.type == self.prediction.type,
        )
        counts = _pair_counts({**dict.fromkeys(_KINDS, 0), kind: 1}, 1, 1)[criterion]
        return next(name.upper() for name, count in counts._asdict().items() if count)


def list_pairs(gold: Iterable[MentionSpan], run: Iterable[MentionSpan]) -> list[MentionPair]:
    """Return the pairs that `evaluate` counts, then what is missing, then what is spurious."""
    gold, run = _checked(gold, "gold"), _checked(run, "run")
    pairing = pair_mentions(gold, run)
    found = dict(sorted(zip(pairing.gold.tolist(), pairing.run.tolist(), strict=True)))
    used = set(found.values())
    return [
        *(MentionPair(gold[left], run[right]) for left, right in found.items()),
        *(MentionPair(one, None) for place, one in enumerate(gold) if place not in found),
        *(MentionPair(None, one) for place, one in enumerate(run) if place not in used),
    ]


def _checked(mentions: Iterable[MentionSpan], side: str) -> list[MentionSpan]:
    """Sort mentions, so that the order they come in has no effect; refuse doubles."""
    ordered = sorted(mentions)
    for one, other in pairwise(ordered):
        if one == other:
            raise OptionError(f"{side}: {one.type} at {one.span} of {one.place} comes twice")
    return ordered
