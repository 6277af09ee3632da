"""The audit log of all changes. An entry is written in its change's transaction."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.viewer import AuditEntry
from metaserver.store.database import read_row
from metaserver.store.tables import audit


async def add(
    connection: AsyncConnection,
    *,
    actor: str,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
    request_id: str = "",
) -> None:
    """Write an entry; `detail` must contain no secret."""
    await connection.execute(
        sa.insert(audit).values(
            at=time.time(),
            actor=actor,
            action=action,
            subject=subject,
            detail=msgspec.json.encode(detail) if detail else None,
            request_id=request_id,
        )
    )


async def last(connection: AsyncConnection) -> int:
    """Return the newest entry's id; 0 if empty."""
    return await connection.scalar(sa.select(sa.func.max(audit.c.id))) or 0


async def entries(
    connection: AsyncConnection,
    *,
    limit: int = 200,
    before: int | None = None,
    subject: str | None = None,
    actor: str | None = None,
    action: str | None = None,
) -> Sequence[AuditEntry]:
    """Return at most `limit` entries that match, newest first, those with an id below `before`."""
    query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    if subject is not None:
        query = query.where(audit.c.subject == subject)
    if actor is not None:
        query = query.where(audit.c.actor == actor)
    if action is not None:
        query = query.where(audit.c.action == action)
    return [
        read_row(row, AuditEntry, detail=msgspec.json.decode(row.detail) if row.detail else {})
        for row in await connection.execute(query)
    ]
