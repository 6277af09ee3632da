"""Uploads of a team: a result file is looked at first, then sent, the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import OPEN_STATES
from metaserver.operations import run_previews, runs, uploads
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.run_previews import RunPreview
from metaserver.operations.runs import UploadRun
from metaserver.operations.text_files import MOST_BYTES
from metaserver.operations.uploads import UploadAllowance, UploadsOf
from metaserver.web.access.bodies import upload
from metaserver.web.team.held_runs import HeldRun, HeldRuns
from metaserver.web.team.scope import Scope, newest_phases, scope_of
from metaserver.web.ui.console import ConsoleContext, phase_named, posted
from metaserver.web.ui.form_pages import (
    OperationForm,
    no_file,
    one_of,
    sent_file,
    tried,
)
from metaserver.web.ui.forms import Wording

PATH = "/team/upload"
NAMES = ("task", "run", "content")
SHEET = OperationForm(
    request=UploadRun,
    names=NAMES,
    wording={
        "run": Wording(
            help=f"Its name on the boards: {NAME_HELP}. Your run of the same name and task is"
            " replaced."
        ),
        "content": Wording(
            label="Result file",
            kind="file",
            help=f"Choose it, or drop it here. Plain or gzip, at most {MOST_BYTES >> 20} MiB"
            " unpacked. It is read first: nothing counts before you send it.",
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class TeamUploadPages:
    """The handlers of uploads."""

    console: ConsoleContext
    held: HeldRuns = field(default_factory=HeldRuns)

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(PATH, self.show),
            web.post(PATH, self.look),
            web.post(f"{PATH}/send", self.send),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the form of an upload to a phase, and what is left of its limits.

        `looked` names a file that was looked at: what was found is shown with it.
        """
        scope = await scope_of(self.console, request)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        phase, key = phase_named(self.console, request), request.query.get("looked", "")
        held = self.held.get(key, scope.team.team)
        if key and held is None:
            return await self._show(request, scope, phase, refused=_gone())
        sent = None if held is None else {"task": held.task, "run": held.run}
        return await self._show(request, scope, phase, sent=sent, held=held, key=key)

    async def _show(
        self,
        request: web.Request,
        scope: Scope,
        name: str | None,
        *,
        sent: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
        held: HeldRun | None = None,
        key: str = "",
    ) -> web.Response:
        known = [
            phase
            for phase in await newest_phases(self.console, request)
            if phase.state in OPEN_STATES or phase.phase == name
        ]
        phase = next((one for one in known if name in (None, one.phase)), None)
        left = await self._left(request, scope, phase)
        tasks = one_of([one.task for one in left], "What the file answers.")
        form = SHEET.form(sent, refused, task=tasks) if left else None
        return self.console.answer(
            "team_upload.html",
            status=refused.refusal if refused else 200,
            scope=scope,
            known=known,
            phase=phase,
            left=left,
            form=form,
            looked=held,
            key=key,
            path=PATH,
        )

    async def _left(
        self, request: web.Request, scope: Scope, phase: PhaseDetail | None
    ) -> Sequence[UploadAllowance]:
        if phase is None or phase.state not in OPEN_STATES:
            return []
        asked = UploadsOf(phase=phase.phase, team=scope.team.team)
        return await self.console.ask(request, uploads.list_, asked)

    async def _scope(self, request: web.Request, sent: MultiMapping[Any]) -> Scope:
        team = str(sent["team"]) if sent.get("team") else None
        scope = await scope_of(self.console, request, team)
        if scope is None:
            raise web.HTTPSeeOther("/team")
        return scope

    @upload
    async def look(self, request: web.Request) -> web.Response:
        """Hold the file for a while, and lead to what an upload of it would do."""
        sent = await posted(request)
        scope, file = await self._scope(request, sent), sent_file(sent)
        phase = str(sent.get("phase", ""))
        values = SHEET.values(sent) | {"content": file.content, "phase": phase}
        values["team"] = scope.team.team
        found: RunPreview | RefusedError = (
            await tried(self.console.submit(request, run_previews.preview, values), NAMES)
            if file.content
            else no_file()
        )
        if isinstance(found, RefusedError):
            return await self._show(request, scope, phase, sent=sent, refused=found)
        held = HeldRun(
            team=found.team,
            phase=found.phase,
            task=found.task,
            run=found.run,
            content=file.content if found.accepted else b"",
            source=file.source,
            preview=found,
        )
        key = self.held.keep(held)
        raise web.HTTPSeeOther(scope.link(PATH, phase=found.phase, looked=key))

    async def send(self, request: web.Request) -> web.Response:
        """Upload the file that was looked at; My results then shows it."""
        sent = await posted(request)
        scope, key = await self._scope(request, sent), str(sent.get("held", ""))
        held = self.held.get(key, scope.team.team)
        if held is None or not held.content:
            phase = phase_named(self.console, request)
            return await self._show(request, scope, phase, refused=_gone())
        asked = UploadRun(
            phase=held.phase, task=held.task, run=held.run, content=held.content, team=held.team
        )
        done = await tried(self.console.ask(request, runs.upload, asked), NAMES)
        if isinstance(done, RefusedError):
            values = {"task": held.task, "run": held.run}
            return await self._show(request, scope, held.phase, sent=values, refused=done)
        self.held.drop(key)
        raise web.HTTPSeeOther(scope.link("/team", uploaded=held.run))


def _gone() -> RefusedError:
    message = "the file that was looked at is kept no longer: choose it again"
    return RefusedError(Refusal.STATE, message, field="content")
