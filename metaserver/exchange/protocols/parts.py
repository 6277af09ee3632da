"""Texts in parts, for servers that take no more than so many characters at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from metaserver.exchange.wire.report import Report

SUMMED = frozenset({"tokens_in", "tokens_out", "cost", "requests"})
"""The members of `meta` that are summed up over parts."""


def parts_of(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Yield the parts of a text of at most `most` characters (0: any), each with its offset.

    Together they are the text. A part ends with a paragraph, else with a sentence, else with a
    word, else anywhere.
    """
    begin = 0
    while limit and len(text) - begin > limit:
        end = begin + limit
        for mark in ("\n", ". ", " "):
            if (cut := text.rfind(mark, begin, end)) > begin:
                end = cut + len(mark)
                break
        yield begin, text[begin:end]
        begin = end
    if begin < len(text) or not text:
        yield begin, text[begin:]


def best(interactions: Iterable[tuple[bool, float] | None]) -> tuple[bool, float] | None:
    """Return what parts say of the whole: it is relevant if one of them is, as surely as that."""
    return max(
        (interaction for interaction in interactions if interaction is not None), default=None
    )


def summed(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what two parts declare together: sums of numbers, else what came last."""
    before, after = first or {}, second or {}
    sums = {
        name: before[name] + after[name]
        for name in SUMMED & before.keys() & after.keys()
        if _is_number(before[name]) and _is_number(after[name])
    }
    return {**before, **after, **sums}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def pass_on(notes: Report, report: Report) -> None:
    """Add the notes on all parts to the report of the last answer."""
    for problem in notes.problems:
        report.note(problem.path, problem.message)
