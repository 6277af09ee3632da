"""Two curators' decisions made into one: disagreements, rulings on them, and the gold that results.

What both accepted passes, what both rejected or left out does not. What differs is a disagreement,
on which an adjudicator rules; so is a pair that both accepted with other methods, which changes no
gold. The gold goes to the preview of a phase's gold, as any other gold does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.agreement import CuratorWork, item_of
from metaserver.curation.decisions import CurationState, Decision, ItemDecision
from metaserver.curation.experiments import Experiment
from scoring import ActGold, Gold, ItemGold, Task
from scoring.tasks import Item

Question: TypeAlias = tuple[str, tuple[str, ...]]
"""An article and an item of it; the item is empty for the article's class (ACT)."""


class RulingChoice(StrEnum):
    """An adjudicator's ruling on a disagreement; values are the page's keys."""

    FIRST = "1"  # as the first curator decided
    SECOND = "2"  # as the second
    BOTH = "both"  # accepted: for items that differ and are both right; with both's methods
    NEITHER = "neither"  # not accepted; if both accepted it, without their methods


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """An item that one curator accepted and the other did not, with the decisions of both.

    Or a pair that both accepted, with detection methods that differ: `of_methods`.
    For ACT, `item` is empty and the decisions are those on the article's class: "accepted" is
    relevant.
    """

    task: Task
    article: str
    item: tuple[str, ...]
    first: ItemDecision
    second: ItemDecision

    @property
    def question(self) -> Question:
        """The key by which a ruling names it."""
        return self.article, self.item

    @property
    def of_methods(self) -> bool:
        """True for a pair that both accepted: they differ on its methods alone."""
        return self.task is Task.IPT and self.first.decision == self.second.decision

    def outcome(self, ruling: RulingChoice) -> str:
        """Return a ruling's effect, in words that change if a curator it follows does."""
        experiments = self.experiments(ruling) if self.of_methods else ()
        return " ".join((self.verdict(ruling), *sorted({one.method for one in experiments})))

    def experiments(self, ruling: RulingChoice) -> tuple[Experiment, ...]:
        """Return the experiments that a ruling on methods leaves a pair."""
        first, second = self.first.experiments, self.second.experiments
        both = tuple(dict.fromkeys((*first, *second)))
        return {"1": first, "2": second, "both": both, "neither": ()}[ruling]

    def verdict(self, ruling: RulingChoice) -> Decision:
        """Return the decision that a ruling makes of the two."""
        if self.of_methods:
            return "accepted"
        match ruling:
            case RulingChoice.FIRST:
                return self.first.decision
            case RulingChoice.SECOND:
                return self.second.decision
            case RulingChoice.BOTH:
                return "accepted"
            case RulingChoice.NEITHER:
                return "rejected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """The gold of two curators and an adjudicator.

    `source` is the line that the gold's version keeps. `empty` are articles without an accepted
    item (INT, IPT), or whose class nobody gave (ACT): a gold file cannot have them.
    """

    gold: Gold
    source: str
    agreed: int
    ruled: int
    empty: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledItem:
    """An item of merged gold with the servers that had proposed it; none: curators added it."""

    article: str
    item: Item
    servers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolReport:
    """The items of merged gold by who had proposed them.

    Gold that is pooled from servers favours them, so its readers are shown the `unproposed`, and
    their share of all (None without items).
    """

    items: Sequence[PooledItem]
    unproposed: Sequence[PooledItem]
    share: float | None


def disagreements(first: CuratorWork, second: CuratorWork, task: Task | str) -> list[Disagreement]:
    """Return where two curators differ, on the articles that both curated, in the first's order."""
    task = Task(task)
    open_ = []
    for article, state in first.states.items():
        if (second_state := second.states.get(article)) is None:
            continue
        for item in _questions(state, second_state, task):
            a, b = _decision(state, task, item), _decision(second_state, task, item)
            if _differ(a, b, task) or _methods_differ(a, b):
                open_.append(Disagreement(task=task, article=article, item=item, first=a, second=b))
    return open_


def check_adjudicator(adjudicator: str, curators: Collection[str], *, may_be_one: bool) -> None:
    """Refuse an adjudicator who curated the article, unless the organiser allows it."""
    if adjudicator in curators and not may_be_one:
        message = f"{adjudicator} curated these articles; another person adjudicates"
        raise RefusedError(Refusal.NOT_YOURS, message)


