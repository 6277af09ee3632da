"""Method descriptions: a team says how each run was made, for papers and boards."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.boards import (
    LINK,
    QUESTIONS,
    Learning,
    Lexicon,
    Long,
    MethodDescription,
    Part,
    Processing,
    Training,
)
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ServerName, TeamName
from metaserver.base.states import OVER, Role
from metaserver.base.viewer import Viewer
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OnePhase, PhaseField
from metaserver.operations.table import Scope, operation
from metaserver.operations.visibility import sees_method
from metaserver.phases.runtime import RunningPhase
from metaserver.store import runs

RunField = Annotated[
    str, Meta(max_length=64, description="The run's name: that of its server or uploaded file")
]
_TICKED = Meta(max_length=20)
Parts = Annotated[
    tuple[Part, ...], _TICKED, Meta(description="Parts of the articles that it reads")
]
Lexicons = Annotated[
    tuple[Lexicon, ...], _TICKED, Meta(description="Lexical resources that it uses")
]
Processings = Annotated[
    tuple[Processing, ...], _TICKED, Meta(description="Language processing that it does")
]
Learnings = Annotated[
    tuple[Learning, ...], _TICKED, Meta(description="Machine learning that it uses")
]
Trainings = Annotated[
    tuple[Training, ...], _TICKED, Meta(description="Data that it was trained or tuned on")
]
Summary = Annotated[Long, Meta(description="The method in a few sentences")]
Resources = Annotated[Long, Meta(description="Lexical resources, databases, tools")]
Corpora = Annotated[Long, Meta(description="Corpora that it was trained or tuned on")]
Contact = Annotated[
    str, Meta(max_length=300, description="A person or an address, which is published")
]
LinkField = Annotated[
    str, Meta(max_length=500, description="A publication or the code: http:// or https://")
]
NO_TEXT = frozenset({"Cc", "Cn", "Cs"})
"""The character categories that no text has: controls, unassigned, surrogates."""


class RunMethod(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A description of a run's method; omitted fields stay as they are.

    The first are a questionnaire, counted over all runs in the results; the others are plain text.
    """

    phase: PhaseField
    run: RunField
    parts: Parts | None = None
    lexicons: Lexicons | None = None
    processing: Processings | None = None
    learning: Learnings | None = None
    training: Trainings | None = None
    summary: Summary | None = None
    resources: Resources | None = None
    corpora: Corpora | None = None
    contact: Contact | None = None
    link: LinkField | None = None


