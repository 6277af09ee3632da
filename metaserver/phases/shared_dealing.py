"""Dealing free lanes between processes, with PgQueuer on PostgreSQL.

A job is a ticket: the right to take a lane at an epoch. It lasts until the lane is taken, some
milliseconds; leases (`membership`) cover the work itself. So a working lane costs the queue
nothing, a process takes no more than its share, and a lost or repeated job does no harm: the lane
is offered again, and its epoch admits a single taker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import JobId, QueueManagerId
from pgqueuer.models import Job
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.types import QueueEntrypoint

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import LaneKey, Ticket
from metaserver.phases.holder import TAKEN_TOGETHER, Take
from metaserver.store.database import unavailable
from metaserver.store.outage import Outage
from metaserver.store.postgres import Connect, PgConnection

OFFERED_SECONDS = 3.0
"""A lane that is still free so long after it was offered is offered again."""
HEARTBEAT = timedelta(seconds=5)
"""A ticket of a process that died with it in its hands is dealt again after this time."""
POLL = timedelta(seconds=1)
RESTART_SECONDS = 1.0
INSTALLS = 7304
"""The advisory lock key under which the queue's tables are made."""
ENTRYPOINT = "take a lane"
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""Connection faults; the third is asyncpg's own, if one broke during a call."""

log = logging.getLogger(__name__)


class SharedDealer:
    """The dealer between processes, on PgQueuer's tables in the store's database.

    `spare` returns how many further lanes this process may hold, `blocked` why nothing can be
    stored. The tables are unlogged: what a
    database crash loses is offered again.
    """

    def __init__(
        self,
        connect: Connect,
        take: Take,
        spare: Callable[[], int],
        blocked: Callable[[], str | None],
    ) -> None:
        self._connect = connect
        self._take = take
        self._spare = spare
        self._outage = Outage(
            log, blocked, "lanes are not dealt to this process", "lanes are dealt to it again"
        )
        self._queries: _SpareQueries | None = None
        self._offered: dict[Ticket, float] = {}
        self._dealt: list[tuple[Ticket, asyncio.Future[None]]] = []
        self._in_hand: set[JobId] = set()  # dealt to this process, and not taken yet
        self._wake = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """True while tickets can be dealt."""
        return self._queries is not None

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Put tickets into the queue, unless they were put a moment ago or are in it."""
        now = asyncio.get_running_loop().time()
        offered = {ticket: at for ticket, at in self._offered.items() if now < at + OFFERED_SECONDS}
        fresh = [ticket for ticket in tickets if ticket not in offered]
        self._offered = offered
        if self._queries is None or not fresh:
            return
        names = [_write(ticket) for ticket in fresh]
        try:
            await self._queries.enqueue(
                [ENTRYPOINT] * len(fresh),
                [name.encode() for name in names],
                [0] * len(fresh),
                dedupe_key=list(names),
                on_conflict="skip",
            )
        except FAULTS as error:
            if unavailable(error) is None:
                log.exception("lanes cannot be offered")
            return
        self._offered |= dict.fromkeys(fresh, now)

    async def run(self) -> None:
        """Take the lanes that are dealt to this process, until cancelled; begin again after faults.

        The database may be away for any time.
        """
        while True:
            try:
                async with self._connected() as queue, asyncio.TaskGroup() as group:
                    group.create_task(self._take_always(), name="taking lanes")
                    group.create_task(self._supervise(queue), name="dealing lanes")
            except Exception as error:
                self._outage.failed(
                    error.exceptions[0] if isinstance(error, ExceptionGroup) else error
                )
            await asyncio.sleep(RESTART_SECONDS)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[PgQueuer]:
        connection = await self._connect()
        try:
            driver = AsyncpgDriver(connection)
            queries = _SpareQueries(driver, self._spare, self._in_hand, self._outage.ended)
            await _install(connection, queries)
            self._in_hand.clear()
            self._queries, self._offered = queries, {}
            yield PgQueuer(driver, queries=queries)
        finally:
            self._queries = None
            for _, future in self._dealt:
                future.cancel()
            self._dealt.clear()
            connection.terminate()

    async def _supervise(self, queue: PgQueuer) -> None:
        @queue.entrypoint(ENTRYPOINT, on_failure="delete")
        async def take(job: Job) -> None:
            assert job.payload is not None
            future = asyncio.get_running_loop().create_future()
            self._dealt.append((_read(job.payload.decode()), future))
            self._wake.set()
            try:
                await future
            finally:
                self._in_hand.discard(job.id)

        try:
            await queue.run(
                batch_size=TAKEN_TOGETHER,
                dequeue_timeout=POLL,
                heartbeat_timeout=HEARTBEAT,
                log_aggregation_interval=timedelta(0),
            )
        finally:
            queue.shutdown.set()

    async def _take_always(self) -> None:
        """Take all lanes together that were dealt meanwhile."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._dealt:
                batch, self._dealt = self._dealt[:TAKEN_TOGETHER], self._dealt[TAKEN_TOGETHER:]
                try:
                    await self._take([ticket for ticket, _ in batch])
                except UnavailableError:
                    pass  # free lanes are offered again
                except Exception:
                    log.exception("lanes that were dealt cannot be taken")
                for _, future in batch:
                    if not future.done():
                        future.set_result(None)


class _SpareQueries(Queries):
    """PgQueuer's queries for a process that is dealt no more lanes than it may hold.

    `asked` is called whenever the queue has answered.
    """

    def __init__(
        self,
        driver: AsyncpgDriver,
        spare: Callable[[], int],
        in_hand: set[JobId],
        asked: Callable[[], None],
    ) -> None:
        environment = QueryBuilderEnvironment(DBSettings(durability=Durability.volatile))
        super().__init__(driver, environment, QueryQueueBuilder(), QuerySchedulerBuilder())
        self._spare = spare
        self._in_hand = in_hand
        self._asked = asked

    async def dequeue(
        self,
        batch_size: int,
        entrypoints: dict[QueueEntrypoint, EntrypointExecutionParameter],
        queue_manager_id: QueueManagerId,
        global_concurrency_limit: int | None,
        heartbeat_timeout: timedelta,
    ) -> list[Job]:
        """Return the next jobs, as many as the process may hold."""
        spare = min(batch_size, self._spare() - len(self._in_hand))
        if spare < 1:
            return []
        jobs = await super().dequeue(
            spare, entrypoints, queue_manager_id, global_concurrency_limit, heartbeat_timeout
        )
        self._asked()
        self._in_hand.update(job.id for job in jobs)
        return jobs


async def _install(connection: PgConnection, queries: Queries) -> None:
    """Make the queue's tables, or bring them up to date; one process at a time."""
    await connection.execute(f"SELECT pg_advisory_lock({INSTALLS})")
    try:
        if await queries.schema_is_installed():
            await queries.upgrade()
        else:
            await queries.install()
    finally:
        await connection.execute(f"SELECT pg_advisory_unlock({INSTALLS})")


def _write(ticket: Ticket) -> str:
    return f"{ticket.key.phase_id} {ticket.key.server_id} {ticket.epoch}"


def _read(text: str) -> Ticket:
    phase, server, epoch = map(int, text.split())
    return Ticket(LaneKey(phase, server), epoch)
