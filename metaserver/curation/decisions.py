"""Decisions of a curator: events, never updates, and the state that follows from them.

An event has a key that its page made, so that it can be sent again; its place in the log (`seq`) is
given when it is first received. Undo is an event that names another; redo is an undo of an undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

import msgspec

from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.base.publications import Publication
from metaserver.base.publications import normal as normal_publication
from metaserver.curation import psi_mi
from metaserver.curation.experiments import (
    MOST_EXPERIMENTS,
    UNSAID,
    Experiment,
    Place,
    check,
)
from scoring import Task, pair

MOST_EVENTS = 10_000
"""The maximum events in a curation; thirty candidates take some hundreds."""
MOST_ACTIVE_MS = 3_600_000
"""The maximum milliseconds of work that an event ends."""
MOST_PAIRS = 500
"""The most pairs that are rejected with their protein."""
MOST_MISSING = 500
"""The most events that come with a refusal; the others come with the next."""
WRONG_SPECIES = "wrong species"
"""The reason for rejecting an item in whose place the curator chose that of another species."""
OF_REJECTED = "protein rejected"
"""The reason for rejecting a pair with its protein."""

Key: TypeAlias = Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
Accession: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=32)]
Items: TypeAlias = Annotated[tuple[Accession, ...], msgspec.Meta(max_length=2)]
Short: TypeAlias = Annotated[str, msgspec.Meta(max_length=200)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Probability: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
Moment: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
ItemKey: TypeAlias = tuple[Task, tuple[str, ...]]
"""A task and an item; a pair is sorted."""


class DecisionKind(StrEnum):
    """An event's kind."""

    ACCEPT = "accept"  # an item, with its evidence
    REJECT = "reject"  # an item, with a reason
    ADD = "add"  # an item that was no candidate; it is accepted
    UNDECIDE = "undecide"  # an item
    SPECIES = "species"  # `item` in the place of `detail.replaced`: another species
    EVIDENCE = "evidence"  # the passages of an item; none takes them away
    PAIR = "pair"  # two proteins that were marked; it is accepted
    METHOD = "method"  # detection method and interaction type of a pair's first experiment
    EXPERIMENTS = "experiments"  # all experiments of a pair
    RELEVANT = "relevant"  # the article's class; None takes it away
    PUBLICATION = "publication"  # the article's identifiers, journal, first author and year
    NOTE = "note"  # a remark on an item, or on the article where `item` is empty
    UNDO = "undo"  # the event that `detail.undoes` names


class DecisionDetail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event's particulars; each kind reads those that are its own.

    `pairs` are rejected with their protein, by one event. `evidence` are places of the text, start
    and end; `seen_rank`, `seen_probability` and `request_version` are what the page showed when the
    curator decided.
    """

    reason: Short = ""
    replaced: Items = ()
    pairs: Annotated[tuple[Items, ...], msgspec.Meta(max_length=MOST_PAIRS)] = ()
    evidence: Annotated[tuple[Place, ...], msgspec.Meta(max_length=50)] = ()
    method: Short = ""
    type: Short = ""
    relevant: bool | None = None
    note: Annotated[str, msgspec.Meta(max_length=4_000)] = ""
    publication: Publication | None = None
    experiments: Annotated[tuple[Experiment, ...], msgspec.Meta(max_length=MOST_EXPERIMENTS)] = ()
    undoes: Annotated[str, msgspec.Meta(max_length=64)] = ""
    seen_rank: Count | None = None
    seen_probability: Probability | None = None
    request_version: Count = 0


_NO_DETAIL = DecisionDetail()
_OF_ARTICLE = {
    DecisionKind.RELEVANT,
    DecisionKind.PUBLICATION,
    DecisionKind.NOTE,
    DecisionKind.UNDO,
}
_OF_PAIR = {DecisionKind.PAIR, DecisionKind.METHOD, DecisionKind.EXPERIMENTS}
_SIZES = {Task.INT: 1, Task.IPT: 2}


class CurationEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A curator's act, as the page sends it; `at` is in seconds since the epoch.

    `active_ms` are the milliseconds that the curator was at work since the page's event before: the
    page was visible, and there was input in the last 30 seconds.
    """

    key: Key
    kind: DecisionKind
    at: Moment = 0.0
    active_ms: Annotated[int, msgspec.Meta(ge=0, le=MOST_ACTIVE_MS)] = 0
    task: Task | None = None
    item: Items = ()
    detail: DecisionDetail = _NO_DETAIL


