"""Decisions from forms, for browsers without scripts: each becomes an event, as a script's."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import psi_mi
from metaserver.curation.decisions import CurationEvent, DecisionKind
from metaserver.curation.experiments import HOSTS, MOST_FEATURES, MOST_PARTICIPANTS, Experiment
from metaserver.curation.mentions import LONGEST_QUOTE, Mentions, SentEvidence
from metaserver.curation.operations.curation_view import CurationDetail
from metaserver.curation.pages.rows import open_pairs, rejected_proteins
from metaserver.curation.psi_mi import ROOTS
from scoring import Task

REDO = "redo"
"""The word of a form for a redo, which is an undo of an undo."""
PLACE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
YEAR = re.compile(r"[0-9]{4}", re.ASCII)
TAXON = re.compile(r"-?[0-9]{1,9}", re.ASCII)
RANGE = re.compile(r"([0-9]{1,6}|\?)(?:-([0-9]{1,6}|\?))?", re.ASCII)
OF_PARTICIPANT = ("accession", "experimental_role", "biological_role", "identification")
BLANKS = re.compile(r"[\s,;]+")
RELEVANT: Mapping[str, bool | None] = {"yes": True, "no": False, "": None}


def event_of(submitted: Mapping[str, Any], detail: CurationDetail) -> CurationEvent:
    """Return a form's event; raises `RefusedError` for a form that means nothing.

    Slow for a long text, in which words are looked for.
    """
    said = str(submitted.get("kind", ""))
    if said in (DecisionKind.UNDO, REDO):
        return _event(DecisionKind.UNDO, undoes=_named(detail, said))
    try:
        kind = DecisionKind(said)
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "is no decision", field="kind") from error
    if kind is DecisionKind.RELEVANT:
        return _event(kind, relevant=RELEVANT.get(str(submitted.get("relevant", ""))))
    if kind is DecisionKind.PUBLICATION:
        return _event(kind, publication=_publication(submitted))
    if kind is DecisionKind.NOTE and not submitted.get("task"):
        return _event(kind, note=str(submitted.get("note", "")))
    task, item = _item(submitted)
    if kind is DecisionKind.SPECIES:
        replaced = tuple(BLANKS.split(str(submitted.get("other", "")).strip()))
        return _event(kind, task, replaced, replaced=item)
    return _event(kind, task, item, **_particulars(kind, submitted, detail, task, item))


def _event(
    kind: DecisionKind, task: Task | None = None, item: tuple[str, ...] = (), **detail: Any
) -> CurationEvent:
    members = {
        "key": secrets.token_hex(16),
        "kind": kind,
        "at": time.time(),
        "task": task,
        "item": item,
        "detail": detail,
    }
    try:
        return msgspec.convert(members, CurationEvent)
    except msgspec.ValidationError as error:
        message, _, _ = str(error).partition(" - at")
        raise RefusedError(Refusal.INVALID, message) from error


def _publication(submitted: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: str(submitted.get(name, "")).strip()
        for name in ("pmid", "pmcid", "doi", "journal", "author")
    }
    year = str(submitted.get("year", "")).strip()
    if year and not YEAR.fullmatch(year):
        raise RefusedError(Refusal.INVALID, "expected a year, such as 2006", field="year")
    return values | {"year": int(year) if year else None}


def experiments_of(sent: Mapping[str, Any], known: Sequence[Experiment]) -> CurationEvent:
    """Return the event of a form of one experiment: kept, added, or removed where it says so."""
    item = _item({**sent, "task": Task.IPT})[1]
    try:
        number = int(str(sent.get("number", "")))
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "must be a whole number", field="number") from error
    if not 0 <= number <= len(known):
        raise RefusedError(Refusal.STATE, "there is no such experiment any more", field="number")
    kept = [msgspec.to_builtins(one) for one in known]
    kept[number : number + 1] = [] if "remove" in sent else [_experiment(sent)]
    if number < len(known) and "remove" not in sent:
        kept[number]["evidence"] = known[number].evidence
    return _event(DecisionKind.EXPERIMENTS, Task.IPT, item, experiments=kept)


def _experiment(sent: Mapping[str, Any]) -> dict[str, Any]:
    host = str(sent.get("host", "")).strip()
    begun = [taxon for taxon, name in HOSTS.items() if name.lower().startswith(host.lower())]
    host = str(begun[0]) if len(begun) == 1 else host
    if host and not TAXON.fullmatch(host):
        message = "expected a name of the list, or a taxon such as 9606"
        raise RefusedError(Refusal.INVALID, message, field="host")
    participants = []
    for place in range(MOST_PARTICIPANTS):
        one = {name: _said(sent, name, f"{name}-{place}") for name in OF_PARTICIPANT}
        if one["accession"]:
            participants.append(one | {"features": _features(sent, place)})
    words = {name: _said(sent, name) for name in ("method", "type", "figure", "note")}
    return words | {
        "host": int(host) if host else None,
        "negative": "negative" in sent,
        "participants": participants,
    }


def _features(sent: Mapping[str, Any], place: int) -> list[dict[str, Any]]:
    """Return the features of a participant; rows of which nothing is said are left out."""
    result = []
    for row in range(MOST_FEATURES):
        kind, name, text = (
            _said(sent, field, f"{field}-{place}-{row}")
            for field in ("feature", "feature_name", "range")
        )
        if not (kind or name or text):
            continue
        match = RANGE.fullmatch(text or "?")
        if match is None:
            message = "expected such as 48, 48-94 or ?-94"
            raise RefusedError(Refusal.INVALID, message, field="range")
        start, end = (None if one == "?" else int(one) for one in (match[1], match[2] or match[1]))
        result.append({"type": kind, "name": name, "start": start, "end": end})
    return result


def _said(sent: Mapping[str, Any], name: str, field: str = "") -> str:
    """Return a field's text; that of a term by its id, whether it has the id or a name."""
    text = str(sent.get(field or name, "")).strip()
    root = ROOTS.get(name.replace("_", "-"))
    return text if root is None else psi_mi.terms().named(root, text)


