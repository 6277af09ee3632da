"""Queries for frozen boards: one document each, under the id of its permanent link."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.files.compression import pack
from metaserver.model.records import PhaseName, TaskName
from metaserver.store.tables import frozen_boards, phases

ID_BYTES = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBoard:
    """A frozen board without its document; `id` is that of its permanent link."""

    id: str
    phase: PhaseName
    task: TaskName
    gold_version: int
    reason: str
    created_at: float


async def add(
    connection: AsyncConnection,
    phase_id: int,
    task: TaskName,
    gold_version: int,
    reason: str,
    *,
    at: float,
    document: bytes,
) -> str:
    """Store a board; return its id. One of equal phase, task, gold and reason is not replaced."""
    same = _of(phase_id, task, gold_version, reason)
    known = (await connection.execute(sa.select(frozen_boards.c.id).where(*same))).scalar()
    if known is not None:
        return str(known)
    key = secrets.token_hex(ID_BYTES)
    await connection.execute(
        sa.insert(frozen_boards).values(
            id=key,
            phase_id=phase_id,
            task=task,
            gold_version=gold_version,
            reason=reason,
            created_at=at,
            document=pack(document),
        )
    )
    return key


async def exists(
    connection: AsyncConnection, phase_id: int, task: TaskName, gold_version: int, reason: str
) -> bool:
    """Return whether a board is stored."""
    query = sa.select(frozen_boards.c.id).where(*_of(phase_id, task, gold_version, reason))
    return (await connection.execute(query)).first() is not None


async def get(connection: AsyncConnection, key: str) -> tuple[StoredBoard, bytes] | None:
    """Return a board and its document, compressed; None where no board has this id."""
    query = _boards(frozen_boards.c.document).where(frozen_boards.c.id == key)
    row = (await connection.execute(query)).first()
    return None if row is None else (_kept(row), row.document)


async def list_all(connection: AsyncConnection, phase_id: int) -> Sequence[StoredBoard]:
    """Return a phase's frozen boards, the newest first."""
    query = _boards().where(frozen_boards.c.phase_id == phase_id)
    query = query.order_by(frozen_boards.c.created_at.desc(), frozen_boards.c.task)
    return [_kept(row) for row in await connection.execute(query)]


def _of(
    phase_id: int, task: TaskName, gold_version: int, reason: str
) -> Sequence[sa.ColumnElement[bool]]:
    return (
        frozen_boards.c.phase_id == phase_id,
        frozen_boards.c.task == task,
        frozen_boards.c.gold_version == gold_version,
        frozen_boards.c.reason == reason,
    )


def _boards(*more: sa.ColumnElement[Any]) -> sa.Select[Any]:
    names = ("id", "task", "gold_version", "reason", "created_at")
    columns = [frozen_boards.c[name] for name in names]
    return sa.select(*columns, phases.c.name.label("phase"), *more).join(
        phases, phases.c.id == frozen_boards.c.phase_id
    )


def _kept(row: sa.Row[Any]) -> StoredBoard:
    return StoredBoard(
        id=row.id,
        phase=PhaseName(row.phase),
        task=TaskName(row.task),
        gold_version=row.gold_version,
        reason=row.reason,
        created_at=row.created_at,
    )
