"""Trials of a server: an article of its team's choice, and what becomes of the answer."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import JobState
from metaserver.operations import jobs, trials
from metaserver.operations.fields import OneServer
from metaserver.operations.jobs import JobDetail, JobQuery
from metaserver.operations.trials import MOST_TEXT, SHOWN_ANSWER, Trial, TriedArticle
from metaserver.tasks.plugin import installed_tasks
from metaserver.web.team.attempts import MARKS, length, time_bar, time_parts
from metaserver.web.team.view import Card, one_card, scope_of
from metaserver.web.ui.console import ConsoleContext, ConsolePages, posted
from metaserver.web.ui.form_pages import OperationForm, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.live import LiveParts

PATH = "/team/servers/{server}/try"
SOON = 1.5
"""Seconds that the form waits for the answer before it leads to a page that waits."""
MOST_LISTED = 1_000
"""The maximum articles suggested, of all phases."""
VERDICTS = {"kept": "up", "refused": "down", "lost": "slow"}
"""The pill of a line's verdict."""
WORDING = {
    "phase": Wording(help="The test uses this phase's tasks, UniProt release and limits."),
    "title": Wording(help="The first line of the article."),
    "text": Wording(help=f"At most {MOST_TEXT:,} characters. The answer does not count."),
    "article": Wording(
        label="Or an article of a training phase",
        help="The article's id in the data of the phase chosen above. Leave title and text empty.",
    ),
}


class TrialPages(ConsolePages):
    """The handlers for trials."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [web.get(PATH, self.show), web.post(PATH, self.begin)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the form; `job` names a trial, which is shown as far as it is."""
        card = await one_card(self.console, request, request.match_info["server"])
        key = request.query.get("job", "")
        job = await job_of(self.console, request, card.server.server, key) if key else None
        trial = _trial_of(job)
        values = None
        if trial is not None:
            phase = trial.terms.phase
            values = {"phase": phase} | {
                name: getattr(trial, name) for name in ("title", "text", "article")
            }
        form = await self._form(request, card)
        return await self._show(request, card, form.form(values), job, trial)

    async def _show(
        self,
        request: web.Request,
        card: Card,
        form: Form,
        job: JobDetail | None = None,
        trial: Trial | None = None,
    ) -> web.Response:
        return self.console.answer(
            "team_try.html",
            status=form.status,
            scope=await scope_of(self.console, request, card.server.team),
            card=card,
            form=form,
            job=job,
            trial=trial,
            marks=MARKS,
            verdicts=VERDICTS,
            shown_answer=SHOWN_ANSWER,
            plugins=installed_tasks(),
            length=length,
            parts_of_time=time_parts(trial.attempt.timings) if trial else (),
            bar=time_bar(trial.attempt.timings) if trial else "",
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Send an article, and lead to what becomes of it."""
        submitted = await posted(request)
        card = await one_card(self.console, request, request.match_info["server"])
        form = await self._form(request, card)
        values = form.values(submitted) | {"server": card.server.server}
        begun = await tried(self.console.submit(request, trials.try_, values), ("article",))
        if isinstance(begun, RefusedError):
            return await self._show(request, card, form.form(submitted, begun))
        await self.console.ask(request, jobs.get, JobQuery(job=begun.job, wait=SOON))
        raise web.HTTPSeeOther(_path(card.path, begun.job))

    async def _form(self, request: web.Request, card: Card) -> OperationForm:
        """Return the form for a server; phase and article are asked for if there are any."""
        server = OneServer(server=card.server.server)
        training = await self.console.ask(request, trials.list_training_articles, server)
        listed = [(article, of.phase) for of in training for article in of.articles]
        tested = [tested.phase for tested in card.server.tests]
        phases = list(dict.fromkeys([*tested, *(of.phase for of in training)]))
        wording = WORDING | {
            "phase": replace(WORDING["phase"], choices=[(phase, phase) for phase in phases]),
            "article": replace(WORDING["article"], suggestions=listed[:MOST_LISTED]),
        }
        names = [
            *(["phase"] if phases else []), "title", "text", *(["article"] if listed else []),
        ]  # fmt: skip
        return OperationForm(request=TriedArticle, names=names, wording=wording)


def _path(path: str, job: str) -> str:
    return f"{path}/try?{urlencode({'job': job})}"


async def job_of(console: ConsoleContext, request: web.Request, server: str, key: str) -> JobDetail:
    """Return the job of a server's trial; `RefusedError` if there is no such trial."""
    job = await console.ask(request, jobs.get, JobQuery(job=key))
    if (job.kind, job.subject) != (trials.KIND, server):
        raise RefusedError(Refusal.UNKNOWN, f"there is no such trial of {server}", field="job")
    return job


def _trial_of(job: JobDetail | None) -> Trial | None:
    if job is None or job.state is not JobState.DONE:
        return None
    return msgspec.convert(job.report, Trial)


async def trial_parts(console: ConsoleContext, request: web.Request, name: str) -> LiveParts:
    """Return the live part of a trial's page: whether there is an answer."""
    card = await one_card(console, request, name)
    job = await job_of(console, request, name, request.query.get("job", ""))
    path = "" if job.state is JobState.RUNNING else _path(card.path, job.job)
    part = console.templates.part("team_parts.html", "trying", job, path)
    return LiveParts(html={"tried": part})
