"""Gold out of a set: looked at, previewed and set as the next version of its phase's gold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.base.phases import GoldChange, GoldVersion
from metaserver.base.records import TaskName
from metaserver.base.states import Role
from metaserver.boards.gold import read_gold
from metaserver.curation.exports.finished import FinishedCuration
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.exports.ruled import Rulings, ruled
from metaserver.curation.operations.curation_exports import (
    ExportedFile,
    FormatField,
    finished_of,
    written,
)
from metaserver.curation.operations.curation_sets import OneSet, seen_set
from metaserver.curation.operations.set_agreement import SetWork, TaskOfSet, load_work, rulings_of
from metaserver.curation.operations.set_proposals import proposals
from metaserver.curation.sets import SetGold, open_questions, pool_report, set_gold
from metaserver.curation.store import curation_sets, curations
from metaserver.curation.store.curation_sets import SetEntry
from metaserver.operations import gold
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import GREATEST, require_one_of
from metaserver.operations.gold import NewGold
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import operation
from metaserver.operations.text_files import unpacked
from scoring import ItemGold


class NewGoldOfSet(TaskOfSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gold of a set for a task of its phase.

    Of articles that the set has not, the present gold stays.
    """

    partial: Annotated[bool, Meta(description="Leave out articles that are not submitted")] = False
    replaces: Annotated[
        Annotated[int, Meta(ge=0, le=GREATEST)] | None,
        Meta(description="Replace only this version; 0: only if there is no gold yet"),
    ] = None


