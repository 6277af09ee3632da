"""Phases: planned, changed, and advanced manually."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.base.plans import DATES
from metaserver.base.states import OPEN_STATES, PhaseState
from metaserver.operations import (
    boards,
    control_room,
    corpora,
    gold,
    jobs,
    lanes,
    phases,
    releases,
    runs,
)
from metaserver.operations.control_room import WatchQuery
from metaserver.operations.fields import OnePhase
from metaserver.operations.jobs import JobDetail, JobQuery
from metaserver.operations.lanes import BaselineStart, BaselineStarts
from metaserver.operations.phases import PhaseChange, PhaseDetail, PhasePlanDetail
from metaserver.operations.runs import RunsOf
from metaserver.operations.table import Nothing
from metaserver.tasks.plugin import installed_tasks
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.jobs import soon
from metaserver.web.organise.launch import launch_check, taking_part
from metaserver.web.organise.overview import phase_path
from metaserver.web.organise.phase_form import (
    FIELDS,
    FIXED,
    VISIBLE,
    WORDING,
    Family,
    corpus_choices,
    date_wording,
    form_values,
    other_zone,
    read_dates,
    release_choices,
    sections,
    with_questions,
)
from metaserver.web.ui.console import AskedOperation, ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, tried
from metaserver.web.ui.forms import Form


class Advance(StrEnum):
    """A manual change to a phase's state, named like the operation."""

    OPEN = "open"
    FREEZE = "freeze"
    CLOSE = "close"


ADVANCES: Mapping[PhaseState, Sequence[Advance]] = {
    PhaseState.SETUP: (Advance.OPEN, Advance.FREEZE, Advance.CLOSE),
    PhaseState.TRAINING: (Advance.FREEZE, Advance.CLOSE),
    PhaseState.TEST: (Advance.FREEZE, Advance.CLOSE),
    PhaseState.FROZEN: (Advance.CLOSE, Advance.OPEN),
    PhaseState.CLOSED: (Advance.OPEN,),
}
"""The manual changes that each state offers; back only as far as no date has passed."""

ADVANCE_OPERATIONS: Mapping[Advance, AskedOperation[OnePhase, PhaseDetail]] = {
    Advance.OPEN: phases.open_,
    Advance.FREEZE: phases.freeze,
    Advance.CLOSE: phases.close,
}
EFFECTS: Mapping[Advance, str] = {
    Advance.OPEN: "From now on, servers that are started receive articles.",
    Advance.FREEZE: "No article is sent any more. Requests in flight are finished and counted; then"
    " the boards are final, and are kept under permanent links.",
    Advance.CLOSE: "It is over then. If its scores are public, everybody can read the answers.",
}


def started_path(job: JobDetail) -> str:
    """Return the path of the phase whose baselines a job has started."""
    return f"{phase_path(job.subject)}?started={job.job}"


