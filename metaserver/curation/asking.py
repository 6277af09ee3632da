"""A request's fan-out: each server asked once, in its own task, until the deadline."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack_json, unpack
from metaserver.base.concurrency import run_uncancelled
from metaserver.base.curations import ENDED, UNFINISHED, AskedServer, AskedState, RequestState
from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, RegisteredServer, ServerName
from metaserver.base.states import ANSWERED, RULES, Outcome
from metaserver.base.structs import convert
from metaserver.config import Settings
from metaserver.corpus.fingerprints import fingerprints
from metaserver.curation.proteins import NamedPlaces
from metaserver.curation.rules import ChallengeRules, Obstacle
from metaserver.curation.store import requests
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.curation.texts import GUARDED, GuardedArticles
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import ArticleCaller, PhaseArticles
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.slots import SlotUse
from metaserver.exchange.wire.contract import MENTIONS
from metaserver.exchange.wire.xmlrpc import escape_text
from metaserver.store import servers
from metaserver.store.store import Store
from metaserver.tasks.plugin import AnsweredTask, answered_tasks

TRIES = 2
"""Times that a server is sent a request's article at most."""
AGAIN_SECONDS = 1.0
"""Seconds before a server is sent the article again."""
BUSY_SECONDS = 0.5
"""Seconds after which a server that was busy with a challenge is looked at again."""
STORE_SECONDS = 1.0
"""Seconds after which a store that took nothing is tried again."""
MOST_HITS = 1_000
"""The maximum hits kept per task in an answer: the best."""
NO_CONSENT = "its team does not serve curators"
RAW_BYTES = 2**20
"""The maximum bytes kept from a raw answer, compressed."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True, eq=False)
class LiveRequest:
    """A request in memory, with the state of each of its servers and the answers so far.

    `changed` is set, and replaced by a new event, with each change; `version` grows with it.
    `named` has the places of its candidates' names; the holder of `placing` may search for more.
    """

    stored: StoredRequest
    servers: dict[ServerName, AskedServer] = field(default_factory=dict)
    answers: list[RequestAnswer] = field(default_factory=list)
    state: RequestState
    message: str = ""
    deadline_at: float | None = None
    version: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: dict[ServerName, asyncio.Task[None]] = field(default_factory=dict)
    placing: asyncio.Lock = field(default_factory=asyncio.Lock)
    named: NamedPlaces = field(default_factory=NamedPlaces)

    @property
    def key(self) -> str:
        """Its id."""
        return self.stored.id

    @property
    def settled(self) -> bool:
        """True if nothing of it changes any more."""
        return self.state not in UNFINISHED and all(task.done() for task in self.tasks.values())

    def touch(self, now: float) -> int:
        """Raise the version, also above those before a restart, and wake who waits."""
        self.version = max(self.version + 1, hundredths(self.stored, now))
        event, self.changed = self.changed, asyncio.Event()
        event.set()
        return self.version


def hundredths(request: StoredRequest, now: float) -> int:
    """Return the hundredths of a second since a request was received."""
    return int((now - request.at) * 100)


def asks_again(outcome: Outcome) -> bool:
    """Return whether a server is asked again after an attempt.

    Not after a refusal of the hub's credentials: more requests could lock an account.
    """
    return RULES[outcome].retry and outcome is not Outcome.CREDENTIALS


def accepted(answers: Sequence[RequestAnswer]) -> dict[ServerName, RequestAnswer]:
    """Return each accepted server's answer to use."""
    return {answer.server: answer for answer in answers if answer.accepted}


