"""Trials: one article of a team's own choice, sent to one of its servers at once.

It is a text, or an article of a training phase whose released data the team has: that of a phase is
scored as well, on the gold in these data and on no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.conformance import Terms
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import ArticlePolicy
from metaserver.base.records import ArticleId, PhaseName, Problem, RegisteredServer, TaskName
from metaserver.base.states import JobState, PhaseState, Role
from metaserver.base.structs import convert
from metaserver.boards.scoreboard import ScoredTask, score_alone
from metaserver.exchange.conformance.trial import TriedTask, trial
from metaserver.operations.attempts import AttemptDetail
from metaserver.operations.caller import Caller
from metaserver.operations.conformance import ServerTest, phase_to_test
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import LONG, OneServer
from metaserver.operations.jobs import JobDetail
from metaserver.operations.kept import offered
from metaserver.operations.table import operation
from metaserver.phases.conformance import Conditions
from metaserver.phases.jobs import Job, Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.store.jobs import StoredJob
from metaserver.tasks.plugin import StatedTask

KIND = "servers.try"
MOST_TITLE = 1_000
MOST_TEXT = 80_000
"""The maximum characters of a text: as a form, in any script, less than a request's 1 MiB."""
SHOWN_ANSWER = 20_000
"""The maximum characters shown of an answer."""
MOST_ID = 300
"""The maximum characters of an article's id."""
MOST_ARTICLES, MOST_ITEMS = 200, 100
"""The maximum articles listed of a phase, and of the gold's items found or missed of an article."""