def merge(
    name: str,
    first: CuratorWork,
    second: CuratorWork,
    task: Task | str,
    rulings: Mapping[Question, RulingChoice],
    adjudicator: str,
) -> Merged:
    """Return a set's gold: what both accepted, and what the adjudicator ruled.

    Raises `RefusedError` while a disagreement on the gold has no ruling, and for a ruling without
    disagreement.
    """
    task = Task(task)
    open_ = {
        disagreement.question: disagreement
        for disagreement in disagreements(first, second, task)
        if not disagreement.of_methods
    }
    if missing := len(open_.keys() - rulings.keys()):
        raise RefusedError(Refusal.STATE, f"{missing} of {len(open_)} disagreements have no ruling")
    if unknown := rulings.keys() - open_.keys():
        article, item = min(unknown)
        what = ", ".join(item) or "its class"
        raise RefusedError(Refusal.INVALID, f"no disagreement on article {article}: {what}")
    ruled = {
        question: disagreement.verdict(rulings[question])
        for question, disagreement in open_.items()
    }
    relevant: dict[str, bool] = {}
    items: dict[str, frozenset[Item]] = {}
    empty = []
    agreed = 0
    for article, state in first.states.items():
        if (second_state := second.states.get(article)) is None:
            continue
        accepted = []
        for item in _questions(state, second_state, task):
            verdict = ruled.get((article, item))
            if verdict is None:
                verdict = _decision(state, task, item).decision
                agreed += verdict == "accepted" or task is Task.ACT
            if task is Task.ACT and verdict != "undecided":
                relevant[article] = verdict == "accepted"
            elif verdict == "accepted" and not _is_negative(state, second_state, item):
                accepted.append(item_of(item))
        if accepted:
            items[article] = frozenset(accepted)
        elif article not in relevant:
            empty.append(article)
    return Merged(
        gold=ActGold(relevant=relevant) if task is Task.ACT else ItemGold(task=task, items=items),
        source=f"set {name}, {first.curator} + {second.curator} adjudicated by {adjudicator}",
        agreed=agreed,
        ruled=len(ruled),
        empty=empty,
    )


def pool_report(
    gold: ItemGold, proposed: Mapping[str, Mapping[Item, Collection[str]]]
) -> PoolReport:
    """Return who had proposed each item of the gold: `proposed` has servers by article and item."""
    items = [
        PooledItem(
            article=article,
            item=item,
            servers=tuple(sorted(proposed.get(article, {}).get(item, ()))),
        )
        for article, accepted in gold.items.items()
        for item in sorted(accepted)
    ]
    unproposed = [item for item in items if not item.servers]
    share = len(unproposed) / len(items) if items else None
    return PoolReport(items=items, unproposed=unproposed, share=share)


def _questions(
    first: CurationState, second: CurationState, task: Task
) -> Sequence[tuple[str, ...]]:
    if task is Task.ACT:
        return [()] if first.relevant is not None or second.relevant is not None else []
    keys = dict.fromkeys([*first.items, *second.items])
    return [item for of, item in keys if of is task]


def _decision(state: CurationState, task: Task, item: tuple[str, ...]) -> ItemDecision:
    if task is not Task.ACT:
        return state.items.get((task, item), ItemDecision())
    words: dict[bool | None, Decision] = {True: "accepted", False: "rejected", None: "undecided"}
    return ItemDecision(decision=words[state.relevant])


def _differ(a: ItemDecision, b: ItemDecision, task: Task) -> bool:
    """Return whether the accepted items differ; for a class, "none given" is a third value."""
    if task is Task.ACT:
        return a.decision != b.decision
    return (a.decision == "accepted") != (b.decision == "accepted")


def _is_negative(first: CurationState, second: CurationState, item: tuple[str, ...]) -> bool:
    """Return whether who accepted a pair has experiments alone that showed no interaction."""
    sides = [_decision(state, Task.IPT, item) for state in (first, second)]
    accepted = [side.experiments for side in sides if side.decision == "accepted"]
    return any(accepted) and all(one.negative for experiments in accepted for one in experiments)


def _methods_differ(a: ItemDecision, b: ItemDecision) -> bool:
    """Return whether both accepted, and each said a method; who said none does not differ."""
    methods = [{one.method for one in side.experiments if one.method} for side in (a, b)]
    return a.decision == b.decision == "accepted" and all(methods) and methods[0] != methods[1]
