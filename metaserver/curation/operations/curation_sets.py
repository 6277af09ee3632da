"""Sets: articles of a phase for several curators, each to at least two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.curations import CurationStanding, SetPlan
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ArticleId
from metaserver.base.states import PhaseState, Role
from metaserver.base.structs import convert
from metaserver.base.viewer import Token
from metaserver.curation.operations.requests import token_of
from metaserver.curation.sets import TASKS, seated
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curation_sets import SeatEntry, SetEntry
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, NAME, NewName, PhaseField, Title, require_one_of
from metaserver.operations.table import Nothing, operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import articles, tokens

MOST_ARTICLES = 1_000
MOST_CURATORS = 20
MOST_EACH = 5
"""The most articles and curators of a set, and curators of an article."""

SetField: TypeAlias = Annotated[str, Meta(pattern=NAME, description="The set's name")]
TokenIds: TypeAlias = tuple[Annotated[int, Meta(ge=1, le=GREATEST)], ...]


class OneSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set by name."""

    set: SetField


class NewSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set of articles of a phase, and its curators."""

    set: NewName
    phase: PhaseField
    curators: Annotated[
        TokenIds,
        Meta(min_length=2, max_length=MOST_CURATORS, description="Ids of curators' tokens"),
    ]
    title: Title = ""
    articles: Annotated[
        tuple[Annotated[str, Meta(max_length=200)], ...],
        Meta(max_length=MOST_ARTICLES, description="Articles of the phase; none: all"),
    ] = ()
    tasks: Annotated[
        tuple[str, ...], Meta(max_length=3, description="None: those of ACT, INT and IPT")
    ] = ()
    each: Annotated[int, Meta(ge=2, le=MOST_EACH, description="Curators per article")] = 2
    blind: Annotated[
        bool, Meta(description="No curator sees another's decisions, nor the agreement")
    ] = True
    assist: Annotated[
        bool, Meta(description="Show what servers answered; for closed phases only")
    ] = False
    adjudicators: Annotated[
        TokenIds,
        Meta(max_length=MOST_CURATORS, description="Tokens that may rule, besides organisers"),
    ] = ()
    own: Annotated[bool, Meta(description="Curators may rule on their own articles")] = False


class SeatDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A curator's seat at an article; `state` is empty, and `curation` too, until it is opened."""

    curator: str
    token: int
    seat: int
    state: str
    curation: str
    active_ms: int


class SetArticleDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An article of a set; `seats` are the caller's own, to organisers all."""

    article: str
    title: str
    seats: tuple[SeatDetail, ...]


class SetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A set; `given` is the number of the caller's own seats, to organisers of all.

    `submitted` are those that are finished; `adjudicates`: the caller rules on disagreements.
    """

    set: str
    title: str
    phase: str
    tasks: tuple[str, ...]
    blind: bool
    assist: bool
    created_at: float
    closed_at: float | None
    given: int
    submitted: int
    adjudicates: bool


class SetDetail(SetSummary, frozen=True, kw_only=True):
    """A set with its articles, to a curator in the curator's own order."""

    articles: tuple[SetArticleDetail, ...]


@operation("CurationSets.create", "POST /curation-sets", Role.ORGANISER)
async def create(hub: HubContext, caller: Caller, request: NewSet) -> SetDetail:
    """Assign articles of a phase to curators: each to `each` of them, all pairs equally often.

    Curators may see these articles even if the phase is not closed; what servers answered is shown
    only if it is.
    """
    running = hub.phase(request.phase)
    positions = _positions(running, request.articles)
    tasks = request.tasks or TASKS
    for task in tasks:
        require_one_of(task, TASKS, "tasks")
    if len(set(request.curators)) < max(request.each, len(request.curators)):
        message = f"expected at least {request.each} curators, each once"
        raise RefusedError(Refusal.INVALID, message, field="curators")
    if request.assist:
        require_closed(running)
    plan = convert(request, SetPlan, tasks=tuple(dict.fromkeys(tasks)))
    seats = await asyncio.to_thread(seated, request.set, positions, request.curators, request.each)
    async with hub.store.writing() as connection:
        if await curation_sets.get(connection, request.set) is not None:
            raise RefusedError(Refusal.STATE, f"there is a set {request.set}", field="set")
        for field in ("curators", "adjudicators"):
            for token_id in getattr(request, field):
                await curator_token(connection, token_id, hub.clock(), field)
        await curation_sets.add(
            connection,
            name=request.set,
            title=request.title,
            phase_id=running.phase.id,
            plan=plan,
            now=hub.clock(),
            seats=[asdict(seat) for seat in seats],
        )
        await audit_log(
            connection,
            caller,
            "curation-sets.create",
            request.set,
            phase=running.name,
            articles=len(positions),
            curators=list(request.curators),
            blind=request.blind,
            assist=request.assist,
        )
    return await set_detail(hub, caller, request.set)


