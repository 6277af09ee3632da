"""Items, sums and scores of the Bacteria Biotope 2016 sub-tasks.

Deléger et al. 2016 (https://aclanthology.org/W16-3002) and the task's evaluation page
(https://2016.bionlp-st.org/tasks/bb3/bb3-evaluation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from scoring.alignment import best_pairing, overlaps
from scoring.intervals import RESAMPLES, Values, on_resamples
from scoring.standoff import Entity

_ROUNDED = 1e-9  # what a product of similarities may lack of 1
_SAME_KIND = 1e-11  # far less than a further pair is worth (`scoring.alignment`)


class Item(NamedTuple):
    """One predicted entity or event; filters select by its `kind`."""

    article: str
    id: str
    kind: str  # an entity's type, an event's location type
    referents: int = 0  # categories given to it


class MatchedPair(NamedTuple):
    """A reference and the prediction paired with it; either may be missing. S_p lies in [0, 1]."""

    reference: Item | None
    prediction: Item | None
    similarity: float

    @property
    def item(self) -> Item:
        """The item that filters look at: the reference, or the prediction where there is none."""
        item = self.reference or self.prediction
        assert item is not None
        return item


Candidates: TypeAlias = Sequence[tuple[int, int, float]]
"""The pairs that are possible: (index of the reference, index of the prediction, S_p in ]0, 1])."""


class Sums(NamedTuple):
    """Sums over the items of some articles; those of several articles may be added."""

    references: int = 0
    predictions: int = 0
    pairs: int = 0
    similarity: float = 0.0  # sum of S_p over the pairs
    matches: int = 0  # pairs whose S_p is 1; the others are partial matches

    @property
    def recall(self) -> float:
        """Return the sum of S_p over the references, in [0, 1]; 0 without references."""
        return self.similarity / self.references if self.references else 0.0

    @property
    def precision(self) -> float:
        """Return the sum of S_p over the predictions, in [0, 1]; 0 without predictions."""
        return self.similarity / self.predictions if self.predictions else 0.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall; 0 where both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def ser(self) -> float | None:
        """Return the slot error rate: substitutions, insertions and deletions over references.

        Makhoul et al. 1999. From 0 (perfect) up without a limit; a pair is a substitution to the
        extent 1 - S_p and is not rounded, as the organisers' program does. None without references.
        """
        substitutions = self.pairs - self.similarity
        errors = substitutions + self.insertions + self.deletions
        return errors / self.references if self.references else None

    @property
    def insertions(self) -> int:
        """Predictions without a reference."""
        return self.predictions - self.pairs

    @property
    def deletions(self) -> int:
        """References without a prediction."""
        return self.references - self.pairs


@dataclass(frozen=True, kw_only=True, slots=True)
class BiotopeScores:
    """The sums of one view by article, and the measures that are defined for it."""

    name: str
    measures: Mapping[str, str]  # what it is called here -> the member of `Sums`
    by_article: Mapping[str, Sums]

    @property
    def total(self) -> Sums:
        """Return the sums over all articles."""
        return Sums(*map(sum, zip(*self.by_article.values(), strict=True)))

    @property
    def size(self) -> int:
        """The number of articles, which are resampled."""
        return len(self.by_article)

    def on_resamples(self, resamples: int = RESAMPLES) -> Values:
        """Return the first measure on resamples of the articles; NaN where it is undefined."""
        member = next(iter(self.measures.values()))
        rows = self.by_article.values()
        return on_resamples(rows, lambda *row: getattr(Sums(*row), member), resamples=resamples)

    def first_by_article(self) -> dict[str, float | None]:
        """Return the first measure of each article that has references, or predictions."""
        member = next(iter(self.measures.values()))
        sums = {name: one for name, one in self.by_article.items() if any(one)}
        return {name: getattr(one, member) for name, one in sums.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the measures and counts as JSON-ready values."""
        total = self.total
        return {
            "name": self.name,
            **{name: getattr(total, member) for name, member in self.measures.items()},
            "references": total.references,
            "predictions": total.predictions,
            "pairs": total.pairs,
            "matches": total.matches,
            "partial": total.pairs - total.matches,
            "insertions": total.insertions,
            "deletions": total.deletions,
        }


def paired(
    references: Sequence[Item], predictions: Sequence[Item], candidates: Candidates
) -> list[MatchedPair]:
    """Return the pairing with the largest sum of S_p, then the items left over on either side.

    Among pairings of equal sums and as many pairs, the one with most pairs of one kind is taken.
    """
    chosen = best_pairing(
        np.array([i for i, _, _ in candidates], dtype=np.int64),
        np.array([j for _, j, _ in candidates], dtype=np.int64),
        np.array(
            [
                s + _SAME_KIND * (references[i].kind == predictions[j].kind)
                for i, j, s in candidates
            ],
            dtype=np.float64,
        ),
    )
    taken = {candidates[k][0]: candidates[k] for k in chosen.tolist()}
    pairs = [
        MatchedPair(references[i], predictions[j], s) for _, (i, j, s) in sorted(taken.items())
    ]
    used = {j for _, j, _ in taken.values()}
    deleted = [MatchedPair(item, None, 0.0) for i, item in enumerate(references) if i not in taken]
    inserted = [MatchedPair(None, item, 0.0) for j, item in enumerate(predictions) if j not in used]
    return [*pairs, *deleted, *inserted]


def boundaries(
    references: Sequence[tuple[str, Entity]], predictions: Sequence[tuple[str, Entity]]
) -> Candidates:
    """Return all pairs of (article, entity) that share characters, with their Jaccard index."""
    found = overlaps(
        [(article, entity.span) for article, entity in references],
        [(article, entity.span) for article, entity in predictions],
    )
    return list(zip(*(column.tolist() for column in found), strict=True))


def score(
    name: str,
    pairs: Iterable[MatchedPair],
    articles: Iterable[str],
    measures: Mapping[str, str],
    keep: Callable[[Item], bool] = lambda _: True,
) -> BiotopeScores:
    """Add up, by article, the pairs whose item is kept."""
    sums = dict.fromkeys(articles, Sums())
    for pair in pairs:
        if keep(pair.item):
            one = Sums(
                references=pair.reference is not None,
                predictions=pair.prediction is not None,
                pairs=pair.reference is not None and pair.prediction is not None,
                similarity=pair.similarity,
                matches=pair.similarity > 1 - _ROUNDED,
            )
            article = pair.item.article
            sums[article] = Sums(*map(add, sums[article], one))
    return BiotopeScores(name=name, measures=measures, by_article=sums)
