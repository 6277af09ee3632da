"""Phases: an organiser plans them, the clock or a hand leads them on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.phases import Phase
from metaserver.model.plans import DATES, Change, PhaseLimits, PhasePlan
from metaserver.model.records import PhaseName
from metaserver.model.states import PhaseState, Role, Visibility
from metaserver.model.zones import moved, shown_name
from metaserver.operations.caller import Caller
from metaserver.operations.challenges import challenge_named, moment_in
from metaserver.operations.fields import NewName, OnePhase, PhaseField, Title
from metaserver.operations.planning import checked, known_corpus, need_release, reached
from metaserver.operations.service import Service, noted
from metaserver.operations.table import Nothing, operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import phases

Date = Annotated[
    str,
    Meta(max_length=64, description="2026-12-01T09:00 in the challenge's zone, or with an offset"),
]
Kind = Annotated[Literal["training", "test"], Meta(description="What it is while it is open")]
TasksField = Annotated[
    tuple[str, ...], Meta(description="The tasks servers are asked for; none: all")
]
Seen = Annotated[Visibility, Meta(description="Who sees the scores besides organisers")]
Limits = Annotated[PhaseLimits, Meta(description="Its own limits")]
Corpus = Annotated[str, Meta(description="A corpus by name, or NAME@VERSION; the newest if bare")]
ReleaseField = Annotated[str, Meta(description="The UniProt release answers are checked by")]


class NewPhase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase as it is planned."""

    challenge: Annotated[str, Meta(description="The challenge it belongs to")]
    phase: NewName
    corpus: Corpus
    release: ReleaseField
    title: Title = ""
    kind: Kind = "test"
    opens: Date | None = None
    freezes: Date | None = None
    closes: Date | None = None
    tasks: TasksField = ()
    limits: Limits = PhaseLimits()
    visibility: Seen = Visibility.HIDDEN


class PhaseChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change of a phase; corpus, release and tasks only before its first lane.

    A date of "" is taken away: then the phase is led on by hand.
    """

    phase: PhaseField
    corpus: Corpus | None = None
    release: ReleaseField | None = None
    title: Title | None = None
    kind: Kind | None = None
    opens: Date | None = None
    freezes: Date | None = None
    closes: Date | None = None
    tasks: TasksField | None = None
    limits: Limits | None = None
    visibility: Seen | None = None


class PhaseDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A phase as everybody may see it; dates are ISO 8601 with offset, in the challenge's zone.

    `coming` is what the clock does to it if nobody changes anything, the next change first.
    `timezone` is UTC where the hub's machine does not know the challenge's zone. `timeout` (seconds
    for an article) and `answer_bytes` are what holds: the phase's own limit, else the hub's.
    """

    phase: str
    challenge: str
    title: str
    timezone: str
    state: PhaseState
    coming: tuple[Change, ...]
    kind: PhaseState
    opens: datetime | None
    freezes: datetime | None
    closes: datetime | None
    tasks: tuple[str, ...]
    limits: PhaseLimits
    timeout: float
    answer_bytes: int
    visibility: Visibility
    release: str
    articles: int
    gold: dict[str, int]
    servers: int


def detail(service: Service, running: RunningPhase) -> PhaseDetail:
    """Return what is shown of a phase."""
    phase, now = running.phase, service.clock()
    return PhaseDetail(
        phase=phase.name,
        challenge=phase.challenge,
        title=phase.plan.title,
        timezone=shown_name(phase.timezone),
        state=phase.state(now),
        coming=tuple(
            msgspec.structs.replace(change, at=moved(change.at, phase.timezone))
            for change in phase.coming(now)
        ),
        kind=phase.plan.kind,
        opens=_in_zone(phase, phase.plan.opens),
        freezes=_in_zone(phase, phase.plan.freezes),
        closes=_in_zone(phase, phase.plan.closes),
        tasks=tuple(task.name for task in running.tasks),
        limits=phase.plan.limits,
        timeout=running.settings.limits.timeout,
        answer_bytes=running.settings.limits.answer_bytes,
        visibility=phase.plan.visibility,
        release=phase.release,
        articles=len(running.corpus),
        gold={task: version.version for task, version in running.gold.items()},
        servers=len(running.servers),
    )


@operation("Phases.create", "POST /phases", Role.ORGANISER)
async def create(service: Service, caller: Caller, given: NewPhase) -> PhaseDetail:
    """Plan a phase. Import its corpus before, set its gold after."""
    challenge = await challenge_named(service, given.challenge)
    if given.phase in service.dispatcher.phases:
        message = f"there is a phase {given.phase!r} already"
        raise RefusedError(Refusal.STATE, message, field="phase")
    corpus = await known_corpus(service, given.corpus)
    need_release(service, given.release)
    plan = checked(
        PhasePlan(
            title=given.title,
            kind=PhaseState(given.kind),
            opens=moment_in(given.opens, challenge.timezone, "opens"),
            freezes=moment_in(given.freezes, challenge.timezone, "freezes"),
            closes=moment_in(given.closes, challenge.timezone, "closes"),
            tasks=given.tasks,
            limits=given.limits,
            visibility=given.visibility,
        )
    )
    async with service.store.writing() as connection:
        await phases.add(
            connection,
            PhaseName(given.phase),
            challenge.id,
            plan,
            corpus_id=corpus.corpus_id,
            release=given.release,
        )
        await noted(connection, caller, "phases.create", given.phase, **_told(given))
    return detail(service, await _reopened(service, given.phase))


