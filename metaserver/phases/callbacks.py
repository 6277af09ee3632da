"""Callbacks: the answers that servers bring by themselves, kept in the store for who waits.

A communication is stored before its request is sent, and a callback before it is acknowledged:
neither is lost with the hub.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.communications import Callback, CallingServer, Communication, Exchanged
from metaserver.base.compression import pack, unpack
from metaserver.base.errors import CallbackError, CallbackFault, PeerError, UnavailableError
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome
from metaserver.exchange.http.channel import Awaited
from metaserver.exchange.wire.values import Limits
from metaserver.store import communications
from metaserver.store.store import Store

IDS = 2**31 - 1
"""The largest id: servers read it as a signed 32-bit integer."""
KEPT = 3_600.0
"""Seconds for which a communication is remembered after its deadline."""
BODIES_KEPT = 60.0
"""Seconds for which a callback's body is kept: its attempt is stored long before."""
LOOK = 1.0  # seconds between two looks into the store, all that is awaited at once
SHORTAGE = 1.0  # seconds
SWEEP = 60.0  # seconds between two deletions of what is not needed any more
TRIES = 10  # ids that are tried; one in thousands is taken


class CallbackDesk:
    """A hub's open communications: those that wait, and those that are called."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._awaited: dict[int, Awaited] = {}
        self._receiving: set[int] = set()
        self._looking: asyncio.Task[None] | None = None
        self._began = clock()
        self._swept = 0.0
        self.clock = clock

    # -- the side that waits ---------------------------------------------------------------------

    async def open(
        self,
        name: ServerName,
        about: Exchanged,
        seconds: float,
        limits: Limits,
        document: bytes | None = None,
    ) -> Awaited:
        """Begin to wait, or go on if a stopped hub had begun.

        The server may fetch the `document` as long as the hub waits. Raises `PeerError` if the
        server cannot be called back.
        """
        try:
            awaited = await self._begun(name, about, seconds, limits, document)
        except UnavailableError as error:
            await asyncio.sleep(SHORTAGE)  # the lane would try again at once
            raise PeerError(Outcome.CANCELLED, f"the hub: {error.reason}") from error
        self._awaited[awaited.communication.id] = awaited
        if awaited.communication.packed is not None:
            await self._hand_over(awaited, awaited.communication)
        elif self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="callbacks")
        return awaited

    async def _begun(
        self,
        name: ServerName,
        about: Exchanged,
        seconds: float,
        limits: Limits,
        document: bytes | None,
    ) -> Awaited:
        async with self._store.reading() as connection:
            server_identity = await communications.identity(connection, name)
            communication = None
            if server_identity is not None and about.scope:
                communication = await communications.begun(
                    connection, server_identity[0], about, self.clock()
                )
        if server_identity is None or not server_identity[1]:
            message = f"it has no key for callbacks: metaserver servers callback-key {name}"
            raise PeerError(Outcome.CREDENTIALS, message)
        if communication is None:
            created = await self._new(server_identity[0], about, seconds, document)
            return Awaited(created, limits, resumed=False)
        has_it = communication.acknowledged_at is not None or communication.packed is not None
        return Awaited(communication, limits, resumed=has_it)

    async def _look(self) -> None:
        """Look for callbacks that another process of the hub has taken, while any are awaited."""
        while True:
            await asyncio.sleep(LOOK)
            with suppress(sa.exc.SQLAlchemyError, UnavailableError):  # the next look finds them
                async with self._store.reading() as connection:
                    callbacks = await communications.answered(connection, self._awaited)
                for callback in callbacks:
                    awaited = self._awaited.get(callback.id)
                    if awaited is not None and awaited.callback is None:
                        await self._hand_over(awaited, callback)

    async def _hand_over(self, awaited: Awaited, stored: Communication) -> None:
        assert stored.packed is not None
        body = await asyncio.to_thread(unpack, stored.packed)
        awaited.accepted(Callback(format=stored.format, body=body))

    async def acknowledge(self, awaited: Awaited) -> None:
        """Note that the server has the request."""
        with suppress(UnavailableError):  # else it is only sent again after a kill
            async with self._store.writing() as connection:
                id_ = awaited.communication.id
                await communications.acknowledge(connection, id_, self.clock())

    async def _new(
        self, server_id: int, about: Exchanged, seconds: float, document: bytes | None
    ) -> Communication:
        packed = None if document is None else await asyncio.to_thread(pack, document)
        for _ in range(TRIES):
            now = self.clock()
            communication = Communication(
                id=secrets.randbelow(IDS) + 1,
                server_id=server_id,
                about=about,
                opened_at=now,
                expires_at=now + seconds,
            )
            with suppress(sa.exc.IntegrityError):
                async with self._store.writing() as connection:
                    await self._sweep(connection, now)
                    await communications.close_earlier(connection, server_id, about, now)
                    await communications.add(connection, communication, packed)
                return communication
        raise PeerError(Outcome.CANCELLED, "the hub: no free id of a communication")

    async def _sweep(self, connection: AsyncConnection, now: float) -> None:
        """Delete what is not needed any more: answers from before this hub began stay for longer.

        Attempts that it goes on with may still need those.
        """
        if now - self._swept < SWEEP:
            return
        self._swept = now
        first = self._began if now - self._began < KEPT else 0.0
        await communications.forget(
            connection, expired_before=now - KEPT, answered=(first, now - BODIES_KEPT)
        )

    async def expire(self, awaited: Awaited) -> bool:
        """Take no callback from now on; return whether none was stored before."""
        try:
            async with self._store.writing() as connection:
                id_ = awaited.communication.id
                return await communications.close(connection, id_, self.clock())
        except UnavailableError:
            return True  # nor can a callback be stored, and it expires by itself

    async def close(self, awaited: Awaited) -> None:
        """Wait no longer."""
        self.leave(awaited)
        if awaited.callback is None:
            await self.expire(awaited)

    def leave(self, awaited: Awaited) -> None:
        """Wait no longer, but let the communication be answered."""
        self._awaited.pop(awaited.communication.id, None)
        if not self._awaited and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    # -- the side that is called -----------------------------------------------------------------

    async def find(self, server: CallingServer, id_: int) -> Communication:
        """Return a server's open communication; raises `CallbackError`."""
        async with self._store.reading() as connection:
            communication = await communications.get(connection, server.id, id_)
        if communication is None:
            message = "this communication id is none of your server's"
            raise CallbackError(CallbackFault.UNKNOWN, message)
        if communication.answered_at is not None:
            raise CallbackError(CallbackFault.CLOSED, "it was answered before")
        if communication.closed_at is not None or self._is_late(communication):
            raise CallbackError(CallbackFault.EXPIRED, "the time for the answer is over")
        return communication

    async def document(self, communication: Communication) -> bytes:
        """Return what an open communication's server fetches; raises `CallbackError`."""
        async with self._store.reading() as connection:
            packed = await communications.document(connection, communication.id)
        if packed is None:
            message = "the article was sent with its request: register with documents = fetch"
            raise CallbackError(CallbackFault.NO_DOCUMENT, message)
        return await asyncio.to_thread(unpack, packed)

    async def documents(self, server: CallingServer, articles: Collection[str]) -> Sequence[bytes]:
        """Return those of the articles that a server may fetch now, in their order."""
        async with self._store.reading() as connection:
            packed = await communications.fetched(
                connection, server.id, articles, self.clock(), self._awaited
            )
        there = [packed[article] for article in articles if article in packed]
        return await asyncio.to_thread(lambda: [unpack(document) for document in there])

    def _is_late(self, communication: Communication) -> bool:
        waited = communication.id in self._awaited  # its time begins when the request is sent
        return not waited and communication.expires_at <= self.clock()

    def limits(self, communication: Communication) -> Limits | None:
        """Return the limits for an answer awaited here, or None."""
        awaited = self._awaited.get(communication.id)
        return None if awaited is None else awaited.limits

    @contextmanager
    def receiving(self, communication: Communication) -> Iterator[None]:
        """Hold the only place for a communication's callback; raises `CallbackError`."""
        if communication.id in self._receiving:
            message = "another callback of this communication is being read: try again"
            raise CallbackError(CallbackFault.BUSY, message)
        self._receiving.add(communication.id)
        try:
            yield
        finally:
            self._receiving.discard(communication.id)

    async def accept(self, communication: Communication, callback: Callback) -> None:
        """Store a callback and hand it over; raises `CallbackError` if it comes too late."""
        packed = await asyncio.to_thread(pack, callback.body)
        async with self._store.writing() as connection:
            accepted = await communications.answer(
                connection, communication.id, callback.format, packed, self.clock()
            )
        if not accepted:
            raise CallbackError(CallbackFault.EXPIRED, "the time for the answer is over")
        awaited = self._awaited.get(communication.id)
        if awaited is not None:
            awaited.accepted(callback)

    def refuse(self, communication: Communication, error: PeerError) -> None:
        """Note, for who waits, that a callback was refused for its content."""
        awaited = self._awaited.get(communication.id)
        if awaited is not None:
            awaited.refused(error)
