"""Bacteria Biotope 2016, BB-kb and BB-kb+ner: facts of a whole corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from scoring.biotope_scores import Item, MatchedPair
from scoring.intervals import RESAMPLES, Values, on_resamples
from scoring.ontology import Ontology
from scoring.ranking import added
from scoring.standoff import Annotations


class Fact(NamedTuple):
    """A taxon (NCBI) lives in a habitat (OntoBiotope concept)."""

    taxon: str
    habitat: str

    @property
    def item(self) -> Item:
        """The fact as an item of a pair; it belongs to no single article."""
        return Item("corpus", f"{self.taxon} {self.habitat}", "fact")


@dataclass(frozen=True, kw_only=True, slots=True)
class KnowledgeBaseScores:
    """The score of each reference fact, in [0, 1]; predictions near no reference cost nothing."""

    by_reference: Mapping[Fact, float]
    predictions: int
    pairs: tuple[MatchedPair, ...]  # each prediction, then the references without one

    @property
    def unpaired(self) -> int:
        """Return the number of predictions that no reference has anything in common with."""
        return sum(pair.reference is None for pair in self.pairs)

    @property
    def sum(self) -> float:
        """Return the sum over the references: the score of the task's evaluation page."""
        return added(self.by_reference.values())

    @property
    def mean(self) -> float:
        """Return the mean over the references: what the organisers' program prints; 0 for none."""
        return self.sum / len(self.by_reference) if self.by_reference else 0.0

    @property
    def size(self) -> int:
        """The number of references, which are resampled."""
        return len(self.by_reference)

    def first_by_article(self) -> dict[str, float | None]:
        """Return nothing: the measure is one of references, which are of no single article."""
        return {}

    def on_resamples(self, resamples: int = RESAMPLES) -> Values:
        """Return the mean on resamples of the references."""
        rows = [(value, 1.0) for value in self.by_reference.values()]
        return on_resamples(rows, lambda value, count: value / count, resamples=resamples)

    def to_dict(self) -> dict[str, Any]:
        """Return both scores and the counts as JSON-ready values."""
        return {
            "name": "facts",
            "mean": self.mean,
            "sum": self.sum,
            "references": len(self.by_reference),
            "predictions": self.predictions,
            "unpaired": self.unpaired,
        }


def facts(corpus: Mapping[str, Annotations]) -> set[Fact]:
    """Return the distinct facts that the events of a corpus state.

    Each category of the bacteria with each category of the location; events without are left out.
    """
    return {
        Fact(taxon, habitat)
        for annotations in corpus.values()
        for relation in annotations.relations.values()
        for taxon in annotations.referents.get(relation.roles["Bacteria"], ())
        for habitat in annotations.referents.get(relation.roles["Location"], ())
    }


def compare(
    references: Collection[Fact], predictions: Collection[Fact], ontology: Ontology
) -> KnowledgeBaseScores:
    """Give each prediction to the most similar reference; a reference scores the mean of its own.

    The similarity is Wang's of the habitats, 0 for another taxon (BB-kb, evaluation page).
    Of equally similar references the first by taxon and habitat takes the prediction.
    """
    by_taxon: defaultdict[str, list[Fact]] = defaultdict(list)
    for reference in sorted(references):
        by_taxon[reference.taxon].append(reference)
    given: defaultdict[Fact, list[float]] = defaultdict(list)
    pairs = []
    for prediction in sorted(predictions):
        near = [
            (ontology.similarity(reference.habitat, prediction.habitat), reference)
            for reference in by_taxon.get(prediction.taxon, ())
        ]
        best, reference = max(near, key=lambda one: one[0], default=(0.0, prediction))
        if best > 0:
            given[reference].append(best)
        pairs.append(MatchedPair(reference.item if best > 0 else None, prediction.item, best))
    missed = [MatchedPair(fact.item, None, 0.0) for fact in sorted(references) if fact not in given]
    return KnowledgeBaseScores(
        by_reference={
            fact: added(given[fact]) / len(given[fact]) if fact in given else 0.0
            for fact in sorted(references)
        },
        predictions=len(predictions),
        pairs=(*pairs, *missed),
    )
