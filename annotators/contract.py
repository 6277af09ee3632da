"""The contract: types of the hub's request and of an answer, and a check of an answer.

The check reads an answer as a hub does: values of another type as the agreed one if nothing is
lost, hits with invalid values dropped, what nobody reads ignored; docs/wire.md has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NotRequired, TypedDict

MEMBER_OF_TASK = {"ACT": "interaction", "INT": "normalizations", "IPT": "pairs", "NER": "mentions"}
"""The member of the answer that each task reads."""


class Context(TypedDict, total=False):
    """The request's data besides the text; empty for a server registered with `text` only.

    `timeout` is the time limit of this attempt in seconds; `attempt` counts from 1.
    """

    article_id: str
    tasks: list[str]
    timeout: float
    attempt: int


class Normalization(TypedDict):
    """An INT hit: a UniProt accession, its rank (>= 1) and confidence (in ]0, 1])."""

    dbid: str
    rank: NotRequired[int]
    confidence: float
    dbname: NotRequired[str]
    taxid: NotRequired[int]
    evidence: NotRequired[str]


class Pair(TypedDict):
    """An IPT hit: an unordered pair of accessions, its rank (>= 1) and confidence (in ]0, 1])."""

    dbid_a: str
    dbid_b: str
    rank: NotRequired[int]
    confidence: float
    evidence: NotRequired[str]


class Mention(TypedDict):
    """A name in the text, `offset` code points (not bytes) from its start; an NER hit has a type.

    `length` is the name's own, in code points too: a hub refuses a mention whose length differs.
    """

    offset: int
    mention: str
    type: NotRequired[str]
    length: NotRequired[int]
    section: NotRequired[str]
    confidence: NotRequired[float]
    dbid: NotRequired[str]


class Answer(TypedDict, total=False):
    """The answer for one article: the members of the tasks the server is registered for.

    `interaction` is `[relevant, confidence]`: a boolean and a double in ]0, 1].
    `meta` says how the answer was made, such as tokens and cost; no task reads it.
    """

    interaction: list[bool | float]
    normalizations: list[Normalization]
    pairs: list[Pair]
    mentions: list[Mention]
    meta: dict[str, str | int | float | bool]


REQUIRED: dict[str, dict[str, type]] = {
    "normalizations": {"dbid": str, "confidence": float},
    "pairs": {"dbid_a": str, "dbid_b": str, "confidence": float},
    "mentions": {"offset": int, "mention": str},
}
OPTIONAL: dict[str, dict[str, type]] = {
    "normalizations": {"rank": int, "dbname": str, "taxid": int, "evidence": str},
    "pairs": {"rank": int, "evidence": str},
    "mentions": {"type": str, "length": int, "section": str, "confidence": float, "dbid": str},
}
NEEDED = frozenset({"rank", "type", "length"})
"""The optional members that a hub reads: of another type, they break the contract as well."""
FORMULA = tuple("=+-@")
"""Signs that no type begins with: a spreadsheet takes what does for a formula."""
MOST_DIGITS = 40
"""Characters of a number that was written as a string; a longer one is not read."""
META = "meta"
IDENTIFIERS = ("dbid", "dbid_a", "dbid_b")
ACCESSION = re.compile(
    r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}"
    r"|(?i:(?:NCBI[ _]?GENE|GENE[ _]?ID|ENTREZ(?:[ _]?GENE)?):[0-9]{1,10})"
)
"""UniProt's form of an accession, and NCBI Gene ids, which a hub reads as their entry."""
WORDS = {str: "string", int: "int", float: "double", bool: "boolean", list: "array", dict: "struct"}


