"""Decisions that come from forms, for who has no scripts: each becomes one event, as a script's."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.decisions import CurationEvent, DecisionKind
from metaserver.curation.mentions import LONGEST_QUOTE, Mentions, SentEvidence
from metaserver.curation.operations.curation_view import CurationDetail
from scoring import Task

REDO = "redo"
"""The word of a form for a redo, which is an undo of an undo."""
PLACE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
YEAR = re.compile(r"[0-9]{4}", re.ASCII)
BLANKS = re.compile(r"[\s,;]+")
RELEVANT: Mapping[str, bool | None] = {"yes": True, "no": False, "": None}


def event_of(sent: Mapping[str, Any], detail: CurationDetail) -> CurationEvent:
    """Return the event of a form; raises `RefusedError` for one that means nothing.

    Slow for a long text, in which words are looked for.
    """
    said = str(sent.get("kind", ""))
    if said in (DecisionKind.UNDO, REDO):
        return _event(DecisionKind.UNDO, undoes=_named(detail, said))
    try:
        kind = DecisionKind(said)
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "is no decision", field="kind") from error
    if kind is DecisionKind.RELEVANT:
        return _event(kind, relevant=RELEVANT.get(str(sent.get("relevant", ""))))
    if kind is DecisionKind.PUBLICATION:
        return _event(kind, publication=_publication(sent))
    if kind is DecisionKind.NOTE and not sent.get("task"):
        return _event(kind, note=str(sent.get("note", "")))
    task, item = _item(sent)
    if kind is DecisionKind.SPECIES:
        other = tuple(BLANKS.split(str(sent.get("other", "")).strip()))
        return _event(kind, task, other, replaced=item)
    return _event(kind, task, item, **_particulars(kind, sent, detail, task, item))


def _event(
    kind: DecisionKind, task: Task | None = None, item: tuple[str, ...] = (), **detail: Any
) -> CurationEvent:
    made = {
        "key": secrets.token_hex(16),
        "kind": kind,
        "at": time.time(),
        "task": task,
        "item": item,
        "detail": detail,
    }
    try:
        return msgspec.convert(made, CurationEvent)
    except msgspec.ValidationError as error:
        message, _, _ = str(error).partition(" - at")
        raise RefusedError(Refusal.INVALID, message) from error


def _publication(sent: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: str(sent.get(name, "")).strip()
        for name in ("pmid", "pmcid", "doi", "journal", "author")
    }
    year = str(sent.get("year", "")).strip()
    if year and not YEAR.fullmatch(year):
        raise RefusedError(Refusal.INVALID, "expected a year, such as 2006", field="year")
    return found | {"year": int(year) if year else None}


def _named(detail: CurationDetail, said: str) -> str:
    named = detail.redo if said == REDO else detail.undo
    if not named:
        raise RefusedError(Refusal.STATE, f"there is nothing to {said}")
    return named


def _item(sent: Mapping[str, Any]) -> tuple[Task, tuple[str, ...]]:
    item = tuple(part for part in BLANKS.split(str(sent.get("item", ""))) if part)
    try:
        return Task(str(sent.get("task", ""))), item
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "is no task", field="task") from error


def _particulars(
    kind: DecisionKind,
    sent: Mapping[str, Any],
    detail: CurationDetail,
    task: Task,
    item: tuple[str, ...],
) -> dict[str, Any]:
    shown = next((one for one in detail.candidates if (one.task, one.item) == (task, item)), None)
    found: dict[str, Any] = {"request_version": detail.version}
    if shown is not None:
        found |= {"seen_rank": shown.rank, "seen_probability": shown.probability}
    match kind:
        case DecisionKind.REJECT:
            found["reason"] = str(sent.get("reason", ""))
        case DecisionKind.EVIDENCE:
            found["evidence"] = _evidence(sent, detail, task, item)
        case DecisionKind.METHOD | DecisionKind.PAIR:
            found |= {name: str(sent.get(name, "")).strip() for name in ("method", "type")}
        case DecisionKind.NOTE:
            found["note"] = str(sent.get("note", ""))
    return found


def _evidence(
    sent: Mapping[str, Any], detail: CurationDetail, task: Task, item: tuple[str, ...]
) -> list[tuple[int, int]]:
    """Return the passages of an item with another one, or without it if it was among them."""
    known = [
        place
        for one in detail.decisions
        if (one.task, one.item) == (task, item)
        for place in one.evidence
    ]
    place = _place(sent, detail.text)
    return [one for one in known if one != place] if place in known else [*known, place]


def _place(sent: Mapping[str, Any], text: str) -> tuple[int, int]:
    if match := PLACE.fullmatch(str(sent.get("place", ""))):
        return int(match[1]), int(match[2])
    words = SentEvidence(server="", item=(), words=str(sent.get("words", "")))
    for found in Mentions(text).evidence([words]):
        return found.start, found.end
    most = f"{LONGEST_QUOTE:,} characters at most"
    message = f"these words are not in the article: copy them from it, {most}"
    raise RefusedError(Refusal.INVALID, message, field="words")
