"""Phases: planned by organisers, advanced by the clock or manually."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import Phase
from metaserver.base.plans import (
    DATES,
    AnswerRules,
    Change,
    Date,
    Kind,
    Moments,
    PhaseLimits,
    PhasePlan,
    PhaseRules,
    PlannedAnswers,
    PlannedLimits,
    PlannedNames,
    PlannedRanking,
    PlannedUsage,
    PlannedVisibility,
    PublicShare,
    Ranking,
    Tasks,
    TeamNames,
    UsageRules,
    WrittenPlan,
)
from metaserver.base.records import PhaseName, TaskName
from metaserver.base.states import OVER, PhaseState, Role, Visibility
from metaserver.base.structs import convert
from metaserver.base.zones import shown_name, to_zone
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import challenge_named, moment_in
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.corpora import Source
from metaserver.operations.fields import NewName, OnePhase, PhaseField, TaskField, Title
from metaserver.operations.gold import GoldContent, NewGold, usable_gold
from metaserver.operations.kept import offered
from metaserver.operations.planning import (
    checked,
    known_corpus,
    reached,
    require_divisible,
    require_materials,
)
from metaserver.operations.rounded import warning
from metaserver.operations.table import Nothing, Scope, operation
from metaserver.phases.restore import vocabulary_of
from metaserver.phases.runtime import RunningPhase
from metaserver.store import phases

Corpus = Annotated[
    str,
    Meta(
        description="A corpus by name, or NAME@VERSION; the newest if bare. Phases of uploads need"
        " none."
    ),
]
ReleaseField = Annotated[
    str,
    Meta(
        description="The UniProt release that answers are checked against. Phases of uploads need"
        " none."
    ),
]

MOST_OUTSIDE = 100
MOST_GOLD = 64
"""The most gold files that a new phase is planned with: one per task."""
PLANNED = ("title", *PhaseRules.__struct_fields__)
"""The values in a request that go into the plan as they are."""
FIXED = ("public_share", "answers")
"""Those that cannot be changed once there is a run, besides corpus, release and tasks."""


class FirstGold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gold file for a task of a new phase."""

    task: TaskField
    content: GoldContent
    source: Source = "-"


