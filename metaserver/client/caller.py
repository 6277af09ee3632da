"""Calls of annotation servers: send, decode, check; the result is an attempt, not an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metaserver.client.articles import ArticleTexts, CallBody, QueryBody
from metaserver.client.exchange import Exchange, Shortcut
from metaserver.client.http import HttpClient
from metaserver.client.slots import SlotUse
from metaserver.client.tracing import span
from metaserver.model.errors import PeerError
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import ArticleId, Attempt, Server, ServerName, ServerReport
from metaserver.model.states import ANSWERED, UNAVAILABLE_STATES, Outcome, ReportedState
from metaserver.tasks.plugin import AnsweredTask
from metaserver.wire.usual import usual_answer
from metaserver.wire.validation import Vocabulary, check
from metaserver.wire.xmlrpc import CallTemplate, Value, call_template, encode_call

PROBE_SECONDS = 10.0
LARGE = 2**20  # bytes; half a million hits, all wrong, take seconds to check
GET_STATE = "Annotator.getState"
NOBODY_THERE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT})
UNREACHED = NOBODY_THERE | {Outcome.CANCELLED}
"""Outcomes that do not show that a server is up; the last one is the hub's own failure."""
MAX_VOIDED = 5  # attempts in a row for an article that do not count because the hub stood still
MAX_QUERIES = 3  # requests for one query while the hub stands still


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseArticles:
    """The articles of a phase: ids, sizes in a request and texts, by position."""

    ids: Sequence[ArticleId]
    wire_bytes: Sequence[int]
    texts: ArticleTexts


