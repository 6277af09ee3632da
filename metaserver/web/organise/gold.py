"""A task's gold: its versions, and new gold, first previewed, then set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import GoldChange, RunChange
from metaserver.operations import boards, gold, jobs, phases
from metaserver.operations.fields import OnePhase
from metaserver.operations.gold import NewGold
from metaserver.operations.jobs import JobDetail, JobQuery
from metaserver.operations.phases import PhaseDetail
from metaserver.tasks.plugin import TaskPlugin, installed_tasks
from metaserver.web.access.bodies import upload
from metaserver.web.access.downloads import attachment
from metaserver.web.organise.jobs import job_path, result_path, soon
from metaserver.web.organise.overview import phase_path
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import OperationForm, no_file, sent_file, tried
from metaserver.web.ui.forms import Form, Wording

MOST_DRAFTS = 8
"""Files kept at a time; the oldest goes first. Each is at most as large as what may be uploaded."""


class Drafts:
    """The gold files of one hub that were looked at, by the ids of the jobs that did it.

    Each is the request to set it; `replaces` is the version that was then the newest, or 0.
    """

    def __init__(self) -> None:
        self._kept: dict[str, NewGold] = {}

    def keep(self, key: str, draft: NewGold) -> None:
        """Keep a draft."""
        while len(self._kept) >= MOST_DRAFTS:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = draft

    def get(self, key: str) -> NewGold | None:
        """Return a draft; None if it is kept no longer."""
        return self._kept.get(key)

    def drop(self, key: str) -> None:
        """Forget a draft."""
        self._kept.pop(key, None)


SHOWN = 200
"""How many changed and unknown articles a preview names; the others are counted."""

WORDING = {
    "content": Wording(
        label="Gold file",
        kind="file",
        help="In the format of docs/scoring.md; of a task that takes uploads only, of"
        " docs/tasks.md#offline-tasks. First you are shown the changes; nothing is set before you"
        " confirm them.",
    )
}
LOOKED_AT = OperationForm(request=NewGold, names=("content",), wording=WORDING)
SET = OperationForm(request=NewGold, names=())


def gold_path(phase: str, task: str) -> str:
    """Return the path of a task's gold."""
    return f"{phase_path(phase)}/gold/{quote(task, safe='')}"


def set_path(job: JobDetail) -> str:
    """Return the path of the version of gold that a job has set."""
    report = job.report or {}
    return f"{gold_path(report['phase'], report['task'])}?set={report['version']}"


def preview_path(job: JobDetail) -> str:
    """Return the path of a job's gold preview."""
    report = job.report or {}
    return f"{gold_path(report['phase'], report['task'])}/previews/{job.job}"


class Cell(NamedTuple):
    """A run's value before and after, as texts; `before` is empty without a board."""

    before: str
    after: str

    @property
    def changed(self) -> bool:
        """True if the value has changed."""
        return self.before != self.after


class RescoredRun(NamedTuple):
    """A run, its place, and its values in the order of the columns."""

    run: str
    place: Cell
    cells: Sequence[Cell]

    @classmethod
    def of(cls, plugin: TaskPlugin, change: RunChange) -> RescoredRun:
        """Return what is shown of a run."""
        return cls(
            run=change.run,
            place=Cell(
                _place(change.place_before, there=change.before is not None),
                _place(change.place_after, there=True),
            ),
            cells=[
                Cell(
                    "" if change.before is None else column.text(change.before.get(column.key)),
                    column.text(change.after.get(column.key)),
                )
                for column in plugin.columns
            ],
        )


def _place(place: int | None, *, there: bool) -> str:
    return ("–" if place is None else str(place)) if there else ""


