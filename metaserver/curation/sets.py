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

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.adjudication import (
    Disagreement,
    PoolReport,
    RulingChoice,
    disagreements,
    merge,
    pool_report,
)
from metaserver.curation.agreement import CuratorAgreement, CuratorWork, measure
from metaserver.curation.decisions import CurationState
from scoring import ActGold, Gold, ItemGold, Task
from scoring.agreement import Estimate, PairAgreement
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
    seats: int
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

    @property
    def of_items(self) -> bool:
        """True for a task of items (INT, IPT), which servers propose; false for ACT."""
        return isinstance(self.gold, ItemGold)

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


def common(agreement_found: CuratorAgreement) -> Sequence[PairAgreement]:
    """Return the pairs of curators who have articles in common."""
    return [pair for pair in agreement_found.measured.pairs if pair.articles]


def overall(agreement_found: CuratorAgreement) -> Mapping[str, Estimate]:
    """Return the measures of all curators together."""
    more = (
        {} if agreement_found.decisions is None else {"decisions_alpha": agreement_found.decisions}
    )
    return {**agreement_found.measured.overall, **more}


def estimates(
    measures: Mapping[str, Estimate],
) -> Mapping[str, tuple[float | None, float | None, float | None]]:
    """Return each measure's value and bounds."""
    return {
        name: (
            estimate.value,
            *((estimate.bounds.low, estimate.bounds.high) if estimate.bounds else (None, None)),
        )
        for name, estimate in measures.items()
    }


def open_questions(articles: Iterable[SetArticle], task: str) -> list[Disagreement]:
    """Return where the two curators of each finished article differ, in the articles' order."""
    return [
        disagreement
        for article in articles
        if article.complete
        for disagreement in disagreements(*_pair(article), task)
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
    complete = [article for article in articles if article.complete]
    questions = {one.question for one in open_questions(complete, task) if not one.of_methods}
    if unruled := len(questions - rulings.keys()):
        raise RefusedError(
            Refusal.STATE, f"{unruled} of {len(questions)} disagreements have no ruling"
        )
    merged = [
        merge(
            name,
            *_pair(article),
            task,
            {key: rulings[key][0] for key in questions if key[0] == article.article},
            "",
        )
        for article in complete
    ]
    curators = sorted({article.curators[seat] for article in complete for seat in (1, 2)})
    judges = sorted({rulings[key][1] for key in questions})
    return SetGold(
        gold=_union(Task(task), [merged_gold.gold for merged_gold in merged]),
        source=_source(name, curators, judges),
        agreed=sum(merged_gold.agreed for merged_gold in merged),
        ruled=sum(merged_gold.ruled for merged_gold in merged),
        empty=[article for merged_gold in merged for article in merged_gold.empty],
        missing=[article.article for article in articles if not article.complete],
        articles=frozenset(article.article for article in complete),
    )


def bias_report(
    gold_set: SetGold, proposed: Mapping[str, Mapping[tuple[str, ...], Collection[str]]]
) -> PoolReport:
    """Return which servers had proposed each item of a set's gold (INT, IPT)."""
    if not isinstance(gold_set.gold, ItemGold):
        message = "an article's class is proposed by every server: there is no bias to report"
        raise RefusedError(Refusal.INVALID, message, field="task")
    return pool_report(
        gold_set.gold,
        {
            article: {item[0] if len(item) == 1 else item: names for item, names in items.items()}  # type: ignore[misc]
            for article, items in proposed.items()
        },
    )


def by_server(report: PoolReport) -> Mapping[str, int]:
    """Return how many items of the gold each server had proposed, the most first."""
    counted = Counter(server for item in report.items for server in item.servers)
    return dict(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))


def _pair(article: SetArticle) -> tuple[CuratorWork, CuratorWork]:
    first, second = (
        CuratorWork(curator=article.curators[seat], states={article.article: article.states[seat]})
        for seat in (1, 2)
    )
    return first, second


def _union(task: Task, golds: Sequence[Gold]) -> Gold:
    relevant: dict[str, bool] = {}
    items: dict[str, frozenset[Item]] = {}
    for gold in golds:
        if isinstance(gold, ActGold):
            relevant.update(gold.relevant)
        else:
            items.update(gold.items)
    return ActGold(relevant=relevant) if task is Task.ACT else ItemGold(task=task, items=items)


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
