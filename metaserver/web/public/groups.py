"""Problems of a server's attempts, the same ones grouped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from metaserver.model.states import Outcome
from metaserver.operations.attempts import AttemptDetail
from metaserver.web.public.monitor import NO_ERROR

_INDEX = re.compile(r"\[\d+\]")
_ACCESSION = re.compile(
    r"\b(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A problem: how often it came, in how many attempts, and the newest of them."""

    outcome: Outcome
    text: str
    times: int
    attempts: int
    newest: AttemptDetail


def grouped(attempts: Iterable[AttemptDetail]) -> Sequence[Group]:
    """Return the problems of attempts (newest first), those of most attempts first.

    Problems are the same whatever place in a list and whichever accession they are about; the
    first 100 of an answer are kept, so only those are counted.
    """
    found: dict[tuple[Outcome, str], list[AttemptDetail]] = {}
    for attempt in attempts:
        if attempt.outcome not in NO_ERROR:
            for text in _texts(attempt):
                found.setdefault((attempt.outcome, text), []).append(attempt)
    groups = [
        Group(
            outcome=outcome,
            text=text,
            times=len(hit),
            attempts=len({(one.article, one.number) for one in hit}),
            newest=hit[0],
        )
        for (outcome, text), hit in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.attempts, -group.times))


def _texts(attempt: AttemptDetail) -> Iterator[str]:
    """Yield what was wrong in an attempt, without what differs between like attempts."""
    for problem in attempt.problems:
        yield general(str(problem))
    if not attempt.problems:
        yield general(attempt.message)


def general(text: str) -> str:
    """Return a message without its places in lists and its accessions."""
    return _ACCESSION.sub("…", _INDEX.sub("[…]", text))
