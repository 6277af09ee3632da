"""Curations: one curator's work on one article, from its opening to its submission."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import unpack
from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.base.states import Role
from metaserver.curation.asking import LiveRequest
from metaserver.curation.basis import (
    CurationBasis,
    ShownItems,
    counts,
    find_basis,
    merged,
    renamed,
    undecided,
)
from metaserver.curation.decisions import MissingEventsError, fold
from metaserver.curation.operations.curation_sets import reads_curations
from metaserver.curation.operations.curation_view import (
    CurationDetail,
    CurationField,
    CurationSummary,
    CurationWork,
    packed_basis,
    read_event,
    view,
)
from metaserver.curation.operations.curator_names import CuratorNames
from metaserver.curation.operations.requests import (
    MOST_WORDS,
    RequestField,
    WordsField,
    own_request,
    token_of,
)
from metaserver.curation.operations.withheld import is_withheld, require_shown
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curations import CurationContent, CurationEntry, EventEntry
from metaserver.curation.texts import GUARDED
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, Limit
from metaserver.operations.table import operation

MOST_CURATIONS = 5_000
"""The most curations of a token."""
MOST_NAMED = 20
"""The most undecided candidates that a refusal names."""

SeenEvents = Annotated[
    int,
    Meta(ge=0, le=GREATEST, description="How many of the curation's events the caller knows"),
]


class OneCuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curation by id."""

    curation: CurationField


class NewCuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to decide on."""

    request: RequestField


class CurationList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The curations that changed last, at most `limit`."""

    words: WordsField = ""
    limit: Limit = 100


