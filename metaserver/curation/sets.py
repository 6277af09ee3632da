"""Sets of articles that several curators decide on: who gets which, and the gold that results.

Each article has seats, one a curator. The curators of the first two seats make its gold, those of
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
"""The most characters of the line that says where gold is from."""
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
        """True where both curators who make its gold have finished."""
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

    def content(self, known: Gold | None) -> bytes:
        """Return the gold file; of articles that the set has not, `known` gold stays."""
        return "".join(gold_lines(_joined(self.gold, known, self.articles))).encode()


def seated(name: str, positions: Sequence[int], curators: Sequence[int], each: int) -> list[Seat]:
    """Return who gets which articles: each to as many curators, pairs as equally as that divides.

    The seats that make the gold go to those of an article's curators who have the fewest. A
    curator's order is shuffled by a digest, so that it is the same whenever it is computed.
    """
    groups = list(combinations(curators, each))
    groups.sort(key=lambda group: _digest(name, *group))
    given: list[tuple[int, int, int]] = []
    of_gold: Counter[int] = Counter()  # each curator's first two seats
    for number, position in enumerate(sorted(positions, key=lambda one: _digest(name, one))):
        group = groups[number % len(groups)]
        by_need = sorted(group, key=lambda one: (of_gold[one], _digest(name, position, one)))
        of_gold.update(by_need[:2])
        given += [(position, token_id, seat) for seat, token_id in enumerate(by_need, start=1)]
    found = []
    for token_id in curators:
        own = [(position, seat) for position, other, seat in given if other == token_id]
        own.sort(key=lambda one: _digest(name, token_id, one[0]))
        found += [
            Seat(position=position, token_id=token_id, seat=seat, place=place)
            for place, (position, seat) in enumerate(own)
        ]
    return found


def works(articles: Iterable[SetArticle]) -> list[CuratorWork]:
    """Return the finished work of each curator."""
    found: dict[str, dict[str, CurationState]] = {}
    for one in articles:
        for seat, state in one.states.items():
            found.setdefault(one.curators[seat], {})[one.article] = state
    return [CuratorWork(curator=name, states=states) for name, states in sorted(found.items())]


def agreement(articles: Sequence[SetArticle], task: str) -> CuratorAgreement:
    """Measure the agreement of a set's curators; slow: call it in a thread.

    Pairs of curators who have no article in common are left out. Raises `RefusedError` while no
    article has two finished curations.
    """
    compared = [one for one in articles if len(one.states) > 1]
    if not compared:
        raise RefusedError(Refusal.STATE, "no article has two submitted curations yet")
    return measure(works(compared), task)


def common(found: CuratorAgreement) -> Sequence[PairAgreement]:
    """Return the pairs of curators who have articles in common."""
    return [pair for pair in found.measured.pairs if pair.articles]


def overall(found: CuratorAgreement) -> Mapping[str, Estimate]:
    """Return the measures of all curators together."""
    more = {} if found.decisions is None else {"decisions_alpha": found.decisions}
    return {**found.measured.overall, **more}


def estimates(
    measures: Mapping[str, Estimate],
) -> Mapping[str, tuple[float | None, float | None, float | None]]:
    """Return each measure's value and bounds."""
    return {
        name: (one.value, *((one.bounds.low, one.bounds.high) if one.bounds else (None, None)))
        for name, one in measures.items()
    }


def open_questions(articles: Iterable[SetArticle], task: str) -> list[Disagreement]:
    """Return where the two curators of each finished article differ, in the articles' order."""
    return [found for one in articles if one.complete for found in disagreements(*_pair(one), task)]


def set_gold(
    name: str,
    articles: Sequence[SetArticle],
    task: str,
    rulings: Mapping[tuple[str, tuple[str, ...]], tuple[RulingChoice, str]],
) -> SetGold:
    """Return the gold of a set: what both accepted, and what adjudicators ruled.

    `rulings` have the choice and the adjudicator; those on what no longer differs do not count.
    Raises `RefusedError` while a disagreement has no ruling.
    """
    complete = [one for one in articles if one.complete]
    asked = {one.question for one in open_questions(complete, task)}
    if left := len(asked - rulings.keys()):
        raise RefusedError(Refusal.STATE, f"{left} of {len(asked)} disagreements have no ruling")
    merged = [
        merge(
            name,
            *_pair(one),
            task,
            {key: rulings[key][0] for key in asked if key[0] == one.article},
            "",
        )
        for one in complete
    ]
    curators = sorted({one.curators[seat] for one in complete for seat in (1, 2)})
    judges = sorted({rulings[key][1] for key in asked})
    return SetGold(
        gold=_union(Task(task), [one.gold for one in merged]),
        source=_source(name, curators, judges),
        agreed=sum(one.agreed for one in merged),
        ruled=sum(one.ruled for one in merged),
        empty=[article for one in merged for article in one.empty],
        missing=[one.article for one in articles if not one.complete],
        articles=frozenset(one.article for one in complete),
    )


def bias_report(
    found: SetGold, proposed: Mapping[str, Mapping[tuple[str, ...], Collection[str]]]
) -> PoolReport:
    """Return which servers had proposed each item of a set's gold (INT, IPT)."""
    if not isinstance(found.gold, ItemGold):
        message = "an article's class is proposed by every server: there is no bias to report"
        raise RefusedError(Refusal.INVALID, message, field="task")
    return pool_report(
        found.gold,
        {
            article: {item[0] if len(item) == 1 else item: names for item, names in items.items()}  # type: ignore[misc]
            for article, items in proposed.items()
        },
    )


def by_server(report: PoolReport) -> Mapping[str, int]:
    """Return how many items of the gold each server had proposed, the most first."""
    counted = Counter(server for one in report.items for server in one.servers)
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _pair(one: SetArticle) -> tuple[CuratorWork, CuratorWork]:
    first, second = (
        CuratorWork(curator=one.curators[seat], states={one.article: one.states[seat]})
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


def _joined(gold: Gold, known: Gold | None, own: Collection[str]) -> Gold:
    if isinstance(gold, ActGold):
        others = known.relevant if isinstance(known, ActGold) else {}
        kept = {article: value for article, value in others.items() if article not in own}
        return ActGold(relevant={**kept, **gold.relevant})
    more = known.items if isinstance(known, ItemGold) else {}
    rest = {article: items for article, items in more.items() if article not in own}
    return ItemGold(task=gold.task, items={**rest, **gold.items})


def _source(name: str, curators: Sequence[str], judges: Sequence[str]) -> str:
    ruled = f" adjudicated by {' + '.join(judges)}" if judges else ", no disagreement"
    full = f"set {name}, {' + '.join(curators)}{ruled}"
    return full if len(full) <= LONGEST_SOURCE else f"set {name}, {len(curators)} curators"


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\t".join(map(str, parts)).encode()).digest()