Decision: TypeAlias = Literal["accepted", "rejected", "undecided"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemDecision:
    """An item's state, decided by the event at a `place` among those in force; -1 for none.

    `implied` is a protein accepted because its pair is. `by_hand` is an item that the curator
    added.
    """

    decision: Decision = "undecided"
    place: int = -1
    at: float = 0.0
    implied: bool = False
    by_hand: bool = False
    reason: str = ""
    replaced: tuple[str, ...] = ()
    evidence: tuple[Place, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    note: str = ""
    detail: DecisionDetail = _NO_DETAIL

    @property
    def method(self) -> str:
        """The detection method of its first experiment."""
        return self.experiments[0].method if self.experiments else ""

    @property
    def type(self) -> str:
        """The interaction type of its first experiment."""
        return self.experiments[0].type if self.experiments else ""

    def observed(self, method: str, type_: str) -> tuple[Experiment, ...]:
        """Return its experiments, the first of them with this method and type."""
        first, *others = self.experiments or (UNSAID,)
        return (msgspec.structs.replace(first, method=method, type=type_), *others)


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationState:
    """A curator's decisions on an article; items in the order of their first events.

    `publication` is None until the curator corrects it.
    """

    items: Mapping[ItemKey, ItemDecision]
    relevant: bool | None = None
    note: str = ""
    publication: Publication | None = None

    def accepted(self, task: Task) -> list[tuple[str, ...]]:
        """Return the accepted items of a task."""
        return self._decided(task, "accepted")

    def rejected(self, task: Task) -> list[tuple[str, ...]]:
        """Return the rejected items of a task."""
        return self._decided(task, "rejected")

    def _decided(self, task: Task, decision: Decision) -> list[tuple[str, ...]]:
        decided = self.items.items()
        return [
            item
            for (of, item), decision_of in decided
            if of == task and decision_of.decision == decision
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """A batch's result: the log's new events, and the place of each event that was sent."""

    added: Sequence[CurationEvent]
    seqs: Mapping[str, int]


class MissingEventsError(RefusedError):
    """Refuses a batch of a page that has not seen all events: those that it lacks come with it.

    `missing` are the first of them with their places in the log; `detail` has the same for
    programs.
    """

    def __init__(self, missing: Sequence[tuple[int, CurationEvent]]) -> None:
        self.missing = missing[:MOST_MISSING]
        message = f"{counted(len(missing), 'event')} of another page not known here"
        detail = {"missing": [{"seq": seq, "event": event} for seq, event in self.missing]}
        super().__init__(Refusal.STATE, message, field="seen", detail=detail)


def receive(
    log: Sequence[CurationEvent], batch: Sequence[CurationEvent], *, known_length: int, length: int
) -> Received:
    """Return the events that a batch adds to a curation's log; the caller stores them.

    `seen` is the number of the log's events that the page knew, `length` that of the article. An
    event whose key the log has is not added again, so that a batch may be sent any number of times.
    Raises `MissingEventsError` if the log has another page's events that this page has not seen,
    and `RefusedError` for a key with another content, for an invalid event and for too many.
    """
    places = {event.key: seq for seq, event in enumerate(log)}
    keys = {event.key for event in batch}
    added: dict[str, CurationEvent] = {}
    for event_sent in batch:
        try:
            event = normal(event_sent, length)
        except RefusedError as error:
            if len(batch) == 1:
                raise
            message = f"event {event_sent.key}: {error.message}"
            raise RefusedError(error.refusal, message, field=error.field) from error
        logged = log[places[event.key]] if event.key in places else added.get(event.key)
        if logged is None:
            added[event.key] = event
        elif logged != event:
            raise RefusedError(Refusal.STATE, f"key {event.key} has another event", field="key")
    if added:
        missing = [
            (seq, event)
            for seq, event in enumerate(log)
            if seq >= known_length and event.key not in keys
        ]
        if missing:
            raise MissingEventsError(missing)
    if len(log) + len(added) > MOST_EVENTS:
        raise RefusedError(Refusal.TOO_LARGE, f"more than {MOST_EVENTS:,} events")
    earlier = {**places}
    for seq, event in enumerate(added.values(), start=len(log)):
        if event.kind is DecisionKind.UNDO and event.detail.undoes not in earlier:
            message = f"event {event.key}: no earlier event has the key {event.detail.undoes!r}"
            raise RefusedError(Refusal.INVALID, message, field="undoes")
        earlier[event.key] = seq
    return Received(added=list(added.values()), seqs={key: earlier[key] for key in keys})


def normal(event: CurationEvent, length: int) -> CurationEvent:
    """Return an event in its stored form, its pair sorted; raises `RefusedError`."""
    kind, item, detail = event.kind, event.item, event.detail
    size = _SIZES.get(event.task, 0) if event.task else 0
    if kind in _OF_PAIR and event.task is not Task.IPT:
        raise RefusedError(Refusal.INVALID, f"{kind} is for a pair", field="task")
    if not size and kind not in _OF_ARTICLE:
        raise RefusedError(Refusal.INVALID, f"{kind} needs a task and an item", field="task")
    if len(item) != size or (kind is DecisionKind.SPECIES and len(detail.replaced) != size):
        message = f"expected an item of {size} accessions"
        raise RefusedError(Refusal.INVALID, message, field="item")
    pairs = tuple(_sorted(one) for one in detail.pairs)
    if pairs and not (
        kind is DecisionKind.REJECT
        and event.task is Task.INT
        and all(len(one) == 2 and item[0] in one for one in pairs)
    ):
        message = "expected pairs of the protein that is rejected"
        raise RefusedError(Refusal.INVALID, message, field="pairs")
    if detail.method and detail.method not in psi_mi.methods():
        raise RefusedError(Refusal.INVALID, f"{detail.method} is no known method", field="method")
    if detail.type and detail.type not in psi_mi.types():
        raise RefusedError(Refusal.INVALID, f"{detail.type} is no known type", field="type")
    for experiment in detail.experiments:
        check(experiment, item, length)
    if not all(start < end <= length for start, end in detail.evidence):
        raise RefusedError(Refusal.INVALID, "a passage is not in the article", field="evidence")
    publication = None if detail.publication is None else normal_publication(detail.publication)
    changed = msgspec.structs.replace(
        detail, replaced=_sorted(detail.replaced), pairs=pairs, publication=publication
    )
    return msgspec.structs.replace(event, item=_sorted(item), detail=changed)


def fold(log: Sequence[CurationEvent]) -> CurationState:
    """Return the state after all events of a log: later events win, undone events never were."""
    items: dict[ItemKey, ItemDecision] = {}
    relevant, note, publication = None, "", None
    for place, event in enumerate(in_force(log)):
        if event.kind is DecisionKind.RELEVANT:
            relevant = event.detail.relevant
        elif event.kind is DecisionKind.PUBLICATION:
            publication = event.detail.publication
        elif event.kind is DecisionKind.NOTE and not event.item:
            note = event.detail.note
        else:
            _apply(items, place, event)
    _imply(items)
    return CurationState(items=items, relevant=relevant, note=note, publication=publication)


def in_force(log: Sequence[CurationEvent]) -> list[CurationEvent]:
    """Return the decisions that hold, in their order: neither undone events nor undos.

    An undo names an earlier event. Read from the end, an event is in force unless an undo in force
    named it.
    """
    undone: set[str] = set()
    remaining = []
    for event in reversed(log):
        if event.key in undone:
            continue
        if event.kind is DecisionKind.UNDO:
            undone.add(event.detail.undoes)
        else:
            remaining.append(event)
    return remaining[::-1]


def next_undo(log: Sequence[CurationEvent]) -> str:
    """Return the key of the event that an undo would name now: the last in force; "" for none."""
    return next((event.key for event in reversed(in_force(log))), "")


def next_redo(log: Sequence[CurationEvent]) -> str:
    """Return the key of the undo that a redo would name now, "" for none.

    It is the last in force, unless the curator has decided something since.
    """
    undos = {event.key for event in log if event.kind is DecisionKind.UNDO}
    undone: set[str] = set()
    for event in reversed(log):
        if event.key in undone:
            continue
        if event.kind is not DecisionKind.UNDO:
            return ""
        if event.detail.undoes not in undos:
            return event.key
        undone.add(event.detail.undoes)
    return ""


def _apply(items: dict[ItemKey, ItemDecision], place: int, event: CurationEvent) -> None:
    assert event.task is not None
    key, detail = (event.task, event.item), event.detail
    current = items.get(key, ItemDecision())
    decided = replace(current, place=place, at=event.at, detail=detail, reason="")
    match event.kind:
        case DecisionKind.REJECT:
            current = replace(decided, decision="rejected", reason=detail.reason)
        case DecisionKind.UNDECIDE:
            current = replace(decided, decision="undecided")
        case DecisionKind.EVIDENCE:
            current = replace(current, evidence=detail.evidence)
        case DecisionKind.METHOD:
            current = replace(current, experiments=current.observed(detail.method, detail.type))
        case DecisionKind.EXPERIMENTS:
            current = replace(current, experiments=detail.experiments)
        case DecisionKind.NOTE:
            current = replace(current, note=detail.note)
        case _:
            current = replace(
                decided,
                decision="accepted",
                replaced=detail.replaced or current.replaced,
                evidence=detail.evidence or current.evidence,
                experiments=current.observed(
                    detail.method or current.method, detail.type or current.type
                )
                if detail.method or detail.type
                else current.experiments,
                by_hand=current.by_hand or event.kind in (DecisionKind.ADD, DecisionKind.PAIR),
            )
    items[key] = current
    others: dict[ItemKey, str] = {}
    if event.kind is DecisionKind.SPECIES and detail.replaced != event.item:
        others[event.task, detail.replaced] = WRONG_SPECIES
    others |= {(Task.IPT, one): OF_REJECTED for one in detail.pairs}
    for other, reason in others.items():
        items[other] = replace(
            items.get(other, ItemDecision()),
            decision="rejected",
            place=place,
            at=event.at,
            detail=detail,
            reason=reason,
        )


def _imply(items: dict[ItemKey, ItemDecision]) -> None:
    """Accept the proteins of accepted pairs, unless the curator decided on them later."""
    pairs = [(item, decided) for (task, item), decided in items.items() if task is Task.IPT]
    for item, decided in sorted(pairs, key=lambda entry: entry[1].place):
        for accession in item if decided.decision == "accepted" else ():
            protein = items.get((Task.INT, (accession,)), ItemDecision())
            if protein.place < decided.place and protein.decision != "accepted":
                items[Task.INT, (accession,)] = replace(
                    protein,
                    decision="accepted",
                    reason="",
                    implied=True,
                    place=decided.place,
                    at=decided.at,
                )


def _sorted(item: tuple[str, ...]) -> tuple[str, ...]:
    return pair(*item) if len(item) == 2 else item
