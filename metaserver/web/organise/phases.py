"""A phase: planned, changed, and led on by hand."""

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
from metaserver.operations.challenges import ChallengeDetail
from metaserver.operations.corpora import CorpusDetail
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.phases import NewPhase, PhaseChange, PhaseDetail
from metaserver.store import phases as kept
from metaserver.tasks.plugin import installed_tasks
from metaserver.web.organise.form_helpers import OperationForm, tried
from metaserver.web.organise.overview import NEW_PHASE, phase_path, releases
from metaserver.web.ui.console import ConsoleContext, posted
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
"""What stays as it is once there is a run."""

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
        choices=[(seen.value, f"{seen} – {told}") for seen, told in VISIBLE.items()],
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


class Lead(StrEnum):
    """What leads a phase on by hand; the names are those of the operations."""

    OPEN = "open"
    FREEZE = "freeze"
    CLOSE = "close"


LEADS: Mapping[PhaseState, Sequence[Lead]] = {
    PhaseState.SETUP: (Lead.OPEN, Lead.FREEZE, Lead.CLOSE),
    PhaseState.TRAINING: (Lead.FREEZE, Lead.CLOSE),
    PhaseState.TEST: (Lead.FREEZE, Lead.CLOSE),
    PhaseState.FROZEN: (Lead.CLOSE, Lead.OPEN),
    PhaseState.CLOSED: (Lead.OPEN,),
}
"""What can be done by hand in a state; back only as far as no date has led on."""

ASKED: Mapping[Lead, str] = {
    Lead.OPEN: "Servers that are started are sent articles from now on.",
    Lead.FREEZE: "No article is sent any more. What is in flight is finished and counted; then the"
    " boards stand still and are kept under permanent links.",
    Lead.CLOSE: "It is over. Where scores are public, answers can then be read by everybody.",
}


