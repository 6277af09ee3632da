"""Gold: set by organisers, seen by nobody else; another version scores every run anew."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.dispatch.boards import read_gold, scored_tasks
from metaserver.dispatch.phase import RunningPhase
from metaserver.errors import InputError, Refusal, RefusedError
from metaserver.lifecycle import Role
from metaserver.operations.boards import TaskField
from metaserver.operations.caller import Caller
from metaserver.operations.corpora import OfVersion, Source
from metaserver.operations.fields import OnePhase, PhaseField, need_one_of
from metaserver.operations.gold_changes import ArticleChange, RunChange, label_changes, run_changes
from metaserver.operations.service import Service, noted
from metaserver.operations.table import operation
from metaserver.operations.text_files import unpacked
from metaserver.records import TaskName
from metaserver.services.scoreboard import Scoreboard
from metaserver.store import boards, phases
from metaserver.store.phases import GoldVersion
from metaserver.tasks.plugin import TaskPlugin, installed_tasks

MOST_TOLD = 1_000


class NewGold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gold file for one task of a phase."""

    phase: PhaseField
    task: TaskField
    content: Annotated[bytes, Meta(description="The gold file (docs/scoring.md)")]
    source: Source


class OneGold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of a task's gold."""

    phase: PhaseField
    task: TaskField
    version: OfVersion = None


class GoldChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a gold file changes, or would change.

    `version` is the one it is kept as, null where it is only looked at; `replaces` the one before
    it. `articles` have gold now. `changes` are the articles with other labels, `unknown` those that
    the corpus does not have, the first 1,000 of each; `added`, `removed` and `unknown_articles`
    count them all. `runs` have each run's values on the raw board before and after. `frozen` is
    the id of the board as it was.
    """

    phase: str
    task: str
    version: int | None
    replaces: int | None
    changed: bool
    articles: int
    added: int
    removed: int
    changes: tuple[ArticleChange, ...]
    unknown_articles: int
    unknown: tuple[str, ...]
    runs: tuple[RunChange, ...]
    frozen: str | None = None


class GoldDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a task's gold, without its content; `checksum` is keyed with the hub's key."""

    task: str
    version: int
    source: str
    checksum: str
    created_at: float

    @classmethod
    def of(cls, gold: GoldVersion) -> GoldDetail:
        """Return what is told of a version."""
        return cls(
            task=gold.task,
            version=gold.version,
            source=gold.source,
            checksum=gold.checksum,
            created_at=gold.created_at,
        )


class GoldFile(msgspec.Struct, frozen=True, kw_only=True):
    """A gold file as it was set."""

    gold: GoldDetail
    content: bytes


@operation("Gold.preview", "POST /phases/{phase}/gold/{task}/preview", Role.ORGANISER)
async def preview(service: Service, _caller: Caller, given: NewGold) -> GoldChange:
    """Return what a gold file would change: labels, and the scores of every run. Keeps nothing."""
    running, plugin = service.phase(given.phase), _task(given.task)
    async with running.scoring:
        return await _change(running, plugin, await _read(plugin, given), given.content)


@operation("Gold.set", "PUT /phases/{phase}/gold/{task}", Role.ORGANISER)
async def set_(service: Service, caller: Caller, given: NewGold) -> GoldChange:
    """Set a task's gold, its next version: every run is scored anew, the boards before are kept.

    The same file again changes nothing.
    """
    running, plugin = service.phase(given.phase), _task(given.task)
    async with running.scoring:
        change = await _change(running, plugin, await _read(plugin, given), given.content)
        if not change.changed:
            return change
        frozen = await _kept(service, caller, running, plugin, given, change)
        await running.rescore()
    version = running.gold[plugin.name].version
    return msgspec.structs.replace(change, version=version, frozen=frozen)


@operation("Gold.list", "GET /phases/{phase}/gold", Role.ORGANISER)
async def list_(service: Service, _caller: Caller, given: OnePhase) -> Sequence[GoldDetail]:
    """Return every version of a phase's gold, by task, the newest first."""
    return [GoldDetail.of(version) for version in await _versions(service, given.phase)]


