"""Answers of servers from before the contract: what they lack is completed, with a note.

Servers of the first meta-server (Leitner et al., Genome Biology 2008, 9(Suppl 2):S6) sent mentions
without a type, and ranked hits without a confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metaserver.exchange.wire.contract import MENTIONS
from metaserver.exchange.wire.report import Report

RANKED = ("normalizations", "pairs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """Values that are read into answers.

    `by_rank`: where no hit of an array has a confidence and each has a rank, that of the k-th of n
    is (n - k + 1) / n. `mention_type` is the type of mentions without one; empty: none.
    """

    by_rank: bool = False
    mention_type: str = ""

    def completed(self, value: Any, report: Report) -> Any:
        """Return an answer's value with what was missing; members of other forms are left alone."""
        if not isinstance(value, dict):
            return value
        result = dict(value)
        for key in RANKED if self.by_rank else ():
            if (hits := _structs(value.get(key))) and _lacks_confidence(hits):
                result[key] = _with_confidence(hits)
                report.note(key, "no confidences: read from the ranks")
        mentions = _structs(value.get(MENTIONS)) if self.mention_type else ()
        untyped = [place for place, mention in enumerate(mentions) if mention.get("type") is None]
        if untyped:
            result[MENTIONS] = [
                mention | {"type": self.mention_type} if mention.get("type") is None else mention
                for mention in mentions
            ]
            report.note(f"{MENTIONS}[{untyped[0]}].type", f"missing: read as {self.mention_type}")
        return result


def _structs(value: Any) -> Sequence[dict[str, Any]]:
    """Return an array of structs; none where it is anything else."""
    whole = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return value if whole else ()


def _lacks_confidence(hits: Sequence[dict[str, Any]]) -> bool:
    return all(hit.get("confidence") is None and type(hit.get("rank")) is int for hit in hits)


def _with_confidence(hits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    order = sorted(range(len(hits)), key=lambda place: hits[place]["rank"])
    size = len(hits)
    confidences = {place: (size - k) / size for k, place in enumerate(order)}
    return [hit | {"confidence": confidences[place]} for place, hit in enumerate(hits)]
