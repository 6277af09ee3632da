"""Queries for a hub's consensus models; at most one per task is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack, unpack
from metaserver.base.curations import ModelGold, ModelMember, TrainingReport
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.tables import consensus_models


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredModel:
    """A model; `content` is its file (docs/consensus.md). `made_at` is in Unix seconds."""

    id: int = 0
    task: str
    method: str
    made_at: float
    made_by: str
    active: bool = False
    golds: tuple[ModelGold, ...]
    members: tuple[ModelMember, ...]
    report: TrainingReport
    content: bytes


async def add(connection: AsyncConnection, model: StoredModel) -> int:
    """Store a new model; return its id."""
    row = {
        "task": model.task,
        "method": model.method,
        "made_at": model.made_at,
        "made_by": model.made_by,
        "active": model.active,
        "golds": msgspec.json.encode(model.golds),
        "members": msgspec.json.encode(model.members),
        "report": pack(msgspec.json.encode(model.report)),
        "content": pack(model.content),
    }
    return await insert(connection, consensus_models, row)


async def get(connection: AsyncConnection, model_id: int) -> StoredModel | None:
    """Return a model by its id; None if there is none."""
    query = sa.select(consensus_models).where(consensus_models.c.id == model_id)
    return await read_first(connection, query, _model)


async def list_all(connection: AsyncConnection) -> Sequence[StoredModel]:
    """Return all models, the newest first."""
    query = sa.select(consensus_models).order_by(consensus_models.c.id.desc())
    return [_model(row) for row in await connection.execute(query)]


async def active(connection: AsyncConnection) -> Sequence[StoredModel]:
    """Return the models in use, at most one per task."""
    query = sa.select(consensus_models).where(consensus_models.c.active)
    return [_model(row) for row in await connection.execute(query)]


async def use(connection: AsyncConnection, model: StoredModel, wanted: bool) -> None:
    """Make a model its task's only active model, or no longer active."""
    table = consensus_models
    same = table.c.task == model.task if wanted else table.c.id == model.id
    await connection.execute(sa.update(table).where(same).values(active=False))
    if wanted:
        await connection.execute(sa.update(table).where(table.c.id == model.id).values(active=True))


async def delete(connection: AsyncConnection, model_id: int) -> None:
    """Delete a model."""
    await connection.execute(sa.delete(consensus_models).where(consensus_models.c.id == model_id))


def _model(row: sa.Row[Any]) -> StoredModel:
    return read_row(
        row,
        StoredModel,
        golds=msgspec.json.decode(row.golds, type=tuple[ModelGold, ...]),
        members=msgspec.json.decode(row.members, type=tuple[ModelMember, ...]),
        report=msgspec.json.decode(unpack(row.report), type=TrainingReport),
        content=unpack(row.content),
    )
