"""Leases of lanes in the store: processes that are gone, and what they leave behind."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.lanes import LaneKey, LaneReport, LaneRest, Ticket
from metaserver.base.records import Article, ArticleId, Server, ServerName
from metaserver.base.states import Control
from metaserver.store import leases, postgres, servers
from metaserver.store.leases import GONE_SECONDS, LEASE_SECONDS, LeaseCounts, Process
from metaserver.store.store import Store, open_store
from metaserver.store.tables import lanes, workers
from tests.kept import keep_lane, keep_phase
from tests.waiting import PATIENCE, until


async def enter(store: Store, name: str, *, alone: bool = False) -> None:
    process = Process(id=name, host="a", role="worker", version="1", capacity=9)
    async with store.writing() as connection:
        await leases.enter(connection, process, alone=alone)


async def taken(store: Store, process: str, *names: str) -> list[LaneKey]:
    """Let a process take lanes of a new phase."""
    corpus = await store.add_corpus([Article(id=ArticleId("1"), text="p53")])
    phase = await keep_phase(store, corpus)
    keys = [
        await keep_lane(store, phase, Server(name=ServerName(name), url="http://127.0.0.1/"))
        for name in names
    ]
    async with store.writing() as connection:
        for key in keys:
            await servers.set_control(connection, key, Control.RUNNING)
            await leases.order(connection, key, due=True)
        tickets = await leases.offers(connection)
    assert len(await store.take_lanes(tickets, process)) == len(names)
    return keys


async def pass_time(connection: AsyncConnection, seconds: float) -> None:
    await connection.execute(sa.update(workers).values(seen=workers.c.seen - seconds))


async def test_no_process_that_was_alone_lives_beside_others(store: Store) -> None:
    """A hub of one process that is killed, and started again as several, goes on."""
    await enter(store, "all", alone=True)
    [key] = await taken(store, "all", "s1")
    await enter(store, "worker")
    await enter(store, "another")
    async with store.writing() as connection:
        assert [one.id for one in await leases.processes(connection)] == ["worker", "another"]
        assert (await leases.census(connection)).unheld == 1
        assert [one.key for one in await leases.offers(connection, settled=False)] == [key]


async def test_lanes_that_are_to_rest_are_released_when_their_holder_is_gone(store: Store) -> None:
    await enter(store, "gone")
    rests, goes_on = await taken(store, "gone", "s1", "s2")
    async with store.writing() as connection:
        await pass_time(connection, -PATIENCE)  # however slow the machine is, it lives
        number = await leases.order(connection, rests, due=False, cancel_by="ana")
        await leases.forget_gone(connection)
        assert not await leases.is_done(connection, rests, number)
        await pass_time(connection, PATIENCE + LEASE_SECONDS)
        await leases.forget_gone(connection)
        assert await leases.is_done(connection, rests, number)
        rows = await connection.execute(
            sa.select(lanes.c.server_id, lanes.c.worker, lanes.c.cancel_by)
        )
        assert {tuple(row) for row in rows} == {
            (rests.server_id, None, ""),
            (goes_on.server_id, "gone", ""),  # until another process takes it
        }


async def test_what_is_wrong_with_a_process_is_known_to_the_others(store: Store) -> None:
    for name in ("well", "blocked", "lacking"):
        await enter(store, name)
    well = Process(id="well", host="a", role="worker", version="1", capacity=9, key="k1")
    blocked = replace(well, id="blocked", blocked="the disk is full" + 600 * "!")
    lacking = replace(well, id="lacking", lacks="the key is not here", key="")
    async with store.writing() as connection:
        for process in (well, blocked, lacking):
            assert await leases.renew(connection, process, LeaseCounts())
        await pass_time(connection, -PATIENCE)
        census = await leases.census(connection)
        assert (census.workers, census.sharing, census.blocked) == (3, 2, 1)
        stored = {one.id: one for one in await leases.processes(connection)}
        assert stored["blocked"].blocked == blocked.blocked[:500]
        assert stored["lacking"].lacks == "the key is not here"


async def test_a_process_may_enter_again_that_did_not_hear_it_has_entered(store: Store) -> None:
    for _ in range(2):
        await enter(store, "unheard")
    async with store.reading() as connection:
        assert [one.id for one in await leases.processes(connection)] == ["unheard"]


async def test_a_process_is_forgotten_a_while_after_it_was_seen(store: Store) -> None:
    await enter(store, "gone")
    async with store.writing() as connection:
        await pass_time(connection, GONE_SECONDS / 2)
        await leases.forget_gone(connection)
        assert [one.lives for one in await leases.processes(connection)] == [False]
        await pass_time(connection, GONE_SECONDS / 2)
        await leases.forget_gone(connection)
        assert await leases.processes(connection) == []


def rest(key: LaneKey) -> LaneRest:
    return LaneRest(key=key, epoch=1, order=1, end="", goes_on=True)


Change = Callable[[AsyncConnection, Sequence[LaneKey]], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "leave": lambda one, keys: leases.leave(one, "w"),
    "forget gone": lambda one, keys: leases.forget_gone(one),
    "make none due": lambda one, keys: leases.make_none_due(one),
    "make running due": lambda one, keys: leases.make_running_due(one, keys[0].phase_id),
    "take": lambda one, keys: leases.take(one, [Ticket(key, 1) for key in keys], "another"),
    "report": lambda one, keys: leases.report(
        one, "w", [LaneReport(key, 1, "") for key in reversed(keys)]
    ),
    "release": lambda one, keys: leases.release(one, "w", [*map(rest, reversed(keys))]),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_lanes_are_locked_in_the_order_of_their_keys(url, change, monkeypatch):
    """Else a change of several lanes and the writer may wait for each other."""
    monkeypatch.setitem(postgres._SETTINGS, "lock_timeout", f"{PATIENCE:g}s")
    rows = "FROM lanes WHERE phase_id = $1 AND server_id = $2 FOR NO KEY UPDATE"
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    waits += " AND datname = current_database()"
    async with open_store(url) as store:
        keys = await taken(store, "w", "s1", "s2", "s3")  # whose holder does not live
        other, third = [await asyncpg.connect(url.secret) for _ in range(2)]
        try:
            # In the table, the first lane stands last.
            first = f"phase_id = {keys[0].phase_id} AND server_id = {keys[0].server_id}"
            await other.execute(f"UPDATE lanes SET epoch = epoch, down = 'moved' WHERE {first}")
            if change == "forget gone":
                await other.execute("UPDATE lanes SET due = false")
            locking = other.transaction()
            await locking.start()
            await other.fetch(f"SELECT 1 {rows}", *keys[0])

            async def changed() -> None:
                async with store.writing() as connection:
                    await CHANGES[change](connection, keys)

            changing = asyncio.create_task(changed())

            async def is_waiting() -> bool:
                return bool(await third.fetchval(waits))

            await until(is_waiting)
            for key in keys[1:]:
                await third.fetch(f"SELECT 1 {rows} NOWAIT", *key)  # nobody has locked it yet
            await locking.rollback()
            await changing
        finally:
            for connection in (other, third):
                await connection.close()
