"""What processes count of their lanes and leases: any of those with pages shows all of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.model.errors import StaleLaneError
from metaserver.model.lanes import AttemptRecord, LaneKey, Ticket
from metaserver.phases.membership import FencedRecorder
from metaserver.store import leases
from metaserver.store.leases import LEASE_SECONDS, LeaseCounts, Process
from metaserver.store.store import open_store
from metaserver.store.tables import lanes, workers
from tests import stores
from tests.integration.test_shared_limits import web
from tests.unit.metaserver.store.test_writer import record, taken
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


async def test_what_one_process_counts_all_show(tmp_path: Path) -> None:
    async with web(tmp_path) as first:
        first.count(turns=2)
        await until(lambda: first.totals.turns == 2)
        async with web(tmp_path, leaves=False) as second:
            second.count(taken_over=3, refused=1)
            await until(lambda: first.totals == LeaseCounts(3, 2, 1, 0))
            second.count(taken_over=1, missed=1)
            await until(lambda: first.totals == LeaseCounts(4, 2, 1, 1))
        async with web(tmp_path) as third:
            third.count(taken_over=1)  # a process that is gone takes nothing back with it
            await until(lambda: first.totals == LeaseCounts(5, 2, 1, 1))


async def test_a_lane_is_taken_over_from_a_process_whose_lease_ran_out(tmp_path: Path) -> None:
    place = stores.place_of(tmp_path / "hub", stores.POSTGRESQL)
    async with open_store(place, alone=False) as store:
        key = await taken(store, "test", "peer")
        async with store.writing() as connection:
            for name in ("one", "two"):
                process = Process(id=name, host="", role="worker", version="", capacity=1)
                await leases.enter(connection, process, alone=False)
            await connection.execute(sa.update(lanes).values(worker=None, due=True))

        async def take(process: str) -> bool:
            async with store.writing() as connection:
                [ticket] = await leases.offers(connection)
                assert isinstance(ticket, Ticket)
                orders = await leases.take(connection, [ticket], process)
                return orders[key].taken_over

        assert not await take("one")
        async with store.writing() as connection:
            await connection.execute(
                sa.update(workers)
                .where(workers.c.id == "one")
                .values(seen=workers.c.seen - LEASE_SECONDS)
            )
        assert await take("two")
        async with store.writing() as connection:
            await leases.leave(connection, "two")
            held = await leases.held(connection, "two")
        assert held == {}
        assert not await take("one")  # it was given back


class Refusing:
    """A recorder of a process whose lanes another one has."""

    blocked = None

    async def record(self, entry: AttemptRecord) -> int:
        raise StaleLaneError(str(entry.position))


async def test_refused_attempts_are_counted(tmp_path: Path) -> None:
    async with web(tmp_path) as member:
        recorder = FencedRecorder(Refusing(), member)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(StaleLaneError):
                await recorder.record(record(LaneKey(1, 1), 0))
        await asyncio.sleep(0)
        assert member.counts.refused == 2
        await until(lambda: member.totals.refused == 2)
