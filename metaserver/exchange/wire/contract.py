"""Reading of an answer's values as the contract's types (docs/wire.md), of its `meta`; problems.

Untyped languages send other types, so a value of another type is read as the agreed one where
nothing is lost by it, and this is reported: an int for a string or a double, a double without
fraction for an int, 0 and 1 for a boolean, a number written as a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from math import isfinite
from typing import Any, Final, TypeVar

from metaserver.base.records import Problem
from metaserver.base.usage import DeclaredUsage
from metaserver.exchange.wire.values import Unreadable

MAX_PROBLEMS = 100


class Severity(IntEnum):
    """What a problem costs, worst first."""

    SHAPE = 0  # the answer breaks the contract: the attempt fails
    HIT = 1  # the hit is dropped, the rest kept
    NOTE = 2  # nothing is lost: a value read as the agreed type, a member that is not scored


class Report:
    """The problems in an answer: all counted, the first 100 of each severity kept."""

    def __init__(self) -> None:
        self.hits_sent = 0
        self._kept: tuple[list[Problem], ...] = ([], [], [])  # by severity
        self._counts = [0, 0, 0]

    def add(self, severity: Severity, path: str, message: str) -> None:
        """Add a problem at `path`, such as `normalizations[3].rank`."""
        self._counts[severity] += 1
        if self._counts[severity] <= MAX_PROBLEMS:
            self._kept[severity].append(Problem(path=path, message=message))

    def shape(self, path: str, message: str) -> None:
        """Report a wrongly typed value."""
        self.add(Severity.SHAPE, path, message)

    def hit(self, path: str, message: str) -> None:
        """Report a problem that drops a hit; a hit may have several."""
        self.add(Severity.HIT, path, message)

    def note(self, path: str, message: str) -> None:
        """Report a note for the team that costs nothing."""
        self.add(Severity.NOTE, path, message)

    def count(self, severity: Severity) -> int:
        """Return the number of problems with this severity."""
        return self._counts[severity]

    @property
    def problem_count(self) -> int:
        """The number of all problems, kept or not."""
        return sum(self._counts)

    @property
    def problems(self) -> Sequence[Problem]:
        """The first 100 problems, worst first."""
        return [problem for by_severity in self._kept for problem in by_severity][:MAX_PROBLEMS]


T = TypeVar("T")

MENTIONS: Final = "mentions"
"""The member that any answer may have for display; a task may also score it."""

_OF_A_MENTION: Final[Mapping[str, type]] = {
    "type": str,
    "length": int,
    "section": str,
    "confidence": float,
    "dbid": str,
}

_EXACT: Final = 2**53  # up to here a double holds every int

_TYPE_NAMES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "int",
    float: "double",
    str: "string",
    bytes: "base64",
    datetime: "dateTime.iso8601",
    list: "array",
    dict: "struct",
    type(None): "nil",
}


def type_name(value: object) -> str:
    """Return a value's XML-RPC type name."""
    if isinstance(value, Unreadable):
        return str(value)
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def described(value: object) -> str:
    """Return a value's XML-RPC type and, if it is short, the value: `string 'x'`."""
    name = type_name(value)
    if isinstance(value, bool | int | float | datetime):
        return f"{name} {value}"
    if isinstance(value, str):
        return f"string {value if len(value) <= 40 else value[:39] + '…'!r}"
    return f"{name} of {len(value)}" if isinstance(value, list | bytes) else name


def _string_from(value: object) -> str | None:
    return str(value) if type(value) is int else None


def _integer_from(value: object) -> int | None:
    number = value if isinstance(value, float) else _number(value)
    exact = number is not None and number.is_integer() and abs(number) <= _EXACT
    return int(number) if number is not None and exact else None


def _double_from(value: object) -> float | None:
    return float(value) if type(value) is int else _number(value)


def _boolean_from(value: object) -> bool | None:
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    words = {"0": False, "1": True, "false": False, "true": True}
    return words.get(value.strip().lower()) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """Return a number that was written as a string, in the digits that XML-RPC allows, or None."""
    if not isinstance(value, str) or not value.isascii() or "_" in value:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


_COERCIONS: Final[Mapping[type, Callable[[object], Any]]] = {
    str: _string_from,
    int: _integer_from,
    float: _double_from,
    bool: _boolean_from,
}


def read(
    value: object, kind: type[T], path: str, report: Report, severity: Severity = Severity.SHAPE
) -> T | None:
    """Return `value` as the agreed type; None if it cannot be read, with a problem reported."""
    if type(value) is kind:
        return value
    coerce = _COERCIONS.get(kind)
    coerced: T | None = coerce(value) if coerce else None
    if coerced is None:
        report.add(severity, path, f"expected {_TYPE_NAMES[kind]}, got {described(value)}")
    else:
        report.note(path, f"{described(value)} read as {described(coerced)}")
    return coerced


