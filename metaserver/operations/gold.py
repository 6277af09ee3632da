"""Gold: set and seen by organisers only; a new version scores every run again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.phases import GoldChange, label_of
from metaserver.base.plans import PhasePlan
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.boards.gold import label_changes, no_accession, read_gold, unanswerable
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.corpora import OfVersion, Source
from metaserver.operations.fields import GREATEST, OnePhase, PhaseField, TaskField, require_one_of
from metaserver.operations.jobs import JobDetail, begun
from metaserver.operations.planning import require_divisible, takes_uploads_only
from metaserver.operations.regrading import Proposal, Regrading
from metaserver.operations.table import Scope, operation
from metaserver.operations.text_files import unpacked
from metaserver.store import phases
from metaserver.tasks.plugin import OfflineTask, TaskPlugin, installed_tasks
from metaserver.uniprot import ReleaseVocabulary

GoldContent = Annotated[bytes, Meta(description="The gold file (docs/scoring.md, docs/tasks.md)")]


class NewGold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gold file for a phase's task."""

    phase: PhaseField
    task: TaskField
    content: GoldContent
    source: Source
    replaces: Annotated[
        Annotated[int, Meta(ge=0, le=GREATEST)] | None,
        Meta(description="Replace only this version; 0: only where there is none"),
    ] = None


class OneGold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version of a task's gold."""

    phase: PhaseField
    task: TaskField
    version: OfVersion = None


class GoldDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a task's gold, without its content; `checksum` is keyed with the hub's key."""

    task: str
    version: int
    source: str
    checksum: str
    created_at: float


class GoldFile(msgspec.Struct, frozen=True, kw_only=True):
    """A gold file as it was set."""

    gold: GoldDetail
    content: bytes


@operation("Gold.preview", "POST /phases/{phase}/gold/{task}/preview", Role.ORGANISER,
           scope=Scope.PHASE, report=GoldChange)  # fmt: skip
async def preview(hub: HubContext, caller: Caller, request: NewGold) -> JobDetail:
    """Begin a preview of a gold file's changes: labels, and every run's scores.

    It is a background job that stores nothing; the changes are its report.
    """
    work = Regrading(hub=hub, caller=caller, proposal=await _proposal(hub, request))
    return await begun(hub, caller, "gold.preview", _subject(request), work.preview)


@operation(
    "Gold.set",
    "PUT /phases/{phase}/gold/{task}",
    Role.ORGANISER,
    scope=Scope.PHASE,
    report=GoldChange,
)
async def set_(hub: HubContext, caller: Caller, request: NewGold) -> JobDetail:
    """Begin to set a task's gold, as its next version: every run is scored again.

    It is a background job; the boards before are frozen. The same file again changes nothing.
    """
    work = Regrading(hub=hub, caller=caller, proposal=await _proposal(hub, request))
    return await begun(hub, caller, "gold.set", _subject(request), work.set)


@operation("Gold.list", "GET /phases/{phase}/gold", Role.ORGANISER, scope=Scope.PHASE)
async def list_(hub: HubContext, _caller: Caller, request: OnePhase) -> Sequence[GoldDetail]:
    """Return every version of a phase's gold, by task, newest first."""
    phase_id = hub.phase(request.phase).phase.id
    async with hub.store.reading() as connection:
        return [
            convert(version, GoldDetail)
            for version in await phases.gold_versions(connection, phase_id)
        ]


@operation("Gold.get", "GET /phases/{phase}/gold/{task}", Role.ORGANISER, scope=Scope.PHASE)
async def get(hub: HubContext, caller: Caller, request: OneGold) -> GoldFile:
    """Return a gold file."""
    running = hub.phase(request.phase)
    async with hub.store.reading() as connection:
        gold = await phases.gold_version(
            connection, running.phase.id, request.task, request.version
        )
    if gold is None:
        message = f"{running.label} has no gold of {request.task!r}, or none of that version"
        raise RefusedError(Refusal.UNKNOWN, message, field="task")
    return GoldFile(gold=convert(gold, GoldDetail), content=gold.content)


async def usable_gold(
    request: NewGold, plan: PhasePlan, articles: Sequence[ArticleId], vocabulary: ReleaseVocabulary
) -> Any:
    """Read a gold file; `RefusedError` if it has faults, or belongs to another corpus or task."""
    require_one_of(request.task, installed_tasks(), "task")
    plugin = installed_tasks()[TaskName(request.task)]
    _require_same_kind(label_of(request.phase, plan.title), plan, plugin)
    require_divisible(plan, [plugin.name])
    content = await asyncio.to_thread(unpacked, request.content)
    try:
        gold = await asyncio.to_thread(read_gold, plugin.name, content, request.source)
    except InputError as error:
        raise RefusedError(Refusal.INVALID, str(error), field="content") from error
    labels = await asyncio.to_thread(label_changes, plugin, None, gold, articles)
    if labels.articles and labels.unknown_articles == labels.articles:
        message = "none of its articles is in the phase's corpus"
        raise RefusedError(Refusal.INVALID, message, field="content")
    impossible = await asyncio.to_thread(unanswerable, plugin, gold, vocabulary)
    if impossible.is_all:
        message = no_accession(vocabulary.release.name)
        raise RefusedError(Refusal.INVALID, message, field="content")
    return gold


async def _proposal(hub: HubContext, request: NewGold) -> Proposal:
    """Read a gold file as a proposal for its phase; `RefusedError` if it cannot be used."""
    running = hub.phase(request.phase)
    gold = await usable_gold(request, running.phase.plan, running.corpus.ids, running.vocabulary)
    proposal = Proposal(
        phase=running.name,
        plugin=installed_tasks()[TaskName(request.task)],
        gold=gold,
        content=request.content,
        source=request.source,
        replaces=request.replaces,
    )
    proposal.require_newest(running)
    return proposal


def _require_same_kind(label: str, plan: PhasePlan, plugin: TaskPlugin) -> None:
    """Raise `RefusedError` for an offline task in a phase of servers, and the other way round."""
    if isinstance(plugin, OfflineTask) and plugin.name not in plan.tasks:
        message = f"{plugin.name} takes uploads only: name it among the tasks of {label}"
        raise RefusedError(Refusal.INVALID, message, field="task")
    if takes_uploads_only(plan.tasks) and not isinstance(plugin, OfflineTask):
        message = f"{label} takes uploads only, and {plugin.name} is for servers"
        raise RefusedError(Refusal.INVALID, message, field="task")


def _subject(request: NewGold) -> str:
    return f"{request.phase} {request.task}"
