"""Logs of several lanes, read together, in PostgreSQL."""

from pathlib import Path

from metaserver.base.states import Outcome
from metaserver.store import logs
from metaserver.store.store import open_store
from tests import stores
from tests.unit.metaserver.store.test_store import a_lane, a_second_lane, entry


async def test_what_is_new_in_several_logs_is_read_together(tmp_path: Path) -> None:
    place = stores.place_of(tmp_path / "hub.sqlite", stores.POSTGRESQL)
    async with open_store(place) as store:
        one, _ = await a_lane(store)
        two = await a_second_lane(store, one)
        for position in range(3):
            await store.record(entry(one, position))
        await store.record(entry(two, 0, outcome=Outcome.FAULT, final=False))
        await store.record(entry(two, 0, number=2))
        async with store.reading() as connection:
            wanted = {one.server_id: (1, 2), two.server_id: (0, 2)}
            rows = await logs.new_rows(connection, one.phase_id, wanted)
            of_one = await logs.rows_after(connection, one, 1, limit=1)
            of_two = await logs.rows_after(connection, two, 0, limit=9)
            assert await logs.new_rows(connection, one.phase_id + 1, wanted) == []
    assert [row for row in rows if row.server_id == one.server_id] == of_one
    assert [row for row in rows if row.server_id == two.server_id] == of_two
    assert [bool(row.payloads) for row in of_two] == [False, True]