@operation("Gold.get", "GET /phases/{phase}/gold/{task}", Role.ORGANISER)
async def get(service: Service, caller: Caller, given: OneGold) -> GoldFile:
    """Return a gold file."""
    for gold in await _versions(service, given.phase):
        if gold.task == given.task and given.version in (None, gold.version):
            return GoldFile(gold=GoldDetail.of(gold), content=gold.content)
    message = f"phase {given.phase} has no gold of {given.task!r}, or none of that version"
    raise RefusedError(Refusal.UNKNOWN, message, field="task")


async def _versions(service: Service, phase: str) -> Sequence[GoldVersion]:
    running = service.phase(phase)
    async with service.store.reading() as connection:
        return await phases.gold_versions(connection, running.phase.id)


def _task(name: str) -> TaskPlugin:
    need_one_of(name, installed_tasks(), "task")
    return installed_tasks()[TaskName(name)]


async def _read(plugin: TaskPlugin, given: NewGold) -> Any:
    content = await asyncio.to_thread(unpacked, given.content)
    try:
        return await asyncio.to_thread(read_gold, plugin.name, content, given.source)
    except InputError as error:
        raise RefusedError(Refusal.INVALID, str(error), field="content") from error


async def _change(
    running: RunningPhase, plugin: TaskPlugin, gold: Any, content: bytes
) -> GoldChange:
    """Compare a gold file with the newest, on all answers; `RefusedError` for another corpus's."""
    newest = running.gold.get(plugin.name)
    before = Scoreboard(
        [one for one in running.boards.scoreboard.scored() if one.plugin.name == plugin.name]
    )
    scored = await asyncio.to_thread(scored_tasks, {plugin.name: gold}, running.vocabulary)
    after = Scoreboard(scored)
    await running.score_afresh([before, after])
    labels = label_changes(plugin, before, gold)
    unknown = sorted(labels.articles - set(running.corpus.ids))
    if labels.articles and len(unknown) == len(labels.articles):
        message = "none of its articles is in the phase's corpus"
        raise RefusedError(Refusal.INVALID, message, field="content")
    changed = newest is None or newest.content != content
    return GoldChange(
        phase=running.name,
        task=plugin.name,
        version=None if changed or newest is None else newest.version,
        replaces=newest.version if newest is not None and changed else None,
        changed=changed,
        articles=len(labels.articles),
        added=sum(len(change.added) for change in labels.changes),
        removed=sum(len(change.removed) for change in labels.changes),
        changes=tuple(labels.changes[:MOST_TOLD]),
        unknown_articles=len(unknown),
        unknown=tuple(unknown[:MOST_TOLD]),
        runs=tuple(run_changes(plugin, before, after)),
    )


async def _kept(
    service: Service,
    caller: Caller,
    running: RunningPhase,
    plugin: TaskPlugin,
    given: NewGold,
    change: GoldChange,
) -> str | None:
    """Keep the gold, and the boards as they were; return the id of these."""
    now, key = service.clock(), None
    version = (change.replaces or 0) + 1
    reason = f"gold version {version} replaced {change.replaces}"
    board = None
    if change.replaces is not None:
        board = await running.boards.freeze(plugin, phase=running.name, reason=reason, at=now)
    phase_id, name = running.phase.id, plugin.name
    async with service.store.writing() as connection:
        if board is not None and change.replaces is not None:
            key = await boards.keep(
                connection,
                phase_id,
                name,
                change.replaces,
                reason,
                at=now,
                document=board.encode(),
            )
        kept = await phases.set_gold(connection, phase_id, name, given.source, given.content)
        assert kept == version, (kept, version)
        await noted(
            connection,
            caller,
            "gold.set",
            running.name,
            task=name,
            version=version,
            source=given.source,
            added=change.added,
            removed=change.removed,
            frozen=key,
        )
    return key