@operation("CurationSets.list", "GET /curation-sets", Role.CURATOR)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[SetSummary]:
    """Return the sets in which the caller has articles or adjudicates; organisers get all sets."""
    async with hub.store.reading() as connection:
        entries = await curation_sets.list_all(connection)
        summaries = []
        for entry in entries:
            seats = await _own_seats(connection, entry, caller)
            if seats or caller.organiser or adjudicates(entry, caller):
                summaries.append(_summary(entry, seats, caller))
    return summaries


@operation("CurationSets.get", "GET /curation-sets/{set}", Role.CURATOR)
async def get(hub: HubContext, caller: Caller, request: OneSet) -> SetDetail:
    """Return a set with the caller's articles; organisers get all, and each curator's progress."""
    return await set_detail(hub, caller, request.set)


@operation("CurationSets.close", "POST /curation-sets/{set}/close", Role.ORGANISER)
async def close(hub: HubContext, caller: Caller, request: OneSet) -> SetDetail:
    """Close a set, so that its curations cannot be changed; a closed set is opened again."""
    entry = await seen_set(hub, caller, request.set)
    now = hub.clock() if entry.closed_at is None else None
    async with hub.store.writing() as connection:
        await curation_sets.close(connection, entry.id, now)
        await audit_log(
            connection, caller, "curation-sets.close", entry.name, closed=now is not None
        )
    return await set_detail(hub, caller, request.set)


@operation("CurationSets.delete", "DELETE /curation-sets/{set}", Role.ORGANISER)
async def delete(hub: HubContext, caller: Caller, request: OneSet) -> None:
    """Delete a set with all its curations and rulings; gold that was set from it stays."""
    entry = await seen_set(hub, caller, request.set)
    async with hub.store.writing() as connection:
        await curation_sets.delete(connection, entry.id)
        await audit_log(connection, caller, "curation-sets.delete", entry.name)


async def curator_token(
    connection: AsyncConnection, token_id: int, now: float, field: str
) -> Token:
    """Return a valid token of a curator; `RefusedError` names the field for any other."""
    token = await tokens.get_valid(connection, token_id, now)
    if token is None or token.role is not Role.CURATOR:
        message = f"{token_id} is no valid token of a curator"
        raise RefusedError(Refusal.UNKNOWN, message, field=field)
    return token


def adjudicates(entry: SetEntry, caller: Caller) -> bool:
    """Return whether a caller rules on a set's disagreements."""
    return caller.organiser or caller.token_id in entry.plan.adjudicators


def reads_curations(entry: SetEntry, caller: Caller, seated: Collection[int]) -> bool:
    """Return whether a caller reads submitted curations of an article whose seats others have."""
    return adjudicates(entry, caller) and caller.token_id not in seated


async def seen_set(hub: HubContext, caller: Caller, name: str) -> SetEntry:
    """Return a set in which the caller has articles or adjudicates; else `RefusedError`."""
    async with hub.store.reading() as connection:
        entry = await curation_sets.get(connection, name)
    is_own = entry is not None and (
        adjudicates(entry, caller) or caller.token_id in entry.plan.curators
    )
    if entry is None or not is_own:
        raise RefusedError(Refusal.UNKNOWN, f"there is no set {name!r}", field="set")
    return entry


