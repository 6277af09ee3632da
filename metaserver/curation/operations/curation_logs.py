"""Logs of curations in memory: only what was added since is read, as events are never changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.curation.decisions import CurationEvent
from metaserver.curation.store import curations
from metaserver.curation.store.curations import CurationEntry

MOST_LOGS, MOST_BYTES = 200, 16 * 2**20
"""The most logs, and bytes of their events as JSON, that are kept; those used last stay."""


class CurationLogs:
    """The logs of the curations that are at work."""

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._most = limit
        self._known: OrderedDict[str, tuple[Sequence[CurationEvent], int]] = OrderedDict()

    async def read(
        self, connection: AsyncConnection, entry: CurationEntry
    ) -> Sequence[CurationEvent]:
        """Return a curation's events, as they were sent; `entry` is of this transaction."""
        cached, _ = self._known.pop(entry.id, ((), 0))
        log = cached[: entry.events]
        if len(log) < entry.events:
            rows = await curations.log(connection, entry.id, since=len(log))
            newer = msgspec.json.decode(
                b"[" + b",".join(row.event for row in rows) + b"]", type=list[CurationEvent]
            )
            log = [*log, *newer]
        self._known[entry.id] = log, entry.bytes
        self._shrink()
        return log

    def _shrink(self) -> None:
        size = sum(size for _, size in self._known.values())
        while len(self._known) > 1 and (size > self._most or len(self._known) > MOST_LOGS):
            _, (_, dropped) = self._known.popitem(last=False)
            size -= dropped