def read_member(
    struct: Mapping[str, object],
    name: str,
    kind: type[T],
    path: str,
    report: Report,
    severity: Severity = Severity.SHAPE,
) -> T | None:
    """Return a struct's member as the agreed type; None and a reported problem if it is missing.

    `path` is the struct's own.
    """
    value = struct.get(name)
    if type(value) is kind:  # nearly always: the path need not be built
        return value
    if value is None:
        report.add(severity, f"{path}.{name}", f"missing; expected {_TYPE_NAMES[kind]}")
        return None
    return read(value, kind, f"{path}.{name}", report, severity)


def check_optional(
    struct: Mapping[str, object], members: Mapping[str, type], path: str, report: Report
) -> None:
    """Note the optional members with wrong types; nothing depends on them."""
    for name, kind in members.items():
        value = struct.get(name)
        if value is not None and type(value) is not kind:
            read(value, kind, f"{path}.{name}", report, Severity.NOTE)


def read_mentions(value: object, report: Report) -> Sequence[Mapping[str, object]]:
    """Return the mentions of an answer that can be shown; problems in the others are noted.

    A mention is a struct with `offset`, `mention` and optionally the members in `_OF_A_MENTION`.
    """
    array = read(value, list, MENTIONS, report, Severity.NOTE) or []
    return [
        mention
        for index, mention in enumerate(array)
        if _is_mention(mention, f"{MENTIONS}[{index}]", report)
    ]


def _is_mention(value: object, path: str, report: Report) -> bool:
    struct = read(value, dict, path, report, Severity.NOTE)
    if struct is None:
        return False
    offset = read_member(struct, "offset", int, path, report, Severity.NOTE)
    words = read_member(struct, "mention", str, path, report, Severity.NOTE)
    check_optional(struct, _OF_A_MENTION, path, report)
    return offset is not None and words is not None


# -- answers of servers from before the contract: what they lack is completed, with a note ---------
# Servers of the first meta-server (Leitner et al., Genome Biology 2008, 9(Suppl 2):S6) sent
# mentions without a type, and ranked hits without a confidence.

RANKED = ("normalizations", "pairs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """Values that are read into answers.

    `by_rank`: if no hit in an array has a confidence and all have ranks, the k-th of n gets (n - k
    + 1) / n. `mention_type` is the type for mentions without a type; empty: none.
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
                report.note(
                    key, "no hit has a confidence: the confidences are computed from the ranks"
                )
        mentions = _structs(value.get(MENTIONS)) if self.mention_type else ()
        untyped = [place for place, mention in enumerate(mentions) if mention.get("type") is None]
        if untyped:
            result[MENTIONS] = [
                mention | {"type": self.mention_type} if mention.get("type") is None else mention
                for mention in mentions
            ]
            report.note(
                f"{MENTIONS}[{untyped[0]}].type",
                f"missing; read as {self.mention_type}, the phase's mention_type",
            )
        return result


def _structs(value: Any) -> Sequence[dict[str, Any]]:
    """Return an array of structs; empty for anything else."""
    whole = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return value if whole else ()


def _lacks_confidence(hits: Sequence[dict[str, Any]]) -> bool:
    return all(hit.get("confidence") is None and type(hit.get("rank")) is int for hit in hits)


def _with_confidence(hits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    order = sorted(range(len(hits)), key=lambda place: hits[place]["rank"])
    size = len(hits)
    confidences = {place: (size - k) / size for k, place in enumerate(order)}
    return [hit | {"confidence": confidences[place]} for place, hit in enumerate(hits)]


# -- the member `meta` of an answer: what the answer took, as its team declares it -----------------
# No task reads it and no hit depends on it, so that whatever is wrong with it is a note.

META: Final = "meta"
DECLARED: Final = tuple(DeclaredUsage.__struct_fields__)
"""The members that the hub reads."""
MOST_TOKENS: Final = 10**9
"""The maximum number of tokens, or requests, believed of an answer."""
MOST_COST: Final = 1e6
WORDS: Final = 100
"""The maximum length of model and instruction names."""
_CURRENCY: Final = re.compile("[A-Z]{3}", re.ASCII)


def read_usage(value: object, report: Report) -> DeclaredUsage | None:
    """Return what an answer declares; None if nothing can be read."""
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
        report.note(path, f"ignored: got {number}, expected a number from 0 to {MOST_TOKENS:,}")
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
        report.note(path, f"ignored: got {cost}, expected a number from 0 to {MOST_COST:,.0f}")
        return None, ""
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        report.note(
            path, "ignored: meta.currency is missing, expected three capital letters such as USD"
        )
        return None, ""
    return cost, currency


def _words(struct: Mapping[str, object], name: str, report: Report) -> str:
    if struct.get(name) is None:
        return ""
    text = read(struct[name], str, f"{META}.{name}", report, Severity.NOTE) or ""
    return "".join(
        character if character.isprintable() else " " for character in text[:WORDS]
    ).strip()