class PhasePages(ConsolePages):
    """The phase handlers."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/phases/{phase}"
        advances = [
            FormPage(
                console=self.console,
                path=f"{path}/{advance}",
                operation=operation,
                show=partial(self._confirm, advance),
                then=_path,
            )
            for advance, operation in ADVANCE_OPERATIONS.items()
        ]
        return [
            web.get(path, self.show),
            web.get(f"{path}/edit", self.edit),
            web.post(f"{path}/edit", self.change),
            web.post(f"{path}/baselines", self.start_baselines),
            *(route for form in advances for route in form.routes()),
        ]

    # -- one that is there -----------------------------------------------------------------------

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a phase: its plan, its gold, what can be done with it.

        `?started=` is the job that started its baselines.
        """
        phase = await self._phase(request)
        query = OnePhase(phase=phase.phase)
        plan = await self.console.ask(request, phases.get_plan, query)
        guests, hosts, own = await taking_part(self.console, request)
        listed = await self.console.ask(request, runs.list_, RunsOf(phase=phase.phase))
        uploaded = [run for run in listed if run.team in hosts]
        baselines = [
            (
                server,
                next(
                    (
                        str(progress.state)
                        for progress in server.phases
                        if progress.phase == phase.phase
                    ),
                    "",
                ),
            )
            for server in ([] if phase.uploads_only else own)
        ]
        return self.console.answer(
            "organise_phase.html",
            check=launch_check(phase, plan, guests, len(baselines) + len(uploaded)),
            phase=phase,
            baselines=baselines,
            uploaded=uploaded,
            baselines_refused=await self._unstarted(request, phase.phase),
            corpus=plan.corpus,
            warnings=plan.warnings,
            advances=ADVANCES[phase.state],
            idle=phase.idle_dates(self.console.hub.clock()),
            gold=await self.console.ask(request, gold.list_, query),
            tasks=gold_tasks(phase),
            titles={name: task.title for name, task in installed_tasks().items()},
            boards=await self.console.ask(request, boards.list_frozen, query),
            visible=VISIBLE,
        )

    async def start_baselines(self, request: web.Request) -> web.Response:
        """Test and start the organisers' own servers; the phase's page says which could not be."""
        query = OnePhase(phase=request.match_info["phase"])
        await posted(request)
        job = await self.console.ask(request, lanes.start_baselines, query)
        raise web.HTTPSeeOther(await soon(self.console, request, job))

    async def _unstarted(self, request: web.Request, phase: str) -> Sequence[BaselineStart]:
        """Return the baselines that the job of the address could not start."""
        with suppress(RefusedError):  # it is forgotten, or there is none
            key = request.query.get("started", "")
            job = await self.console.ask(request, jobs.get, JobQuery(job=key))
            if (job.kind, job.subject) == (lanes.BASELINES, phase) and job.report is not None:
                starts = msgspec.convert(job.report, BaselineStarts).servers
                return [start for start in starts if not start.started]
        return ()

    async def _phase(self, request: web.Request) -> PhaseDetail:
        query = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, phases.get, query)

    async def _plan(self, request: web.Request) -> PhasePlanDetail:
        query = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, phases.get_plan, query)

    async def edit(self, request: web.Request) -> web.Response:
        """Answer with the form that changes a phase."""
        phase = await self._phase(request)
        plan = await self._plan(request)
        return await self._edit(request, phase, plan, form_values(phase, plan))

    async def _edit(
        self,
        request: web.Request,
        phase: PhaseDetail,
        plan: PhasePlanDetail,
        values: Mapping[str, Any] | MultiMapping[Any],
        refused: RefusedError | None = None,
    ) -> web.Response:
        family, names = _fields(request, phase, plan)
        blank = OperationForm(request=PhaseChange, names=names, wording=WORDING)
        choices = {}
        if not plan.fixed:
            choices = {"tasks": family.tasks()}
            if "corpus" in names:
                imported = await self.console.ask(request, corpora.list_, Nothing())
                built = await self.console.ask(request, releases.list_, Nothing())
                choices |= {
                    "corpus": corpus_choices(imported),
                    "release": release_choices(sorted({*built, phase.release})),
                }
            if not isinstance(values, MultiMapping):
                values = {**values, "corpus": plan.corpus}
        form = blank.form(values, refused, **choices, **date_wording(phase.timezone))
        if isinstance(values, MultiMapping):
            form = with_questions(form, values, phase.timezone, self.console.hub.clock())
        return self.console.answer(
            "organise_phase_edit.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            form=form,
            sections=sections(form),
            fixed=plan.fixed,
        )

    async def change(self, request: web.Request) -> web.Response:
        """Change a phase; dates that were left as shown stay the moments that they are."""
        phase, submitted = await self._phase(request), await posted(request)
        plan = await self._plan(request)
        blank = OperationForm(request=PhaseChange, names=_fields(request, phase, plan)[1])
        before, values = form_values(phase, plan), blank.values(submitted)
        values = {
            name: value
            for name, value in values.items()
            if name not in DATES or value != before[name]
        }
        clock = self.console.hub.clock()
        dates_read = other_zone(phase, submitted, values) or read_dates(
            values, submitted, phase.timezone, clock
        )
        if isinstance(dates_read, RefusedError):
            return await self._edit(request, phase, plan, submitted, dates_read)
        update = {**dates_read, "phase": phase.phase}
        result = await tried(self.console.submit(request, phases.update, update), FIXED)
        if isinstance(result, RefusedError):
            return await self._edit(request, phase, plan, submitted, result)
        raise web.HTTPSeeOther(phase_path(phase.phase))

    # -- manual changes --------------------------------------------------------------------------

    async def _confirm(self, advance: Advance, request: web.Request, form: Form) -> web.Response:
        """Ask whether a phase's state is to be changed."""
        phase = await self._phase(request)
        room = None
        if phase.state in OPEN_STATES and advance is not Advance.OPEN:
            query = WatchQuery(phase=phase.phase, limit=200)
            room = await self.console.ask(request, control_room.watch_phase, query)
        return self.console.answer(
            "organise_advance.html",
            status=form.status,
            phase=phase,
            advance=advance,
            effect=EFFECTS[advance],
            room=room,
            form=form,
        )


async def _path(_request: web.Request, phase: PhaseDetail) -> str:
    return phase_path(phase.phase)


def _fields(
    request: web.Request, phase: PhaseDetail, plan: PhasePlanDetail
) -> tuple[Family, Sequence[str]]:
    """Return a phase's family, and the fields of its form that the caller may change."""
    family = Family.UPLOADS if phase.uploads_only else Family.SERVERS
    left_out = {"phase", *(FIXED if plan.fixed else ())}
    if caller_of(request).challenge is not None:
        left_out |= {"corpus", "release"}
    return family, family.names([name for name in FIELDS if name not in left_out])


def gold_tasks(phase: PhaseDetail) -> Sequence[str]:
    """Return the tasks that a phase has or may get gold for."""
    return [name for name in installed_tasks() if name in phase.tasks] + [
        name for name in installed_tasks() if name not in phase.tasks
    ]
