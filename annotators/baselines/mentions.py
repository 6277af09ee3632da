"""NER by dictionary: every protein name in the text, with its place."""

from __future__ import annotations

from collections.abc import Sequence

from annotators.contract import Mention
from annotators.matching import Found


def mentions(text: str, found: Sequence[Found]) -> list[Mention]:
    """Return the names found as NER hits by place, all of type `protein`.

    Confidence is the trust in the name (`Name.weight`), less where proteins share it.
    """
    return [
        {
            "offset": match.start,
            "mention": text[match.start : match.end],
            "type": "protein",
            "confidence": max(match.weights.values()),
        }
        for match in found
    ]
