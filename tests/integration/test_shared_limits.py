"""Limits of requests in a hub of several processes with pages: each has its part, as they live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.model.states import ProcessRole
from metaserver.phases.membership import HubMember
from metaserver.store.leases import LEASE_SECONDS
from metaserver.store.store import open_store
from metaserver.store.tables import workers
from metaserver.web.access.throttle import Buckets, Delays, Failures
from tests import stores
from tests.fakes.clock import FakeClock
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


@asynccontextmanager
async def web(path: Path, *, leaves: bool = True) -> AsyncIterator[HubMember]:
    """Run the membership of a process with pages, which may end without a word."""
    async with open_store(stores.place_of(path, stores.POSTGRESQL), alone=False) as store:
        member = HubMember(store, ProcessRole.WEB)
        running = asyncio.create_task(member.run())
        try:
            yield member
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            if leaves:
                await member.leave()
            else:  # its lease runs out
                async with store.writing() as connection:
                    await connection.execute(
                        sa.update(workers)
                        .where(workers.c.id == member.id)
                        .values(seen=workers.c.seen - LEASE_SECONDS)
                    )


def at_once(buckets: Buckets, clock: FakeClock) -> int:
    """Return how many requests a client may send at once that has sent none for long."""
    clock.now += 3_600.0
    count = 0
    while not buckets.take("client"):
        count += 1
    return count


async def test_a_limit_is_divided_by_those_that_live(tmp_path: Path) -> None:
    clock = FakeClock()
    async with web(tmp_path) as first:
        limit = Buckets(60, clock=clock, sharers=lambda: first.webs)
        assert at_once(limit, clock) == 60
        async with web(tmp_path) as second:
            await until(lambda: first.webs == second.webs == 2)
            assert at_once(limit, clock) == 30
            async with web(tmp_path, leaves=False):
                await until(lambda: first.webs == second.webs == 3)
                other = Buckets(60, clock=clock, sharers=lambda: second.webs)
                assert at_once(limit, clock) + at_once(other, clock) == 40
            await until(lambda: first.webs == 2)  # one that was killed
            assert at_once(limit, clock) == 30
        await until(lambda: first.webs == 1)  # one that was stopped
        assert at_once(limit, clock) == 60


async def test_who_tries_each_process_in_turn_has_no_more_tries(tmp_path: Path) -> None:
    clock = FakeClock()
    async with web(tmp_path) as first, web(tmp_path) as second:
        await until(lambda: first.webs == second.webs == 2)
        each = [
            Failures(Delays(free=5), clock=clock, sharers=lambda member=member: member.webs)
            for member in (first, second)
        ]
        tries = 0
        while any(not one.wait("client") for one in each):
            next(one for one in each if not one.wait("client")).failed("client")
            tries += 1
        assert tries == 6  # 3 of each; of one process alone, 6
