"""Phases: planned, changed, and advanced manually."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.plans import DATES
from metaserver.model.states import PhaseState, Visibility
from metaserver.operations import boards, challenges, corpora, gold, phases, releases
from metaserver.operations.corpora import CorpusDetail
from metaserver.operations.fields import NAME_HELP, OnePhase
from metaserver.operations.phases import NewPhase, PhaseChange, PhaseDetail, PhasePlanDetail
from metaserver.operations.table import Nothing
from metaserver.tasks.plugin import installed_tasks
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import NEW_PHASE, phase_path
from metaserver.web.ui.console import AskedOperation, ConsoleContext, posted
from metaserver.web.ui.forms import Wording

LIMITS = ("timeout", "attempts", "concurrency", "answer_bytes", "servers", "runs")
PLANNED = (
    "title",
    "kind",
    *DATES,
    "visibility",
    *(f"limits.{name}" for name in LIMITS),
)
FIXED = ("corpus", "release", "tasks")
"""The fields that cannot be changed once there is a run."""

VISIBLE = {
    Visibility.HIDDEN: "nobody, until you change this",
    Visibility.OWN: "each team its own runs",
    Visibility.PUBLIC: "everybody, all runs",
}
WORDING: Mapping[str, Wording] = {
    "phase": Wording(label="Name", help=f"Its name in addresses and files, for good: {NAME_HELP}."),
    "title": Wording(help="What people call it: “Test phase”."),
    "kind": Wording(label="Kind", choices=[("test", "test"), ("training", "training")]),
    "tasks": Wording(
        help="What servers are asked for. None chosen: all; mentions only with gold for them.",
        choices=[(name, f"{name} – {task.title}") for name, task in installed_tasks().items()],
    ),
    "visibility": Wording(
        label="Who sees the scores",
        help="Organisers always see them.",
        choices=[(seen.value, f"{seen} – {who}") for seen, who in VISIBLE.items()],
    ),
    "limits.timeout": Wording(
        label="Time limit", help="Seconds for one article; empty: the hub's own setting."
    ),
    "limits.attempts": Wording(
        label="Attempts", help="For one article, at most; empty: the hub's own setting."
    ),
    "limits.concurrency": Wording(
        label="Requests at a time", help="That a server may register, at most; empty: any number."
    ),
    "limits.answer_bytes": Wording(
        label="Answer's size", help="In bytes, at most; empty: the hub's own setting."
    ),
    "limits.servers": Wording(label="Servers", help="Of a team, at most."),
    "limits.runs": Wording(label="Offline runs", help="Of a team and task, at most."),
}


class Advance(StrEnum):
    """A manual change of a phase's state; the names are those of the operations."""

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
    Advance.OPEN: "Servers that are started are sent articles from now on.",
    Advance.FREEZE: "No article is sent any more. What is in flight is finished and counted; then"
    " the boards are final and are kept under permanent links.",
    Advance.CLOSE: "It is over. Where scores are public, answers can then be read by everybody.",
}


