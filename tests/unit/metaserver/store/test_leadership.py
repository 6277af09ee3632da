"""One process leads, by an epoch that fences off the one before."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.base.errors import UnavailableError
from metaserver.base.states import ProcessRole
from metaserver.phases.membership import HubMember, Leader
from metaserver.store import audit, leases
from metaserver.store.leases import LEASE_SECONDS, Leadership
from metaserver.store.store import Store, open_store
from metaserver.store.tables import leader
from tests.waiting import PATIENCE


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "hub.sqlite") as store:
        yield store


async def lead(store: Store, process: str, *, alone: bool = False) -> Leadership | None:
    async with store.writing() as connection:
        return await leases.lead(connection, process, alone=alone)


async def pass_time(store: Store, seconds: float) -> None:
    async with store.writing() as connection:
        await connection.execute(sa.update(leader).values(seen=leader.c.seen - seconds))


async def test_one_of_several_leads_until_it_was_not_seen_for_a_lease(store: Store) -> None:
    assert await lead(store, "one") == Leadership(process="one", epoch=1)
    assert await lead(store, "two") is None
    assert await lead(store, "one") == Leadership(process="one", epoch=1)  # it goes on
    await pass_time(store, -PATIENCE)  # however slow the machine is, it was seen
    assert await lead(store, "two") is None
    await pass_time(store, PATIENCE + LEASE_SECONDS)
    assert await lead(store, "two") == Leadership(process="two", epoch=2)
    assert await lead(store, "one") is None


async def test_who_resigns_is_followed_at_once(store: Store) -> None:
    held = await lead(store, "one")
    assert held is not None
    async with store.writing() as connection:
        await leases.resign(connection, held)
        assert await leases.current(connection) is None
    assert await lead(store, "two") == Leadership(process="two", epoch=2)
    async with store.writing() as connection:
        await leases.resign(connection, held)  # of an earlier epoch
        assert await leases.current(connection) == Leadership(process="two", epoch=2)


async def test_the_only_process_leads_at_once_after_one_that_was_killed(store: Store) -> None:
    await lead(store, "killed")
    found = await lead(store, "started again", alone=True)
    assert found == Leadership(process="started again", epoch=2)


async def test_a_leader_that_was_replaced_writes_nothing(store: Store) -> None:
    member = HubMember(store, ProcessRole.ALL)
    one = Leader(store, member)
    led = store.fenced(one.require)

    async def write(subject: str) -> None:
        async with led.writing() as connection:
            await audit.add(connection, actor="clock", action="x", subject=subject)

    await write("first")
    await lead(store, "another", alone=True)
    with pytest.raises(UnavailableError, match="another process leads"):
        await write("late")
    assert store.blocked is None  # the others go on
    async with store.writing() as connection:
        found = await audit.entries(connection)
    assert [entry.subject for entry in found] == ["first"]


async def test_a_process_whose_clock_is_off_does_not_lead(store, caplog):
    ahead = [3_650.0]  # less the time of a look at the database
    leader = Leader(store, HubMember(store, ProcessRole.WEB), lambda: time.time() + ahead[0])
    assert not await leader.take()
    assert leader.clock_offset == pytest.approx(3_650.0, abs=PATIENCE)
    assert "differs from the database's by +36" in caplog.text
    ahead[0] = 0.0
    assert await leader.take()
    ahead[0] = -60.0
    assert not await leader.take()
    assert await lead(store, "another") is not None  # at once: it has resigned
