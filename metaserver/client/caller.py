"""One article to one server: call, decode, check; the result is an attempt, never an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aiohttp.payload import BytesPayload

from metaserver.client.articles import ArticleTexts, CallBody
from metaserver.client.exchange import Exchange
from metaserver.client.http import HttpClient
from metaserver.client.tracing import span
from metaserver.model.errors import PeerError
from metaserver.model.lanes import CheckedAnswer
from metaserver.model.records import ArticleId, Attempt, Server, ServerName, ServerReport
from metaserver.model.states import ANSWERED, UNAVAILABLE_STATES, Outcome, ReportedState
from metaserver.tasks.plugin import TaskPlugin
from metaserver.wire.validation import Vocabulary, check
from metaserver.wire.xmlrpc import CallTemplate, Value, call_template, encode_call

PROBE_SECONDS = 10.0
LARGE = 2**20  # bytes; half a million hits, all wrong, take seconds to check
GET_STATE = "Annotator.getState"
NOBODY_THERE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT})
UNREACHED = NOBODY_THERE | {Outcome.CANCELLED}
"""Outcomes that do not say that a server is there; the last one is the hub's own failing."""
VOIDS = 5  # attempts in a row for an article that do not count because the hub stood still
ASKED = 3  # times at most that one thing is asked of a server while the hub stands still


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseArticles:
    """The articles of the phase as a caller needs them."""

    ids: Sequence[ArticleId]
    wire_bytes: Sequence[int]
    texts: ArticleTexts


class ArticleCaller:
    """Sends the phase's articles; implements `lanes.ports.Caller`.

    `time_limit` is for the whole of an article's request and answer, in seconds.
    """

    def __init__(
        self,
        client: HttpClient,
        articles: PhaseArticles,
        tasks: Sequence[TaskPlugin],
        vocabulary: Vocabulary,
        *,
        time_limit: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._articles = articles
        self._tasks = tasks
        self._vocabulary = vocabulary
        self._time_limit = time_limit
        self._clock = clock
        self._voided: dict[tuple[ServerName, int], int] = {}  # in a row, of an article

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Send one article and check the answer; raises what kept its text from being loaded."""
        article = self._articles.ids[position]
        with span("attempt", server=server.name, article=article, number=number) as told:
            attempt, checked = await self._attempt(server, position, number)
            told.set_attribute("outcome", attempt.outcome)
        return attempt, checked if attempt.outcome in ANSWERED else None

    async def _attempt(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        exchange = Exchange(self._client.limits.answer.bytes)
        started_at = self._clock()
        checked = None
        body = self._body(server, position, number)
        exchange.bytes_out = body.size or 0
        try:
            value = await self._client.post(server.url, body, exchange, self._time_limit)
            checked = await self._checked(value, server, exchange)
            outcome, message = checked.outcome, checked.message
            self._voided.pop((server.name, position), None)
        except PeerError as error:
            outcome, message = self._judged(server, position, error)
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

    def _judged(self, server: Server, position: int, error: PeerError) -> tuple[Outcome, str]:
        """Return how a failed attempt ended; it is not the server's fault if the hub stood still.

        A hub that stands still time after time must not send an article for ever.
        """
        key = (server.name, position)
        voided = self._voided.pop(key, 0)
        if not error.void or voided >= VOIDS:
            return error.outcome, error.message
        self._voided[key] = voided + 1
        return Outcome.CANCELLED, error.excuse()

    async def _checked(self, value: Value, server: Server, exchange: Exchange) -> CheckedAnswer:
        """Check an answer; a large one aside, so that the hub goes on meanwhile."""
        asked = (value, self._asked_of(server), self._vocabulary, exchange.report)
        if exchange.opened > LARGE:
            return await asyncio.to_thread(check, *asked)
        return check(*asked)

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is there, else what is wrong in one line.

        Asks for its state, then for its methods. Any answer says that it is there, but for a state
        that says otherwise and for a proxy's word that it is not (HTTP 5xx without a fault).
        """
        for method in (GET_STATE, "system.listMethods"):
            try:
                said = _said(await self._ask(server, method))
            except PeerError as error:
                if error.outcome in UNREACHED or error.message.startswith("HTTP status 5"):
                    return f"{error.outcome}: {error.message}"
            else:
                return (
                    f"the server says it is {said.state}"
                    if said.state in UNAVAILABLE_STATES
                    else None
                )
        return None

    async def state(self, server: Server) -> ServerReport | None:
        """Return what the server says of itself, or None if nothing that can be understood."""
        try:
            value = await self._ask(server, GET_STATE)
        except PeerError:
            return None
        return _said(value) if isinstance(value, dict) else None

    async def _ask(self, server: Server, method: str) -> Value:
        """Ask for something else than an article; again if the hub stood still meanwhile."""
        for _ in range(ASKED - 1):
            try:
                return await self._ask_once(server, method)
            except PeerError as error:
                if not error.void:
                    raise
        return await self._ask_once(server, method)

    async def _ask_once(self, server: Server, method: str) -> Value:
        exchange = Exchange(self._client.limits.answer.bytes)
        body = BytesPayload(encode_call(method, ()), content_type="text/xml; charset=utf-8")
        return await self._client.post(server.url, body, exchange, PROBE_SECONDS)

    def _body(self, server: Server, position: int, number: int) -> CallBody:
        template = _plain_template(server.method)
        if server.parameters == "text+context":
            context: dict[str, Value] = {
                "article_id": self._articles.ids[position],
                "tasks": [task.name for task in self._asked_of(server)],
                "timeout": self._time_limit,
                "attempt": number,
            }
            template = call_template(server.method, context)
        return CallBody(
            template,
            lambda: self._articles.texts.escaped(position),
            self._articles.wire_bytes[position],
        )

    def _asked_of(self, server: Server) -> Sequence[TaskPlugin]:
        if not server.tasks:
            return self._tasks
        return [task for task in self._tasks if task.name in server.tasks]


@lru_cache(maxsize=1_024)
def _plain_template(method: str) -> CallTemplate:
    """Return the request for a text alone: the same for all of a server's articles."""
    return call_template(method)


def _said(value: Value) -> ServerReport:
    """Return what can be understood of a server's state; the rest says nothing."""
    told = value if isinstance(value, dict) else {}
    state, most = told.get("state"), told.get("max_concurrent")
    return ServerReport(
        state=ReportedState(state) if state in list(ReportedState) else ReportedState.RUNNING,
        max_concurrent=most if type(most) is int and most >= 1 else None,
    )