@dataclass(frozen=True, kw_only=True)
class PhasePages:
    """The handlers of phases."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one, advances = "/organise/phases/{phase}", "|".join(Advance)
        return [
            web.get(NEW_PHASE, self.new),
            web.post(NEW_PHASE, self.make),
            web.get(one, self.show),
            web.get(f"{one}/edit", self.edit),
            web.post(f"{one}/edit", self.change),
            web.get(f"{one}/{{advance:{advances}}}", self.confirm),
            web.post(f"{one}/{{advance:{advances}}}", self.advance),
        ]

    # -- a new one -------------------------------------------------------------------------------

    async def new(self, request: web.Request) -> web.Response:
        """Answer with the form of a new phase of the challenge that the address names."""
        return await self._new(request, request.query.get("challenge"))

    async def _new(
        self,
        request: web.Request,
        name: str | None,
        sent: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        named = {one.challenge: one for one in listed}
        if name is not None and name not in named:
            raise web.HTTPNotFound(text=f"There is no challenge called {name or repr(name)}.")
        newest = listed[-1] if listed else None
        challenge = newest if name is None else named[name]
        imported = await self.console.ask(request, corpora.list_, Nothing())
        built = await self.console.ask(request, releases.list_, Nothing())
        form = None
        if challenge is not None and imported and built:
            names = ("phase", "title", "kind", *FIXED, *PLANNED[2:])
            blank = OperationForm(request=NewPhase, names=names, wording=WORDING)
            choices = {"corpus": _corpora(imported), "release": _releases(built)}
            form = blank.form(sent, refused, **choices, **_dates(challenge.timezone))
        return self.console.answer(
            "organise_new_phase.html",
            status=refused.refusal if refused else 200,
            challenges=listed,
            challenge=challenge,
            corpora=imported,
            releases=built,
            folder=self.console.hub.settings.uniprot.releases,
            form=form,
        )

    async def make(self, request: web.Request) -> web.Response:
        """Plan a phase; its page links to its gold."""
        sent = await posted(request)
        challenge = str(sent.get("challenge", ""))
        names = ("phase", "title", "kind", *FIXED, *PLANNED[2:])
        values = OperationForm(request=NewPhase, names=names).values(sent)
        asked = {**values, "challenge": challenge}
        done = await tried(self.console.submit(request, phases.create, asked), FIXED)
        if isinstance(done, RefusedError):
            return await self._new(request, challenge, sent, done)
        raise web.HTTPSeeOther(phase_path(done.phase))

    # -- one that is there -----------------------------------------------------------------------

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a phase: its plan, its gold, what can be done with it."""
        phase = await self._phase(request)
        asked = OnePhase(phase=phase.phase)
        plan = await self.console.ask(request, phases.get_plan, asked)
        return self.console.answer(
            "organise_phase.html",
            phase=phase,
            corpus=plan.corpus,
            advances=ADVANCES[phase.state],
            idle=phase.idle_dates(self.console.hub.clock()),
            gold=await self.console.ask(request, gold.list_, asked),
            tasks=gold_tasks(phase),
            titles={name: task.title for name, task in installed_tasks().items()},
            boards=await self.console.ask(request, boards.list_frozen, asked),
            visible=VISIBLE,
        )

    async def _phase(self, request: web.Request) -> PhaseDetail:
        asked = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, phases.get, asked)

    async def _plan(self, request: web.Request) -> PhasePlanDetail:
        asked = OnePhase(phase=request.match_info["phase"])
        return await self.console.ask(request, phases.get_plan, asked)

    async def edit(self, request: web.Request) -> web.Response:
        """Answer with the form that changes a phase."""
        phase = await self._phase(request)
        plan = await self._plan(request)
        return await self._edit(request, phase, plan, _form_values(phase) | {"tasks": plan.tasks})

    async def _edit(
        self,
        request: web.Request,
        phase: PhaseDetail,
        plan: PhasePlanDetail,
        values: Mapping[str, Any] | MultiMapping[Any],
        refused: RefusedError | None = None,
    ) -> web.Response:
        blank = OperationForm(request=PhaseChange, names=_changed(plan), wording=WORDING)
        choices = {}
        if not plan.fixed:
            imported = await self.console.ask(request, corpora.list_, Nothing())
            built = await self.console.ask(request, releases.list_, Nothing())
            choices = {
                "corpus": _corpora(imported),
                "release": _releases(sorted({*built, phase.release})),
            }
            if not isinstance(values, MultiMapping):
                values = {**values, "corpus": plan.corpus}
        form = blank.form(values, refused, **choices, **_dates(phase.timezone))
        status = refused.refusal if refused else 200
        return self.console.answer(
            "organise_phase_edit.html", status=status, phase=phase, form=form, fixed=not choices
        )

    async def change(self, request: web.Request) -> web.Response:
        """Change a phase; dates that were left as shown stay the moments that they are."""
        phase, sent = await self._phase(request), await posted(request)
        plan = await self._plan(request)
        blank = OperationForm(request=PhaseChange, names=_changed(plan))
        before, values = _form_values(phase), blank.values(sent)
        values = {
            name: value
            for name, value in values.items()
            if name not in DATES or value != before[name]
        }
        done: PhaseDetail | RefusedError | None = _other_zone(phase, sent, values)
        if done is None:
            asked = {**values, "phase": phase.phase}
            done = await tried(self.console.submit(request, phases.update, asked), FIXED)
        if isinstance(done, RefusedError):
            return await self._edit(request, phase, plan, sent, done)
        raise web.HTTPSeeOther(phase_path(phase.phase))

    # -- manual changes --------------------------------------------------------------------------

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask whether a phase's state is to be changed."""
        phase = await self._phase(request)
        return self._confirm(phase, Advance(request.match_info["advance"]))

    def _confirm(
        self, phase: PhaseDetail, advance: Advance, refused: RefusedError | None = None
    ) -> web.Response:
        return self.console.answer(
            "organise_advance.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            advance=advance,
            effect=EFFECTS[advance],
            form=OperationForm(request=PhaseChange, names=()).form(refused=refused),
        )

    async def advance(self, request: web.Request) -> web.Response:
        """Change a phase's state; its page shows the new one."""
        phase, advance = await self._phase(request), Advance(request.match_info["advance"])
        change = ADVANCE_OPERATIONS[advance]
        done = await tried(self.console.ask(request, change, OnePhase(phase=phase.phase)))
        if isinstance(done, RefusedError):
            return self._confirm(phase, advance, done)
        raise web.HTTPSeeOther(phase_path(phase.phase))