def _positions(running: RunningPhase, articles: Sequence[str]) -> Sequence[int]:
    """Return the positions of articles of a phase; `RefusedError` for others."""
    if not articles:
        articles = running.corpus.ids
    if len(articles) > MOST_ARTICLES:
        message = f"a set has at most {MOST_ARTICLES:,} articles: name some of the phase's"
        raise RefusedError(Refusal.INVALID, message, field="articles")
    positions: dict[int, None] = {}
    for name in articles:
        position = running.positions.get(ArticleId(name))
        if position is None:
            message = f"{running.label} has no article {name!r}"
            raise RefusedError(Refusal.UNKNOWN, message, field="articles")
        positions[position] = None
    return list(positions)


def require_closed(running: RunningPhase) -> None:
    """Raise `RefusedError` while nobody may be shown what servers said of a phase's articles."""
    if running.state is not PhaseState.CLOSED:
        message = "what servers answered is shown only once the phase is closed"
        raise RefusedError(Refusal.STATE, message, field="assist")


async def _own_seats(
    connection: AsyncConnection, entry: SetEntry, caller: Caller
) -> Sequence[SeatEntry]:
    """Return the caller's seats in a set, to organisers all: nobody learns of another's."""
    if caller.organiser:
        return await curation_sets.seats(connection, entry.id)
    return await curation_sets.seats(connection, entry.id, token_of(caller))


def _summary(entry: SetEntry, seats: Sequence[SeatEntry], caller: Caller) -> SetSummary:
    return SetSummary(
        set=entry.name,
        title=entry.title,
        phase=entry.phase,
        tasks=entry.plan.tasks,
        blind=entry.plan.blind,
        assist=entry.plan.assist,
        created_at=entry.created_at,
        closed_at=entry.closed_at,
        given=len(seats),
        submitted=sum(seat.state is CurationStanding.SUBMITTED for seat in seats),
        adjudicates=adjudicates(entry, caller),
    )


async def set_detail(hub: HubContext, caller: Caller, name: str) -> SetDetail:
    """Return a set as the caller sees it."""
    entry = await seen_set(hub, caller, name)
    corpus = hub.phase(entry.phase).corpus
    async with hub.store.reading() as connection:
        seats = await _own_seats(connection, entry, caller)
        positions = list(dict.fromkeys(seat.position for seat in seats))
        titles = await articles.titles(connection, corpus.id, positions)
    by_article: Mapping[int, list[SeatDetail]] = {position: [] for position in positions}
    for seat in seats:
        by_article[seat.position].append(
            SeatDetail(
                curator=seat.label,
                token=seat.token_id,
                seat=seat.seat,
                state=seat.state.value if seat.state else "",
                curation=seat.curation or "",
                active_ms=seat.active_ms,
            )
        )
    return SetDetail(
        **msgspec.structs.asdict(_summary(entry, seats, caller)),
        articles=tuple(
            SetArticleDetail(
                article=corpus.ids[position], title=titles[position], seats=tuple(of_it)
            )
            for position, of_it in by_article.items()
        ),
    )


HeldToken = Annotated[int, Meta(ge=1, le=GREATEST)]


class RenewedToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curator's token, and its replacement."""

    curator: Annotated[HeldToken, Meta(description="The id of the token that has the curations")]
    to: Annotated[HeldToken, Meta(description="The id of the token that gets them")]


class MovedCurations(msgspec.Struct, frozen=True, kw_only=True):
    """The number of curations that another token got."""

    curations: int


@operation("Curation.reassign", "POST /curations/reassign", Role.ORGANISER)
async def reassign(hub: HubContext, caller: Caller, request: RenewedToken) -> MovedCurations:
    """Give all curations of a token that are in no set to another token with the same label.

    Tokens with the same label are the same person's, and each decision keeps its author.
    """
    async with hub.store.writing() as connection:
        holder = await tokens.get(connection, request.curator)
        if holder is None or holder.role is not Role.CURATOR:
            message = f"{request.curator} is no token of a curator"
            raise RefusedError(Refusal.UNKNOWN, message, field="curator")
        to = await curator_token(connection, request.to, hub.clock(), "to")
        if to.label != holder.label or to.id == holder.id:
            message = f"expected another token with the label {holder.label!r}"
            raise RefusedError(Refusal.STATE, message, field="to")
        moved = await curations.give(connection, holder.id, to.id)
        await audit_log(
            connection,
            caller,
            "curation.reassign",
            f"token {holder.id}",
            to=to.id,
            curations=moved,
        )
    return MovedCurations(curations=moved)
