"""An answer's values checked against the contract: every problem collected, each with its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from metaserver.lifecycle import Outcome
from metaserver.records import Problem, TaskName

MAX_PROBLEMS = 100


class Ruling(NamedTuple):
    """What is done with a string that is not an accepted accession as it stands.

    `accession` is the one to use instead (a phase may map secondary accessions), or None where the
    hit is refused; `note` is one sentence for the team either way.
    """

    accession: str | None
    note: str


class Vocabulary(Protocol):
    """Decides which accessions a challenge accepts (a UniProt release, or a test's own set)."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each string that is not accepted as it stands."""


class Report:
    """Collects the problems of one answer (the first 100 kept, all counted)."""

    # to be completed by the wire: problems, notes (coercions), dropped/kept counts


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedAnswer:
    """What is kept of an answer, and all that was wrong with it.

    `payloads` has the valid part of each task that could be used. `outcome` is `ok`, `partial`,
    `shape` or `no_valid_hit`; `message` says the worst problem in one line.
    """

    outcome: Outcome
    message: str
    payloads: Mapping[TaskName, Any]
    problems: tuple[Problem, ...]
    problem_count: int
    hits_kept: int
    hits_dropped: int
