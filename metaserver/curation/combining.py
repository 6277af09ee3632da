"""The combination of answers that are given, by any method: candidates without a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from metaserver.base.structs import convert
from metaserver.curation.candidates import RANKED, Models, model_for
from metaserver.tasks.ranked import hits_of
from scoring.consensus import Consensus, ConsensusRanker

METHOD_TITLES: Mapping[str, str] = {
    "stacked": "logistic regression over features of each server and of all together",
    "maxent": "the maximum entropy classifier of BioCreative II.5",
    "votes": "the number of servers that name a candidate",
    "borda": "30 points for a first rank, one less for each next",
    "rrf60": "the sum of 1/(60 + rank)",
    "rrf10": "the sum of 1/(10 + rank)",
    "rrf1": "the sum of 1/(1 + rank)",
    "combsum": "the sum of the confidences",
    "combmnz": "the sum of the confidences times the number of servers that name a candidate",
}
"""The methods, with what a candidate's score is."""


class CombinedCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: an accession or two, with the servers that name it.

    `probability` is null of a fusion, whose score is no probability.
    """

    item: tuple[str, ...]
    rank: int
    score: float
    probability: float | None
    agreement: float
    servers: tuple[str, ...]


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates of a task by one method, of the servers that answered."""

    task: str
    method: str
    servers: tuple[str, ...]
    candidates: tuple[CombinedCandidate, ...]


def combinations(
    payloads: Mapping[str, Mapping[str, Any]],
    methods: Sequence[str],
    models: Models,
    *,
    weights: Mapping[str, float],
    threshold: float | None,
    cutoff: int,
) -> Iterator[Combination]:
    """Yield the consensus of answers by task and method; `payloads` are by server and task."""
    for task in RANKED:
        voted = {
            server: hits_of(by_task[task])
            for server, by_task in payloads.items()
            if task in by_task
        }
        for method in methods if voted else ():
            model = model_for(task, method, models)
            consensus = ConsensusRanker(model).rank(
                voted,
                weights=weights,
                cutoff=cutoff,
                threshold=threshold if model.calibrated else None,
            )
            yield Combination(
                task=str(task),
                method=model.method,
                servers=tuple(sorted(voted)),
                candidates=_candidates(consensus),
            )


def _candidates(consensus: Consensus) -> tuple[CombinedCandidate, ...]:
    return tuple(
        convert(
            candidate,
            CombinedCandidate,
            item=(candidate.item,) if isinstance(candidate.item, str) else candidate.item,
            servers=tuple(vote.server for vote in candidate.votes),
        )
        for candidate in consensus.candidates
    )
