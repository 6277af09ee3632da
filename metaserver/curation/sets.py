"""Sets of articles that several curators decide on: who gets which, and the resulting gold.

Each article has seats, one per curator. The curators of the first two seats make its gold, those of
further seats count for agreement alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.curation.adjudication import (
    Disagreement,
    RulingChoice,
    decision_on,
    disagreements,
    is_negative,
    items_of,
)
from metaserver.curation.agreement import CuratorAgreement, CuratorWork, item_of, measure
from metaserver.curation.decisions import CurationState
from scoring import ActGold, Gold, ItemGold, Task
from scoring.files import gold_lines
from scoring.tasks import Item

LONGEST_SOURCE = 200
"""The maximum length of the line that says where gold comes from."""
TASKS = tuple(map(str, Task))
"""The tasks that curators make gold for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """An article for a curator: `seat` from 1, and `place`, from 0 in the curator's own order."""

    position: int
    token_id: int
    seat: int
    place: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SetArticle:
    """An article with the finished work of its curators, by seat; names are unique in a set."""

    article: str
    curators: Mapping[int, str]
    states: Mapping[int, CurationState]

    @property
    def complete(self) -> bool:
        """True if both curators who make its gold have finished."""
        return {1, 2} <= self.states.keys()


@dataclass(frozen=True, kw_only=True, slots=True)
class SetGold:
    """The gold of a set for a task, and its line of origin.

    `agreed` and `ruled` count items (of ACT: articles), `empty` are articles without any, and
    `missing` those that are not finished.
    """

    gold: Gold
    source: str
    agreed: int
    ruled: int
    empty: Sequence[str]
    missing: Sequence[str]
    articles: Collection[str] = field(repr=False)

    def content(self, present: Gold | None) -> bytes:
        """Return the gold file; of articles that the set has not, `known` gold stays."""
        return "".join(gold_lines(_joined(self.gold, present, self.articles))).encode()


def seated(name: str, positions: Sequence[int], curators: Sequence[int], each: int) -> list[Seat]:
    """Return who gets which articles: each to as many curators, pairs as equally as that divides.

    The seats that make the gold go to those of an article's curators who have the fewest. A
    curator's order is shuffled by a digest, so that it is the same whenever it is computed.
    """
    groups = list(combinations(curators, each))
    groups.sort(key=lambda group: _digest(name, *group))
    seats_given: list[tuple[int, int, int]] = []
    of_gold: Counter[int] = Counter()  # each curator's first two seats
    for number, position in enumerate(
        sorted(positions, key=lambda position: _digest(name, position))
    ):
        group = groups[number % len(groups)]
        by_need = sorted(group, key=lambda token: (of_gold[token], _digest(name, position, token)))
        of_gold.update(by_need[:2])
        seats_given += [
            (position, token_id, seat) for seat, token_id in enumerate(by_need, start=1)
        ]
    seats = []
    for token_id in curators:
        own_seats = [
            (position, seat) for position, holder, seat in seats_given if holder == token_id
        ]
        own_seats.sort(key=lambda seat: _digest(name, token_id, seat[0]))
        seats += [
            Seat(position=position, token_id=token_id, seat=seat, place=place)
            for place, (position, seat) in enumerate(own_seats)
        ]
    return seats


def works(articles: Iterable[SetArticle]) -> list[CuratorWork]:
    """Return the finished work of each curator."""
    states_by_curator: dict[str, dict[str, CurationState]] = {}
    for article in articles:
        for seat, state in article.states.items():
            states_by_curator.setdefault(article.curators[seat], {})[article.article] = state
    return [
        CuratorWork(curator=name, states=states)
        for name, states in sorted(states_by_curator.items())
    ]


def agreement(articles: Sequence[SetArticle], task: str) -> CuratorAgreement:
    """Measure the agreement of a set's curators; slow: call it in a thread.

    Pairs of curators who have no article in common are left out. Raises `RefusedError` while no
    article has two finished curations.
    """
    compared = [article for article in articles if len(article.states) > 1]
    if not compared:
        raise RefusedError(Refusal.STATE, "no article has two submitted curations yet")
    return measure(works(compared), task)


