"""Deletion of phases and challenges that nobody has answered in."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.store import tables
from metaserver.store.tables import (
    challenges,
    metadata,
    offline_runs,
    one_time_links,
    phases,
    sign_ups,
    uploads,
)

ANSWERS = {
    "answers of servers": tables.answers,
    "uploaded runs": offline_runs,
    "uploads": uploads,
    "sets of curators": tables.curation_sets,
}
"""The tables of which a phase that may be deleted has no row, by what they hold."""


async def answers(connection: AsyncConnection, phase_id: int) -> str:
    """Return what a phase has that may not be deleted, in words; empty where it has nothing."""
    reasons = []
    for word, table in ANSWERS.items():
        query = sa.select(table.c.phase_id).where(table.c.phase_id == phase_id).limit(1)
        if (await connection.execute(query)).first() is not None:
            reasons.append(word)
    return " and ".join(reasons)


async def delete_phase(connection: AsyncConnection, phase_id: int) -> None:
    """Delete a phase with all that refers to it: gold, tests, lanes, failed attempts, boards."""
    for table in _referring("phase_id"):
        await connection.execute(sa.delete(table).where(table.c.phase_id == phase_id))
    await connection.execute(sa.delete(phases).where(phases.c.id == phase_id))


async def delete_challenge(connection: AsyncConnection, challenge_id: int) -> None:
    """Delete a challenge that has no phase, with all that refers to it."""
    signed_up = sa.select(sign_ups.c.id).where(sign_ups.c.challenge_id == challenge_id)
    of_them = one_time_links.c.sign_up_id.in_(signed_up)
    await connection.execute(sa.delete(one_time_links).where(of_them))
    for table in _referring("challenge_id"):
        await connection.execute(sa.delete(table).where(table.c.challenge_id == challenge_id))
    await connection.execute(sa.delete(challenges).where(challenges.c.id == challenge_id))


def _referring(column: str) -> Iterator[sa.Table]:
    """Yield the tables with a column, those first that others do not refer to."""
    for table in reversed(metadata.sorted_tables):
        if column in table.c and table is not phases:
            yield table
