"""Queries for curations and the events of each, which are added and never changed.

So the logs of curations at work are kept in memory, and only what was added since is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.curations import CurationStanding
from metaserver.curation.decisions import CurationEvent
from metaserver.curation.store.requests import with_words
from metaserver.store.database import read_first
from metaserver.store.tables import curation_events, curation_seats, curations


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationEntry:
    """A curation without its text and its basis. Times are Unix seconds.

    `request` is the id of the request whose candidates it has, None for none; `events` is their
    number, and so the next's place; `bytes` is the size of all. `accepted` and `rejected` count
    items, `undecided` the candidates without a decision.
    """

    id: str
    token_id: int
    curator: str
    request: str | None = None
    state: CurationStanding = CurationStanding.OPEN
    article: str
    title: str
    length: int
    events: int = 0
    accepted: int = 0
    rejected: int = 0
    undecided: int = 0
    bytes: int = 0
    active_ms: int = 0
    opened_at: float
    changed_at: float
    submitted_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationContent:
    """The large parts of a curation: compressed text and basis, and the additions' JSON."""

    text: bytes
    basis: bytes
    additions: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EventEntry:
    """An event in the log: its place, its key, when it was received, and its JSON."""

    seq: int
    key: str
    at: float
    event: bytes


_LARGE = ("text", "basis", "additions")
_COLUMNS = [column for column in curations.columns if column.name not in _LARGE]


async def add(connection: AsyncConnection, entry: CurationEntry, content: CurationContent) -> None:
    """Store a new curation."""
    row = {column.name: getattr(entry, column.name) for column in _COLUMNS}
    large = {name: getattr(content, name) for name in _LARGE}
    row |= {"state": entry.state.value}
    await connection.execute(sa.insert(curations).values(**row, **large))


async def get(connection: AsyncConnection, curation: str) -> CurationEntry | None:
    """Return a curation by its id; None if there is none."""
    query = sa.select(*_COLUMNS).where(curations.c.id == curation)
    return await read_first(connection, query, _entry)


async def of_request(
    connection: AsyncConnection, token_id: int, request: str
) -> CurationEntry | None:
    """Return a token's curation of a request; None if there is none."""
    query = sa.select(*_COLUMNS).where(
        curations.c.token_id == token_id, curations.c.request == request
    )
    return await read_first(connection, query, _entry)


async def content(connection: AsyncConnection, curation: str) -> CurationContent:
    """Return the large parts of a curation that there is."""
    query = sa.select(*(curations.c[name] for name in _LARGE)).where(curations.c.id == curation)
    row = (await connection.execute(query)).one()
    return CurationContent(**row._asdict())


async def list_of(
    connection: AsyncConnection, token_id: int | None, *, words: Sequence[str] = (), limit: int
) -> Sequence[CurationEntry]:
    """Return the curations of a token (None: of all), those first that changed last.

    Each of the `words` is in the title or in the article's id.
    """
    query = sa.select(*_COLUMNS).where(*with_words(curations, words))
    if token_id is not None:
        query = query.where(curations.c.token_id == token_id)
    query = query.order_by(curations.c.changed_at.desc(), curations.c.id).limit(limit)
    return [_entry(row) for row in await connection.execute(query)]


async def submitted(
    connection: AsyncConnection, token_id: int | None, since: float, until: float, *, limit: int
) -> Sequence[CurationEntry]:
    """Return a token's curations (None: all) that were submitted in a span of time, in order."""
    query = sa.select(*_COLUMNS).where(
        curations.c.state == CurationStanding.SUBMITTED.value,
        curations.c.submitted_at >= since,
        curations.c.submitted_at < until,
    )
    if token_id is not None:
        query = query.where(curations.c.token_id == token_id)
    query = query.order_by(curations.c.submitted_at, curations.c.id).limit(limit)
    return [_entry(row) for row in await connection.execute(query)]


async def count_of(connection: AsyncConnection, token_id: int) -> int:
    """Return the number of a token's curations."""
    query = sa.select(sa.func.count()).where(curations.c.token_id == token_id)
    return int((await connection.execute(query)).scalar_one())


async def change(connection: AsyncConnection, curation: str, **values: Any) -> None:
    """Change columns of a curation."""
    await connection.execute(
        sa.update(curations).where(curations.c.id == curation).values(**values)
    )


async def log(
    connection: AsyncConnection, curation: str, *, since: int = 0, limit: int | None = None
) -> Sequence[EventEntry]:
    """Return the events of a curation from a place on, in their order."""
    columns = [column for column in curation_events.columns if column.name != "curation_id"]
    query = sa.select(*columns).where(
        curation_events.c.curation_id == curation, curation_events.c.seq >= since
    )
    rows = await connection.execute(query.order_by(curation_events.c.seq).limit(limit))
    return [EventEntry(**row._asdict()) for row in rows]


async def append(
    connection: AsyncConnection, curation: str, entries: Sequence[EventEntry], **values: Any
) -> None:
    """Add events to a curation's log, and change its columns with them."""
    if entries:
        names = EventEntry.__slots__
        await connection.execute(
            sa.insert(curation_events),
            [
                {"curation_id": curation} | {name: getattr(entry, name) for name in names}
                for entry in entries
            ],
        )
    await change(connection, curation, **values)


async def give(connection: AsyncConnection, holder: int, to: int) -> int:
    """Give a token's curations that are in no set to another token; return their number."""
    seated = sa.select(curation_seats.c.curation_id).where(
        curation_seats.c.curation_id.is_not(None)
    )
    changed = await connection.execute(
        sa.update(curations)
        .where(curations.c.token_id == holder, curations.c.id.not_in(seated))
        .values(token_id=to)
    )
    return int(changed.rowcount)


async def forget(connection: AsyncConnection, curation: str) -> None:
    """Delete a curation with its events."""
    of_it = curation_events.c.curation_id == curation
    await connection.execute(sa.delete(curation_events).where(of_it))
    await connection.execute(sa.delete(curations).where(curations.c.id == curation))


def _entry(row: sa.Row[Any]) -> CurationEntry:
    return CurationEntry(**row._asdict() | {"state": CurationStanding(row.state)})


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
        events = cached[: entry.events]
        if len(events) < entry.events:
            rows = await log(connection, entry.id, since=len(events))
            newer = msgspec.json.decode(
                b"[" + b",".join(row.event for row in rows) + b"]", type=list[CurationEvent]
            )
            events = [*events, *newer]
        self._known[entry.id] = events, entry.bytes
        self._shrink()
        return events

    def _shrink(self) -> None:
        size = sum(size for _, size in self._known.values())
        while len(self._known) > 1 and (size > self._most or len(self._known) > MOST_LOGS):
            _, (_, dropped) = self._known.popitem(last=False)
            size -= dropped
