"""An article of a set as its two curators and the rulings on their disagreements have it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from metaserver.curation.adjudication import Disagreement, RulingChoice
from metaserver.curation.exports.finished import FinishedCuration
from scoring import Task

Rulings: TypeAlias = dict[tuple[Task, tuple[str, ...]], tuple[Disagreement, RulingChoice]]
"""The disagreements on an article by task and item, each with the ruling on it."""


def ruled(first: FinishedCuration, second: FinishedCuration, rulings: Rulings) -> FinishedCuration:
    """Return two curations of an article as one, with what was accepted in the end.

    An item that both accepted is as the first has it; without experiments, with the second's.
    """
    found = {(one.task, one.item): one for one in second.items if one.accepted}
    for one in first.items:
        other = found.get((one.task, one.item))
        if one.accepted:
            experiments = one.experiments or (other.experiments if other else ())
            found[one.task, one.item] = msgspec.structs.replace(one, experiments=experiments)
    relevant = first.relevant
    for key, (disagreement, choice) in rulings.items():
        verdict = disagreement.verdict(choice)
        if disagreement.task is Task.ACT:
            relevant = {"accepted": True, "rejected": False}.get(verdict)
        elif verdict != "accepted":
            found.pop(key, None)
        elif disagreement.of_methods:
            experiments = disagreement.experiments(choice)
            found[key] = msgspec.structs.replace(found[key], experiments=experiments)
    return msgspec.structs.replace(
        first,
        id=f"{first.id}-{second.id}",
        curator=f"{first.curator} + {second.curator}",
        submitted_at=max(first.submitted_at, second.submitted_at),
        relevant=relevant,
        proteins={**second.proteins, **first.proteins},
        mentions={**second.mentions, **first.mentions},
        items=tuple(found.values()),
        events=(),
    )
