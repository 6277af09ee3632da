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
from metaserver.errors import PeerError
from metaserver.lifecycle import ANSWERED, AWAY, Outcome, SaidState
from metaserver.records import ArticleId, Attempt, Server, ServerSaid
from metaserver.tasks.plugin import TaskPlugin
from metaserver.tracing import span
from metaserver.wire.validation import CheckedAnswer, Vocabulary, check
from metaserver.wire.xmlrpc import CallTemplate, Value, call_template, encode_call

PROBE_SECONDS = 10.0
LARGE = 2**20  # bytes; half a million hits, all wrong, take seconds to check
GET_STATE = "Annotator.getState"
NOBODY_THERE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT})


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
        except PeerError as error:
            outcome, message = error.outcome, error.message
        if body.failure is not None:
            raise body.failure
        attempt = Attempt(
            server=server.name,
            article=self._articles.ids[position],
            number=number,
            started_at=started_at,
            outcome=outcome,
            message=message,
            phases=exchange.phases(),
            bytes_out=exchange.bytes_out,
            bytes_in=exchange.bytes_in,
            problems=checked.problems if checked else (),
            problem_count=checked.problem_count if checked else 0,
            raw=exchange.raw(),
        )
        return attempt, checked

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
                if error.outcome in NOBODY_THERE or error.message.startswith("HTTP status 5"):
                    return f"{error.outcome}: {error.message}"
            else:
                return f"the server says it is {said.state}" if said.state in AWAY else None
        return None

    async def state(self, server: Server) -> ServerSaid | None:
        """Return what the server says of itself, or None if nothing that can be understood."""
        try:
            value = await self._ask(server, GET_STATE)
        except PeerError:
            return None
        return _said(value) if isinstance(value, dict) else None

    async def _ask(self, server: Server, method: str) -> Value:
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


def _said(value: Value) -> ServerSaid:
    """Return what can be understood of a server's state; the rest says nothing."""
    told = value if isinstance(value, dict) else {}
    state, most = told.get("state"), told.get("max_concurrent")
    return ServerSaid(
        state=SaidState(state) if state in list(SaidState) else SaidState.RUNNING,
        max_concurrent=most if type(most) is int and most >= 1 else None,
    )