@dataclass(slots=True)
class Checked:
    """An answer as a hub reads it: its values of the agreed types, and what is wrong with them.

    For `broken` a hub keeps nothing of the answer, for `dropped` it leaves hits out, for `notes` it
    reads what was meant, or ignores it; each line begins with a path. `sent` counts the hits.
    """

    answer: dict[str, Any] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sent: int = 0
    lost: set[str] = field(default_factory=set)

    @property
    def refused(self) -> bool:
        """Return whether a hub keeps nothing: the contract is broken, or no hit is valid."""
        return bool(self.broken) or 0 < self.sent <= len(self.lost)

    def drop(self, hit: str, path: str, message: str) -> None:
        """Note that a hub leaves out a hit."""
        self.lost.add(hit)
        self.dropped.append(f"{path}: {message}")

    def read(self, value: object, kind: type, path: str, *, needed: bool = True) -> Any:
        """Return a value as the agreed type; None with a line on it where it cannot be read."""
        if type(value) is kind and not (kind is float and not isfinite(value)):  # type: ignore[arg-type]
            return value
        found = _COERCIONS[kind](value) if kind in _COERCIONS else None
        if found is None:
            lines = self.broken if needed else self.notes
            lines.append(f"{path}: expected {WORDS[kind]}, got {_word(value)} {value!r:.60}")
        else:
            self.notes.append(f"{path}: {_word(value)} {value!r:.60} is read as {found!r:.60}")
        return found


def checked(answer: object) -> Checked:
    """Return an answer as a hub reads it, with every violation of the contract."""
    found = Checked()
    if answer is None or answer == []:  # to a hub as good as an empty struct
        return found
    if not isinstance(answer, dict):
        found.broken.append(f"answer: expected struct, got {_word(answer)}")
        return found
    for key, value in answer.items():
        check = CHECKS.get(key)
        if value is None:
            continue
        if key == META:
            found.notes.extend(_meta(value))
            found.answer[key] = value
        elif check is None:
            known = ", ".join((*CHECKS, META))
            found.notes.append(f"{key}: unknown member, which is ignored; expected one of {known}")
        elif not isinstance(value, list):
            found.broken.append(f"{key}: expected array, got {_word(value)}")
        else:
            found.answer[key] = check(found, key, value)
    return found


def problems(answer: object) -> Iterator[str]:
    """Yield every violation of the contract in an answer that loses hits, each with its path."""
    found = checked(answer)
    yield from found.broken
    yield from found.dropped


def misplaced(answer: object, text: str) -> Iterator[str]:
    """Yield the mentions whose text is not at their offset in `text`, such as by counting bytes."""
    sent = answer.get("mentions") if isinstance(answer, dict) else None
    for index, mention in enumerate(sent if isinstance(sent, list) else ()):
        match mention:
            case {"offset": int(offset), "mention": str(words)}:
                there = text[max(offset, 0) : max(offset, 0) + len(words)]
                if offset < 0 or there != words:
                    yield f"mentions[{index}]: at {offset} is {there!r:.60}, not {words!r:.60}"