class Submission(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curation to submit."""

    seen: Annotated[SeenEvents | None, Meta(description="Refuse if there are other events")] = None
    undecided: Annotated[bool, Meta(description="Even if candidates have no decision")] = False


@operation("Curation.open", "POST /curations", Role.CURATOR)
async def open_(hub: HubContext, caller: Caller, request: NewCuration) -> CurationDetail:
    """Open a curation of a request, with the candidates so far, or return the existing curation.

    It keeps the text and the candidates, so that it outlives its request.
    """
    token_id = token_of(caller)
    live = await own_request(hub, caller, request.request)
    if await is_withheld(hub, caller, live):
        raise RefusedError(Refusal.STATE, GUARDED)
    async with hub.store.reading() as connection:
        curation = await curations.of_request(connection, token_id, live.key)
        count = await curations.count_of(connection, token_id)
    if curation is None:
        if count >= MOST_CURATIONS:
            message = f"{count:,} curations: no more are kept for this token; delete some"
            raise RefusedError(Refusal.TOO_MANY, message)
        curation = await _opened(hub, caller, token_id, live)
    return await curation_detail(hub, caller, curation)


@operation("Curation.get", "GET /curations/{curation}", Role.CURATOR)
async def get(hub: HubContext, caller: Caller, request: OneCuration) -> CurationDetail:
    """Return a curation: text, candidates, and the state after all decisions."""
    return await _detail(hub, caller, await read_curation(hub, caller, request.curation))


@operation("Curation.list", "GET /curations", Role.CURATOR)
async def list_(
    hub: HubContext, caller: Caller, request: CurationList
) -> Sequence[CurationSummary]:
    """Return the token's curations, last changed first; organisers get those of all tokens."""
    token_id = None if caller.organiser else token_of(caller)
    async with hub.store.reading() as connection:
        entries = await curations.list_of(
            connection, token_id, words=request.words.split()[:MOST_WORDS], limit=request.limit
        )
        names = await curation_sets.names_of(connection, [entry.id for entry in entries])
    return [CurationSummary.of(entry, names.get(entry.id, "")) for entry in entries]


@operation("Curation.refresh", "POST /curations/{curation}/refresh", Role.CURATOR)
async def refresh(hub: HubContext, caller: Caller, request: OneCuration) -> CurationDetail:
    """Add the answers that have come since; candidates that are no longer there come last."""
    entry = await own_curation(hub, caller, request.curation)
    await require_shown(hub, caller, entry)
    live = await hub.part(CurationParts).requests.get(entry.request) if entry.request else None
    if live is None:
        raise RefusedError(Refusal.STATE, "it has no request, or no longer: no answer can come")
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
    if await caller.aside(_version, content) >= live.version:
        return await curation_detail(hub, caller, entry)
    newer = await _basis(hub, caller, live)
    packed, counted = await caller.aside(_merged, newer, content, events)
    async with hub.store.writing() as connection:
        await open_entry(connection, entry.id)
        await curations.change(
            connection, entry.id, basis=packed, changed_at=hub.clock(), **counted
        )
    return await curation_detail(hub, caller, entry)


@operation("Curation.submit", "POST /curations/{curation}/submit", Role.CURATOR)
async def submit(hub: HubContext, caller: Caller, request: Submission) -> CurationDetail:
    """Submit a curation: it can be exported, and no longer changed unless it is reopened.

    It is refused if a candidate has no decision, unless `undecided` is set.
    """
    entry = await own_curation(hub, caller, request.curation)
    await require_shown(hub, caller, entry)
    async with hub.store.reading() as connection:
        entry = await open_entry(connection, entry.id)
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
    if request.seen is not None and request.seen < entry.events:
        raise MissingEventsError(
            [(event.seq, read_event(event)) for event in events[request.seen :]]
        )
    if not request.undecided:
        work = await caller.aside(CurationWork.read, content, events)
        await caller.aside(_require_decided, work)
    now = hub.clock()
    async with hub.store.writing() as connection:
        current = await open_entry(connection, entry.id)
        if current.events != entry.events:
            raise RefusedError(Refusal.STATE, "another page decided meanwhile: submit again")
        await curations.change(
            connection,
            entry.id,
            state=CurationStanding.SUBMITTED.value,
            submitted_at=now,
            changed_at=now,
        )
        await audit_log(connection, caller, "curation.submit", entry.id, article=entry.article)
    return await curation_detail(hub, caller, entry)


@operation("Curation.reopen", "POST /curations/{curation}/reopen", Role.CURATOR)
async def reopen(hub: HubContext, caller: Caller, request: OneCuration) -> CurationDetail:
    """Reopen a submitted curation for further decisions; in a set, only organisers may."""
    entry = await seen_curation(hub, caller, request.curation)
    await require_shown(hub, caller, entry)
    async with hub.store.writing() as connection:
        of_set = await curation_sets.set_of(connection, entry.id)
        if of_set is not None and not caller.organiser:
            message = f"it belongs to set {of_set.name}: ask an organiser to reopen it"
            raise RefusedError(Refusal.NOT_YOURS, message)
        now = await curations.get(connection, entry.id)
        if now is None or now.state is not CurationStanding.SUBMITTED:
            raise RefusedError(Refusal.STATE, "it is open")
        await curations.change(
            connection, entry.id, state=CurationStanding.OPEN.value, changed_at=hub.clock()
        )
        await audit_log(connection, caller, "curation.reopen", entry.id, article=entry.article)
    return await curation_detail(hub, caller, entry)


@operation("Curation.forget", "DELETE /curations/{curation}", Role.CURATOR)
async def forget(hub: HubContext, caller: Caller, request: OneCuration) -> None:
    """Delete a curation with its text and all its events."""
    entry = await seen_curation(hub, caller, request.curation)
    async with hub.store.writing() as connection:
        of_set = await curation_sets.set_of(connection, entry.id)
        if of_set is not None:
            message = f"it belongs to set {of_set.name} and is deleted with that"
            raise RefusedError(Refusal.STATE, message)
        await curations.forget(connection, entry.id)
        await audit_log(connection, caller, "curation.forget", entry.id)


async def seen_curation(hub: HubContext, caller: Caller, key: str) -> CurationEntry:
    """Return a curation of the caller's token, to organisers any; else `RefusedError`."""
    async with hub.store.reading() as connection:
        entry = await curations.get(connection, key)
    if entry is None or not (caller.organiser or entry.token_id == caller.token_id):
        raise RefusedError(Refusal.UNKNOWN, f"there is no curation {key}", field="curation")
    return entry


async def read_curation(hub: HubContext, caller: Caller, key: str) -> CurationEntry:
    """Return a curation that the caller sees, or rules on.

    An adjudicator reads the submitted curations of a set's articles at which others alone have
    seats.
    """
    async with hub.store.reading() as connection:
        entry = await curations.get(connection, key)
        if entry is not None and await _is_judged(connection, caller, entry):
            return entry
    return await seen_curation(hub, caller, key)


async def own_curation(hub: HubContext, caller: Caller, key: str) -> CurationEntry:
    """Return a curation on which the caller decides; `RefusedError` for any other."""
    entry = await seen_curation(hub, caller, key)
    if entry.token_id != caller.token_id:
        raise RefusedError(Refusal.NOT_YOURS, f"only its curator decides: {entry.curator}")
    _require_open(entry)
    return entry


async def open_entry(connection: AsyncConnection, key: str) -> CurationEntry:
    """Return a curation within the transaction that changes it; `RefusedError` if not open."""
    entry = await curations.get(connection, key)
    if entry is None:
        raise RefusedError(Refusal.UNKNOWN, f"there is no curation {key}", field="curation")
    _require_open(entry)
    of_set = await curation_sets.set_of(connection, key)
    if of_set is not None and of_set.closed_at is not None:
        raise RefusedError(Refusal.STATE, f"set {of_set.name} is closed")
    return entry


async def read_work(
    hub: HubContext, caller: Caller, content: CurationContent, events: Sequence[EventEntry]
) -> CurationWork:
    """Return a curation, read, with the names of servers that the caller sees."""
    work = await caller.aside(CurationWork.read, content, events)
    names = await CuratorNames.of(hub, caller, work.basis.teams)
    if not names.hidden:
        return work
    basis = await caller.aside(renamed, work.basis, names.server)
    return msgspec.structs.replace(work, basis=basis)


def new_key() -> str:
    """Return an id for a new curation."""
    return secrets.token_hex(8)


def _require_open(entry: CurationEntry) -> None:
    if entry.state is not CurationStanding.OPEN:
        raise RefusedError(Refusal.STATE, "it is submitted: reopen it first")


def _require_decided(work: CurationWork) -> None:
    remaining = undecided(work.basis, fold(work.log))
    if remaining:
        names = ", ".join(" ".join((item.task, *item.item)) for item in remaining[:MOST_NAMED])
        message = f"{counted(len(remaining), 'candidate')} without a decision: {names}"
        detail = {"undecided": [msgspec.to_builtins(item) for item in remaining]}
        raise RefusedError(Refusal.STATE, message, field="undecided", detail=detail)


async def _opened(
    hub: HubContext, caller: Caller, token_id: int, live: LiveRequest
) -> CurationEntry:
    """Store a new curation; if another call did so meanwhile, return that one."""
    basis = await _basis(hub, caller, live)
    packed = await caller.aside(packed_basis, basis)
    now, stored = hub.clock(), live.stored
    entry = CurationEntry(
        id=new_key(),
        token_id=token_id,
        curator=caller.name,
        request=stored.id,
        article=stored.article,
        title=stored.title,
        length=stored.length,
        undecided=len(basis.candidates),
        opened_at=now,
        changed_at=now,
    )
    async with hub.store.writing() as connection:
        curation = await curations.of_request(connection, token_id, stored.id)
        if curation is None:
            content = CurationContent(text=stored.text, basis=packed)
            await curations.add(connection, entry, content)
    return curation or entry


async def _basis(hub: HubContext, caller: Caller, live: LiveRequest) -> CurationBasis:
    version, answers = live.version, list(live.answers)
    teams = {asked.server: asked.team for asked in live.servers.values()}
    names = hub.part(CurationParts).proteins(live.stored.release)
    models = hub.part(CurationParts).models
    return await caller.aside(
        find_basis, live.stored, answers, teams, version, models, names, models.changed
    )


def _version(content: CurationContent) -> int:
    return msgspec.json.decode(unpack(content.basis), type=ShownItems).version


def _merged(
    newer: CurationBasis, content: CurationContent, events: Sequence[EventEntry]
) -> tuple[bytes, Mapping[str, int]]:
    older = msgspec.json.decode(unpack(content.basis), type=CurationBasis)
    basis = merged(newer, older)
    log = [read_event(one) for one in events]
    return packed_basis(basis), counts((one.key for one in basis.candidates), log)


async def curation_detail(hub: HubContext, caller: Caller, entry: CurationEntry) -> CurationDetail:
    """Return a curation as it is now; `RefusedError` while its candidates are withheld."""
    return await _detail(hub, caller, await seen_curation(hub, caller, entry.id))


async def _is_judged(connection: AsyncConnection, caller: Caller, entry: CurationEntry) -> bool:
    """Return whether a caller rules on a submitted curation of others."""
    of_set = await curation_sets.set_of(connection, entry.id)
    if of_set is None or entry.state is not CurationStanding.SUBMITTED:
        return False
    seats = await curation_sets.seats(connection, of_set.id)
    positions = {seat.position for seat in seats if seat.curation == entry.id}
    seated = {seat.token_id for seat in seats if seat.position in positions}
    return reads_curations(of_set, caller, seated)


async def _detail(hub: HubContext, caller: Caller, entry: CurationEntry) -> CurationDetail:
    await require_shown(hub, caller, entry)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
        of_set = await curation_sets.set_of(connection, entry.id)
    newest = await hub.part(CurationParts).requests.version(entry.request) if entry.request else 0
    is_own = entry.token_id == caller.token_id

    work = await read_work(hub, caller, content, events)
    name = of_set.name if of_set is not None else ""
    return await caller.aside(view, entry, work, name, is_own=is_own, newest_version=newest)
