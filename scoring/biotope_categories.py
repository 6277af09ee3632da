"""Bacteria Biotope 2016, BB-cat and BB-cat+ner: taxa of bacteria, concepts of habitats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from scoring.alignment import Span
from scoring.biotope_scores import BiotopeScores, Item, MatchedPair, boundaries, paired, score
from scoring.ontology import Ontology
from scoring.standoff import Annotations, Entity

BACTERIA, HABITAT = "Bacteria", "Habitat"
SER = {"ser": "ser", "recall": "recall", "precision": "precision"}
PRECISION = {"precision": "recall"}  # a category is due for each given entity: one denominator


def score_categories(
    gold: Mapping[str, Annotations], run: Mapping[str, Annotations], ontology: Ontology
) -> tuple[list[BiotopeScores], list[MatchedPair]]:
    """Score BB-cat: the mean similarity of the categories of the given entities, in [0, 1].

    An entity that the run gives no category counts 0: the precision is over all entities.
    """
    pairs = []
    for article, entity in _categorized(gold):
        item = _item(gold, article, entity)
        if not item.referents:
            continue  # nothing to compare with
        found = run[article].referents.get(entity.id, set())
        alike = similarity(entity.type, _referents(gold, item), found, ontology)
        pairs.append(MatchedPair(item, item if found else None, alike))
    return _views("categories", pairs, gold, PRECISION), pairs


def score_categories_ner(
    gold: Mapping[str, Annotations], run: Mapping[str, Annotations], ontology: Ontology
) -> tuple[list[BiotopeScores], list[MatchedPair]]:
    """Score BB-cat+ner: S_p is Jaccard index × similarity of categories, 0 for another type.

    The alternate scores without boundaries keep these pairs; those without categories pair again.
    """
    references, predictions = _categorized(gold), _categorized(run)
    left = [_item(gold, *located) for located in references]
    right = [_item(run, *located) for located in predictions]
    overlapping = boundaries(references, predictions)
    alike = {
        (left[i], right[j]): similarity(
            left[i].kind, _referents(gold, left[i]), _referents(run, right[j]), ontology
        )
        for i, j, _ in overlapping
        if left[i].kind == right[j].kind
    }
    weighed = [(i, j, s * alike.get((left[i], right[j]), 0.0)) for i, j, s in overlapping]
    pairs = paired(left, right, [candidate for candidate in weighed if candidate[2] > 0])
    whole = [
        MatchedPair(one, other, alike[one, other] if one and other else 0.0)
        for one, other, _ in pairs
    ]
    return [
        *_views("entities", pairs, gold, SER),
        *_views("boundaries ignored", whole, gold, SER),
        *_views("categories ignored", paired(left, right, overlapping), gold, SER),
    ], pairs


def similarity(kind: str, gold: set[str], found: set[str], ontology: Ontology) -> float:
    """Return how alike two sets of categories are, in [0, 1]; 0 where either is empty.

    Habitats: Wang similarity, best-match average. Bacteria: shared over all taxa, 0 or 1 for one.
    """
    if kind == HABITAT:
        return ontology.set_similarity(gold, found)
    return len(gold & found) / len(gold | found) if gold | found else 0.0


def _categorized(corpus: Mapping[str, Annotations]) -> list[tuple[str, Entity]]:
    """Return the entities that have, or may have, a category.

    Their order, by which one of two equally good pairings is taken, is not that of their lines.
    """
    return [
        (article, entity)
        for article, annotations in corpus.items()
        for entity in sorted(annotations.entities.values(), key=partial(_place, annotations))
        if entity.type in (BACTERIA, HABITAT)
    ]


def _place(annotations: Annotations, entity: Entity) -> tuple[Span, str, list[str], str]:
    """Return what entities are sorted by; ids come last, which a run gives as it likes."""
    referents = sorted(annotations.referents.get(entity.id, ()))
    return entity.span, entity.type, referents, entity.id


def _item(corpus: Mapping[str, Annotations], article: str, entity: Entity) -> Item:
    referents = corpus[article].referents.get(entity.id, ())
    return Item(article, entity.id, entity.type, len(referents))


def _referents(corpus: Mapping[str, Annotations], item: Item) -> set[str]:
    return corpus[item.article].referents.get(item.id, set())


def _views(
    name: str, pairs: Sequence[MatchedPair], gold: Iterable[str], measures: Mapping[str, str]
) -> list[BiotopeScores]:
    articles = list(gold)
    kept: dict[str, Callable[[Item], bool]] = {
        name: lambda _: True,
        f"{name}, Habitat only": lambda item: item.kind == HABITAT,
        f"{name}, Bacteria only": lambda item: item.kind == BACTERIA,
        f"{name}, several categories": lambda item: item.referents > 1,
    }
    return [score(title, pairs, articles, measures, keep) for title, keep in kept.items()]