def _named(detail: CurationDetail, said: str) -> str:
    key = detail.redo if said == REDO else detail.undo
    if not key:
        raise RefusedError(Refusal.STATE, f"there is nothing to {said}")
    return key


def _item(submitted: Mapping[str, Any]) -> tuple[Task, tuple[str, ...]]:
    item = tuple(part for part in BLANKS.split(str(submitted.get("item", ""))) if part)
    try:
        return Task(str(submitted.get("task", ""))), item
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "is no task", field="task") from error


def _particulars(
    kind: DecisionKind,
    submitted: Mapping[str, Any],
    detail: CurationDetail,
    task: Task,
    item: tuple[str, ...],
) -> dict[str, Any]:
    candidate = next(
        (
            candidate
            for candidate in detail.candidates
            if (candidate.task, candidate.item) == (task, item)
        ),
        None,
    )
    particulars: dict[str, Any] = {"request_version": detail.version}
    if candidate is not None:
        particulars["seen_rank"] = candidate.rank
        particulars["seen_probability"] = candidate.shown_probability(
            detail.differences, detail.version
        )
    refused = rejected_proteins(detail).intersection(item) if task is Task.IPT else ()
    if kind in (DecisionKind.ACCEPT, DecisionKind.PAIR) and refused and "proteins" not in submitted:
        message = f"{' and '.join(sorted(refused))} rejected: accept first, or tick it at the pair"
        raise RefusedError(Refusal.STATE, message)
    match kind:
        case DecisionKind.REJECT:
            particulars["reason"] = str(submitted.get("reason", ""))
            if task is Task.INT and "pairs" in submitted:
                particulars["pairs"] = [one for one in open_pairs(detail) if item[0] in one]
        case DecisionKind.EVIDENCE:
            particulars["evidence"] = _evidence(submitted, detail, task, item)
        case DecisionKind.METHOD | DecisionKind.PAIR:
            particulars |= {name: _said(submitted, name) for name in ("method", "type")}
        case DecisionKind.NOTE:
            particulars["note"] = str(submitted.get("note", ""))
    return particulars


def _evidence(
    submitted: Mapping[str, Any], detail: CurationDetail, task: Task, item: tuple[str, ...]
) -> list[tuple[int, int]]:
    """Return the passages of an item with another passage, or without it if it was among them."""
    places = [
        place
        for decision in detail.decisions
        if (decision.task, decision.item) == (task, item)
        for place in decision.evidence
    ]
    place = _place(submitted, detail.text)
    return (
        [other_place for other_place in places if other_place != place]
        if place in places
        else [*places, place]
    )


def _place(submitted: Mapping[str, Any], text: str) -> tuple[int, int]:
    if match := PLACE.fullmatch(str(submitted.get("place", ""))):
        return int(match[1]), int(match[2])
    words = SentEvidence(server="", item=(), words=str(submitted.get("words", "")))
    for quote in Mentions(text).evidence([words]):
        return quote.start, quote.end
    limit_text = f"{LONGEST_QUOTE:,} characters at most"
    message = f"these words are not in the article: copy them from it, {limit_text}"
    raise RefusedError(Refusal.INVALID, message, field="words")