class SetExport(OneSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The submitted curations of a set, and the format to write them in."""

    format: FormatField = "json"
    ruled: Annotated[
        bool, Meta(description="One curation per article that both have submitted, as ruled")
    ] = False


class ProposedGoldItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a set's gold that no server had proposed."""

    article: str
    item: tuple[str, ...]


class SetGoldReport(msgspec.Struct, frozen=True, kw_only=True):
    """The gold of a set for a task, and who had proposed it.

    `source` is the line that the gold's version keeps. `agreed` and `ruled` count what was accepted
    by both and what was ruled on; `empty` are articles without an item, `missing` those that are
    not submitted. `items` is their number, `by_hand` the share that no server had proposed (null
    for ACT, and without items), `unproposed` those, `servers` the number of items that each server
    had proposed. A high count is no fault, but a board on this gold favours that server.
    """

    set: str
    task: str
    source: str
    agreed: int
    ruled: int
    empty: tuple[str, ...]
    missing: tuple[str, ...]
    items: int
    by_hand: float | None
    unproposed: tuple[ProposedGoldItem, ...]
    servers: Mapping[str, int]


@operation("CurationSets.report", "GET /curation-sets/{set}/report/{task}", Role.ORGANISER)
async def report(hub: HubContext, caller: Caller, request: TaskOfSet) -> SetGoldReport:
    """Return what the gold of a set would be, and which servers proposed each item."""
    work = await _work(hub, caller, request)
    merged_gold = await _made(hub, work, request.task)
    running = hub.phase(work.entry.phase)
    items, by_hand = len(merged_gold.gold), None
    unproposed: tuple[ProposedGoldItem, ...] = ()
    servers: Mapping[str, int] = {}
    if isinstance(merged_gold.gold, ItemGold):  # an article's class is proposed by every server
        proposed = {
            article: await proposals(hub, running, seats[0].position, request.task)
            for article, seats in work.seats.items()
        }
        pool = await asyncio.to_thread(pool_report, merged_gold.gold, proposed)
        servers, items = pool.servers, sum(map(len, merged_gold.gold.items.values()))
        by_hand = len(pool.unproposed) / items if items else None
        unproposed = tuple(
            ProposedGoldItem(article=article, item=item) for article, item in pool.unproposed
        )
    return SetGoldReport(
        set=request.set,
        task=request.task,
        source=merged_gold.source,
        agreed=merged_gold.agreed,
        ruled=merged_gold.ruled,
        empty=tuple(merged_gold.empty),
        missing=tuple(merged_gold.missing),
        items=items,
        by_hand=by_hand,
        unproposed=unproposed,
        servers=servers,
    )


@operation("CurationSets.preview", "POST /curation-sets/{set}/gold/{task}/preview", Role.ORGANISER,
           report=GoldChange)  # fmt: skip
async def preview(hub: HubContext, caller: Caller, request: NewGoldOfSet) -> JobDetail:
    """Preview the gold that a set would make: its labels, and every run's scores."""
    return await gold.preview(hub, caller, await _proposal(hub, caller, request))


@operation("CurationSets.publish", "PUT /curation-sets/{set}/gold/{task}", Role.ORGANISER,
           report=GoldChange)  # fmt: skip
async def publish(hub: HubContext, caller: Caller, request: NewGoldOfSet) -> JobDetail:
    """Make a set's decisions the next version of its phase's gold.

    It is refused if a disagreement has no ruling, or an article is not submitted.
    """
    return await gold.set_(hub, caller, await _proposal(hub, caller, request))


@operation("CurationSets.export", "GET /curation-sets/{set}/export", Role.ORGANISER)
async def export(hub: HubContext, caller: Caller, request: SetExport) -> ExportedFile:
    """Return a set's submitted curations as a file; with `ruled`, what was accepted in the end.

    With `ruled` it is refused if a disagreement, even on a pair's methods, has no ruling.
    """
    require_one_of(request.format, FORMATS, "format")
    entry = await seen_set(hub, caller, request.set)
    async with hub.store.reading() as connection:
        seats = await curation_sets.seats(connection, entry.id)
        keys = [seat.curation for seat in seats if seat.state is CurationStanding.SUBMITTED]
        entries = [await curations.get(connection, key) for key in keys if key]
        existing = [entry for entry in entries if entry is not None]
    made = await finished_of(hub, caller, existing)
    if request.ruled:
        made = await _ruled(hub, entry, {one.id: one for one in made})
    return await written(caller, made, request.format, entry.name)


async def _ruled(
    hub: HubContext, entry: SetEntry, made: Mapping[str, FinishedCuration]
) -> Sequence[FinishedCuration]:
    """Return one curation per article that both curators have submitted."""
    by_article: dict[str, Rulings] = {}
    for task in entry.plan.tasks:
        work = await load_work(hub, entry, task)
        questions = await asyncio.to_thread(open_questions, work.articles, task)
        rulings = await rulings_of(hub, work, task, questions)
        if unruled := len(questions) - len(rulings):
            message = (
                f"{unruled} of {counted(len(questions), 'disagreement')} on {task} without a ruling"
            )
            raise RefusedError(Refusal.STATE, message, field="ruled")
        for one in questions:
            decided = one, rulings[one.question][0]
            by_article.setdefault(one.article, {})[one.task, one.item] = decided
    pairs = {name: (seats[0].curation, seats[1].curation) for name, seats in work.seats.items()}
    return [
        ruled(made[first], made[second], by_article.get(article, {}))
        for article, (first, second) in pairs.items()
        if first and second and {first, second} <= made.keys()
    ]


async def _work(hub: HubContext, caller: Caller, request: TaskOfSet) -> SetWork:
    return await load_work(hub, await seen_set(hub, caller, request.set), request.task)


async def _made(hub: HubContext, work: SetWork, task: str) -> SetGold:
    questions = await asyncio.to_thread(open_questions, work.articles, task)
    rulings = await rulings_of(hub, work, task, questions)
    return await asyncio.to_thread(set_gold, work.entry.name, work.articles, task, rulings)


async def _proposal(hub: HubContext, caller: Caller, request: NewGoldOfSet) -> NewGold:
    """Return a set's gold as a file for its phase; `RefusedError` while it is not complete."""
    work = await _work(hub, caller, request)
    merged_gold = await _made(hub, work, request.task)
    if merged_gold.missing and not request.partial:
        message = (
            f"{counted(len(merged_gold.missing), 'article')} not submitted by both curators yet"
        )
        raise RefusedError(Refusal.STATE, message, field="partial")
    if not merged_gold.articles:
        raise RefusedError(Refusal.STATE, "no article is submitted by both curators yet")
    task = TaskName(request.task)
    present = hub.phase(work.entry.phase).gold.get(task)
    content = await asyncio.to_thread(_content, task, merged_gold, present)
    newest = present.version if present is not None else 0  # its other articles are in the content
    return NewGold(
        phase=work.entry.phase,
        task=request.task,
        content=content,
        source=merged_gold.source,
        replaces=newest if request.replaces is None else request.replaces,
    )


def _content(task: TaskName, merged_gold: SetGold, present: GoldVersion | None) -> bytes:
    """Return the gold file of a set, with the present gold of other articles."""
    if present is None:
        return merged_gold.content(None)
    return merged_gold.content(read_gold(task, unpacked(present.content), present.source))
