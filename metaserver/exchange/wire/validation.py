"""Checking an answer's values against the contract: every problem is collected with its path.

There are two kinds of problems (docs/wire.md): a wrongly typed value breaks the contract, and the
attempt fails as `shape`; a hit with an invalid value (confidence, rank, duplicate, accession) is
dropped, and the rest kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from metaserver.base.lanes import Asides, CheckedAnswer, HitAside
from metaserver.base.records import TaskName
from metaserver.base.states import ANSWERED, Outcome
from metaserver.exchange.wire.contract import (
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

MOST_MENTIONS, WORDS = 5_000, 500
"""The maximum number of mentions, and characters in each, that are kept."""


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


class PartWithAsides(Part, Protocol):
    """The port to a task whose hits have more than what is scored: evidence, a taxon."""

    def check_with_asides(
        self, value: object, report: Report, vocabulary: Vocabulary
    ) -> tuple[Any | None, Sequence[HitAside]]:
        """Return what `check` returns, and the first hits' asides, in the payload's order.

        Without any it is an empty sequence.
        """


def check(
    value: object,
    parts: Collection[Part],
    vocabulary: Vocabulary,
    report: Report | None = None,
) -> CheckedAnswer:
    """Check a decoded answer for the tasks its server is registered for.

    Other tasks' members and unknown members are ignored; `mentions` that no task reads are checked
    for display only, and so is `meta`. An empty struct, empty arrays and nil are answers without
    hits; so is an empty array, which PHP writes for an empty struct. `report` has the decoder's
    notes.
    """
    report = report or Report()
    payloads: dict[TaskName, Any] = {}
    beside: dict[TaskName, Sequence[HitAside]] = {}
    mentions: Sequence[Mapping[str, object]] = ()
    usage = None
    hits_kept = 0
    if isinstance(value, dict):
        for part in parts:
            member = value.get(part.key)
            if member is None:
                continue
            checked = getattr(part, "check_with_asides", None)  # of a `PartWithAsides`
            if checked is None:
                payload = part.check(member, report, vocabulary)
            else:
                payload, asides = checked(member, report, vocabulary)
                if asides:
                    beside[part.name] = asides
            if payload is not None:
                payloads[part.name] = payload
                hits_kept += part.count(payload)
        if MENTIONS in value and all(part.key != MENTIONS for part in parts):
            mentions = read_mentions(value[MENTIONS], report)
        if value.get(META) is not None:
            usage = read_usage(value[META], report)
    elif value is not None and value != []:
        report.shape("", f"expected struct, got {described(value)}")
    shown_mentions = tuple(map(_mention, mentions[:MOST_MENTIONS]))
    found = Asides(hits=beside, mentions=shown_mentions)
    answer = checked_answer(report, payloads, hits_kept, found)
    return answer if usage is None else msgspec.structs.replace(answer, usage=usage)


def _mention(mention: Mapping[str, object]) -> tuple[int, str, str, str]:
    offset = read(mention["offset"], int, "", Report())  # as it was read before: never None
    texts = [text if isinstance(text := mention.get(key), str) else "" for key in ("type", "dbid")]
    return offset or 0, str(mention["mention"])[:WORDS], texts[0][:WORDS], texts[1][:WORDS]


def checked_answer(
    report: Report, payloads: Mapping[TaskName, Any], hits_kept: int, asides: Asides
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
            asides=asides or None,
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
        asides=asides if asides and outcome in ANSWERED else None,
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
