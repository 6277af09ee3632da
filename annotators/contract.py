"""The contract: types of the hub's request and of an answer, and a check of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
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
    "mentions": {"type": str, "length": int, "section": str, "confidence": float},
}
META = "meta"
IDENTIFIERS = ("dbid", "dbid_a", "dbid_b")
ACCESSION = re.compile(
    r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}"
    r"|(?i:(?:NCBI[ _]?GENE|GENE[ _]?ID|ENTREZ(?:[ _]?GENE)?):[0-9]{1,10})"
)
"""UniProt's form of an accession, and NCBI Gene ids, which a hub reads as their entry."""
WORDS = {str: "string", int: "int", float: "double", bool: "boolean", list: "array", dict: "struct"}


def problems(answer: object) -> Iterator[str]:
    """Yield every violation of the contract in an answer, each with its path."""
    if not isinstance(answer, dict):
        yield f"answer: expected struct, got {_word(answer)}"
        return
    for key, value in answer.items():
        check = CHECKS.get(key)
        if key == META:
            yield from _meta(value)
        elif check is None:
            yield f"{key}: unknown member; expected one of {', '.join((*CHECKS, META))}"
        elif not isinstance(value, list):
            yield f"{key}: expected array, got {_word(value)}"
        else:
            yield from check(key, value)


def misplaced(answer: object, text: str) -> Iterator[str]:
    """Yield the mentions whose text is not at their offset in `text`, such as by counting bytes."""
    sent = answer.get("mentions") if isinstance(answer, dict) else None
    for index, mention in enumerate(sent if isinstance(sent, list) else ()):
        match mention:
            case {"offset": int(offset), "mention": str(words)}:
                there = text[max(offset, 0) : max(offset, 0) + len(words)]
                if offset < 0 or there != words:
                    yield f"mentions[{index}]: at {offset} is {there!r:.60}, not {words!r:.60}"


def malformed(answer: object) -> Iterator[str]:
    """Yield the identifiers of hits that have not the form of an accession: a hub refuses them."""
    for member in ("normalizations", "pairs"):
        hits = answer.get(member) if isinstance(answer, dict) else None
        for index, hit in enumerate(hits if isinstance(hits, list) else ()):
            for key in IDENTIFIERS:
                name = hit.get(key) if isinstance(hit, dict) else None
                if isinstance(name, str) and not ACCESSION.fullmatch(name):
                    yield (
                        f"{member}[{index}].{key}: {name!r:.60} is not an accession; expected six"
                        " or ten characters, like P04637"
                    )


def _meta(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{META}: expected struct, got {_word(value)}"
        return
    for key, one in value.items():
        if type(one) not in {str, int, float, bool}:
            yield f"{META}.{key}: expected a string, a number or a boolean, got {_word(one)}"


def _interaction(path: str, value: list[Any]) -> Iterator[str]:
    if len(value) != 2:
        yield f"{path}: expected [boolean relevant, double confidence], got {len(value)} values"
        return
    yield from _typed(f"{path}[0]", value[0], bool)
    yield from _confidence(f"{path}[1]", value[1])


def _hits(path: str, hits: list[Any]) -> Iterator[str]:
    ranks: dict[int, int] = {}
    items: dict[tuple[str, ...], int] = {}
    for index, hit in enumerate(hits):
        here = f"{path}[{index}]"
        if not isinstance(hit, dict):
            yield f"{here}: expected struct, got {_word(hit)}"
            continue
        yield from _members(here, path, hit)
        if type(rank := hit.get("rank")) is int:
            yield from _repeated(f"{here}.rank", rank, index, ranks)
        if item := sorted(str(hit[key]) for key in IDENTIFIERS if key in hit):
            yield from _repeated(here, tuple(item), index, items)


def _members(here: str, path: str, hit: Mapping[str, Any]) -> Iterator[str]:
    for key in REQUIRED[path]:
        if key not in hit:
            yield f"{here}.{key}: missing"
    for key, value in hit.items():
        kind = (REQUIRED[path] | OPTIONAL[path]).get(key)
        if kind is None:
            yield f"{here}.{key}: unknown member"
        elif key == "confidence":
            yield from _confidence(f"{here}.{key}", value)
        else:
            yield from _typed(f"{here}.{key}", value, kind)
            if key == "rank" and type(value) is int and value < 1:
                yield f"{here}.rank: expected 1 or more, got {value}"


def _repeated(path: str, value: Any, index: int, seen: dict[Any, int]) -> Iterator[str]:
    if value in seen:
        yield f"{path}: {value} again, first at index {seen[value]}"
    seen.setdefault(value, index)


def _typed(path: str, value: object, kind: type) -> Iterator[str]:
    if type(value) is not kind:
        yield f"{path}: expected {WORDS[kind]}, got {_word(value)} {value!r:.60}"


def _confidence(path: str, value: object) -> Iterator[str]:
    if type(value) is not float:
        yield f"{path}: expected double, got {_word(value)} {value!r:.60}"
    elif not 0 < value <= 1:
        yield f"{path}: expected a confidence in ]0, 1], got {value}"


def _word(value: object) -> str:
    return WORDS.get(type(value), type(value).__name__)


CHECKS: Mapping[str, Callable[[str, list[Any]], Iterator[str]]] = {
    "interaction": _interaction,
    "normalizations": _hits,
    "pairs": _hits,
    "mentions": _hits,
}