class TriedArticle(ServerTest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article to try on a server, as an article of a phase."""

    title: Annotated[str, Meta(max_length=MOST_TITLE, description="The article's first line")] = ""
    text: Annotated[
        str,
        Meta(
            max_length=MOST_TEXT,
            description=f"The rest of the article, at most {MOST_TEXT:,} characters",
            extra=LONG,
        ),
    ] = ""
    article: Annotated[
        str,
        Meta(
            max_length=MOST_ID,
            description="Instead of a text: an article of a training phase with released data",
        ),
    ] = ""


class TrainingArticles(msgspec.Struct, frozen=True, kw_only=True):
    """The first articles of a training phase that can be tried, and the number of its articles."""

    phase: str
    articles: tuple[str, ...]
    total: int


class ArticleScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of an answer to one article, computed as a board's.

    `values` are those of the task's columns. `found` and `missed` are the gold's items in the
    answer and not in it, the first of each; `items` is the number of all.
    """

    task: str
    gold_version: int
    values: dict[str, float | int | None]
    items: int
    found: tuple[str, ...]
    missed: tuple[str, ...]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a server was sent, what it answered, and what is valid in it.

    `request` is the first of so many `requests` as a command of curl, with *** for each secret.
    `raw` is the beginning of the answer as text. `problems` are those that belong to no line of the
    `tasks`, each of which has its first 200 lines. An `article` of a phase has no `text` here;
    `scores` are those of the tasks whose gold is in the phase's released data.
    """

    server: str
    title: str
    text: str
    article: str
    terms: Terms
    attempt: AttemptDetail
    request: str
    requests: int
    raw: str
    tasks: tuple[TriedTask, ...]
    problems: tuple[Problem, ...]
    scores: tuple[ArticleScore, ...]


@operation("Servers.trainingArticles", "GET /servers/{server}/try", Role.TEAM)
async def list_training_articles(
    hub: HubContext, caller: Caller, request: OneServer
) -> Sequence[TrainingArticles]:
    """Return the articles of training phases that can be tried on a server, some of each phase."""
    await hub.server(caller, request.server)
    tests = _in_open_tests(hub, caller)
    return [
        TrainingArticles(
            phase=running.name,
            articles=tuple(islice(_without(running.corpus.ids, tests), MOST_ARTICLES)),
            total=len(running.corpus),
        )
        for running in hub.seen_phases(caller)
        if _is_given(hub, running)
    ]


def _is_given(hub: HubContext, running: RunningPhase) -> bool:
    """Return whether teams have a training phase's articles, as its released data."""
    training = running.phase.plan.kind is PhaseState.TRAINING and not running.uploads_only
    return training and offered(hub, running) is not None


def _without(
    articles: Sequence[ArticleId], tests: Sequence[Collection[ArticleId]]
) -> Iterator[ArticleId]:
    for article in articles:
        if len(article) <= MOST_ID and not any(article in test for test in tests):
            yield article


def _in_open_tests(hub: HubContext, caller: Caller) -> Sequence[Collection[ArticleId]]:
    """Return the articles of each open test phase, which cannot be tried.

    Those of a planned test phase can be: a refusal would reveal its articles before it opens.
    """
    now = hub.clock()
    return [
        running.positions
        for running in hub.seen_phases(caller)
        if running.phase.state(now) is PhaseState.TEST
    ]


@operation("Servers.try", "POST /servers/{server}/try", Role.TEAM, report=Trial)
async def try_(hub: HubContext, caller: Caller, request: TriedArticle) -> JobDetail:
    """Send an article of your own to a server once, and see what becomes of its answer.

    It is a text, or an article of a training phase whose data are released, which is scored too.
    It is sent and checked as an article of a phase is, and counts nowhere. It is a background job;
    one article at a time is tried on a server, and the server's lanes go first. The newest trial of
    a server is kept.
    """
    registered = await hub.server_in_use(caller, request.server)
    running = phase_to_test(hub, request.phase)
    text = await _text(hub, caller, request, running)
    conditions = Conditions.of(registered.server, running, hub.settings)
    async with hub.store.writing() as connection:
        detail = {} if running is None else {"phase": running.name}
        article = request.article or None
        await audit_log(connection, caller, KIND, request.server, **detail, article=article)
    name, team = registered.server.name, registered.team or ""

    def is_of_server(job: Job | StoredJob) -> bool:
        return (job.kind, job.subject) == (KIND, name)

    async def work(progress: Progress) -> Trial:
        progress.begin("waiting for the answer")
        return await _trial(hub, caller, registered, conditions, request, text)

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
    message = "the server is being tried with another article: wait for the end of that trial"
    return RefusedError(Refusal.STATE, message, field="server")


async def _text(
    hub: HubContext, caller: Caller, request: TriedArticle, running: RunningPhase | None
) -> str:
    """Return the text to send; `RefusedError` if there is none, or it may not be tried."""
    title = " ".join(request.title.split())
    if not request.article:
        if not request.text:
            given = any(_is_given(hub, one) for one in hub.seen_phases(caller))
            unless = ", unless you choose an article of a training phase" if given else ""
            raise RefusedError(Refusal.INVALID, f"is required{unless}", field="text")
        return f"{title}\n{request.text}" if title else request.text
    if title or request.text:
        message = (
            "cannot be sent together with a text: leave title and text empty, or choose no article"
        )
        raise RefusedError(Refusal.INVALID, message, field="article")
    article = ArticleId(request.article)
    if running is None or not _may_try(hub, caller, running, article):
        message = f"article {request.article!r} is not in the released data of a training phase"
        raise RefusedError(Refusal.UNKNOWN, message, field="article")
    place = running.positions[article]
    [text] = await hub.store.article_texts(running.phase.corpus_id, range(place, place + 1))
    return text


def _may_try(hub: HubContext, caller: Caller, running: RunningPhase, article: ArticleId) -> bool:
    is_secret = any(article in test for test in _in_open_tests(hub, caller))
    return _is_given(hub, running) and article in running.positions and not is_secret


async def _trial(
    hub: HubContext,
    caller: Caller,
    registered: RegisteredServer,
    conditions: Conditions,
    request: TriedArticle,
    text: str,
) -> Trial:
    article = ArticleId(request.article)
    tried = await trial(
        hub.servers.client.bounded(conditions.limits),
        registered.server,
        conditions.tasks,
        conditions.vocabulary,
        text,
        article=article or None,
        time_limit=conditions.terms.timeout,
        shown=SHOWN_ANSWER,
        completion=conditions.completion,
    )
    scores = await _scores(hub, caller, conditions, article, tried.payloads) if article else ()
    return convert(
        tried,
        Trial,
        server=registered.server.name,
        title=" ".join(request.title.split()),
        text=request.text,
        article=article,
        terms=conditions.terms,
        attempt=convert(tried.attempt, AttemptDetail, final=True),
        scores=scores,
    )


async def _scores(
    hub: HubContext,
    caller: Caller,
    conditions: Conditions,
    article: ArticleId,
    payloads: Mapping[TaskName, Any],
) -> tuple[ArticleScore, ...]:
    """Return an answer's scores, on the gold that teams have: it may have changed meanwhile."""
    running = hub.phases.scheduler.phases.get(PhaseName(conditions.terms.phase))
    package = None if running is None else offered(hub, running)
    if running is None or package is None or not _may_try(hub, caller, running, article):
        return ()
    policy = running.phase.plan.ranking.articles
    scores = [
        await asyncio.to_thread(_score, scored, version, article, payloads[task], policy)
        for scored in running.boards.scoreboard.scored()
        if (task := scored.plugin.name) in payloads
        and (version := package.gold.get(task)) is not None
        and scored.mark is not None
        and scored.mark.version == version
    ]
    return tuple(score for score in scores if score is not None)


def _score(
    scored: ScoredTask, version: int, article: ArticleId, payload: Any, policy: ArticlePolicy
) -> ArticleScore | None:
    """Return an answer's score; None if the gold does not have its article."""
    task = scored.plugin
    if not isinstance(task, StatedTask):
        return None
    gold = task.within(scored.gold, [article])
    labels = task.labels(gold).get(article)
    if labels is None:
        return None
    stated = task.stated(payload)
    return ArticleScore(
        task=task.name,
        gold_version=version,
        values=dict(score_alone(task, gold, article, payload, policy).values),
        items=len(labels),
        found=tuple(sorted(labels & stated)[:MOST_ITEMS]),
        missed=tuple(sorted(labels - stated)[:MOST_ITEMS]),
    )