class NewPhase(WrittenPlan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new phase's plan."""

    challenge: Annotated[str, Meta(description="The challenge it belongs to")]
    phase: NewName
    corpus: Corpus = ""
    release: ReleaseField = ""
    title: Title = ""
    gold: Annotated[
        tuple[FirstGold, ...],
        Meta(max_length=MOST_GOLD, description="Gold files of its tasks: it is planned with all"),
    ] = ()


class PhaseChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a phase; corpus, release, tasks, share, answers only before its first run.

    An empty date removes the date: then the phase is advanced manually.
    """

    phase: PhaseField
    corpus: Corpus | None = None
    release: ReleaseField | None = None
    title: Title | None = None
    kind: Kind | None = None
    opens: Date | None = None
    freezes: Date | None = None
    closes: Date | None = None
    tasks: Tasks | None = None
    limits: PlannedLimits | None = None
    visibility: PlannedVisibility | None = None
    ranking: PlannedRanking | None = None
    team_names: PlannedNames | None = None
    public_share: PublicShare | None = None
    usage: PlannedUsage | None = None
    answers: PlannedAnswers | None = None


class PhaseDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A phase as everybody may see it; dates are ISO 8601 with offset, in the challenge's zone.

    `phase` is its name in the hub, `own_name` that in its challenge, which addresses have.
    `coming` are the changes that the clock will make by the dates, the next first. `timezone` is
    UTC if the hub's machine does not know the challenge's zone. `timeout` (seconds for an article),
    `attempts` and `answer_bytes` are the limits in force: the phase's own, else the hub's.
    `public_share` is the share of gold articles that scores use while a test phase is open.
    `moments` is when an organiser advanced it manually or published its results, in Unix seconds.
    `answers` are the rules in force: the phase's own, else the hub's. `teams` take part by a server
    or an uploaded run. `uploads_only`: its tasks are offline, so no server takes part.
    `catching_up` is empty unless the hub was just started and still reads stored answers. `data`:
    its data package is released. `warnings` are for organisers, in answer to a changed plan.
    """

    phase: str
    own_name: str
    challenge: str
    challenge_title: str = ""
    title: str
    timezone: str
    state: PhaseState
    coming: tuple[Change, ...]
    kind: PhaseState
    opens: datetime | None
    freezes: datetime | None
    closes: datetime | None
    moments: Moments = Moments()
    tasks: tuple[str, ...]
    limits: PhaseLimits
    timeout: float
    attempts: int
    answer_bytes: int
    visibility: Visibility
    team_names: TeamNames
    public_share: float = 1.0
    usage: UsageRules = UsageRules()
    answers: AnswerRules = AnswerRules()
    ranking: Ranking = Ranking()
    release: str
    articles: int
    gold: dict[str, int]
    servers: int
    teams: int
    uploads_only: bool = False
    catching_up: str
    data: bool = False
    warnings: tuple[str, ...] = ()

    def idle_dates(self, now: float) -> Sequence[str]:
        """Return the dates ahead (of Unix seconds) by which the clock changes nothing any more."""
        coming = {change.date for change in self.coming}
        dated = [(name, getattr(self, name)) for name in DATES]
        return [name for name, at in dated if at and at.timestamp() > now and name not in coming]


class GoldOutside(msgspec.Struct, frozen=True, kw_only=True):
    """The articles of a gold that are not in the corpus: their number, and the first 100."""

    count: int
    articles: tuple[str, ...]


class PhasePlanDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A phase's plan as organisers see it beside its `PhaseDetail`.

    `corpus` is NAME@VERSION. `tasks` are the plan's: empty means all. `answers` are the plan's own
    rules, null if the hub's settings count. `fixed`: it has runs, so corpus, release, tasks and
    answers cannot be changed. `outside` has, by task, the gold articles that are not in the corpus
    and count in no score. `warnings` say what is unwise in it.
    """

    phase: str
    corpus: str
    tasks: tuple[str, ...]
    answers: AnswerRules
    fixed: bool
    warnings: tuple[str, ...]
    outside: dict[str, GoldOutside] = {}


def detail(hub: HubContext, running: RunningPhase) -> PhaseDetail:
    """Return a phase's public fields."""
    phase, now = running.phase, hub.clock()
    plan = msgspec.structs.asdict(phase.plan)
    plan |= {name: _in_zone(phase, plan[name]) for name in DATES}
    plan |= {"tasks": tuple(task.name for task in running.tasks), "answers": _answers_of(running)}
    return PhaseDetail(
        **plan,
        phase=phase.name,
        own_name=phase.own_name,
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        timezone=shown_name(phase.timezone),
        state=phase.state(now),
        coming=tuple(
            msgspec.structs.replace(change, at=to_zone(change.at, phase.timezone))
            for change in phase.coming(now)
        ),
        moments=phase.moments,
        timeout=running.settings.limits.timeout,
        attempts=running.settings.limits.attempts,
        answer_bytes=running.settings.limits.answer_bytes,
        release=phase.release,
        articles=len(running.corpus),
        gold={task: version.version for task, version in running.gold.items()},
        servers=len(running.servers),
        teams=len(_teams(running)),
        uploads_only=running.uploads_only,
        catching_up=running.catching_up,
        data=offered(hub, running) is not None,
    )


def _teams(running: RunningPhase) -> Set[str]:
    """Return the teams that take part in a phase, by a server or an uploaded run."""
    of_servers = {server.team for server in running.servers.values() if server.team}
    return of_servers | {run.team for run in running.offline.values()}


def _answers_of(running: RunningPhase) -> AnswerRules:
    """Return the rules by which a phase reads answers."""
    settings = running.settings
    return AnswerRules(
        normalise=running.vocabulary.normalise,
        confidence=settings.answers.confidence,
        mention_type=settings.answers.mention_type,
    )


def _warned(phase: PhaseDetail) -> PhaseDetail:
    """Return a phase with warnings for its organisers."""
    return msgspec.structs.replace(phase, warnings=warnings_of(phase))


def warnings_of(phase: PhaseDetail) -> tuple[str, ...]:
    """Return warnings for a phase's organisers, each in a sentence or more."""
    text = warning(phase)
    return (text,) if text and phase.state not in OVER else ()


@operation("Phases.create", "POST /phases", Role.ORGANISER)
async def create(hub: HubContext, caller: Caller, request: NewPhase) -> PhaseDetail:
    """Plan a phase. Import its corpus before; give its gold with it, or set it after.

    If a gold is refused, no phase is made. Set gold of more than 1 MiB after.

    Its name is unique in its challenge. If a phase of another challenge has it too, `phase` in the
    answer is CHALLENGE.NAME, by which operations know this phase.
    """
    challenge = await challenge_named(hub, request.challenge)
    require_materials(hub, request.tasks, request.release, has_articles=bool(request.corpus))
    corpus_id = await known_corpus(hub, request.corpus)
    plan = planned(request, challenge.timezone)
    await _require_usable_gold(hub, request, plan, corpus_id)
    async with hub.store.writing() as connection:
        if await phases.in_challenge(connection, challenge.name, request.phase) is not None:
            title = challenge.title or challenge.name
            message = f"there is a phase {request.phase!r} of {title} already"
            raise RefusedError(Refusal.STATE, message, field="phase")
        phase_id = await phases.add(
            connection,
            request.phase,
            challenge.id,
            plan,
            corpus_id=corpus_id,
            release=request.release,
            after=hub.phases.scheduler.last_id,
        )
        for file in request.gold:
            task = TaskName(file.task)
            await phases.set_gold(connection, phase_id, task, file.source, file.content)
        phase = await phases.by_id(connection, phase_id)
        assert phase is not None
        details = _audit_details(request) | {"gold": {one.task: one.source for one in request.gold}}
        await audit_log(connection, caller, "phases.create", phase.name, **details)
    return _warned(detail(hub, await reopened(hub, phase.name)))


async def _require_usable_gold(
    hub: HubContext, request: NewPhase, plan: PhasePlan, corpus_id: int
) -> None:
    """Raise `RefusedError`, for the field `gold.TASK`, for a gold that cannot be used."""
    if not request.gold:
        return
    corpus = await hub.store.corpus(corpus_id)
    vocabulary = vocabulary_of(hub.settings.of_phase(plan), request.release)
    known: set[str] = set()
    for file in request.gold:
        field = f"gold.{file.task}"
        if file.task in known:
            raise RefusedError(Refusal.INVALID, "there are two gold files of it", field=field)
        known.add(file.task)
        new = convert(file, NewGold, phase=request.phase)
        try:
            await usable_gold(new, plan, corpus.ids, vocabulary)
        except RefusedError as error:
            if error.field in ("content", "task"):
                raise RefusedError(error.refusal, error.message, field=field) from error
            raise


def planned(request: NewPhase, zone: str) -> PhasePlan:
    """Return the plan of a new phase, whose dates are in a zone; `RefusedError` if it is none."""
    values: dict[str, Any] = {name: getattr(request, name) for name in PLANNED}
    values |= {name: moment_in(getattr(request, name), zone, name) for name in DATES}
    return checked(PhasePlan(kind=PhaseState(request.kind), **values))


@operation("Phases.update", "PATCH /phases/{phase}", Role.ORGANISER, scope=Scope.PHASE)
async def update(hub: HubContext, caller: Caller, request: PhaseChange) -> PhaseDetail:
    """Change a phase's plan."""
    running = hub.phase(request.phase)
    for field in ("corpus", "release"):
        if caller.challenge is not None and getattr(request, field) is not None:
            message = "organisers of the hub choose it: it is of the hub"
            raise RefusedError(Refusal.NOT_YOURS, message, field=field)
    zone, before = running.phase.timezone, running.phase.plan
    values: dict[str, object] = {
        name: value for name in PLANNED if (value := getattr(request, name)) is not None
    }
    if request.kind is not None:
        values["kind"] = PhaseState(request.kind)
    for name in DATES:
        if (value := getattr(request, name)) is not None:
            values[name] = moment_in(value, zone, name)
    plan = checked(msgspec.structs.replace(before, **values))
    if plan.ranking != before.ranking and running.phase.state(hub.clock()) in OVER:
        message = (
            f"{running.label} is {running.phase.state(hub.clock())}, with its places: open it"
            " again to change the ranking"
        )
        raise RefusedError(Refusal.STATE, message, field="ranking")
    require_divisible(plan, running.gold)
    columns: dict[str, object] = {"plan": plan}
    if {request.corpus, request.release, request.tasks} != {None}:
        has_articles = bool(running.corpus.ids if request.corpus is None else request.corpus)
        release = running.phase.release if request.release is None else request.release
        require_materials(hub, plan.tasks, release, has_articles=has_articles)
    if request.corpus is not None:
        columns["corpus_id"] = await known_corpus(hub, request.corpus)
    if request.release is not None:
        columns["release"] = request.release
    fixed = [name for name in FIXED if getattr(plan, name) != getattr(before, name)]
    if running.has_runs and (len(columns) > 1 or request.tasks is not None or fixed):
        message = (
            "there are runs in it already: corpus, release, tasks, public_share and answers cannot"
            " be changed"
        )
        raise RefusedError(Refusal.STATE, message, field=fixed[0] if fixed else "phase")
    columns["standing"] = reached(running.phase, plan, hub.clock())
    if plan.visibility is not Visibility.PUBLIC and running.phase.moments.published:
        columns["moments"] = msgspec.structs.replace(running.phase.moments, published=None)
    async with hub.store.writing() as connection:
        await phases.change(connection, running.phase.id, **columns)
        await audit_log(
            connection, caller, "phases.update", request.phase, **_audit_details(request)
        )
    return _warned(detail(hub, await reopened(hub, request.phase)))


@operation("Phases.list", "GET /phases", None)
async def list_(hub: HubContext, caller: Caller, _request: Nothing) -> Sequence[PhaseDetail]:
    """Return all phases with their states, oldest first."""
    return [detail(hub, running) for running in hub.seen_phases(caller)]


@operation("Phases.get", "GET /phases/{phase}", None, scope=Scope.PHASE)
async def get(hub: HubContext, _caller: Caller, request: OnePhase) -> PhaseDetail:
    """Return a phase with its state."""
    return detail(hub, hub.phase(request.phase))


@operation("Phases.plan", "GET /phases/{phase}/plan", Role.ORGANISER, scope=Scope.PHASE)
async def get_plan(hub: HubContext, _caller: Caller, request: OnePhase) -> PhasePlanDetail:
    """Return what only organisers see in a phase's plan."""
    running = hub.phase(request.phase)
    async with hub.store.reading() as connection:
        versions = await phases.list_corpora(connection)
    names = [
        f"{version.name}@{version.version}"
        for version in versions
        if version.corpus_id == running.phase.corpus_id
    ]
    return PhasePlanDetail(
        phase=running.name,
        corpus=next(iter(names), ""),
        tasks=running.phase.plan.tasks,
        answers=running.phase.plan.answers,
        fixed=running.has_runs,
        outside={
            scored.plugin.name: GoldOutside(
                count=len(scored.outside), articles=tuple(scored.outside[:MOST_OUTSIDE])
            )
            for scored in running.boards.scoreboard.scored()
            if scored.outside
        },
        warnings=warnings_of(detail(hub, running)),
    )


@operation("Phases.open", "POST /phases/{phase}/open", Role.ORGANISER, scope=Scope.PHASE)
async def open_(hub: HubContext, caller: Caller, request: OnePhase) -> PhaseDetail:
    """Open a phase manually, before its date: servers that are started are sent articles."""
    running = hub.phase(request.phase)
    return await _advance(hub, caller, running, running.phase.plan.kind, "phases.open")


@operation("Phases.freeze", "POST /phases/{phase}/freeze", Role.ORGANISER, scope=Scope.PHASE)
async def freeze(hub: HubContext, caller: Caller, request: OnePhase) -> PhaseDetail:
    """Freeze a phase manually: no more articles are sent, its boards do not change."""
    running = hub.phase(request.phase)
    return await _advance(hub, caller, running, PhaseState.FROZEN, "phases.freeze")


@operation("Phases.close", "POST /phases/{phase}/close", Role.ORGANISER, scope=Scope.PHASE)
async def close(hub: HubContext, caller: Caller, request: OnePhase) -> PhaseDetail:
    """Close a phase manually: it is over."""
    running = hub.phase(request.phase)
    return await _advance(hub, caller, running, PhaseState.CLOSED, "phases.close")


async def _advance(
    hub: HubContext, caller: Caller, running: RunningPhase, state: PhaseState, action: str
) -> PhaseDetail:
    """Put a phase into a state manually; `RefusedError` if its dates put it further."""
    clock = running.phase.plan.state(hub.clock(), None)
    if running.phase.plan.state(hub.clock(), state) is not state:
        message = f"by its dates it is {clock}: change them first (phases update)"
        raise RefusedError(Refusal.STATE, message, field="phase")
    now = hub.clock()
    moments = running.phase.moments.advanced(running.phase.state(now), state, now)
    async with hub.store.writing() as connection:
        await phases.change(connection, running.phase.id, standing=state, moments=moments)
        await audit_log(connection, caller, action, running.name)
    return detail(hub, await reopened(hub, running.name))


async def reopened(hub: HubContext, name: str) -> RunningPhase:
    """Load a changed phase from the store, and bring it into its present state."""
    async with hub.store.reading() as connection:
        phase = await phases.get(connection, PhaseName(name))
    assert phase is not None
    return await hub.phases.scheduler.take_over(phase)


def _in_zone(phase: Phase, moment: datetime | None) -> datetime | None:
    return None if moment is None else to_zone(moment, phase.timezone)


def _audit_details(request: NewPhase | PhaseChange) -> dict[str, object]:
    """Return a plan's details for the audit log: the request's values."""
    values = msgspec.to_builtins(request, builtin_types=(bytes,))
    return {
        name: value
        for name, value in values.items()
        if name not in ("phase", "gold") and value is not None
    }