class Asker:
    """Asks servers for a hub's requests.

    `keep_versions` stores the versions that servers report of themselves with their answers.
    """

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        challenges: ChallengeRules,
        guarded: GuardedArticles,
        settings: Settings,
        clock: Callable[[], float],
        keep_versions: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._keep_versions = keep_versions
        self._client = client.bounded(settings.http_limits())
        self._challenges = challenges
        self._guarded = guarded
        self._limit = settings.limits.timeout
        self._completion = settings.completion()
        self._clock = clock

    async def ask_all(self, live: LiveRequest, chosen: Sequence[RegisteredServer]) -> None:
        """Ask the servers that have not ended yet; return at the deadline at the latest.

        Calls that are under way then go on: their answers are late.
        """
        text, digests = await asyncio.to_thread(_text_and_fingerprints, live.stored)
        article = _Asked(_one_article(live.stored, text), digests)
        for registered in chosen:
            name = registered.server.name
            if live.servers[name].state not in ENDED:
                live.tasks[name] = asyncio.create_task(
                    self._ask(live, registered, article), name=f"request {live.key} {name}"
                )
        if live.tasks:
            assert live.deadline_at is not None
            remaining = max(0.0, live.deadline_at - self._clock())
            await asyncio.wait(list(live.tasks.values()), timeout=remaining)
        for name, task in list(live.tasks.items()):
            if not task.done() and live.servers[name].state not in CALLED:
                task.cancel()
                await asyncio.wait([task])
                if (now := live.servers[name]).state not in ENDED:
                    self.show(live, name, AskedState.NOT_ASKED, message=_not_asked(now))

    async def _ask(self, live: LiveRequest, registered: RegisteredServer, article: _Asked) -> None:
        """Ask a server; any fault ends as its state."""
        name = registered.server.name
        answers = [answer for answer in live.answers if answer.server == name]
        number = max((answer.number for answer in answers), default=0)
        try:
            while number < TRIES:
                number += 1
                if not await self._take_slot(live, registered, article):
                    return
                try:
                    state = AskedState.ASKED if number == 1 else AskedState.AGAIN
                    self.show(live, name, state)
                    attempt, answer = await self._call(live, registered, article.articles, number)
                finally:
                    self._client.slots.give(registered.server, SlotUse.REQUEST)
                await self._keep(live, registered, attempt, answer)
                if answer is not None or not asks_again(attempt.outcome):
                    return
                if self._left(live) <= AGAIN_SECONDS:
                    return
                await asyncio.sleep(AGAIN_SECONDS)
        except UnavailableError:
            self.show(live, name, AskedState.NOT_ASKED, message="the hub's store was away")
        except Exception:
            log.exception("request %s cannot ask %s", live.key, name)
            self.show(live, name, AskedState.NOT_ASKED, message="the hub failed to ask it")

    async def _take_slot(
        self, live: LiveRequest, registered: RegisteredServer, article: _Asked
    ) -> bool:
        """Wait until the server may be asked; return whether it may, and a slot is taken then."""
        name, slots = registered.server.name, self._client.slots
        if not registered.serves_curators:
            self.show(live, name, AskedState.NOT_ASKED, message=NO_CONSENT)
            return False
        while True:
            obstacle = self._challenges.obstacle(registered) or await self._guard(live, article)
            if obstacle is None:
                if live.servers[name].state is AskedState.BUSY:
                    self.show(live, name, AskedState.WAITING)
                await slots.take(registered.server, SlotUse.REQUEST)
                try:
                    obstacle = await run_uncancelled(self._obstacle(live, registered, article))
                except BaseException:
                    slots.give(registered.server, SlotUse.REQUEST)
                    raise
                if obstacle is None:
                    return True
                slots.give(registered.server, SlotUse.REQUEST)
            if not obstacle.passing:
                self.show(live, name, AskedState.NOT_ASKED, message=obstacle.reason)
                return False
            if live.servers[name].state is not AskedState.BUSY:
                self.show(live, name, AskedState.BUSY, message=obstacle.reason)
            await asyncio.sleep(BUSY_SECONDS)

    async def _obstacle(
        self, live: LiveRequest, registered: RegisteredServer, article: _Asked
    ) -> Obstacle | None:
        """Return why a server is not asked now, by what the store says of it at this moment."""
        if (guarded := await self._guard(live, article)) is not None:
            return guarded
        async with self._store.reading() as connection:
            now = await servers.get(connection, registered.server.name)
        if now is None or now.retired_at is not None:
            return Obstacle(reason="it is retired", passing=False)
        if not now.serves_curators:
            return Obstacle(reason=NO_CONSENT, passing=False)
        if now.server != registered.server:
            return Obstacle(reason="it was changed after the request", passing=False)
        return self._challenges.obstacle(now)

    async def _guard(self, live: LiveRequest, article: _Asked) -> Obstacle | None:
        """Return that nobody may be asked: a phase with the article may have come meanwhile."""
        if await self._guarded.holds(article.digests, live.stored.article):
            return Obstacle(reason=GUARDED, passing=False)
        return None

    async def _call(
        self,
        live: LiveRequest,
        registered: RegisteredServer,
        articles: PhaseArticles,
        number: int,
    ) -> tuple[Attempt, CheckedAnswer | None]:
        vocabulary, _ = self._challenges.vocabulary()
        caller = ArticleCaller(
            self._client,
            articles,
            tasks_of(live.stored),
            vocabulary,
            time_limit=self._limit,
            completion=self._completion,
            announced=max(1.0, self._left(live)),
            clock=self._clock,
            use=None,
        )
        return await caller.call(registered.server, 0, number)

    async def _keep(
        self,
        live: LiveRequest,
        registered: RegisteredServer,
        attempt: Attempt,
        answer: CheckedAnswer | None,
    ) -> None:
        """Store an attempt, however long the store takes nothing, and show it."""
        payloads = asides = None
        if answer is not None:
            payloads = await asyncio.to_thread(_packed_payloads, answer)
            if answer.asides is not None:
                asides = await asyncio.to_thread(pack_json, answer.asides)
        kept = RequestAnswer(
            server_id=registered.id,
            server=registered.server.name,
            team=registered.team or "",
            number=attempt.number,
            started_at=attempt.started_at,
            ended_at=self._clock(),
            outcome=attempt.outcome,
            message=attempt.message,
            hits=answer.hits_kept if answer else 0,
            payloads=payloads,
            asides=asides,
            raw=attempt.raw if len(attempt.raw) <= RAW_BYTES else None,
            version=max(live.version + 1, hundredths(live.stored, self._clock())),
            late=self._left(live) <= 0,
        )
        await self.store(lambda connection: requests.add_answer(connection, live.key, kept))
        with suppress(UnavailableError):  # then it is tried again later
            await self._keep_versions()
        live.answers.append(replace(kept, raw=None))  # the store has it; nobody reads it here
        live.servers[registered.server.name] = shown(kept)
        live.touch(self._clock())

    async def store(self, write: Callable[[AsyncConnection], Awaitable[None]]) -> None:
        """Write into the store; while it takes nothing, again and again."""
        while True:
            with suppress(UnavailableError):
                await run_uncancelled(self._write(write))
                return
            await asyncio.sleep(STORE_SECONDS)

    async def _write(self, write: Callable[[AsyncConnection], Awaitable[None]]) -> None:
        async with self._store.writing() as connection:
            await write(connection)

    def show(
        self, live: LiveRequest, name: ServerName, state: AskedState, *, message: str = ""
    ) -> None:
        """Show a server's state; an ended server keeps its last attempt."""
        now = self._clock()
        before = live.servers[name]
        if state is AskedState.NOT_ASKED and before.outcome is not None:
            state, message = AskedState.FAILED, before.message
        live.servers[name] = msgspec.structs.replace(
            before, state=state, since=now, message=message
        )
        live.touch(now)

    def _left(self, live: LiveRequest) -> float:
        return (live.deadline_at or 0.0) - self._clock()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The article of a request as servers are sent it, and its text's digests."""

    articles: PhaseArticles
    digests: frozenset[bytes]


