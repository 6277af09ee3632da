"""Alerts on a real store of either kind."""

from metaserver.base.findings import Alert
from metaserver.store import alerts
from metaserver.store.store import Store


async def test_alerts_are_kept_in_their_order_with_ids_of_the_store(store: Store) -> None:
    found = [
        Alert(at=float(number), kind="down", phase="test", subject=f"s{number}", message="m")
        for number in range(3)
    ]
    async with store.writing() as connection:
        await alerts.add(connection, found)
        await alerts.add(connection, [])
    async with store.reading() as connection:
        kept = await alerts.after(connection, 0)
        newest = await alerts.newest_id(connection)
    assert [one.subject for one in kept] == ["s0", "s1", "s2"]
    assert len({one.id for one in kept} - {0}) == 3
    assert newest == kept[-1].id