@dataclass(frozen=True, kw_only=True)
class GoldPages(ConsolePages):
    """The handlers for gold."""

    drafts: Drafts = field(default_factory=Drafts)

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/phases/{phase}/gold/{task}"
        return [
            web.get(path, self.show),
            web.post(path, self.preview),
            web.get(f"{path}/previews/{{job}}", self.show_preview),
            web.post(f"{path}/set", self.set),
            web.get(rf"{path}/{{version:\d+}}", self.download),
        ]

    # -- what there is ---------------------------------------------------------------------------

    async def show(self, request: web.Request, form: Form | None = None) -> web.Response:
        """Answer with a task's versions, and the form that brings another."""
        form = form or LOOKED_AT.form()
        phase, plugin = await self._of(request)
        query = OnePhase(phase=phase.phase)
        listed = await self.console.ask(request, gold.list_, query)
        frozen = await self.console.ask(request, boards.list_frozen, query)
        versions = [
            version_listed for version_listed in listed if version_listed.task == plugin.name
        ]
        return self.console.answer(
            "organise_gold.html",
            status=form.status,
            phase=phase,
            plugin=plugin,
            path=gold_path(phase.phase, plugin.name),
            versions=versions,
            boards={board.gold_version: board for board in frozen if board.task == plugin.name},
            form=form,
            just_set=next(
                (
                    version_listed
                    for version_listed in versions
                    if str(version_listed.version) == request.query.get("set")
                ),
                None,
            ),
        )

    async def _of(self, request: web.Request) -> tuple[PhaseDetail, TaskPlugin]:
        name, task = request.match_info["phase"], request.match_info["task"]
        phase = await self.console.ask(request, phases.get, OnePhase(phase=name))
        for plugin in installed_tasks().values():
            if plugin.name == task:
                return phase, plugin
        raise web.HTTPNotFound(text="There is no task of that name.")

    async def download(self, request: web.Request) -> web.Response:
        """Answer with a version's file as it was set."""
        query = {name: request.match_info[name] for name in ("phase", "task", "version")}
        version = await self.console.submit(request, gold.get, query)
        end = "".join(PurePath(version.gold.source).suffixes[-2:])
        end = end if re.fullmatch(r"(\.[A-Za-z0-9]{1,5}){1,2}", end) else ".txt"
        name = "gold_{phase}_{task}_v{version}".format(**query)
        return attachment(version.content, f"{name}{end}")

    # -- another version -------------------------------------------------------------------------

    @upload
    async def preview(self, request: web.Request) -> web.Response:
        """Begin to look at what a file would change, and lead there; it is kept until it is set."""
        phase, plugin = await self._of(request)
        file = sent_file(await posted(request))
        draft = NewGold(
            phase=phase.phase,
            task=plugin.name,
            content=file.content,
            source=file.source,
            replaces=phase.gold.get(plugin.name, 0),
        )
        job: JobDetail | RefusedError = (
            await tried(self.console.ask(request, gold.preview, draft), ("content",))
            if file.content
            else no_file()
        )
        if isinstance(job, RefusedError):
            return await self.show(request, LOOKED_AT.form(refused=job))
        self.drafts.keep(job.job, draft)
        raise web.HTTPSeeOther(await soon(self.console, request, job))

    async def show_preview(self, request: web.Request) -> web.Response:
        """Answer with what a file would change; a file previewed here can be set."""
        phase, plugin = await self._of(request)
        job = await self.console.ask(request, jobs.get, JobQuery(job=request.match_info["job"]))
        if result_path(self.console, job) != request.path:
            raise web.HTTPSeeOther(job_path(job))
        change = msgspec.convert(job.report, GoldChange)
        draft = self.drafts.get(job.job)
        return self.console.answer(
            "organise_gold_preview.html",
            phase=phase,
            plugin=plugin,
            path=gold_path(phase.phase, plugin.name),
            source=draft.source if draft else "the file",
            change=change,
            runs=[RescoredRun.of(plugin, run_change) for run_change in change.runs],
            columns=plugin.columns,
            shown=SHOWN,
            key=job.job if draft else "",
            form=SET.form(),
        )

    async def set(self, request: web.Request) -> web.Response:
        """Begin to set the file that was looked at; the task's page then shows its version."""
        phase, plugin = await self._of(request)
        key = str((await posted(request)).get("draft", ""))
        job = await self._set(request, phase, plugin, self.drafts.get(key))
        if isinstance(job, RefusedError):
            return await self.show(request, LOOKED_AT.form(refused=job))
        # A draft whose job fails can be set once more.
        jobs.when_done(self.console.hub, job.job, partial(self.drafts.drop, key))
        raise web.HTTPSeeOther(await soon(self.console, request, job))

    async def _set(
        self, request: web.Request, phase: PhaseDetail, plugin: TaskPlugin, draft: NewGold | None
    ) -> JobDetail | RefusedError:
        """Begin to set a draft, if the gold it was compared with is still in use."""
        if draft is None or (draft.phase, draft.task) != (phase.phase, plugin.name):
            message = "the file that you looked at is no longer kept: choose it again"
            return RefusedError(Refusal.STATE, message, field="content")
        set_gold = self.console.ask(request, gold.set_, draft)
        return await tried(set_gold, ("content",))