def _changed(plan: PhasePlanDetail) -> Sequence[str]:
    """Return the fields that may be changed now."""
    return PLANNED if plan.fixed else (*PLANNED[:2], *FIXED, *PLANNED[2:])


def gold_tasks(phase: PhaseDetail) -> Sequence[str]:
    """Return the tasks that a phase has gold for or may be given gold for."""
    return [name for name in installed_tasks() if name in phase.tasks] + [
        name for name in installed_tasks() if name not in phase.tasks
    ]


def _other_zone(
    phase: PhaseDetail, sent: MultiMapping[Any], values: Mapping[str, Any]
) -> RefusedError | None:
    """Return why dates cannot be read: the form that they were written in was of another zone."""
    dated = next((name for name in DATES if values.get(name)), None)
    if dated is None or sent.get("timezone", phase.timezone) == phase.timezone:
        return None
    message = f"the challenge's time zone has been changed to {phase.timezone}: write it again"
    return RefusedError(Refusal.STATE, message, field=dated)


def _form_values(phase: PhaseDetail) -> dict[str, Any]:
    """Return the values in a phase's form."""
    values: dict[str, Any] = {name: _written(getattr(phase, name)) for name in DATES}
    for name in ("title", "kind", "visibility", "release"):
        values[name] = getattr(phase, name)
    limits = {name: getattr(phase.limits, name) for name in LIMITS}
    return values | {"limits": limits}


def _written(at: datetime | None) -> str:
    """Write a moment as a browser's form does, in the phase's zone."""
    if at is None:
        return ""
    return f"{at:%Y-%m-%dT%H:%M}" if not at.second else f"{at:%Y-%m-%dT%H:%M:%S}"


def _dates(zone: str) -> dict[str, Wording]:
    help_texts = {
        "opens": "From then on articles are sent; empty: you open it yourself. A time that comes"
        " twice, where clocks are set back, is the first.",
        "freezes": "From then on none are; empty: you freeze it yourself.",
        "closes": "It is over; empty: you close it yourself.",
    }
    return {
        name: Wording(
            label=f"{name.capitalize()}, {zone} time", kind="datetime-local", help=help_texts[name]
        )
        for name in DATES
    }


def _corpora(known: Sequence[CorpusDetail]) -> Wording:
    return Wording(
        help="The articles, in the order in which they are sent.",
        choices=[
            (
                f"{one.corpus}@{one.version}",
                f"{one.corpus}, version {one.version} ({one.articles} articles)",
            )
            for one in known
        ],
    )


def _releases(known: Sequence[str]) -> Wording:
    return Wording(
        label="UniProt release",
        help="Accessions in answers are checked by it.",
        choices=[(name, name) for name in known],
    )
