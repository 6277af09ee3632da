"""The member `meta` of an answer: what the answer took, as its team declares it.

No task reads it and no hit depends on it, so that whatever is wrong with it is a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Final

from metaserver.base.usage import DeclaredUsage
from metaserver.exchange.wire.contract import read
from metaserver.exchange.wire.report import Report, Severity

META: Final = "meta"
DECLARED: Final = tuple(DeclaredUsage.__struct_fields__)
"""The members of it that the hub reads."""
MOST_TOKENS: Final = 10**9
"""The most tokens, or requests, of an answer that are believed."""
MOST_COST: Final = 1e6
WORDS: Final = 100
"""The most characters of the names of models and instructions."""
_CURRENCY: Final = re.compile("[A-Z]{3}", re.ASCII)


def read_usage(value: object, report: Report) -> DeclaredUsage | None:
    """Return what an answer declares; None where it declares nothing that can be read."""
    struct = read(value, dict, META, report, Severity.NOTE)
    if struct is None:
        return None
    cost, currency = _cost(struct, report)
    usage = DeclaredUsage(
        tokens_in=_count(struct, "tokens_in", report),
        tokens_out=_count(struct, "tokens_out", report),
        cost=cost,
        currency=currency,
        model=_words(struct, "model", report),
        prompt=_words(struct, "prompt", report),
        requests=_count(struct, "requests", report),
    )
    return None if usage == DeclaredUsage() else usage


def _count(struct: Mapping[str, object], name: str, report: Report) -> int | None:
    if struct.get(name) is None:
        return None
    path = f"{META}.{name}"
    number = read(struct[name], int, path, report, Severity.NOTE)
    if number is not None and not 0 <= number <= MOST_TOKENS:
        report.note(path, f"is left out: {number} is not from 0 to {MOST_TOKENS:,}")
        return None
    return number


def _cost(struct: Mapping[str, object], report: Report) -> tuple[float | None, str]:
    """Return the cost and its currency; both or none."""
    if struct.get("cost") is None:
        return None, ""
    path = f"{META}.cost"
    cost = read(struct["cost"], float, path, report, Severity.NOTE)
    currency = struct.get("currency")
    if cost is None:
        return None, ""
    if not (isfinite(cost) and 0 <= cost <= MOST_COST):
        report.note(path, f"is left out: {cost} is not from 0 to {MOST_COST:,.0f}")
        return None, ""
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        report.note(path, "is left out: without a currency of three capital letters, such as USD")
        return None, ""
    return cost, currency


def _words(struct: Mapping[str, object], name: str, report: Report) -> str:
    if struct.get(name) is None:
        return ""
    text = read(struct[name], str, f"{META}.{name}", report, Severity.NOTE) or ""
    return "".join(
        character if character.isprintable() else " " for character in text[:WORDS]
    ).strip()
