"""Trials: one article of a team's own choice, sent to one of its servers at once."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.conformance import Terms
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import Problem, RegisteredServer
from metaserver.base.states import JobState, Role
from metaserver.base.structs import convert
from metaserver.exchange.conformance.trial import TriedTask, trial
from metaserver.operations.attempts import AttemptDetail
from metaserver.operations.caller import Caller
from metaserver.operations.conformance import ServerTest, phase_to_test
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import LONG
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import operation
from metaserver.phases.conformance import Conditions
from metaserver.phases.jobs import Job, Progress
from metaserver.store.jobs import StoredJob

KIND = "servers.try"
MOST_TITLE = 1_000
MOST_TEXT = 80_000
"""The maximum characters of a text: as a form, in any script, less than a request's 1 MiB."""
SHOWN_ANSWER = 20_000
"""The maximum characters shown of an answer."""


class TriedArticle(ServerTest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article to try on a server, as an article of a phase."""

    title: Annotated[str, Meta(max_length=MOST_TITLE, description="The article's first line")] = ""
    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MOST_TEXT,
            description=f"The rest of the article, at most {MOST_TEXT:,} characters",
            extra=LONG,
        ),
    ]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a server was sent, what it answered, and what is valid in it.

    `request` is the first of so many `requests` as a command of curl, with *** for each secret.
    `raw` is the beginning of the answer as text. `problems` are those that belong to no line of the
    `tasks`, each of which has its first 200 lines.
    """

    server: str
    title: str
    text: str
    terms: Terms
    attempt: AttemptDetail
    request: str
    requests: int
    raw: str
    tasks: tuple[TriedTask, ...]
    problems: tuple[Problem, ...]


@operation("Servers.try", "POST /servers/{server}/try", Role.TEAM, report=Trial)
async def try_(hub: HubContext, caller: Caller, request: TriedArticle) -> JobDetail:
    """Send an article of your own to a server once, and see what becomes of its answer.

    It is sent and checked as an article of a phase is, and counts nowhere. It is a background job;
    one article at a time is tried on a server, and the server's lanes go first. The newest trial of
    a server is kept.
    """
    registered = await hub.server_in_use(caller, request.server)
    running = phase_to_test(hub, request.phase)
    conditions = Conditions.of(registered.server, running, hub.settings)
    async with hub.store.writing() as connection:
        detail = {} if running is None else {"phase": running.name}
        await audit_log(connection, caller, KIND, request.server, **detail)
    name, team = registered.server.name, registered.team or ""

    def is_of_server(job: Job | StoredJob) -> bool:
        return (job.kind, job.subject) == (KIND, name)

    async def work(progress: Progress) -> Trial:
        progress.begin("waiting for the answer")
        return await _trial(hub, registered, conditions, request)

    elsewhere = await hub.jobs.board.elsewhere(team, is_of_server)
    here = [job for job in hub.jobs.own.list_all(team) if is_of_server(job)]
    if elsewhere is not None or any(job.state is JobState.RUNNING for job in here):
        raise _busy()
    job = hub.jobs.own.begin(KIND, name, caller.name, work, team=team)
    if await hub.jobs.board.post(job, is_of_server) is not None:  # of the same moment
        raise _busy()
    for earlier in here:  # each has a text, a request and an answer
        hub.jobs.own.forget(earlier)
    return JobDetail.of(job)


def _busy() -> RefusedError:
    message = "an article is being tried on it: wait until that has ended"
    return RefusedError(Refusal.STATE, message, field="server")


async def _trial(
    hub: HubContext, registered: RegisteredServer, conditions: Conditions, request: TriedArticle
) -> Trial:
    title = " ".join(request.title.split())
    tried = await trial(
        hub.servers.client.bounded(conditions.limits),
        registered.server,
        conditions.tasks,
        conditions.vocabulary,
        f"{title}\n{request.text}" if title else request.text,
        time_limit=conditions.terms.timeout,
        shown=SHOWN_ANSWER,
        completion=conditions.completion,
    )
    return convert(
        tried,
        Trial,
        server=registered.server.name,
        title=title,
        text=request.text,
        terms=conditions.terms,
        attempt=convert(tried.attempt, AttemptDetail, final=True),
    )