@operation("Phases.update", "PATCH /phases/{phase}", Role.ORGANISER)
async def update(service: Service, caller: Caller, given: PhaseChange) -> PhaseDetail:
    """Change a phase's plan."""
    running = service.phase(given.phase)
    zone, before = running.phase.timezone, running.phase.plan
    values: dict[str, object] = {
        name: value
        for name in ("title", "tasks", "limits", "visibility")
        if (value := getattr(given, name)) is not None
    }
    if given.kind is not None:
        values["kind"] = PhaseState(given.kind)
    for name in DATES:
        if (value := getattr(given, name)) is not None:
            values[name] = moment_in(value, zone, name)
    plan = checked(msgspec.structs.replace(before, **values))
    columns: dict[str, object] = {"plan": plan}
    if given.corpus is not None:
        columns["corpus_id"] = (await known_corpus(service, given.corpus)).corpus_id
    if given.release is not None:
        need_release(service, given.release)
        columns["release"] = given.release
    if (running.servers or running.offline) and (len(columns) > 1 or given.tasks is not None):
        message = "there are runs in it already: corpus, release and tasks stay as they are"
        raise RefusedError(Refusal.STATE, message, field="phase")
    columns["standing"] = reached(running.phase, plan, service.clock())
    async with service.store.writing() as connection:
        await phases.change(connection, running.phase.id, **columns)
        await noted(connection, caller, "phases.update", given.phase, **_told(given))
    return detail(service, await _reopened(service, given.phase))


@operation("Phases.list", "GET /phases", None)
async def list_(service: Service, _caller: Caller, _given: Nothing) -> Sequence[PhaseDetail]:
    """Return all phases, oldest first, and where each stands."""
    return [detail(service, running) for running in service.dispatcher.phases.values()]


@operation("Phases.get", "GET /phases/{phase}", None)
async def get(service: Service, _caller: Caller, given: OnePhase) -> PhaseDetail:
    """Return one phase, and where it stands."""
    return detail(service, service.phase(given.phase))


@operation("Phases.open", "POST /phases/{phase}/open", Role.ORGANISER)
async def open_(service: Service, caller: Caller, given: OnePhase) -> PhaseDetail:
    """Open a phase by hand, before its date: servers that are started are sent articles."""
    running = service.phase(given.phase)
    return await _led(service, caller, running, running.phase.plan.kind, "phases.open")


@operation("Phases.freeze", "POST /phases/{phase}/freeze", Role.ORGANISER)
async def freeze(service: Service, caller: Caller, given: OnePhase) -> PhaseDetail:
    """Freeze a phase by hand: no more articles are sent, its boards stand still."""
    running = service.phase(given.phase)
    return await _led(service, caller, running, PhaseState.FROZEN, "phases.freeze")


@operation("Phases.close", "POST /phases/{phase}/close", Role.ORGANISER)
async def close(service: Service, caller: Caller, given: OnePhase) -> PhaseDetail:
    """Close a phase by hand: it is over."""
    running = service.phase(given.phase)
    return await _led(service, caller, running, PhaseState.CLOSED, "phases.close")


async def _led(
    service: Service, caller: Caller, running: RunningPhase, state: PhaseState, action: str
) -> PhaseDetail:
    """Put a phase into a state by hand, unless its dates have led it further."""
    clock = running.phase.plan.state(service.clock(), None)
    if running.phase.plan.state(service.clock(), state) is not state:
        message = f"by its dates it is {clock}: change them first (phases update)"
        raise RefusedError(Refusal.STATE, message, field="phase")
    async with service.store.writing() as connection:
        await phases.change(connection, running.phase.id, standing=state)
        await noted(connection, caller, action, running.name)
    return detail(service, await _reopened(service, running.name))


async def _reopened(service: Service, name: str) -> RunningPhase:
    """Take a changed phase over from the store, and lead it to where it now stands."""
    async with service.store.reading() as connection:
        phase = await phases.get(connection, PhaseName(name))
    assert phase is not None
    return await service.dispatcher.take_over(phase)


def _in_zone(phase: Phase, moment: datetime | None) -> datetime | None:
    return None if moment is None else moved(moment, phase.timezone)


def _told(given: NewPhase | PhaseChange) -> dict[str, object]:
    """Return what the audit log is told of a plan: what was given of it."""
    told = msgspec.to_builtins(given)
    return {name: value for name, value in told.items() if name != "phase" and value is not None}