class ArticleCaller:
    """The caller that sends a phase's articles; implements `lanes.ports.ServerCaller`.

    `time_limit` bounds an article's request and answer together, in seconds; the wait for one of
    the server's slots, taken for `use`, comes before.
    """

    def __init__(
        self,
        client: HttpClient,
        articles: PhaseArticles,
        tasks: Sequence[AnsweredTask],
        vocabulary: Vocabulary,
        *,
        time_limit: float,
        clock: Callable[[], float] = time.time,
        use: SlotUse = SlotUse.LANE,
    ) -> None:
        self._client = client
        self._articles = articles
        self._tasks = tasks
        self._vocabulary = vocabulary
        self._time_limit = time_limit
        self._clock = clock
        self._use = use
        self._voided: dict[tuple[ServerName, int], int] = {}  # in a row, of an article

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Send one article and check the answer; raises the error of loading its text, if any."""
        article, slots = self._articles.ids[position], self._client.slots
        await slots.take(server, self._use)
        try:
            with span("attempt", server=server.name, article=article, number=number) as current:
                attempt, checked = await self._attempt(server, position, number)
                current.set_attribute("outcome", attempt.outcome)
        finally:
            slots.give(server, self._use)
        return attempt, checked if attempt.outcome in ANSWERED else None

    async def _attempt(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        exchange = Exchange(self._client.limits.answer.bytes, self._shortcut(server))
        started_at = self._clock()
        checked = None
        body = self._body(server, position, number)
        exchange.bytes_out = body.size or 0
        try:
            value = await self._client.post(server.url, body, exchange, self._time_limit)
            checked = exchange.checked or await self._check_answer(value, server, exchange)
            outcome, message = checked.outcome, checked.message
            self._voided.pop((server.name, position), None)
        except PeerError as error:
            outcome, message = self._failure_outcome(server, position, error)
        if body.failure is not None:
            raise body.failure
        attempt = Attempt(
            server=server.name,
            article=self._articles.ids[position],
            number=number,
            started_at=started_at,
            outcome=outcome,
            message=message,
            timings=exchange.timings(),
            bytes_out=exchange.bytes_out,
            bytes_in=exchange.bytes_in,
            problems=checked.problems if checked else (),
            problem_count=checked.problem_count if checked else 0,
            raw=exchange.raw(),
        )
        return attempt, checked

    def _failure_outcome(
        self, server: Server, position: int, error: PeerError
    ) -> tuple[Outcome, str]:
        """Return the outcome of a failed attempt: `cancelled` where the hub itself stood still.

        A hub that stands still repeatedly must not send an article for ever.
        """
        key = (server.name, position)
        voided = self._voided.pop(key, 0)
        if not error.void or voided >= MAX_VOIDED:
            return error.outcome, error.message
        self._voided[key] = voided + 1
        return Outcome.CANCELLED, error.excuse()

    async def _check_answer(
        self, value: Value, server: Server, exchange: Exchange
    ) -> CheckedAnswer:
        """Check an answer; a large one in a thread, so that the event loop is not blocked."""
        arguments = (value, self._tasks_of(server), self._vocabulary, exchange.report)
        if exchange.opened > LARGE:
            return await asyncio.to_thread(check, *arguments)
        return check(*arguments)

    def _shortcut(self, server: Server) -> Shortcut:
        """Return the reader of a usual answer, which saves decoding and checking it."""
        limits = self._client.limits.answer
        return lambda body: usual_answer(body, self._tasks_of(server), self._vocabulary, limits)

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is up, else the failure in one line.

        Queries its state, then its methods. Any answer shows that it is up, except a state that
        says otherwise and a proxy's report that it is not (HTTP 5xx without a fault).
        """
        for method in (GET_STATE, "system.listMethods"):
            try:
                report = _server_report(await self._query(server, method))
            except PeerError as error:
                if error.outcome in UNREACHED or error.message.startswith("HTTP status 5"):
                    return f"{error.outcome}: {error.message}"
            else:
                return (
                    f"the server says it is {report.state}"
                    if report.state in UNAVAILABLE_STATES
                    else None
                )
        return None

    async def state(self, server: Server) -> ServerReport | None:
        """Return the state that the server reports, or None if its answer is no struct."""
        try:
            value = await self._query(server, GET_STATE)
        except PeerError:
            return None
        if not isinstance(value, dict):
            return None
        report = _server_report(value)
        self._client.slots.report(server.name, report)
        return report

    async def _query(self, server: Server, method: str) -> Value:
        """Call a method without an article; again if the hub stood still meanwhile."""
        for _ in range(MAX_QUERIES - 1):
            try:
                return await self._query_once(server, method)
            except PeerError as error:
                if not error.void:
                    raise
        return await self._query_once(server, method)

    async def _query_once(self, server: Server, method: str) -> Value:
        exchange = Exchange(self._client.limits.answer.bytes)
        body = QueryBody(encode_call(method, ()))
        return await self._client.post(server.url, body, exchange, PROBE_SECONDS)

    def _body(self, server: Server, position: int, number: int) -> CallBody:
        template = _plain_template(server.method)
        if server.parameters == "text+context":
            context: dict[str, Value] = {
                "article_id": self._articles.ids[position],
                "tasks": [task.name for task in self._tasks_of(server)],
                "timeout": self._time_limit,
                "attempt": number,
            }
            template = call_template(server.method, context)
        return CallBody(
            template,
            lambda: self._articles.texts.escaped(position),
            self._articles.wire_bytes[position],
        )

    def _tasks_of(self, server: Server) -> Sequence[AnsweredTask]:
        if not server.tasks:
            return self._tasks
        return [task for task in self._tasks if task.name in server.tasks]


@lru_cache(maxsize=1_024)
def _plain_template(method: str) -> CallTemplate:
    """Return the request for a text alone: the same for all of a server's articles."""
    return call_template(method)


def _server_report(value: Value) -> ServerReport:
    """Return the valid parts of a server's reported state, and defaults for the rest."""
    struct = value if isinstance(value, dict) else {}
    state, most = struct.get("state"), struct.get("max_concurrent")
    return ServerReport(
        state=ReportedState(state) if state in list(ReportedState) else ReportedState.RUNNING,
        max_concurrent=most if type(most) is int and most >= 1 else None,
    )