@dataclass(frozen=True, kw_only=True)
class PhasePages:
    """The handlers of phases."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        one, leads = "/organise/phases/{phase}", "|".join(Lead)
        return [
            web.get(NEW_PHASE, self.new),
            web.post(NEW_PHASE, self.make),
            web.get(one, self.show),
            web.get(f"{one}/edit", self.edit),
            web.post(f"{one}/edit", self.change),
            web.get(f"{one}/{{lead:{leads}}}", self.confirm),
            web.post(f"{one}/{{lead:{leads}}}", self.lead),
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
        challenges: Sequence[ChallengeDetail] = await self.console.ask(request, "challenges.list")
        named = {one.challenge: one for one in challenges}
        if name is not None and name not in named:
            raise web.HTTPNotFound(text=f"There is no challenge called {name or repr(name)}.")
        newest = challenges[-1] if challenges else None
        challenge = newest if name is None else named[name]
        corpora = await self.console.ask(request, "corpora.list")
        known = releases(self.console.hub)
        form = None
        if challenge is not None and corpora and known:
            names = ("phase", "title", "kind", *FIXED, *PLANNED[2:])
            sheet = OperationForm(given=NewPhase, names=names, wording=WORDING)
            choices = {"corpus": _corpora(corpora), "release": _releases(known)}
            form = sheet.form(sent, refused, **choices, **_dates(challenge.timezone))
        return self.console.answer(
            "organise_new_phase.html",
            status=refused.refusal if refused else 200,
            challenges=challenges,
            challenge=challenge,
            corpora=corpora,
            releases=known,
            folder=self.console.hub.settings.uniprot.releases,
            form=form,
        )

    async def make(self, request: web.Request) -> web.Response:
        """Plan a phase; its page leads on to its gold."""
        sent = await posted(request)
        challenge = str(sent.get("challenge", ""))
        names = ("phase", "title", "kind", *FIXED, *PLANNED[2:])
        values = OperationForm(given=NewPhase, names=names).values(sent)
        done = await tried(
            self.console, request, "phases.create", FIXED, challenge=challenge, **values
        )
        if isinstance(done, RefusedError):
            return await self._new(request, challenge, sent, done)
        raise web.HTTPSeeOther(phase_path(done.phase))

    # -- one that is there -----------------------------------------------------------------------

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a phase: its plan, its gold, what can be done with it."""
        phase = await self._phase(request)
        gold = await self.console.ask(request, "gold.list", phase=phase.phase)
        boards = await self.console.ask(request, "boards.frozen", phase=phase.phase)
        return self.console.answer(
            "organise_phase.html",
            phase=phase,
            corpus=await self._corpus(request, phase),
            leads=LEADS[phase.state],
            idle=_idle(phase, self.console.hub.clock()),
            gold=gold,
            tasks=gold_tasks(phase),
            titles={name: task.title for name, task in installed_tasks().items()},
            boards=boards,
            visible=VISIBLE,
        )

    async def _phase(self, request: web.Request) -> PhaseDetail:
        detail: PhaseDetail = await self.console.ask(
            request, "phases.get", phase=request.match_info["phase"]
        )
        return detail

    async def _corpus(self, request: web.Request, phase: PhaseDetail) -> str:
        """Return what the phase's corpus is called."""
        running = self.console.hub.phase(phase.phase)
        async with self.console.hub.store.reading() as connection:
            for version in await kept.list_corpora(connection):
                if version.corpus_id == running.phase.corpus_id:
                    return f"{version.name}@{version.version}"
        return ""

    async def edit(self, request: web.Request) -> web.Response:
        """Answer with the form that changes a phase."""
        phase = await self._phase(request)
        planned = self.console.hub.phase(phase.phase).phase.plan.tasks
        return await self._edit(request, phase, _standing(phase) | {"tasks": planned})

    async def _edit(
        self,
        request: web.Request,
        phase: PhaseDetail,
        values: Mapping[str, Any] | MultiMapping[Any],
        refused: RefusedError | None = None,
    ) -> web.Response:
        sheet = OperationForm(given=PhaseChange, names=self._changed(phase), wording=WORDING)
        choices = {}
        if "corpus" in sheet.names:
            current = await self._corpus(request, phase)
            corpora = await self.console.ask(request, "corpora.list")
            choices = {
                "corpus": _corpora(corpora),
                "release": _releases(sorted({*releases(self.console.hub), phase.release})),
            }
            if not isinstance(values, MultiMapping):
                values = {**values, "corpus": current}
        form = sheet.form(values, refused, **choices, **_dates(phase.timezone))
        status = refused.refusal if refused else 200
        return self.console.answer(
            "organise_phase_edit.html", status=status, phase=phase, form=form, fixed=not choices
        )

    def _changed(self, phase: PhaseDetail) -> Sequence[str]:
        """Return the fields that may be changed now."""
        running = self.console.hub.phase(phase.phase)
        return (
            PLANNED if running.servers or running.offline else (*PLANNED[:2], *FIXED, *PLANNED[2:])
        )

    async def change(self, request: web.Request) -> web.Response:
        """Change a phase; dates that were left as shown stay the moments that they are."""
        phase, sent = await self._phase(request), await posted(request)
        sheet = OperationForm(given=PhaseChange, names=self._changed(phase))
        before, values = _standing(phase), sheet.values(sent)
        values = {
            name: value
            for name, value in values.items()
            if name not in DATES or value != before[name]
        }
        done: PhaseDetail | RefusedError | None = _other_zone(phase, sent, values)
        if done is None:
            done = await tried(
                self.console, request, "phases.update", FIXED, phase=phase.phase, **values
            )
        if isinstance(done, RefusedError):
            return await self._edit(request, phase, sent, done)
        raise web.HTTPSeeOther(phase_path(phase.phase))

    # -- by hand ---------------------------------------------------------------------------------

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask whether a phase is to be led on."""
        phase = await self._phase(request)
        return self._confirm(phase, Lead(request.match_info["lead"]))

    def _confirm(
        self, phase: PhaseDetail, lead: Lead, refused: RefusedError | None = None
    ) -> web.Response:
        return self.console.answer(
            "organise_lead.html",
            status=refused.refusal if refused else 200,
            phase=phase,
            lead=lead,
            told=ASKED[lead],
            form=OperationForm(given=PhaseChange, names=()).form(refused=refused),
        )

    async def lead(self, request: web.Request) -> web.Response:
        """Lead a phase on; its page shows where it stands then."""
        phase, lead = await self._phase(request), Lead(request.match_info["lead"])
        done = await tried(self.console, request, f"phases.{lead}", phase=phase.phase)
        if isinstance(done, RefusedError):
            return self._confirm(phase, lead, done)
        raise web.HTTPSeeOther(phase_path(phase.phase))


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


def _idle(phase: PhaseDetail, now: float) -> Sequence[str]:
    """Return the dates ahead by which the clock changes nothing any more."""
    coming = {change.date for change in phase.coming}
    dated = [(name, getattr(phase, name)) for name in DATES]
    return [name for name, at in dated if at and at.timestamp() > now and name not in coming]


def _standing(phase: PhaseDetail) -> dict[str, Any]:
    """Return what stands in a phase's form."""
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
    told = {
        "opens": "From then on articles are sent; empty: opened by hand. A time that comes twice,"
        " where clocks are set back, is the first.",
        "freezes": "From then on none are; empty: by hand.",
        "closes": "It is over; empty: by hand.",
    }
    return {
        name: Wording(
            label=f"{name.capitalize()}, {zone} time", kind="datetime-local", help=told[name]
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
