"""Two curators' decisions on an article compared: disagreements, and the rulings on them.

What both accepted passes, what both rejected or left out does not. What differs is a disagreement,
on which an adjudicator rules; so is a pair that both accepted with other methods, which changes no
gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from metaserver.curation.decisions import CurationState, Decision, ItemDecision
from metaserver.curation.experiments import Experiment
from scoring import Task

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


def disagreements(
    article: str, first: CurationState, second: CurationState, task: Task
) -> Iterator[Disagreement]:
    """Yield where two curators of an article differ, in the first's order."""
    for item in items_of(first, second, task):
        a, b = decision_on(first, task, item), decision_on(second, task, item)
        if _differ(a, b, task) or _methods_differ(a, b):
            yield Disagreement(task=task, article=article, item=item, first=a, second=b)


def items_of(first: CurationState, second: CurationState, task: Task) -> Sequence[tuple[str, ...]]:
    """Return the items that either has decided on; for ACT the class, if either gave one."""
    if task is Task.ACT:
        return [()] if first.relevant is not None or second.relevant is not None else []
    keys = dict.fromkeys([*first.items, *second.items])
    return [item for of, item in keys if of is task]


def decision_on(state: CurationState, task: Task, item: tuple[str, ...]) -> ItemDecision:
    """Return the decision on an item; on a class, "accepted" is relevant."""
    if task is not Task.ACT:
        return state.items.get((task, item), ItemDecision())
    words: dict[bool | None, Decision] = {True: "accepted", False: "rejected", None: "undecided"}
    return ItemDecision(decision=words[state.relevant])


def _differ(a: ItemDecision, b: ItemDecision, task: Task) -> bool:
    """Return whether the accepted items differ; for a class, "none given" is a third value."""
    if task is Task.ACT:
        return a.decision != b.decision
    return (a.decision == "accepted") != (b.decision == "accepted")


def is_negative(first: CurationState, second: CurationState, item: tuple[str, ...]) -> bool:
    """Return whether who accepted a pair has experiments alone that showed no interaction."""
    sides = [decision_on(state, Task.IPT, item) for state in (first, second)]
    accepted = [side.experiments for side in sides if side.decision == "accepted"]
    return any(accepted) and all(one.negative for experiments in accepted for one in experiments)


def _methods_differ(a: ItemDecision, b: ItemDecision) -> bool:
    """Return whether both accepted, and each said a method; who said none does not differ."""
    methods = [{one.method for one in side.experiments if one.method} for side in (a, b)]
    return a.decision == b.decision == "accepted" and all(methods) and methods[0] != methods[1]
