"""Calls of annotation servers: send, decode, check; the result is an attempt, not an exception."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from metaserver.base.errors import PeerError
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Problem, Server, ServerName, ServerReport
from metaserver.base.states import ANSWERED, UNAVAILABLE_STATES, Outcome
from metaserver.exchange.http.articles import ArticleTexts, PhaseText
from metaserver.exchange.http.channel import HttpChannel
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.slots import SlotUse
from metaserver.exchange.http.tracing import span
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.exchange.protocols.plugin import ArticleCall, ServerChannel, ServerProtocol
from metaserver.exchange.wire.contract import Completion, Report
from metaserver.exchange.wire.validation import Part, Vocabulary, check
from metaserver.exchange.wire.values import Value

PROBE_SECONDS = 10.0
MANY = 1_000  # hits; those of a relation take few bytes
NOBODY_THERE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT})
UNREACHED = NOBODY_THERE | {Outcome.CANCELLED, Outcome.CREDENTIALS}
"""Outcomes that do not show that a server is up for the hub, or are the hub's own failure."""
MAX_VOIDED = 5  # attempts in a row for an article that do not count because the hub stood still
MAX_QUERIES = 3  # requests for one query while the hub stands still

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseArticles:
    """A phase's articles: ids, sizes in a request and texts, by position."""

    ids: Sequence[ArticleId]
    wire_bytes: Sequence[int]
    texts: ArticleTexts


