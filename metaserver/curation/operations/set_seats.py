"""Seats of a set: a curator opens the curation of one, an organiser gives them to another."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.compression import pack
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ArticleId
from metaserver.base.states import Role
from metaserver.curation.basis import CurationBasis
from metaserver.curation.operations.curation_sets import (
    OneSet,
    SetDetail,
    curator_token,
    require_closed,
    seen_set,
    set_detail,
)
from metaserver.curation.operations.curation_view import CurationDetail, packed_basis
from metaserver.curation.operations.curations import curation_detail, new_key
from metaserver.curation.operations.requests import token_of
from metaserver.curation.operations.set_proposals import stored_basis
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curation_sets import SeatEntry, SetEntry
from metaserver.curation.store.curations import CurationContent, CurationEntry
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST
from metaserver.operations.table import operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import articles, tokens


class ArticleOfSet(OneSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article of a set."""

    article: Annotated[str, Meta(min_length=1, max_length=200, description="The article's id")]


class NewHolder(OneSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curator in a set, and the curator who takes over."""

    curator: Annotated[int, Meta(ge=1, le=GREATEST, description="The token that has the articles")]
    to: Annotated[int, Meta(ge=1, le=GREATEST, description="The token that gets them")]


@operation("CurationSets.open", "POST /curation-sets/{set}/articles/{article}", Role.CURATOR)
async def open_(hub: HubContext, caller: Caller, request: ArticleOfSet) -> CurationDetail:
    """Open the caller's curation of an article of a set, or return the existing curation."""
    entry = await seen_set(hub, caller, request.set)
    running, token_id = hub.phase(entry.phase), token_of(caller)
    position = running.positions.get(ArticleId(request.article))
    async with hub.store.reading() as connection:
        seats = await curation_sets.seats(connection, entry.id, token_id)
    seat = next((seat for seat in seats if seat.position == position), None)
    if seat is None:
        message = f"article {request.article!r} is not among yours in this set"
        raise RefusedError(Refusal.UNKNOWN, message, field="article")
    key = seat.curation or await _opened(hub, caller, entry, running, seat)
    async with hub.store.reading() as connection:
        found = await curations.get(connection, key)
    assert found is not None
    return await curation_detail(hub, caller, found)


@operation("CurationSets.reassign", "POST /curation-sets/{set}/reassign", Role.ORGANISER)
async def reassign(hub: HubContext, caller: Caller, request: NewHolder) -> SetDetail:
    """Give a curator's articles in a set to another token.

    A token with the same label is the same person's and gets all of them, with their curations.
    Any other gets those that are not opened yet, so that each decision keeps its author.
    """
    entry = await seen_set(hub, caller, request.set)
    async with hub.store.writing() as connection:
        holder = await tokens.get(connection, request.curator)
        seats_held = await curation_sets.seats(connection, entry.id, request.curator)
        if holder is None or not seats_held:
            message = f"token {request.curator} has no seat in this set"
            raise RefusedError(Refusal.UNKNOWN, message, field="curator")
        to = await curator_token(connection, request.to, hub.clock(), "to")
        same = holder.label == to.label
        moved = [seat for seat in seats_held if same or seat.curation is None]
        seats_of_other = await curation_sets.seats(connection, entry.id, to.id)
        if {seat.position for seat in seats_of_other} & {seat.position for seat in moved}:
            message = "it has a seat at some of the articles already"
            raise RefusedError(Refusal.STATE, message, field="to")
        plan = entry.plan
        rest = [curator for curator in plan.curators if curator not in (holder.id, to.id)]
        staying = [holder.id] if len(moved) < len(seats_held) else []
        judges = [
            to.id if same and adjudicator == holder.id else adjudicator
            for adjudicator in plan.adjudicators
        ]
        changed = msgspec.structs.replace(
            plan, curators=(*rest, *staying, to.id), adjudicators=tuple(dict.fromkeys(judges))
        )
        await curation_sets.move(connection, entry.id, holder.id, to.id, moved, changed)
        await audit_log(
            connection,
            caller,
            "curation-sets.reassign",
            entry.name,
            curator=holder.id,
            to=to.id,
            seats=len(moved),
        )
    return await set_detail(hub, caller, request.set)


async def _opened(
    hub: HubContext, caller: Caller, entry: SetEntry, running: RunningPhase, seat: SeatEntry
) -> str:
    """Store a new curation in a seat; if another call did so meanwhile, return that one."""
    if entry.closed_at is not None:
        raise RefusedError(Refusal.STATE, f"set {entry.name} is closed")
    position, article = seat.position, running.corpus.ids[seat.position]
    [text] = await hub.store.article_texts(running.corpus.id, range(position, position + 1))
    basis = CurationBasis(release=hub.part(CurationParts).proteins(running.vocabulary.name).release)
    if entry.plan.assist:
        require_closed(running)
        await hub.part(CurationParts).guarded.require_free(text, article)
        basis = await stored_basis(hub, running, position, text, entry.plan.tasks)
    packed = await asyncio.to_thread(packed_basis, basis)
    content = CurationContent(
        text=await asyncio.to_thread(pack, text.encode("utf-8", "surrogatepass")), basis=packed
    )
    now = hub.clock()
    async with hub.store.writing() as connection:
        seats = await curation_sets.seats(connection, entry.id, seat.token_id)
        [current] = [seat for seat in seats if seat.position == position]
        if current.curation is not None:
            return current.curation
        title = (await articles.titles(connection, running.corpus.id, [position]))[position]
        made = CurationEntry(
            id=new_key(),
            token_id=seat.token_id,
            curator=caller.name,
            article=article,
            title=title,
            length=len(text),
            undecided=len(basis.candidates),
            opened_at=now,
            changed_at=now,
        )
        await curations.add(connection, made, content)
        await curation_sets.take_seat(connection, entry.id, position, seat.token_id, made.id)
    return made.id