def open_questions(articles: Iterable[SetArticle], task: str) -> list[Disagreement]:
    """Return where the two curators of each finished article differ, in the articles' order."""
    return [
        disagreement
        for article in articles
        if article.complete
        for disagreement in disagreements(
            article.article, article.states[1], article.states[2], Task(task)
        )
    ]


def set_gold(
    name: str,
    articles: Sequence[SetArticle],
    task: str,
    rulings: Mapping[tuple[str, tuple[str, ...]], tuple[RulingChoice, str]],
) -> SetGold:
    """Return a set's gold: what both accepted, and what adjudicators ruled.

    `rulings` have the choice and the adjudicator; those on what no longer differs do not count.
    Raises `RefusedError` while a disagreement on the gold has no ruling.
    """
    of_task = Task(task)
    complete = [article for article in articles if article.complete]
    questions = {one.question: one for one in open_questions(complete, task) if not one.of_methods}
    if unruled := len(questions.keys() - rulings.keys()):
        raise RefusedError(
            Refusal.STATE,
            f"{unruled} of {counted(len(questions), 'disagreement')} without a ruling",
        )
    relevant: dict[str, bool] = {}
    items: dict[str, frozenset[Item]] = {}
    empty, agreed = [], 0
    for article in complete:
        first, second = article.states[1], article.states[2]
        accepted = set()
        for item in items_of(first, second, of_task):
            question = article.article, item
            if question in questions:
                verdict = questions[question].verdict(rulings[question][0])
            else:
                verdict = decision_on(first, of_task, item).decision
                agreed += verdict == "accepted" or of_task is Task.ACT
            if of_task is Task.ACT and verdict != "undecided":
                relevant[article.article] = verdict == "accepted"
            elif verdict == "accepted" and not is_negative(first, second, item):
                accepted.add(item_of(item))
        if accepted:
            items[article.article] = frozenset(accepted)
        elif article.article not in relevant:
            empty.append(article.article)
    curators = sorted({article.curators[seat] for article in complete for seat in (1, 2)})
    judges = sorted({rulings[question][1] for question in questions})
    is_class = of_task is Task.ACT
    return SetGold(
        gold=ActGold(relevant=relevant) if is_class else ItemGold(task=of_task, items=items),
        source=_source(name, curators, judges),
        agreed=agreed,
        ruled=len(questions),
        empty=empty,
        missing=[article.article for article in articles if not article.complete],
        articles=frozenset(article.article for article in complete),
    )


class PoolReport(NamedTuple):
    """The items of gold that no server had proposed, and how many of all each server had.

    Gold that is pooled from servers favours them, so its readers are shown both.
    """

    unproposed: Sequence[tuple[str, tuple[str, ...]]]
    servers: Mapping[str, int]


def pool_report(
    gold: ItemGold, proposed: Mapping[str, Mapping[tuple[str, ...], Collection[str]]]
) -> PoolReport:
    """Return who had proposed the items of gold: `proposed` has servers by article and item."""
    unproposed = []
    counts: Counter[str] = Counter()
    for article, items in gold.items.items():
        for item in sorted(items):
            key = (item,) if isinstance(item, str) else item
            servers = proposed.get(article, {}).get(key, ())
            counts.update(servers)
            if not servers:
                unproposed.append((article, key))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return PoolReport(unproposed=unproposed, servers=dict(ordered))


def _joined(gold: Gold, present: Gold | None, replaced: Collection[str]) -> Gold:
    if isinstance(gold, ActGold):
        relevant = present.relevant if isinstance(present, ActGold) else {}
        kept = {article: value for article, value in relevant.items() if article not in replaced}
        return ActGold(relevant={**kept, **gold.relevant})
    more = present.items if isinstance(present, ItemGold) else {}
    rest = {article: items for article, items in more.items() if article not in replaced}
    return ItemGold(task=gold.task, items={**rest, **gold.items})


def _source(name: str, curators: Sequence[str], judges: Sequence[str]) -> str:
    ruled = f" adjudicated by {' + '.join(judges)}" if judges else ", no disagreement"
    full = f"set {name}, {' + '.join(curators)}{ruled}"
    return full if len(full) <= LONGEST_SOURCE else f"set {name}, {len(curators)} curators"


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\t".join(map(str, parts)).encode()).digest()
