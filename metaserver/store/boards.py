"""Queries for frozen boards: a document each, under its permanent link's id."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack
from metaserver.base.plans import Ranking
from metaserver.base.records import PhaseName, TaskName
from metaserver.store.database import read_first, read_row
from metaserver.store.tables import frozen_boards, lanes, offline_runs, phases

ID_BYTES = 8
FROZEN = "frozen"
"""The reason for a board stored because its phase is over."""
LATER = 1e-3
"""By how many seconds a board is later than the board it supersedes, whatever the clock says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBoard:
    """A frozen board without its document; `id` is its permanent link's.

    `basis` comes from `basis_of`; empty unless the phase is over.
    """

    id: str
    phase: PhaseName
    task: TaskName
    gold_version: int
    reason: str
    created_at: float
    basis: str


async def basis_of(
    connection: AsyncConnection, phase_id: int, task: TaskName, ranking: Ranking
) -> str:
    """Return a digest over what a task's board depends on besides its gold: answers, runs, rule.

    It covers what is stored, not scores: another scorer version does not change it.
    """
    logs = sa.select(lanes.c.server_id, lanes.c.serial, lanes.c.revision)
    logs = logs.where(lanes.c.phase_id == phase_id, lanes.c.serial > 0)
    runs = sa.select(offline_runs.c.name, offline_runs.c.created_at)
    runs = runs.where(offline_runs.c.phase_id == phase_id, offline_runs.c.task == task)
    state = [
        [list(row) for row in await connection.execute(logs.order_by(lanes.c.server_id))],
        [list(row) for row in await connection.execute(runs.order_by(offline_runs.c.name))],
        ranking,
    ]
    return hashlib.sha256(msgspec.json.encode(state)).hexdigest()


async def add(
    connection: AsyncConnection,
    phase_id: int,
    task: TaskName,
    gold_version: int,
    reason: str,
    *,
    at: float,
    document: bytes,
    basis: str = "",
) -> str:
    """Store a board; return its id.

    It supersedes the newest board with equal phase, task, gold and reason; with an equal basis,
    that is kept.
    """
    equal = await newest(connection, phase_id, task, gold_version, reason)
    if equal is not None and equal.basis == basis:
        return equal.id
    key = secrets.token_hex(ID_BYTES)
    await connection.execute(
        sa.insert(frozen_boards).values(
            id=key,
            phase_id=phase_id,
            task=task,
            gold_version=gold_version,
            reason=reason,
            created_at=at if equal is None else max(at, equal.created_at + LATER),
            document=pack(document),
            basis=basis,
        )
    )
    return key


async def newest(
    connection: AsyncConnection, phase_id: int, task: TaskName, gold_version: int, reason: str
) -> StoredBoard | None:
    """Return the newest board for a phase, task, gold and reason, or None."""
    query = _boards().where(
        frozen_boards.c.phase_id == phase_id,
        frozen_boards.c.task == task,
        frozen_boards.c.gold_version == gold_version,
        frozen_boards.c.reason == reason,
    )
    query = query.order_by(frozen_boards.c.created_at.desc())
    return await read_first(connection, query, StoredBoard)


async def get(connection: AsyncConnection, key: str) -> tuple[StoredBoard, bytes] | None:
    """Return a board and its document, compressed; None if there is no such id."""
    query = _boards(frozen_boards.c.document).where(frozen_boards.c.id == key)
    row = (await connection.execute(query)).first()
    return None if row is None else (read_row(row, StoredBoard), row.document)


async def list_all(connection: AsyncConnection, phase_id: int) -> Sequence[StoredBoard]:
    """Return a phase's frozen boards, the newest first."""
    query = _boards().where(frozen_boards.c.phase_id == phase_id)
    query = query.order_by(frozen_boards.c.created_at.desc(), frozen_boards.c.task)
    return [read_row(row, StoredBoard) for row in await connection.execute(query)]


async def superseding(connection: AsyncConnection, phase_id: int, board: StoredBoard) -> str:
    """Return the id of the newest board that supersedes another, or empty.

    It has newer gold, or the same gold after another freeze.
    """
    for board_row in await list_all(connection, phase_id):
        again = board_row.gold_version == board.gold_version and board_row.reason == board.reason
        later = again and board_row.created_at > board.created_at
        if board_row.task == board.task and (board_row.gold_version > board.gold_version or later):
            return board_row.id
    return ""


def _boards(*more: sa.ColumnElement[Any]) -> sa.Select[Any]:
    names = ("id", "task", "gold_version", "reason", "created_at", "basis")
    columns = [frozen_boards.c[name] for name in names]
    return sa.select(*columns, phases.c.name.label("phase"), *more).join(
        phases, phases.c.id == frozen_boards.c.phase_id
    )
