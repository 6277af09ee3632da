"""A curation's events: added in batches that may be sent again, and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.compression import unpack
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation.basis import Additions, ShownItems, add_proteins, counts, united
from metaserver.curation.decisions import (
    CurationEvent,
    next_redo,
    next_undo,
    receive,
)
from metaserver.curation.operations.curation_view import read_additions, read_event
from metaserver.curation.operations.curations import (
    OneCuration,
    SeenEvents,
    open_entry,
    own_curation,
    read_curation,
)
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curations import CurationContent, CurationEntry, EventEntry
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import GREATEST, Limit
from metaserver.operations.table import operation

MOST_TURNS = 50
"""Times that a batch is prepared while others come before it. Nothing that takes long is done in
the transaction, which all answers of servers wait for."""
MOST_AT_ONCE = 500
"""The most events of a batch."""
MOST_BYTES = 4 * 2**20
"""The most bytes of all events of a curation."""
MOST_ADDED = 500
"""The most accessions that a curation has beside those of candidates."""


class CurationBatch(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events in their order; `seen` is the number of those that the caller knows."""

    seen: SeenEvents
    events: Annotated[
        tuple[CurationEvent, ...],
        Meta(min_length=1, max_length=MOST_AT_ONCE, description="The new events"),
    ]


class AppendedEvents(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a batch: the number of all events, and the place of each sent event.

    `undo` and `redo` are the keys of the events that the next undo, and the next redo, name.
    """

    curation: str
    seen: int
    seqs: Mapping[str, int]
    undo: str
    redo: str
    active_ms: int


class LogQuery(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The events of a curation from a place on, at most `limit`."""

    since: Annotated[int, Meta(ge=0, le=GREATEST, description="The first event's place")] = 0
    limit: Limit = 1_000


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the log, and when it was received (Unix seconds)."""

    seq: int
    received_at: float
    event: CurationEvent


@operation("Curation.append", "POST /curations/{curation}/events", Role.CURATOR)
async def append(hub: HubContext, caller: Caller, request: CurationBatch) -> AppendedEvents:
    """Add events to a curation, all of a batch or none; an event that it has is not added again.

    If another page has added events that the caller lacks, the answer is 409 with these events.
    """
    entry = await own_curation(hub, caller, request.curation)
    added, shown = await _added(hub, caller, entry, request.events)
    for _ in range(MOST_TURNS):
        async with hub.store.reading() as connection:
            entry = await open_entry(connection, entry.id)
            log = await hub.part(CurationParts).logs.read(connection, entry)
            content = await curations.content(connection, entry.id) if added.proteins else None
        prepared = await caller.aside(_prepared, entry, log, content, added, shown, request)
        now = hub.clock()
        rows = [
            EventEntry(seq=seq, key=key, at=now, event=event) for seq, key, event in prepared.rows
        ]
        if not rows:
            return prepared.result
        async with hub.store.writing() as connection:
            current = await open_entry(connection, entry.id)
            if current.events == entry.events:
                await curations.append(
                    connection, entry.id, rows, changed_at=now, **prepared.values
                )
                return prepared.result
    raise RefusedError(
        Refusal.TOO_MANY, "too many pages are adding events: try again", retry_after=1
    )


@operation("Curation.events", "GET /curations/{curation}/events", Role.CURATOR)
async def events(hub: HubContext, caller: Caller, request: LogQuery) -> Sequence[LoggedEvent]:
    """Return a curation's events, in their order."""
    entry = await read_curation(hub, caller, request.curation)
    async with hub.store.reading() as connection:
        entries = await curations.log(
            connection, entry.id, since=request.since, limit=request.limit
        )
    return [
        LoggedEvent(seq=entry.seq, received_at=entry.at, event=read_event(entry))
        for entry in entries
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    """A batch, ready to be stored behind the log that was read: its rows, and what changes."""

    rows: Sequence[tuple[int, str, bytes]]
    values: Mapping[str, Any]
    result: AppendedEvents


def _prepared(
    entry: CurationEntry,
    stored: Sequence[CurationEvent],
    content: CurationContent | None,
    added: Additions,
    shown: ShownItems,
    request: CurationBatch,
) -> _Prepared:
    """Return what a batch adds to a log; raises `RefusedError`. Slow for a long log."""
    log = list(stored)
    received = receive(log, request.events, known_length=request.seen, length=entry.length)
    rows = [
        (seq, event.key, msgspec.json.encode(event))
        for seq, event in enumerate(received.added, start=len(log))
    ]
    size = entry.bytes + sum(len(event) for _, _, event in rows)
    if size > MOST_BYTES:
        message = f"the events of a curation would exceed {MOST_BYTES:,} bytes"
        raise RefusedError(Refusal.TOO_LARGE, message, field="events")
    log.extend(received.added)
    active_ms = entry.active_ms + sum(event.active_ms for event in received.added)
    values: dict[str, Any] = {"events": len(log), "bytes": size, "active_ms": active_ms}
    values |= counts((one.key for one in shown.candidates), log)
    if content is not None:
        values["additions"] = msgspec.json.encode(united(read_additions(content), added))
    return _Prepared(
        rows=rows,
        values=values,
        result=AppendedEvents(
            curation=entry.id,
            seen=len(log),
            seqs=received.seqs,
            undo=next_undo(log),
            redo=next_redo(log),
            active_ms=active_ms,
        ),
    )


async def _added(
    hub: HubContext, caller: Caller, entry: CurationEntry, events_sent: Sequence[CurationEvent]
) -> tuple[Additions, ShownItems]:
    """Return the names and places of accessions that no candidate has, and the candidates.

    The accessions must be valid.
    """
    names_used = [name for event in events_sent for name in (*event.item, *event.detail.replaced)]
    names_used += [name for event in events_sent for one in event.detail.pairs for name in one]
    names_used += [
        participant.entry
        for one in events_sent
        for experiment in one.detail.experiments
        for participant in experiment.participants
    ]
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        of_set = await curation_sets.set_of(connection, entry.id)
    vocabulary: Vocabulary
    if of_set is not None:
        vocabulary = hub.phase(of_set.phase).vocabulary
    else:
        vocabulary, _ = hub.part(CurationParts).rules.vocabulary()
    return await caller.aside(_look_up, hub, content, vocabulary, list(dict.fromkeys(names_used)))


def _look_up(
    hub: HubContext, content: CurationContent, vocabulary: Vocabulary, names_used: Sequence[str]
) -> tuple[Additions, ShownItems]:
    items = msgspec.json.decode(unpack(content.basis), type=ShownItems)
    accessions = {name for candidate in items.candidates for name in candidate.item}
    earlier = read_additions(content).proteins
    unknown = [name for name in names_used if name not in accessions and name not in earlier]
    if not unknown:
        return Additions(), items
    if len(earlier) + len(unknown) > MOST_ADDED:
        message = f"at most {MOST_ADDED} proteins can be added"
        raise RefusedError(Refusal.TOO_LARGE, message, field="item")
    for place, ruling in vocabulary.rulings(unknown).items():
        message = f"{unknown[place]}: {ruling.note}"
        raise RefusedError(Refusal.INVALID, message, field="item")
    text = unpack(content.text).decode("utf-8", "surrogatepass")
    return add_proteins(text, unknown, hub.part(CurationParts).proteins(items.release)), items
