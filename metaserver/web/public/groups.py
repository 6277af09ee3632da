"""Problems in a server's attempts and tests, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from metaserver.base.conformance import ConformanceStep, StepState
from metaserver.base.findings import general
from metaserver.base.states import Outcome
from metaserver.operations.attempts import AttemptDetail

NO_PROBLEM = frozenset({Outcome.OK, Outcome.CANCELLED})
WRONG = frozenset({StepState.FAILED, StepState.WARNING})


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A problem: how often it came, in how many attempts, and the newest of them."""

    outcome: Outcome
    text: str
    times: int
    attempts: int
    newest: AttemptDetail


def grouped(attempts: Iterable[AttemptDetail]) -> Sequence[Group]:
    """Return the attempts' problems (newest first), the most frequent first.

    Problems are the same whatever place in a list and whichever accession they are about; the first
    100 of an answer are kept, so only those are counted.
    """
    by_kind: dict[tuple[Outcome, str], list[AttemptDetail]] = {}
    for attempt in attempts:
        if attempt.outcome not in NO_PROBLEM:
            for text in _texts(attempt):
                by_kind.setdefault((attempt.outcome, text), []).append(attempt)
    groups = [
        Group(
            outcome=outcome,
            text=text,
            times=len(hit),
            attempts=len({(attempt.article, attempt.number) for attempt in hit}),
            newest=hit[0],
        )
        for (outcome, text), hit in by_kind.items()
    ]
    return sorted(groups, key=lambda group: (-group.attempts, -group.times))


@dataclass(frozen=True, kw_only=True, slots=True)
class StepGroup:
    """A problem in a test: how often it came, and in which steps; `failed` if it failed a step.

    `outcome` is None if the steps are no attempts.
    """

    outcome: Outcome | None
    text: str
    times: int
    steps: Sequence[str]
    failed: bool


def grouped_steps(steps: Iterable[ConformanceStep]) -> Sequence[StepGroup]:
    """Return what was wrong in a test's steps, what made it fail first, then by the steps."""
    by_kind: dict[tuple[Outcome | None, str], list[ConformanceStep]] = {}
    for step in steps:
        if step.state in WRONG:
            texts = [str(problem) for problem in step.problems] or [step.message]
            for text in texts:
                by_kind.setdefault((step.outcome, general(text)), []).append(step)
    groups = [
        StepGroup(
            outcome=outcome,
            text=text,
            times=len(hit),
            steps=list(dict.fromkeys(step.name for step in hit)),
            failed=any(step.state is StepState.FAILED for step in hit),
        )
        for (outcome, text), hit in by_kind.items()
    ]
    return sorted(groups, key=lambda group: (not group.failed, -len(group.steps), -group.times))


def _texts(attempt: AttemptDetail) -> Iterator[str]:
    """Yield what was wrong in an attempt, without what differs between like attempts."""
    for problem in attempt.problems:
        yield general(str(problem))
    if not attempt.problems:
        yield general(attempt.message)