class ArticleCaller:
    """The caller that sends a phase's articles; implements `lanes.ports.ServerCaller`.

    `time_limit` bounds an article's request and answer together, in seconds; servers are sent
    `announced`. The wait for a server slot, taken for `use`, comes before; None: the slot is held
    already. `completion` is for servers older than the contract. A restarted hub resumes the
    attempts with the same `scope` that servers answer by callbacks. `open_channel` replaces the
    client's own channels.
    """

    def __init__(
        self,
        client: HttpClient,
        articles: PhaseArticles,
        tasks: Sequence[Part],
        vocabulary: Vocabulary,
        *,
        time_limit: float,
        completion: Completion | None = None,
        clock: Callable[[], float] = time.time,
        use: SlotUse | None = SlotUse.LANE,
        announced: float | None = None,
        scope: str = "",
        open_channel: Callable[[Server, Exchange, float], HttpChannel] | None = None,
    ) -> None:
        self._client = client
        self._articles = articles
        self._tasks = tasks
        self._vocabulary = vocabulary
        self._time_limit = time_limit
        self._completion = completion
        self._clock = clock
        self._use = use
        self._announced = time_limit if announced is None else announced
        self._scope = scope
        self._open_channel = open_channel or client.channel
        self._voided: dict[tuple[ServerName, int], int] = {}  # in a row, of an article

    async def call(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Send an article and check the answer; raises any error from loading its text."""
        article, slots, use = self._articles.ids[position], self._client.slots, self._use
        if use is not None:
            await slots.take(server, use)
        try:
            with span("attempt", server=server.name, article=article, number=number) as current:
                attempt, checked = await self._attempt(server, position, number)
                current.set_attribute("outcome", attempt.outcome)
        finally:
            if use is not None:
                slots.give(server, use)
        return attempt, checked if attempt.outcome in ANSWERED else None

    async def _attempt(
        self, server: Server, position: int, number: int
    ) -> tuple[Attempt, CheckedAnswer | None]:
        exchange = Exchange(self._client.limits.answer.bytes)
        started_at = self._clock()
        checked, channel = None, None
        try:
            channel = self._open_channel(server, exchange, self._time_limit)
            value = await protocol_of(server).annotate(
                channel, self._call(server, position, number)
            )
            checked = await self._checked(value, server, exchange)
            outcome, message = checked.outcome, checked.message
            self._voided.pop((server.name, position), None)
        except PeerError as error:
            outcome, message = self._failure_outcome(server, position, error)
        problems = checked.problems if checked else ()
        if channel is not None and exchange.secrets:
            message = channel.hide(message)
            problems = tuple(
                Problem(path=channel.hide(problem.path), message=channel.hide(problem.message))
                for problem in problems
            )
            if checked is not None and checked.asides is not None:
                asides = await asyncio.to_thread(checked.asides.changed, channel.hide)
                checked = msgspec.structs.replace(checked, asides=asides)
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
            problems=problems,
            problem_count=checked.problem_count if checked else 0,
            raw=exchange.raw(),
            usage=checked.usage if checked else None,
            asked_wait=exchange.asked_wait,
        )
        return attempt, checked

    def _failure_outcome(
        self, server: Server, position: int, error: PeerError
    ) -> tuple[Outcome, str]:
        """Return a failed attempt's outcome: `cancelled` if the hub itself stood still.

        A hub that stands still repeatedly must not send an article forever.
        """
        key = (server.name, position)
        voided = self._voided.pop(key, 0)
        if not error.void or voided >= MAX_VOIDED:
            return error.outcome, error.message
        self._voided[key] = voided + 1
        return Outcome.CANCELLED, error.excuse()

    async def _checked(
        self, value: Value | CheckedAnswer, server: Server, exchange: Exchange
    ) -> CheckedAnswer:
        """Check an answer; a large one in turn and in a thread, so that the loop is not blocked."""
        if isinstance(value, CheckedAnswer):
            return value
        arguments = (value, self.tasks_of(server), exchange.report)
        members = value.values() if isinstance(value, dict) else ()
        hits = sum(len(member) for member in members if isinstance(member, list))
        if exchange.large:
            async with self._client.large:
                return await asyncio.to_thread(self._check, *arguments)
        if hits > MANY:
            return await asyncio.to_thread(self._check, *arguments)
        return self._check(*arguments)

    def _check(self, value: Value, tasks: Sequence[Part], report: Report) -> CheckedAnswer:
        if self._completion is not None:
            value = self._completion.completed(value, report)
        return check(value, tasks, self._vocabulary, report)

    def _call(self, server: Server, position: int, number: int) -> ArticleCall:
        articles = self._articles
        return ArticleCall(
            server=server,
            article=articles.ids[position],
            number=number,
            time_limit=self._announced,
            tasks=self.tasks_of(server),
            vocabulary=self._vocabulary,
            text=PhaseText(articles.texts, position, articles.wire_bytes[position]),
            scope=self._scope,
        )

    async def probe(self, server: Server) -> str | None:
        """Return None if the server is up, else the failure on one line.

        Queries its state, then what any working server answers. Any answer shows that it is up,
        except a state that says otherwise, refused credentials, and a proxy's report that it is not
        (HTTP 5xx without a fault).
        """
        protocol = protocol_of(server)
        report = None
        for query in (
            (protocol.state, protocol.touch) if protocol.reports_state else (protocol.touch,)
        ):
            try:
                answer = await self._query(server, query)
            except PeerError as error:
                if error.outcome in UNREACHED or error.message.startswith("HTTP status 5"):
                    return f"{error.outcome}: {error.message}"
            else:
                report = answer if isinstance(answer, ServerReport) else None
                break
        if report is not None and report.state in UNAVAILABLE_STATES:
            return f"the server reports the state {report.state}"
        return None

    async def state(self, server: Server) -> ServerReport | None:
        """Return the state that the server reports, or None if its answer is none."""
        protocol = protocol_of(server)
        if not protocol.reports_state:
            return None
        try:
            report = await self._query(server, protocol.state)
        except PeerError:
            return None
        if report is not None:
            self._client.slots.report(server.name, report)
            self._client.versions.report(server.name, report.version)
        return report

    async def _query(
        self, server: Server, query: Callable[[ServerChannel, Server], Awaitable[T]]
    ) -> T:
        """Ask without an article; again if the hub stood still meanwhile."""
        for number in itertools.count(1):
            exchange = Exchange(self._client.limits.answer.bytes)
            channel = self._client.channel(server, exchange, PROBE_SECONDS)
            try:
                return await query(channel, server)
            except PeerError as error:
                error.message = channel.hide(error.message)
                if not error.void or number == MAX_QUERIES:
                    raise
        raise AssertionError  # `count` has no end

    def tasks_of(self, server: Server) -> Sequence[Part]:
        """Return the tasks for a server: the phase's tasks that it is to answer."""
        if not server.tasks:
            return self._tasks
        return [task for task in self._tasks if task.name in server.tasks]


def protocol_of(server: Server) -> ServerProtocol:
    """Return the protocol that a server speaks; raises `PeerError` if it is not installed."""
    protocol = installed_protocols().get(server.protocol)
    if protocol is None:
        raise PeerError(
            Outcome.SHAPE, f"the protocol {server.protocol!r} is no longer installed on the hub"
        )
    return protocol