def _meta(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{META}: expected struct, got {_word(value)}"
        return
    for key, one in value.items():
        if type(one) not in {str, int, float, bool}:
            yield f"{META}.{key}: expected a string, a number or a boolean, got {_word(one)}"


def _interaction(found: Checked, path: str, value: list[Any]) -> list[Any]:
    if not value:
        return []
    found.sent += 1
    if len(value) != 2:
        expected = "[boolean relevant, double confidence]"
        found.broken.append(f"{path}: expected {expected}, got array of {len(value)}")
        return []
    relevant = found.read(value[0], bool, f"{path}[0]")
    confidence = found.read(value[1], float, f"{path}[1]")
    _confident(found, path, f"{path}[1]", confidence)
    return [relevant, confidence]


def _hits(found: Checked, path: str, hits: list[Any]) -> list[dict[str, Any]]:
    found.sent += len(hits)
    kept = []
    for index, hit in enumerate(hits):
        here = f"{path}[{index}]"
        if isinstance(hit, dict):
            kept.append((here, _members(found, here, path, hit)))
        else:
            found.broken.append(f"{here}: expected struct, got {_word(hit)}")
    if path == "mentions":
        _check_mentions(found, kept)
    else:
        _check_ranked(found, kept)
    return [hit for here, hit in kept if here not in found.lost]


def _members(found: Checked, here: str, path: str, hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hit's members of the agreed types."""
    read: dict[str, Any] = {}
    for key, kind in (REQUIRED[path] | OPTIONAL[path]).items():
        needed = key in REQUIRED[path]
        if hit.get(key) is not None:
            read[key] = found.read(hit[key], kind, f"{here}.{key}", needed=needed or key in NEEDED)
        elif needed:
            found.broken.append(f"{here}.{key}: missing")
    for key in hit:
        if key not in REQUIRED[path] and key not in OPTIONAL[path]:
            found.notes.append(f"{here}.{key}: unknown member, which is ignored")
    return {key: value for key, value in read.items() if value is not None}


def _check_ranked(found: Checked, hits: list[tuple[str, dict[str, Any]]]) -> None:
    ranks: dict[int, str] = {}
    items: dict[tuple[str, ...], str] = {}
    ranked = any("rank" in hit for _, hit in hits)
    for here, hit in hits:
        _confident(found, here, f"{here}.confidence", hit.get("confidence"))
        for key in IDENTIFIERS:
            if key in hit and not ACCESSION.fullmatch(hit[key]):
                message = f"{hit[key]!r:.60} is not an accession; expected 6 or 10 characters"
                found.drop(here, f"{here}.{key}", f"{message}, like P04637")
        if (rank := hit.get("rank")) is not None:
            if rank < 1:
                found.drop(here, f"{here}.rank", f"expected 1 or more, got {rank}")
            _once(found, here, f"{here}.rank", rank, ranks)
        elif ranked:
            found.drop(here, f"{here}.rank", "missing; other hits of the list have a rank")
        _once(
            found, here, here, tuple(sorted(hit[key] for key in IDENTIFIERS if key in hit)), items
        )


def _check_mentions(found: Checked, mentions: list[tuple[str, dict[str, Any]]]) -> None:
    places: dict[tuple[object, ...], str] = {}
    for here, one in mentions:
        words, kind = one.get("mention"), one.get("type")
        if one.get("offset", 0) < 0:
            found.drop(here, f"{here}.offset", f"expected 0 or more, got {one['offset']}")
        if words == "":
            found.drop(here, f"{here}.mention", "expected one character or more")
        if words and one.get("length", len(words)) != len(words):
            message = f"got {one['length']}, but the mention has {len(words)} code points"
            found.drop(here, f"{here}.length", message)
        if kind is not None:
            if not kind.strip() or not kind.isprintable() or kind.startswith(FORMULA):
                found.drop(here, f"{here}.type", f"expected a word, got {kind!r:.60}")
            _once(found, here, here, (one.get("offset"), len(words or ""), kind), places)


def _once(found: Checked, here: str, path: str, value: Any, seen: dict[Any, str]) -> None:
    """Drop a hit whose value an earlier one has; what is dropped already is in nobody's way."""
    if here in found.lost:
        return
    if value in seen:
        found.drop(here, path, f"{value!r:.60} again, first in {seen[value]}")
    seen.setdefault(value, here)


def _confident(found: Checked, here: str, path: str, value: float | None) -> None:
    if value is not None and not 0 < value <= 1:
        found.drop(here, path, f"expected a confidence above 0 and up to 1, got {value}")


def _number(value: object) -> float | None:
    """Return a number that was written as a string, in the digits that XML-RPC allows, or None."""
    if (
        not isinstance(value, str)
        or len(value) > MOST_DIGITS
        or not value.isascii()
        or "_" in value
    ):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _integer_from(value: object) -> int | None:
    number = value if isinstance(value, float) else _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _boolean_from(value: object) -> bool | None:
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    words = {"0": False, "1": True, "false": False, "true": True}
    return words.get(value[:MOST_DIGITS].strip().lower()) if isinstance(value, str) else None


_COERCIONS: Mapping[type, Callable[[Any], Any]] = {
    str: lambda value: str(value) if type(value) is int else None,
    int: _integer_from,
    float: lambda value: float(value) if type(value) is int else _number(value),
    bool: _boolean_from,
}


def _word(value: object) -> str:
    return WORDS.get(type(value), type(value).__name__)


CHECKS: Mapping[str, Callable[[Checked, str, list[Any]], list[Any]]] = {
    "interaction": _interaction,
    "normalizations": _hits,
    "pairs": _hits,
    "mentions": _hits,
}
