"""Phases and lanes as a store keeps them, made with the store's own functions."""

from __future__ import annotations

from metaserver.model.lanes import Corpus, LaneKey
from metaserver.model.plans import PhasePlan
from metaserver.model.records import PhaseName, Server
from metaserver.store import phases, servers
from metaserver.store.store import Store


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
