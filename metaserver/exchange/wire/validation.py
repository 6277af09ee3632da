"""Checking an answer's values against the contract: every problem is collected with its path.

There are two kinds of problems (docs/wire.md): a wrongly typed value breaks the contract, and the
attempt fails as `shape`; a hit with an invalid value (confidence, rank, duplicate, accession) is
dropped, and the rest kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from metaserver.base.lanes import Asides, CheckedAnswer
from metaserver.base.records import TaskName
from metaserver.base.states import ANSWERED, Outcome
from metaserver.exchange.wire.contract import (
    MAX_PROBLEMS,
    MENTIONS,
    META,
    Report,
    Severity,
    described,
    read,
    read_mentions,
    read_usage,
)
from metaserver.uniprot.verdicts import Ruling

__all__ = [
    "MAX_PROBLEMS",
    "CheckedAnswer",
    "Part",
    "Report",
    "Ruling",
    "Severity",
    "Vocabulary",
    "check",
    "checked_answer",
]

MOST_MENTIONS, WORDS = 5_000, 500
"""The maximum number of mentions, and characters in each, kept for curators."""


class Vocabulary(Protocol):
    """The accessions that a challenge accepts (a UniProt release, or a test's own set)."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling, by index, for each string that is not accepted unchanged."""


class Part(Protocol):
    """The port to a task, which `metaserver.tasks.plugin.AnsweredTask` implements."""

    @property
    def name(self) -> TaskName:
        """The task's name."""

    @property
    def key(self) -> str:
        """The task's member in the answer."""

    def check(self, value: object, report: Report, vocabulary: Vocabulary) -> Any | None:
        """Return the valid part of the member, None if it is unusable."""

    def count(self, payload: Any) -> int:
        """Return the number of hits in the valid part."""


@runtime_checkable
class PartWithAsides(Part, Protocol):
    """The port to a task whose hits have more than what is scored: evidence, a taxon."""

    def check_with_asides(
        self, value: object, report: Report, vocabulary: Vocabulary
    ) -> tuple[Any | None, Any]:
        """Return what `check` returns, and the kept hits for `asides`."""

    def asides(self, value: Any) -> Sequence[tuple[str, int | None]]:
        """Return the evidence and taxon of each kept hit, in the payload's order."""


def check(
    value: object,
    parts: Collection[Part],
    vocabulary: Vocabulary,
    report: Report | None = None,
    *,
    asides: bool = False,
) -> CheckedAnswer:
    """Check a decoded answer for the tasks its server is registered for.

    Other tasks' members and unknown members are ignored; `mentions` that no task reads are checked
    for display only, and so is `meta`. An empty struct, empty arrays and nil are answers without
    hits; so is an empty array, which PHP writes for an empty struct. `report` has the decoder's
    notes. With `asides` the answer also has its unscored part (`Asides`).
    """
    report = report or Report()
    payloads: dict[TaskName, Any] = {}
    beside: dict[TaskName, Sequence[tuple[str, int | None]]] = {}
    mentions: Sequence[Mapping[str, object]] = ()
    usage = None
    hits_kept = 0
    if isinstance(value, dict):
        for part in parts:
            member = value.get(part.key)
            if member is None:
                continue
            if asides and isinstance(part, PartWithAsides):
                payload, hits = part.check_with_asides(member, report, vocabulary)
                beside[part.name] = part.asides(hits)
            else:
                payload = part.check(member, report, vocabulary)
            if payload is not None:
                payloads[part.name] = payload
                hits_kept += part.count(payload)
        if MENTIONS in value and all(part.key != MENTIONS for part in parts):
            mentions = read_mentions(value[MENTIONS], report)
        if value.get(META) is not None:
            usage = read_usage(value[META], report)
    elif value is not None and value != []:
        report.shape("", f"expected struct, got {described(value)}")
    answer = checked_answer(report, payloads, hits_kept)
    if usage is not None:
        answer = msgspec.structs.replace(answer, usage=usage)
    if not asides or answer.outcome not in ANSWERED:
        return answer
    hits_of = {task: beside[task] for task in answer.payloads if task in beside}
    shown_mentions = [_mention(mention) for mention in mentions[:MOST_MENTIONS]]
    return msgspec.structs.replace(answer, asides=Asides(hits=hits_of, mentions=shown_mentions))


def _mention(mention: Mapping[str, object]) -> tuple[int, str, str, str]:
    offset = read(mention["offset"], int, "", Report())  # as it was read before: never None
    texts = [text if isinstance(text := mention.get(key), str) else "" for key in ("type", "dbid")]
    return offset or 0, str(mention["mention"])[:WORDS], texts[0][:WORDS], texts[1][:WORDS]


def checked_answer(
    report: Report, payloads: Mapping[TaskName, Any], hits_kept: int
) -> CheckedAnswer:
    """Return a report's checked answer, with the payloads by task and the number of hits."""
    if not report.problem_count and hits_kept == report.hits_sent:  # nearly always
        return CheckedAnswer(
            outcome=Outcome.OK,
            message="",
            payloads=payloads,
            problems=(),
            problem_count=0,
            hits_kept=hits_kept,
            hits_dropped=0,
        )
    outcome = _outcome(report, hits_kept)
    if outcome not in ANSWERED:
        payloads, hits_kept = {}, 0
    dropped = report.hits_sent - hits_kept
    return CheckedAnswer(
        outcome=outcome,
        message=_message(outcome, report, dropped),
        payloads=payloads,
        problems=tuple(report.problems),
        problem_count=report.problem_count,
        hits_kept=hits_kept,
        hits_dropped=dropped,
    )


def _outcome(report: Report, hits_kept: int) -> Outcome:
    if report.count(Severity.SHAPE):
        return Outcome.SHAPE
    if hits_kept == report.hits_sent:
        return Outcome.OK
    return Outcome.PARTIAL if hits_kept else Outcome.NO_VALID_HIT


def _message(outcome: Outcome, report: Report, dropped: int) -> str:
    if not report.problem_count:
        return ""
    lost = f"{dropped} of {report.hits_sent} hits dropped; "
    more = report.problem_count - 1
    return "".join(
        (
            lost if outcome in (Outcome.PARTIAL, Outcome.NO_VALID_HIT) else "",
            str(report.problems[0]),
            f" (and {more} more)" if more else "",
        )
    )