CALLED = frozenset({AskedState.ASKED, AskedState.AGAIN})
"""The states of servers whose answer may still come after the deadline."""


def tasks_of(request: StoredRequest) -> Sequence[AnsweredTask]:
    """Return the tasks that a request's servers are asked for; mentions are for display."""
    task_names = request.options.tasks
    return [
        task
        for name, task in answered_tasks().items()
        if (name in task_names if task_names else task.key != MENTIONS)
    ]


def shown(answer: RequestAnswer) -> AskedServer:
    """Return a server's state after an attempt."""
    state = AskedState.ANSWERED if answer.outcome in ANSWERED else AskedState.FAILED
    return convert(
        answer,
        AskedServer,
        state=state,
        since=answer.ended_at,
        seconds=answer.ended_at - answer.started_at,
    )


def _not_asked(server: AskedServer) -> str:
    if server.state is AskedState.BUSY:
        return server.message
    return "its turn did not come before the deadline"


def _text_and_fingerprints(request: StoredRequest) -> tuple[str, frozenset[bytes]]:
    text = unpack(request.text).decode("utf-8", "surrogatepass")
    return text, fingerprints(text)


def _one_article(request: StoredRequest, text: str) -> PhaseArticles:
    """Return a request's article as a phase's."""

    async def load(_: range) -> Sequence[str]:
        return [text]

    return PhaseArticles(
        ids=[ArticleId(request.article or request.id)],
        wire_bytes=[len(escape_text(text))],
        texts=ArticleTexts(load),
    )


def _packed_payloads(answer: CheckedAnswer) -> bytes:
    return pack_json({task: payload[:MOST_HITS] for task, payload in answer.payloads.items()})
