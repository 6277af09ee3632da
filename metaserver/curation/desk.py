"""Curator requests: a queue with a turn for each token, kept so that a killed hub goes on."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.curations import (
    ENDED,
    UNFINISHED,
    AskedServer,
    AskedState,
    RequestOptions,
    RequestState,
)
from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.base.records import RegisteredServer, ServerName
from metaserver.config import Settings
from metaserver.curation.asking import NO_CONSENT, TRIES, Asker, LiveRequest, asks_again, shown
from metaserver.curation.models import ActiveModels
from metaserver.curation.rules import ChallengeRules
from metaserver.curation.store import requests
from metaserver.curation.store.requests import StoredRequest
from metaserver.curation.texts import GuardedArticles
from metaserver.exchange.http.client import HttpClient
from metaserver.phases.membership import HubMember
from metaserver.store import leases, servers
from metaserver.store.store import Store

DAY = 86_400.0  # seconds
LOOK_SECONDS = 5.0
"""Seconds between two looks for requests of processes that are gone."""
NEWS_SECONDS = 1.0
"""Seconds between two looks for what another process has done for a request."""
SWEEP_SECONDS = 60.0
"""Seconds between two looks for requests whose time is over."""
REMEMBERED = 200
"""Ended requests that are kept in memory, for late answers and for those who wait."""

log = logging.getLogger(__name__)


class RequestDesk:
    """A hub's requests; `run` works through them.

    Each token has its turn, with at most `in_flight` requests asked at a time and `at_once` of all
    tokens together. Of several processes, each works on those that it received, and on those of
    processes that are gone.
    """

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        challenges: ChallengeRules,
        guarded: GuardedArticles,
        models: ActiveModels,
        settings: Settings,
        clock: Callable[[], float],
        process: HubMember,
    ) -> None:
        self._store = store
        self._client = client
        self._models = models
        self._settings = settings.curation
        self._clock = clock
        self._process = process
        self._asker = Asker(store, client, challenges, guarded, settings, clock, self.keep_versions)
        self._live: OrderedDict[str, LiveRequest] = OrderedDict()
        self._queue: OrderedDict[int, list[LiveRequest]] = OrderedDict()  # by token, in turn
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._working = False
        self.closed = False  # nothing changes any more: who waits is answered

    # -- what callers do -------------------------------------------------------------------------

    async def require_quota(self, token_id: int) -> None:
        """Raise `RefusedError` if a token, or all together, have asked enough."""
        self._require_room()
        async with self._store.reading() as connection:
            await self._require_day(connection, token_id)

    def _require_room(self) -> None:
        waiting = sum(map(len, self._queue.values())) + len(self._asking)
        if waiting >= self._settings.queue:
            raise RefusedError(
                Refusal.TOO_MANY,
                f"{waiting} requests wait already: try again later",
                retry_after=60,
            )

    async def _require_day(self, connection: AsyncConnection, token_id: int) -> None:
        count = await requests.count_since(connection, token_id, self._clock() - DAY)
        if count >= self._settings.requests_a_day:
            raise RefusedError(
                Refusal.TOO_MANY,
                f"{count} requests in 24 hours: no more are taken from this token",
                retry_after=3_600,
            )

    async def charge(self, token_id: int, caller: str) -> None:
        """Count a request that was refused; `RefusedError` if the quota is used up meanwhile."""
        now = self._clock()
        async with self._store.writing() as connection:
            await self._require_day(connection, token_id)
            await requests.charge(connection, token_id, caller, now, now + DAY)

    async def begin(self, request: StoredRequest) -> LiveRequest:
        """Store a request and put it into the queue; `RefusedError` if the quota is used up.

        It is looked at again, as others may have come while the article was read.
        """
        chosen = await self._chosen(request)
        request = replace(request, options=self._as_own(request.options))
        async with self._store.writing() as connection:
            self._require_room()
            await self._require_day(connection, request.token_id)
            await requests.add(connection, request)
        live = self._enter(request, chosen)
        self._queue.setdefault(request.token_id, []).append(live)
        self._next()
        return live

    async def get(self, key: str) -> LiveRequest | None:
        """Return a request by its id, None if there is none."""
        if (live := self._live.get(key)) is not None:
            return live
        async with self._store.reading() as connection:
            request = await requests.get(connection, key)
            if request is None:
                return None
            answers = await requests.answers(connection, key)
        live = LiveRequest(
            stored=request,
            state=request.state,
            message=request.message,
            deadline_at=request.deadline_at,
            version=request.version,
            answers=list(answers),
        )
        live.servers.update({server.server: server for server in request.servers})
        live.servers.update({answer.server: shown(answer) for answer in answers})
        return live

    async def version(self, key: str) -> int:
        """Return a request's version, 0 if there is none."""
        if (live := self._live.get(key)) is not None:
            return live.version
        async with self._store.reading() as connection:
            return await requests.version_of(connection, key)

    async def news(self, live: LiveRequest, since: int) -> LiveRequest:
        """Return a request when it has a later version, even if another process works on it.

        `live` may have been read from the store before this process took the request up.
        """
        if (own := self._live.get(live.key)) is not None:
            if own.version <= since:
                await own.changed.wait()
            return own
        while not self.closed:
            await asyncio.sleep(NEWS_SECONDS)
            if await self.version(live.key) > since:
                return await self.get(live.key) or live
        return live

    async def cancel(self, live: LiveRequest) -> None:
        """Ask no more servers; `RefusedError` for a request that has ended."""
        if live.state not in UNFINISHED:
            raise RefusedError(Refusal.STATE, f"it has ended: {live.state}")
        await self._stop(live)
        await self._end(live, RequestState.CANCELLED)

    async def forget(self, live: LiveRequest) -> None:
        """Delete a request's text and all answers to it."""
        await self._stop(live)
        if live.state in UNFINISHED:
            await self._end(live, RequestState.CANCELLED)
        self._live.pop(live.key, None)
        async with self._store.writing() as connection:
            await requests.forget(connection, live.key, live.stored.at + DAY)

    def withdraw(self, name: ServerName) -> None:
        """Ask a server no more, whose team serves curators no longer."""
        for live in self._live.values():
            task = live.tasks.get(name)
            if task is not None and not task.done():
                task.cancel()
                self._asker.show(live, name, AskedState.NOT_ASKED, message=NO_CONSENT)

    async def follow(self) -> None:
        """Take in what other processes did: requests that ended or are forgotten, and consents."""
        live_requests = dict(self._live)
        if not live_requests:
            return
        async with self._store.reading() as connection:
            states = await requests.states(connection, live_requests)
            registered = await servers.list_all(connection)
        for key, live in live_requests.items():
            state = states.get(key)
            if state is None:  # it is forgotten
                await self._stop(live)
                self._live.pop(key, None)
                if live.state in UNFINISHED:
                    live.state = RequestState.CANCELLED
                live.touch(self._clock())
            elif state is RequestState.CANCELLED and live.state in UNFINISHED:
                await self._stop(live)
                await self._end(live, state)  # what became of each server is known here alone
        for server in registered:
            if not server.serves_curators:
                self.withdraw(server.server.name)

    # -- work ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Go on with what an earlier hub left, and work until cancelled."""
        looks = 1 if self._process.is_alone else round(SWEEP_SECONDS / LOOK_SECONDS)
        try:
            if self._process.is_alone:
                await self._resume()
            self._working = True
            self._next()
            for look in count(1):
                if not self._process.is_alone:
                    with suppress(UnavailableError):
                        await self._resume()
                        self._next()
                await asyncio.sleep(SWEEP_SECONDS / looks)
                if look % looks == 0:
                    with suppress(UnavailableError):
                        await self.sweep()
                        await self.keep_versions()
        finally:
            self._working, self.closed = False, True
            tasks = [*self._asking.values()]
            tasks += [task for live in self._live.values() for task in live.tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for live in self._live.values():
                live.touch(self._clock())

    async def sweep(self) -> None:
        """Delete the requests whose time is over, also from memory, but for those at work."""
        now = self._clock()
        async with self._store.writing() as connection:
            await requests.sweep(connection, now, self._asking)
        for key, live in list(self._live.items()):
            if live.stored.expires_at <= now and live.settled and key not in self._asking:
                del self._live[key]

    async def keep_versions(self) -> None:
        """Store the versions that servers report, by which a model may be older than a server."""
        if not (changed := self._client.versions.changed()):
            return
        async with self._store.writing() as connection:
            for name, version in changed.items():
                await servers.set_version(connection, name, version)
        self._client.versions.stored(changed)
        await self._models.load(self._store)

    async def _resume(self) -> None:
        pending = await self._left()
        async with self._store.reading() as connection:
            answers = {
                request.id: await requests.answers(connection, request.id) for request in pending
            }
        for request in pending:
            if request.id in self._live:
                continue
            live = self._enter(request, await self._chosen(request))
            live.answers.extend(answers[request.id])
            for answer in answers[request.id]:
                again = not answer.accepted and asks_again(answer.outcome)
                again = again and answer.number < TRIES
                if not again:
                    live.servers[answer.server] = shown(answer)
            self._queue.setdefault(request.token_id, []).append(live)

    async def _left(self) -> Sequence[StoredRequest]:
        """Return the requests that no living process works on, from now on this process'."""
        async with self._store.reading() as connection:
            pending = await self._orphans(connection)
        if self._process.is_alone or not pending:
            return pending
        async with self._store.writing() as connection:  # others may have looked as well
            pending = await self._orphans(connection, lock=True)
            for request in pending:
                await requests.set_options(connection, request.id, self._as_own(request.options))
        return pending

    async def _orphans(
        self, connection: AsyncConnection, *, lock: bool = False
    ) -> Sequence[StoredRequest]:
        orphans = await requests.unfinished(connection, lock=lock)
        if self._process.is_alone:
            return orphans
        living = await leases.living(connection) - {self._process.id}
        return [
            request
            for request in orphans
            if request.options.process not in living and request.id not in self._live
        ]

    def _as_own(self, options: RequestOptions) -> RequestOptions:
        return msgspec.structs.replace(options, process=self._process.id)

    async def _chosen(self, request: StoredRequest) -> Sequence[RegisteredServer]:
        """Return the servers that a request is for, whether they can be asked or not."""
        async with self._store.reading() as connection:
            stored = await servers.list_all(connection)
        wanted = request.options.servers
        return [
            server
            for server in stored
            if server.retired_at is None
            and (server.server.name in wanted if wanted else server.serves_curators)
        ]

    def _enter(self, request: StoredRequest, chosen: Sequence[RegisteredServer]) -> LiveRequest:
        live = LiveRequest(
            stored=request,
            state=request.state,
            deadline_at=request.deadline_at,
            version=request.version,
        )
        now = self._clock()
        for server in chosen:
            name = server.server.name
            live.servers[name] = AskedServer(
                server=name, team=server.team or "", state=AskedState.WAITING, since=now
            )
        live.touch(now)
        self._live[request.id] = live
        self._shrink()
        return live

    def _shrink(self) -> None:
        """Keep no more ended requests in memory than `REMEMBERED`; the others are in the store."""
        over = [key for key, live in self._live.items() if live.settled and key not in self._asking]
        for key in over[: max(0, len(over) - REMEMBERED)]:
            del self._live[key]

    def _next(self) -> None:
        """Begin requests while there may be more: each token in turn."""
        if not self._working:
            return
        at_work = Counter(self._live[key].stored.token_id for key in self._asking)
        for token_id in list(self._queue):
            if len(self._asking) >= self._settings.at_once:
                return
            if at_work[token_id] >= self._settings.in_flight:
                continue
            live = self._queue[token_id].pop(0)
            if self._queue[token_id]:
                self._queue.move_to_end(token_id)
            else:
                del self._queue[token_id]
            task = asyncio.create_task(self._work(live), name=f"request {live.key}")
            task.add_done_callback(partial(self._ended, live.key))
            self._asking[live.key] = task
            self._next()
            return

    def _ended(self, key: str, _task: asyncio.Task[None]) -> None:
        """Begin the next request; one that is cancelled before its first step ends here too."""
        del self._asking[key]
        self._next()

    async def _work(self, live: LiveRequest) -> None:
        try:
            await self._ask(live)
        except UnavailableError:
            await self._end(live, RequestState.FAILED, "the hub's store was away")
        except Exception:
            log.exception("request %s failed", live.key)
            await self._end(live, RequestState.FAILED, "the hub failed to ask; its log says why")

    async def _ask(self, live: LiveRequest) -> None:
        deadline = live.deadline_at or self._clock() + live.stored.options.deadline
        live.deadline_at = deadline
        live.state = RequestState.ASKING
        await self._asker.store(
            lambda connection: requests.change(
                connection, live.key, state=live.state.value, deadline_at=deadline
            )
        )
        live.touch(self._clock())
        chosen = [
            server
            for server in await self._chosen(live.stored)
            if server.server.name in live.servers
        ]
        await self._asker.ask_all(live, chosen)
        states = [server.state for server in live.servers.values()]
        if all(state is AskedState.NOT_ASKED for state in states):
            reasons = {server.message for server in live.servers.values()} or {
                "no server serves curators"
            }
            await self._end(live, RequestState.FAILED, "; ".join(sorted(reasons)))
        elif all(state in ENDED for state in states):
            await self._end(live, RequestState.ANSWERED)
        else:
            await self._end(live, RequestState.EXPIRED)

    async def _end(self, live: LiveRequest, state: RequestState, message: str = "") -> None:
        """Store and show a request's end; if it is worked on here, its servers too."""
        live.state, live.message = state, message
        values: dict[str, Any] = {
            "state": state.value,
            "message": message,
            "version": live.touch(self._clock()),
        }
        if live.key in self._live:
            values["servers"] = msgspec.json.encode(list(live.servers.values()))
        await self._asker.store(lambda connection: requests.change(connection, live.key, **values))

    async def _stop(self, live: LiveRequest) -> None:
        """Drop a request from the queue, and its calls under way."""
        waiting = self._queue.get(live.stored.token_id, [])
        if live in waiting:
            waiting.remove(live)
            if not waiting:
                del self._queue[live.stored.token_id]
        tasks = [task for task in live.tasks.values() if not task.done()]
        if (work := self._asking.get(live.key)) is not None:
            tasks.append(work)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for name, server in live.servers.items():
            if server.state not in ENDED:
                self._asker.show(live, name, AskedState.NOT_ASKED, message="the request was ended")
