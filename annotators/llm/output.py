"""The answer of a model: its schema, and a reader that trusts nothing in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from annotators.llm.errors import AnswerError

MAX_ITEMS = 500  # of a list; further ones are dropped
MAX_CHARACTERS = 2**20
MAX_STARTS = 50  # places where JSON may begin in prose around it


class FoundProtein(msgspec.Struct, frozen=True):
    """A protein as the model names it."""

    name: str
    quote: str = ""
    confidence: float = 0.5


class FoundPair(msgspec.Struct, frozen=True):
    """Two names that interact, as the model says."""

    a: str
    b: str
    quote: str = ""
    confidence: float = 0.5


class Output(msgspec.Struct, frozen=True):
    """An answer of the agreed shape; members that nobody asked for are ignored."""

    relevant: bool
    relevance: float = 0.5
    proteins: tuple[FoundProtein, ...] = ()
    pairs: tuple[FoundPair, ...] = ()


def _listed(**members: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": _object({name: {"type": kind} for name, kind in members.items()}),
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


SCHEMA = _object(
    {
        "relevant": {"type": "boolean"},
        "relevance": {"type": "number"},
        "proteins": _listed(name="string", quote="string", confidence="number"),
        "pairs": _listed(a="string", b="string", quote="string", confidence="number"),
    }
)
"""The shape as JSON Schema, in the strict form of constrained decoding."""


def read_output(content: str) -> Output:
    r"""Read a model's text: JSON, alone or with prose or a fence around it.

    Raises `AnswerError` with the place of what is wrong. Slow for a long text: call it in a thread.

    >>> read_output('```json\n{"relevant": true}\n```')
    Output(relevant=True, relevance=0.5, proteins=(), pairs=())
    """
    if len(content) > MAX_CHARACTERS:
        raise AnswerError(f"above {MAX_CHARACTERS:,} characters")
    wrong = "no JSON object"
    for value in _objects(content):
        try:
            return msgspec.convert(_shortened(value), Output, strict=False)
        except (msgspec.ValidationError, OverflowError) as error:
            wrong = str(error)
    raise AnswerError(f"not of the agreed shape: {wrong:.300}")


def _objects(content: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text that are in no other one, by their beginnings."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    place = 0
    for _ in range(MAX_STARTS):
        place = content.find("{", place)
        if place < 0:
            return
        try:
            value, place = decoder.raw_decode(content, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        yield value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _shortened(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: member[:MAX_ITEMS] if isinstance(member, list) else member
        for name, member in value.items()
    }


def clamped(confidence: float) -> float:
    """Return a confidence that the contract allows."""
    return min(max(confidence, 0.01), 1.0) if math.isfinite(confidence) else 0.01
