"""A new phase: planned in four steps, each a page; nothing is stored before the last is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from multidict import MultiDict, MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import DATES, PhasePlan
from metaserver.operations import challenges, corpora, phases, releases
from metaserver.operations.challenges import ChallengeDetail
from metaserver.operations.phases import NewPhase, PhaseDetail, planned
from metaserver.operations.planning import require_materials, takes_uploads_only
from metaserver.operations.table import Nothing, invalid
from metaserver.web.access.bodies import upload
from metaserver.web.access.refusals import in_words
from metaserver.web.organise.launch import plan_check, taking_part
from metaserver.web.organise.overview import NEW_PHASE, challenge_named, phase_path
from metaserver.web.organise.phase_form import (
    CHECK,
    CORPUS_FILE,
    FIELDS,
    FIXED,
    GOLD_FILES,
    READING,
    STEP_OF,
    STEPS,
    WORDING,
    Family,
    chosen,
    corpus_choices,
    date_wording,
    read_dates,
    release_choices,
    sections,
    with_files,
    with_questions,
    with_uploaded_tasks,
)
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import OperationForm, number, sent_file, tried
from metaserver.web.ui.forms import Form, FormField

CARRIED = (*FIELDS, *(f"{name}{READING}" for name in DATES))
"""The fields whose values go from step to step."""
AGAIN = "Choose the file again: it was not kept."
NOTHING_SENT: Mapping[str, str] = {}


class Refused(NamedTuple):
    """Why a step is shown again, with what is wrong with its files."""

    error: RefusedError | None = None
    files: Mapping[str, str] = NOTHING_SENT


def _family(submitted: MultiMapping[Any]) -> Family:
    is_uploaded = takes_uploads_only(submitted.getall("tasks", ()))
    return Family.UPLOADS if is_uploaded else Family.SERVERS


def _step(submitted: MultiMapping[Any]) -> int:
    return min(max(number(str(submitted.get("step", ""))), 1), CHECK)


def _carried(submitted: MultiMapping[Any], shown: int) -> MultiDict[str]:
    """Return what was written in other steps than the step shown."""
    return MultiDict(
        (name, text)
        for name, text in submitted.items()
        if name in CARRIED
        and isinstance(text, str)
        and STEP_OF[name.removesuffix(READING)] != shown
    )


def _address(challenge: ChallengeDetail, step: int, written: MultiMapping[str]) -> str:
    """Return the address of a step, with what was written so far."""
    values = [("challenge", challenge.challenge), ("step", str(step)), *written.items()]
    return f"{NEW_PHASE}?{urlencode(values)}"


def _entered(whole: Form, step: int, submitted: MultiMapping[Any]) -> Sequence[tuple[str, str]]:
    """Return the labels and values of a step; of folded fields only those that were changed."""
    asked = [section for section in sections(whole) if section.step == step]
    usual = {
        field.name: field.given
        for field in OperationForm(request=NewPhase, names=FIELDS).form().fields
    }
    fields = [
        field
        for section in asked
        for field in (*section.fields, *section.advanced)
        if field in section.fields or field.given != usual.get(field.name)
    ]
    return [(field.label, text) for field in fields if (text := _in_words(field, submitted))]


def _in_words(field: FormField, submitted: MultiMapping[Any]) -> str:
    """Return what is in a field, as it was chosen or written."""
    labels = dict(field.choices)
    if labels:
        return ", ".join(labels[text] for text in field.given if text and text in labels)
    if field.name in DATES:
        return chosen(field.name, field.value, submitted).replace("T", " ")
    return field.value


class NewPhasePages(ConsolePages):
    """The handlers for new phases."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [web.get(NEW_PHASE, self.new), web.post(NEW_PHASE, self.make)]

    async def new(self, request: web.Request) -> web.Response:
        """Answer with a step of a new phase in the addressed challenge (`?challenge=bc&step=2`).

        The address has what was written in the steps before, and after *Back* in all.
        """
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        if "challenge" in request.query:
            challenge = await challenge_named(self.console, request, request.query["challenge"])
        elif listed:
            challenge = listed[-1]
        else:
            return self.console.answer("organise_new_phase.html", challenge=None)
        return await self._show(request, challenge, request.query, _step(request.query), Refused())

    async def _show(
        self,
        request: web.Request,
        challenge: ChallengeDetail,
        submitted: MultiMapping[Any],
        step: int,
        refused: Refused,
    ) -> web.Response:
        """Answer with a step; if a value of another step was refused, with that step."""
        check: Sequence[str] | None = None
        if step == CHECK:
            plan = await tried(self._plan(request, challenge, submitted, CHECK - 1))
            if isinstance(plan, RefusedError):
                refused = Refused(refused.error or plan, refused.files)
            else:
                guests, _, own = await taking_part(self.console, request)
                check = plan_check(plan, self.console.hub.clock(), guests, len(own))
        if refused.error:
            step = STEP_OF.get(refused.error.field, step)
        built = await self.console.ask(request, releases.list_, Nothing())
        whole = await self._form(request, challenge, submitted, built, refused)
        shown = [section for section in sections(whole) if section.step == step]
        fields = [field for section in shown for field in (*section.fields, *section.advanced)]
        written = _carried(submitted, 0)
        keep = _carried(submitted, step)
        keep.extend(challenge=challenge.challenge, step=str(step))
        return self.console.answer(
            "organise_new_phase.html",
            status=whole.status,
            challenges=await self.console.ask(request, challenges.list_challenges, Nothing()),
            challenge=challenge,
            releases=built,
            folder=self.console.hub.settings.uniprot.releases,
            form=replace(whole, fields=fields),
            sections=shown,
            keep=keep,
            step=step,
            steps=STEPS,
            check=check,
            entered=[
                (title, _address(challenge, at, written), _entered(whole, at, submitted))
                for at, title in enumerate(STEPS[: CHECK - 1], start=1)
            ],
        )

    async def _form(
        self,
        request: web.Request,
        challenge: ChallengeDetail,
        submitted: MultiMapping[Any],
        built: Sequence[str],
        refused: Refused,
    ) -> Form:
        """Return the form of all steps, with what was written or else the defaults."""
        family = _family(submitted)
        imported = await self.console.ask(request, corpora.list_, Nothing())
        choices = {"tasks": (Family.SERVERS if built else Family.UPLOADS).tasks()}
        if family is Family.SERVERS:
            choices |= {"corpus": corpus_choices(imported), "release": release_choices(built)}
        blank = OperationForm(request=NewPhase, names=family.names(FIELDS), wording=WORDING)
        values: MultiDict[Any] = MultiDict(submitted)
        for unseen in blank.form().fields:
            if unseen.name not in submitted:
                values.extend((unseen.name, text) for text in unseen.given)
        form = blank.form(values, refused.error, **choices, **date_wording(challenge.timezone))
        if built:
            form = with_uploaded_tasks(form)
        form = with_files(form, family, submitted.getall("tasks", ()), refused.files)
        return with_questions(form, submitted, challenge.timezone, self.console.hub.clock())

    def _values(
        self, challenge: ChallengeDetail, submitted: MultiMapping[Any], step: int
    ) -> dict[str, Any]:
        """Return the values that were written up to a step; `RefusedError` for an unclear date."""
        names = [name for name in _family(submitted).names(FIELDS) if STEP_OF[name] <= step]
        values = OperationForm(request=NewPhase, names=names).values(submitted)
        values["challenge"] = challenge.challenge
        read = read_dates(values, submitted, challenge.timezone, self.console.hub.clock())
        if isinstance(read, RefusedError):
            raise read
        return read

    async def _plan(
        self,
        request: web.Request,
        challenge: ChallengeDetail,
        submitted: MultiMapping[Any],
        step: int,
    ) -> PhasePlan:
        """Return the plan by the values up to a step; `RefusedError` for what is wrong in them."""
        try:
            new = msgspec.convert(self._values(challenge, submitted, step), NewPhase, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(error) from error
        plan = planned(new, challenge.timezone)
        listed = await self.console.ask(request, phases.list_, Nothing())
        if (challenge.challenge, new.phase) in {
            (phase.challenge, phase.own_name) for phase in listed
        }:
            title = challenge.title or challenge.challenge
            message = f"there is a phase {new.phase!r} of {title} already"
            raise RefusedError(Refusal.STATE, message, field="phase")
        built = await self.console.ask(request, releases.list_, Nothing())
        if not built and not takes_uploads_only(new.tasks):
            raise RefusedError(Refusal.INVALID, "choose what teams upload", field="tasks")
        if step >= STEP_OF["corpus"]:
            hub, has_articles = self.console.hub, bool(new.corpus)
            require_materials(hub, new.tasks, new.release, has_articles=has_articles)
        return plan

    @upload
    async def make(self, request: web.Request) -> web.Response:
        """Take a step: lead to the next, or back (`to`), or plan the phase after the last."""
        submitted = MultiDict(await posted(request))
        challenge = await challenge_named(
            self.console, request, str(submitted.get("challenge", ""))
        )
        step, to = _step(submitted), number(str(submitted.get("to", "")))
        if 0 < to < step:
            raise web.HTTPSeeOther(_address(challenge, to, _carried(submitted, 0)))
        if step == STEP_OF[CORPUS_FILE]:
            imported = await self._import(request, submitted)
            if isinstance(imported, RefusedError):
                files = {CORPUS_FILE: in_words(imported)}
                error = RefusedError(imported.refusal, "the corpus was not imported: see its file")
                return await self._show(request, challenge, submitted, step, Refused(error, files))
            if imported:
                submitted["corpus"] = imported  # it is there, whatever becomes of the phase
        if step == CHECK:
            return await self._create(request, challenge, submitted)
        plan = await tried(self._plan(request, challenge, submitted, step))
        if isinstance(plan, RefusedError):
            return await self._show(request, challenge, submitted, step, Refused(plan))
        raise web.HTTPSeeOther(_address(challenge, step + 1, _carried(submitted, 0)))

    async def _create(
        self, request: web.Request, challenge: ChallengeDetail, submitted: MultiMapping[Any]
    ) -> web.Response:
        """Plan a phase with the gold that was sent, or show why it is not planned."""
        sent = {name: file for name in GOLD_FILES if (file := sent_file(submitted, name)).content}
        golds = [
            {"task": GOLD_FILES[name], "content": file.content, "source": file.source or "-"}
            for name, file in sent.items()
        ]
        result = await tried(self._created(request, challenge, submitted, golds), FIXED)
        if isinstance(result, RefusedError):
            files, refused = dict.fromkeys(sent, AGAIN), result.field.replace(".", "-", 1)
            if refused in sent:
                files[refused] = in_words(result)
                message = "nothing was planned, as a gold cannot be used: see its file"
                result = RefusedError(result.refusal, message)
            return await self._show(request, challenge, submitted, CHECK, Refused(result, files))
        raise web.HTTPSeeOther(phase_path(result.phase))

    async def _created(
        self,
        request: web.Request,
        challenge: ChallengeDetail,
        submitted: MultiMapping[Any],
        golds: Sequence[Mapping[str, Any]],
    ) -> PhaseDetail:
        values = self._values(challenge, submitted, CHECK) | {"gold": golds}
        return await self.console.submit(request, phases.create, values)

    async def _import(
        self, request: web.Request, submitted: MultiMapping[Any]
    ) -> str | RefusedError:
        """Import the corpus that was sent, by the phase's name; return its name and version."""
        file = sent_file(submitted, CORPUS_FILE)
        if not file.content:
            return ""
        values_sent = {
            "corpus": submitted.get("phase", ""),
            "content": file.content,
            "source": file.source or "-",
        }
        result = await tried(
            self.console.submit(request, corpora.import_, values_sent), ("content",)
        )
        return result if isinstance(result, RefusedError) else f"{result.corpus}@{result.version}"
