"""Phases and lanes as a store keeps them, made with the store's own functions."""

import sqlalchemy as sa

from metaserver.base.lanes import Corpus, LaneKey, LaneState
from metaserver.base.plans import PhasePlan
from metaserver.base.records import PhaseName, Server
from metaserver.store import leases, phases, servers
from metaserver.store.reader import of_lane
from metaserver.store.store import Store
from metaserver.store.tables import lanes


async def keep_phase(store: Store, corpus: Corpus, release: str = "2026_01") -> int:
    """Keep a challenge with one phase; return the phase's id."""
    async with store.writing() as connection:
        await phases.set_challenge(connection, "bc", "A challenge", "UTC")
        [challenge] = await phases.list_challenges(connection)
        name, plan = PhaseName("test"), PhasePlan()
        return await phases.add(
            connection, name, challenge.id, plan, corpus_id=corpus.id, release=release
        )


async def keep_lane(store: Store, phase_id: int, server: Server) -> LaneKey:
    """Keep a new server of no team; return the key of its lane, which nobody has taken."""
    async with store.writing() as connection:
        return LaneKey(phase_id, await servers.add(connection, server, None))


async def take_lane(store: Store, key: LaneKey) -> LaneState:
    """Take a lane, from whoever has it; one that is not stored yet begins with epoch 1."""
    async with store.writing() as connection:
        freed = sa.update(lanes).where(of_lane(lanes, key)).values(worker=None)
        if not (await connection.execute(freed)).rowcount:
            row = {"phase_id": key.phase_id, "server_id": key.server_id, "epoch": 0, "cursor": 0}
            await connection.execute(sa.insert(lanes).values(**row))
        await leases.order(connection, key, due=True)
        tickets = [one for one in await leases.offers(connection) if one.key == key]
    [taken] = await store.take_lanes(tickets, "a test")
    return taken.state