class OneMethod(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase's run."""

    phase: PhaseField
    run: RunField


class MethodDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its method; null if not described.

    `offline`: the run was uploaded. `may_change`: whether the caller may change the description.
    """

    phase: str
    run: str
    team: str
    offline: bool
    may_change: bool
    method: MethodDescription | None


@operation("Methods.describe", "PATCH /phases/{phase}/methods/{run}", Role.TEAM, scope=Scope.PHASE)
async def describe(hub: HubContext, caller: Caller, request: RunMethod) -> MethodDetail:
    """Describe the method behind a server's run, or an uploaded run.

    Its team may do so until the phase is frozen; then everybody who sees the board sees it, and
    only organisers may change it. Empty texts remove it.
    """
    running = hub.phase(request.phase)
    run, teams = ServerName(request.run), _teams(running)
    team = teams.get(run)
    if run not in teams or not caller.viewer.owns(team):
        message = f"your team has no run {request.run!r} in {running.label}"
        raise RefusedError(Refusal.UNKNOWN, message, field="run")
    if not _may_change(running, caller.viewer, team):
        message = f"{running.label} is {running.state}: only organisers may change the method now"
        raise RefusedError(Refusal.STATE, message, field="phase")
    values = cleaned(request)
    async with hub.store.writing() as connection:
        stored = await runs.methods_by_run(connection, running.phase.id)
        before = stored.get(run, MethodDescription())
        described = msgspec.structs.replace(before, **values)
        await runs.put_method(connection, running.phase.id, run, described)
        fields = MethodDescription.__struct_fields__
        changed = [name for name in fields if getattr(before, name) != getattr(described, name)]
        detail = {"phase": running.name, "team": team, "changed": changed}
        await audit_log(connection, caller, "methods.describe", run, **detail)
    return _detail(running, run, team, caller.viewer, described or None)


@operation("Methods.list", "GET /phases/{phase}/methods", None, scope=Scope.PHASE)
async def list_(hub: HubContext, caller: Caller, request: OnePhase) -> Sequence[MethodDetail]:
    """Return the methods of a phase's runs: to teams their own, to organisers all.

    Everybody else gets those that are described, once the phase is frozen and its scores public.
    """
    return await seen_methods(hub, hub.phase(request.phase), caller.viewer)


@operation("Methods.get", "GET /phases/{phase}/methods/{run}", None, scope=Scope.PHASE)
async def get(hub: HubContext, caller: Caller, request: OneMethod) -> MethodDetail:
    """Return a run's method."""
    for method in await seen_methods(hub, hub.phase(request.phase), caller.viewer):
        if method.run == request.run:
            return method
    message = f"there is no description of the method of {request.run!r} that you may see"
    raise RefusedError(Refusal.UNKNOWN, message, field="run")


async def seen_methods(
    hub: HubContext, running: RunningPhase, viewer: Viewer
) -> Sequence[MethodDetail]:
    """Return the runs whose methods a viewer may see: all its own, others as far as described."""
    async with hub.store.reading() as connection:
        described = await runs.methods_by_run(connection, running.phase.id)
    visibility = running.phase.plan.visibility
    return [
        _detail(running, run, team, viewer, described.get(run))
        for run, team in sorted(_teams(running).items())
        if viewer.owns(team)
        or (run in described and sees_method(running.state, visibility, team, viewer))
    ]


def _teams(running: RunningPhase) -> Mapping[ServerName, TeamName | None]:
    """Return the teams by the phase's runs."""
    of_servers = {name: registered.team for name, registered in running.servers.items()}
    return of_servers | {name: run.team for name, run in running.offline.items()}


def _detail(
    running: RunningPhase,
    run: ServerName,
    team: TeamName | None,
    viewer: Viewer,
    method: MethodDescription | None,
) -> MethodDetail:
    return MethodDetail(
        phase=running.name,
        run=run,
        team=team or "",
        offline=run in running.offline,
        may_change=_may_change(running, viewer, team),
        method=method,
    )


def _may_change(running: RunningPhase, viewer: Viewer, team: TeamName | None) -> bool:
    return viewer.organiser or (viewer.owns(team) and running.state not in OVER)


def cleaned(described: RunMethod | MethodDescription) -> Mapping[str, Any]:
    """Return the fields that are said; `RefusedError` names a field that has no text."""
    return {
        name: _ticked(name, value) if name in QUESTIONS else _cleaned(name, value)
        for name in MethodDescription.__struct_fields__
        if (value := getattr(described, name)) is not None
    }


def _ticked(question: str, ticked: Collection[str]) -> tuple[str, ...]:
    """Return the ticked answers, each once, in the questionnaire's order."""
    return tuple(answer for answer in QUESTIONS[question] if answer in ticked)


def _cleaned(name: str, text: str) -> str:
    """Return a text without white space around it; `RefusedError` for what is no text."""
    text = text.replace("\r\n", "\n").strip()
    lines = "" if name in ("contact", "link") else "\n\t"
    for letter in text:
        if unicodedata.category(letter) in NO_TEXT and letter not in lines:
            message = f"contains the character U+{ord(letter):04X}; expected printable text"
            raise RefusedError(Refusal.INVALID, message, field=name)
    if name == "link" and not re.fullmatch(LINK, text):
        message = "must be the full address of a page, beginning with http:// or https://"
        raise RefusedError(Refusal.INVALID, message, field=name)
    return text
