"""Answers as result files: one a task, in the formats that the evaluator reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from annotators.contract import IDENTIFIERS, MEMBER_OF_TASK
from annotators.errors import BadInputError

SPACE = re.compile(r"\s")
FORMULA = re.compile(r"[=+\-@]")  # a spreadsheet takes what begins so for a formula


def unwritable(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a valid answer no result file can hold: an accession with white space."""
    for member in ("normalizations", "pairs"):
        for index, hit in enumerate(answer.get(member, ())):
            for key in IDENTIFIERS:
                if key in hit and (not hit[key] or SPACE.search(hit[key])):
                    yield f"{member}[{index}].{key}: {hit[key]!r:.60} is no accession"
    for index, mention in enumerate(answer.get("mentions", ())):
        if SPACE.search(mention.get("type", "")):
            yield f"mentions[{index}].type: {mention['type']!r:.60}; expected no white space"


def write_result_files(folder: Path, answers: Mapping[str, Mapping[str, Any]]) -> Sequence[Path]:
    """Write `TASK.tsv` for each task that any answer has the member of; return the files."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for task, member in MEMBER_OF_TASK.items():
            answered = {
                name: answer[member] for name, answer in answers.items() if member in answer
            }
            if answered:
                path = folder / f"{task}.tsv"
                path.write_text("".join(LINES[task](answered)), encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise BadInputError(folder, f"cannot be written: {error.strerror}") from error
    return written


def _classes(answered: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield article, class, rank within the class, confidence."""
    for relevant in (True, False):
        of_class = [(name, one[1]) for name, one in answered.items() if one and one[0] is relevant]
        of_class.sort(key=lambda one: (-one[1], one[0]))
        for rank, (name, confidence) in enumerate(of_class, start=1):
            yield f"{name}\t{int(relevant)}\t{rank}\t{confidence!r}\n"


def _hits(answered: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield article, one or two accessions, rank, confidence."""
    for name, hits in answered.items():
        for rank, hit in enumerate(_ordered(hits), start=1):
            items = [hit[key] for key in IDENTIFIERS if key in hit]
            yield "\t".join([name, *items, str(rank), repr(hit["confidence"])]) + "\n"


def _ordered(hits: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return hits by rank; where none has one, by falling confidence, as a hub does."""
    known = list(hits)
    if any("rank" in hit for hit in known):
        return sorted((hit for hit in known if "rank" in hit), key=lambda hit: hit["rank"])
    return sorted(known, key=lambda hit: -hit["confidence"])


def _mentions(answered: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield article, inclusive offsets, words, type; a mention without type is for display only."""
    for name, mentions in answered.items():
        for one in mentions:
            if "type" in one:
                words = " ".join(one["mention"].split())
                shown = f"'{words}" if FORMULA.match(words) else words
                end = one["offset"] + len(one["mention"]) - 1
                yield f"{name}\t{one['offset']}-{end}\t{shown}\t{one['type']}\n"


LINES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "ACT": _classes,
    "INT": _hits,
    "IPT": _hits,
    "NER": _mentions,
}
