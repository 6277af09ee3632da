"""Bacteria Biotope 2016, BB-event and BB-event+ner: where bacteria live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scoring.alignment import Span
from scoring.biotope_scores import (
    BiotopeScores,
    Candidates,
    Item,
    MatchedPair,
    boundaries,
    paired,
    score,
)
from scoring.standoff import Annotations, Entity

F1 = {"f1": "f1", "recall": "recall", "precision": "precision"}
EVENT, ROLES = "Lives_In", ("Bacteria", "Location")

Name: TypeAlias = tuple[str, Span]
"""An entity's identity in its article: the type and characters of one of its equivalents."""
Key: TypeAlias = tuple[str, Name, Name]
"""An event's identity: its article, and the names of its bacteria and of its location."""


class Event(NamedTuple):
    """A Lives_In relation between two entities of an article."""

    article: str
    id: str
    bacteria: Entity
    location: Entity

    @property
    def item(self) -> Item:
        """The event as it is counted; its kind is the type of the location."""
        return Item(self.article, self.id, self.location.type)


def score_events(
    gold: Mapping[str, Annotations], run: Mapping[str, Annotations]
) -> tuple[list[BiotopeScores], list[MatchedPair]]:
    """Score BB-event: S_p is 1 for an event between the same two entities, else 0."""
    references, predictions = distinct_events(gold, gold), distinct_events(run, gold)
    places = {key: index for index, key in enumerate(references)}
    candidates = [
        (places[key], index, 1.0) for index, key in enumerate(predictions) if key in places
    ]
    pairs = paired(_items(references), _items(predictions), candidates)
    return _views(EVENT, pairs, gold, F1), pairs


def score_events_ner(
    gold: Mapping[str, Annotations], run: Mapping[str, Annotations]
) -> tuple[list[BiotopeScores], list[MatchedPair]]:
    """Score BB-event+ner: S_p is the product, over both roles, of the Jaccard index.

    It is 0 where a role's entity has another type. An entity of the gold is as good as those
    equivalent to it: the best counts. In the alternate scores without boundaries a pair counts 1.
    """
    references, predictions = distinct_events(gold, gold), distinct_events(run, gold)
    candidates = _candidates(references, predictions, gold)
    pairs = paired(_items(references), _items(predictions), candidates)
    whole = [pair._replace(similarity=1.0) if pair.similarity else pair for pair in pairs]
    measures = {**F1, "ser": "ser"}
    return [
        *_views(EVENT, pairs, gold, measures),
        *_views(f"{EVENT}, boundaries ignored", whole, gold, measures),
    ], pairs


def distinct_events(
    corpus: Mapping[str, Annotations], gold: Mapping[str, Annotations]
) -> dict[Key, Event]:
    """Return the events of a corpus, each once.

    Entities of the same type and characters count as one, and so do the gold's equivalent ones.
    """
    events: dict[Key, Event] = {}
    for article, found in corpus.items():
        names = _names(gold[article])
        for relation in found.relations.values():
            bacteria, location = (found.entities[relation.roles[role]] for role in ROLES)
            key = (article, _name(bacteria, names), _name(location, names))
            events.setdefault(key, Event(article, relation.id, bacteria, location))
    return events


def _names(annotations: Annotations) -> dict[Name, Name]:
    """Return what the entities count as that are equivalent to another one."""
    entities = annotations.entities
    return {entities[member][1:]: entities[first][1:] for member, first in annotations.same.items()}


def _name(entity: Entity, names: Mapping[Name, Name]) -> Name:
    return names.get(entity[1:], entity[1:])


def _items(events: Mapping[Key, Event]) -> list[Item]:
    return [event.item for event in events.values()]


def _candidates(
    references: Mapping[Key, Event],
    predictions: Mapping[Key, Event],
    gold: Mapping[str, Annotations],
) -> Candidates:
    """Return the pairs of events that overlap in both roles."""
    alike = _alike(predictions, gold)
    by_bacteria: defaultdict[tuple[str, Name], list[tuple[int, Name]]] = defaultdict(list)
    for index, (article, bacteria, location) in enumerate(references):
        by_bacteria[article, bacteria].append((index, location))
    return [
        (reference, index, first * second)
        for index, event in enumerate(predictions.values())
        for bacteria, first in alike[event.article, event.bacteria].items()
        for reference, location in by_bacteria.get((event.article, bacteria), ())
        if (second := alike[event.article, event.location].get(location, 0.0))
    ]


def _alike(
    predictions: Mapping[Key, Event], gold: Mapping[str, Annotations]
) -> dict[tuple[str, Entity], dict[Name, float]]:
    """Return, for each predicted entity, the gold's it overlaps, by the largest Jaccard index."""
    known = [
        (article, entity)
        for article, annotations in gold.items()
        for entity in annotations.entities.values()
    ]
    found = list(
        dict.fromkeys(
            (event.article, entity)
            for event in predictions.values()
            for entity in (event.bacteria, event.location)
        )
    )
    names = {article: _names(annotations) for article, annotations in gold.items()}
    alike: dict[tuple[str, Entity], dict[Name, float]] = {located: {} for located in found}
    for i, j, index in boundaries(known, found):
        article, entity = known[i]
        if entity.type == found[j][1].type:
            name = _name(entity, names[article])
            alike[found[j]][name] = max(index, alike[found[j]].get(name, 0.0))
    return alike


def _views(
    name: str, pairs: Sequence[MatchedPair], gold: Iterable[str], measures: Mapping[str, str]
) -> list[BiotopeScores]:
    articles = list(gold)
    return [
        score(name, pairs, articles, measures),
        score(f"{name}, Habitat only", pairs, articles, measures, _is_habitat),
        score(f"{name}, Geographical only", pairs, articles, measures, _is_geographical),
    ]


def _is_habitat(item: Item) -> bool:
    return item.kind == "Habitat"


def _is_geographical(item: Item) -> bool:
    return item.kind == "Geographical"
