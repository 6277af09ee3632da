"""Offline runs: result files uploaded for a team, listed, taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import RefusedError
from metaserver.base.records import TaskName
from metaserver.base.states import PhaseState
from metaserver.operations import phases, runs, teams, uploads
from metaserver.operations.fields import NAME_HELP, OnePhase
from metaserver.operations.runs import OneRun, RunContent, RunDetail, RunsOf, UploadRun
from metaserver.operations.table import Nothing
from metaserver.operations.text_files import MOST_BYTES
from metaserver.operations.uploads import UploadAllowance, UploadsOf
from metaserver.tasks.plugin import offline_tasks
from metaserver.web.access.bodies import upload
from metaserver.web.access.downloads import attachment
from metaserver.web.organise.overview import organised_phases
from metaserver.web.ui.console import ConsolePages, phase_named, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, one_of, sent_file, tried_file
from metaserver.web.ui.forms import Form, Wording

NAMES = ("team", "task", "run", "content")
SHEET = OperationForm(
    request=UploadRun,
    names=NAMES,
    wording={
        "run": Wording(
            help=f"Its name on the boards: {NAME_HELP}. That of a run of the same team and task"
            " is replaced."
        ),
        "content": Wording(
            label="Result file",
            kind="file",
            help=f"In BC II.5 format, plain or gzip; at most {MOST_BYTES >> 20} MiB unpacked.",
        ),
    },
)


class UploadPages(ConsolePages):
    """The handlers for offline runs."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/uploads/{phase}/{run}"
        return [
            web.get("/organise/uploads", self.list),
            web.post("/organise/uploads", self.bring),
            web.get(path, self.download),
            *FormPage(
                console=self.console,
                path=f"{path}/delete",
                operation=runs.delete,
                show=self._confirm,
                then=_back,
            ).routes(),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with a phase's offline runs, and the upload form."""
        return await self._list(request, phase_named(self.console, request))

    async def _list(
        self,
        request: web.Request,
        name: str | None,
        submitted: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        listed = list(reversed(await organised_phases(self.console, request)))
        phase = next(
            (phase_detail for phase_detail in listed if name in (None, phase_detail.phase)), None
        )
        playing = [
            team.team
            for team in await self.console.ask(request, teams.list_, Nothing())
            if team.retired_at is None
        ]
        uploaded: Sequence[RunDetail] = ()
        remaining: Sequence[UploadAllowance] = ()
        form = None
        if phase is not None:
            of_phase, allowed = RunsOf(phase=phase.phase), UploadsOf(phase=phase.phase)
            uploaded = await self.console.ask(request, runs.list_, of_phase)
            remaining = await self.console.ask(request, uploads.list_, allowed)
        if phase is not None and playing and phase.state is not PhaseState.CLOSED:
            choices = {
                "team": one_of(playing, "Whose run it is."),
                "task": one_of(phase.tasks, "What its file answers."),
            }
            if phase.uploads_only:
                choices["content"] = _offline_file(phase.tasks)
            form = SHEET.form(submitted, refused, **choices)
        return self.console.answer(
            "organise_uploads.html",
            status=refused.refusal if refused else 200,
            known_phases=listed,
            phase=phase,
            teams=playing,
            runs=uploaded,
            left=remaining,
            form=form,
            path=run_path,
            done=next((run for run in uploaded if run.run == request.query.get("run")), None),
        )

    @upload
    async def bring(self, request: web.Request) -> web.Response:
        """Upload a run; the list then shows what was left out of its file."""
        submitted = await posted(request)
        phase, file = str(submitted.get("phase", "")), sent_file(submitted)
        values = SHEET.values(submitted) | {"content": file.content, "phase": phase}
        result = await tried_file(self.console, request, runs.upload, values, NAMES)
        if isinstance(result, RefusedError):
            phase_detail = await self.console.ask(request, phases.get, OnePhase(phase=phase))
            return await self._list(request, phase_detail.phase, submitted, result)
        query = urlencode({"phase": result.phase, "run": result.run})
        raise web.HTTPSeeOther(f"/organise/uploads?{query}")

    async def _run(self, request: web.Request) -> RunContent:
        query = OneRun(phase=request.match_info["phase"], run=request.match_info["run"])
        return await self.console.ask(request, runs.get, query)

    async def download(self, request: web.Request) -> web.Response:
        """Answer with a run's file as it was uploaded."""
        detail = await self._run(request)
        name = f"{detail.run.phase}.{detail.run.run}.{detail.run.task}{_end(detail.content)}"
        return attachment(detail.content, name)

    async def _confirm(self, request: web.Request, form: Form) -> web.Response:
        """Ask whether a run is to be deleted."""
        run = (await self._run(request)).run
        return self.console.answer(
            "organise_upload_delete.html",
            status=form.status,
            run=run,
            path=run_path(run),
            form=form,
        )


def _offline_file(tasks: Sequence[str]) -> Wording:
    """Return the words of the field for a file of an offline task."""
    files: dict[str, list[str]] = {}
    for name in tasks:
        files.setdefault(offline_tasks()[TaskName(name)].upload, []).append(name)
    words = "; ".join(f"{', '.join(names)}: {file}" for file, names in files.items())
    return Wording(label="File of the run", kind="file", help=f"{words}.")


def _end(content: bytes) -> str:
    """Return the end of a file's name by its content."""
    kinds = ((b"\x1f\x8b", ".tsv.gz"), (b"PK", ".zip"), (b"<", ".xml"))
    return next((end for start, end in kinds if content.startswith(start)), ".tsv")


def run_path(run: RunDetail) -> str:
    """Return the path of an offline run's file."""
    return f"/organise/uploads/{quote(run.phase, safe='')}/{quote(run.run, safe='')}"


async def _back(request: web.Request, _deleted: object) -> str:
    return f"/organise/uploads?{urlencode({'phase': request.match_info['phase']})}"
