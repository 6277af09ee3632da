"""Queries for curators' requests and the answers to them, in tables of their own."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.curations import UNFINISHED, AskedServer, RequestOptions, RequestState
from metaserver.base.records import ServerName
from metaserver.base.states import ANSWERED, Outcome
from metaserver.store.database import read_first
from metaserver.store.tables import request_answers, requests, servers, teams


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRequest:
    """A request; `article` is the id of its article if it has one, `text` is compressed.

    `uploaded` are the annotations that came with the article (`uploaded.StoredVoice`), compressed.
    `servers` are those of its end; `deadline_at` is None until servers are asked. Times are Unix
    seconds.
    """

    id: str
    token_id: int
    caller: str
    at: float
    deadline_at: float | None = None
    state: RequestState = RequestState.RECEIVED
    message: str = ""
    version: int = 0
    article: str
    title: str
    length: int
    text: bytes
    options: RequestOptions
    uploaded: bytes | None = None
    servers: tuple[AskedServer, ...] = ()
    release: str
    expires_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestAnswer:
    """One attempt of a request at a server; `payloads` and `asides` are compressed JSON.

    `version` is that of the request with which it came.
    """

    server_id: int
    server: ServerName
    team: str
    number: int = 1
    started_at: float
    ended_at: float
    outcome: Outcome = Outcome.OK
    message: str = ""
    hits: int = 0
    payloads: bytes | None
    asides: bytes | None
    raw: bytes | None = None
    version: int = 0
    late: bool = False

    @property
    def accepted(self) -> bool:
        """True if its hits can be used."""
        return self.outcome in ANSWERED


async def add(connection: AsyncConnection, request: StoredRequest) -> None:
    """Store a new request."""
    await connection.execute(sa.insert(requests).values(**_columns(request)))


async def charge(
    connection: AsyncConnection, token_id: int, caller: str, at: float, expires_at: float
) -> None:
    """Store that a token made a request, and nothing of it."""
    refused = StoredRequest(
        id=secrets.token_hex(8),
        token_id=token_id,
        caller=caller,
        at=at,
        state=RequestState.FAILED,
        article="",
        title="",
        length=0,
        text=b"",
        options=RequestOptions(),
        release="",
        expires_at=expires_at,
    )
    row = {**_columns(refused), "text": None}
    await connection.execute(sa.insert(requests).values(**row))


def _columns(request: StoredRequest) -> Mapping[str, Any]:
    names = (column.name for column in requests.columns)
    row = {name: getattr(request, name) for name in names}
    return row | {
        "state": request.state.value,
        "options": msgspec.json.encode(request.options),
        "servers": msgspec.json.encode(request.servers),
    }


async def change(connection: AsyncConnection, request: str, **values: Any) -> None:
    """Change columns of a request."""
    await connection.execute(sa.update(requests).where(requests.c.id == request).values(**values))


async def get(connection: AsyncConnection, request: str) -> StoredRequest | None:
    """Return a request by its id; None if there is none, or it was forgotten."""
    query = sa.select(requests).where(requests.c.id == request, requests.c.text.is_not(None))
    return await read_first(connection, query, _request)


async def version_of(connection: AsyncConnection, request: str) -> int:
    """Return a request's version; 0 if there is none, or it was forgotten."""
    query = sa.select(requests.c.version).where(
        requests.c.id == request, requests.c.text.is_not(None)
    )
    return int((await connection.execute(query)).scalar_one_or_none() or 0)


async def states(connection: AsyncConnection, keys: Collection[str]) -> Mapping[str, RequestState]:
    """Return the states of those of some requests that there are, and were not forgotten."""
    query = sa.select(requests.c.id, requests.c.state).where(
        requests.c.id.in_(keys), requests.c.text.is_not(None)
    )
    return {row.id: RequestState(row.state) for row in await connection.execute(query)}


async def list_of(
    connection: AsyncConnection, token_id: int | None, *, words: Sequence[str] = (), limit: int
) -> Sequence[StoredRequest]:
    """Return the newest requests of a token (None: of all), newest first.

    Each of the `words` is in the title or in the article's id.
    """
    query = sa.select(requests).where(requests.c.text.is_not(None), *with_words(requests, words))
    if token_id is not None:
        query = query.where(requests.c.token_id == token_id)
    rows = await connection.execute(query.order_by(requests.c.at.desc()).limit(limit))
    return [_request(row) for row in rows]


def with_words(table: sa.Table, words: Sequence[str]) -> Sequence[sa.ColumnElement[bool]]:
    """Return the conditions that each word is in a row's title or article, in any case."""
    columns = (table.c.title, table.c.article)
    return [sa.or_(*(one.icontains(word, autoescape=True) for one in columns)) for word in words]


async def same_as(connection: AsyncConnection, request: StoredRequest) -> str:
    """Return its token's last request for the same article, by id or by text; "" for none."""
    same = sa.and_(requests.c.length == request.length, requests.c.text == request.text)
    if request.article:
        same = sa.or_(same, requests.c.article == request.article)
    query = sa.select(requests.c.id).where(
        requests.c.token_id == request.token_id, requests.c.text.is_not(None), same
    )
    row = (await connection.execute(query.order_by(requests.c.at.desc()).limit(1))).first()
    return "" if row is None else str(row.id)


async def unfinished(connection: AsyncConnection, *, lock: bool = False) -> Sequence[StoredRequest]:
    """Return the requests to go on with, oldest first; to `lock` them keeps other processes out."""
    query = sa.select(requests).where(
        requests.c.state.in_(UNFINISHED), requests.c.text.is_not(None)
    )
    query = query.order_by(requests.c.at)
    if lock:
        query = query.with_for_update()
    return [_request(row) for row in await connection.execute(query)]


async def set_options(connection: AsyncConnection, request: str, options: RequestOptions) -> None:
    """Change a request's options."""
    await change(connection, request, options=msgspec.json.encode(options))


async def count_since(connection: AsyncConnection, token_id: int, at: float) -> int:
    """Return the number of a token's requests since a time, including forgotten requests."""
    query = sa.select(sa.func.count()).where(requests.c.token_id == token_id, requests.c.at > at)
    return int((await connection.execute(query)).scalar_one())


async def add_answer(connection: AsyncConnection, request: str, answer: RequestAnswer) -> None:
    """Store an attempt, and the version of its request with it."""
    row = {name: getattr(answer, name) for name in RequestAnswer.__slots__}
    row.pop("server")
    row.pop("team")
    row["outcome"] = answer.outcome.value
    await connection.execute(sa.insert(request_answers).values(request_id=request, **row))
    await change(connection, request, version=answer.version)


async def answers(connection: AsyncConnection, request: str) -> Sequence[RequestAnswer]:
    """Return all attempts of a request without their raw answers, in the order they ended."""
    columns = [column for column in request_answers.columns if column.name != "raw"]
    query = (
        sa.select(*columns, servers.c.name.label("server"), teams.c.name.label("team"))
        .join(servers, servers.c.id == request_answers.c.server_id)
        .outerjoin(teams, teams.c.id == servers.c.team_id)
        .where(request_answers.c.request_id == request)
        .order_by(request_answers.c.version, request_answers.c.server_id)
    )
    return [_answer(row) for row in await connection.execute(query)]


async def forget(connection: AsyncConnection, request: str, expires_at: float) -> None:
    """Delete a request's text, title and answers; that it was made is kept until `expires_at`."""
    await connection.execute(
        sa.delete(request_answers).where(request_answers.c.request_id == request)
    )
    await change(
        connection, request, text=None, uploaded=None, title="", article="", expires_at=expires_at
    )


async def sweep(connection: AsyncConnection, now: float, keep: Collection[str]) -> int:
    """Delete the requests whose time is over, except those of `keep`; return their number."""
    over = requests.c.expires_at <= now
    ids = (await connection.execute(sa.select(requests.c.id).where(over))).scalars()
    gone = [request_id for request_id in ids if request_id not in keep]
    for request_id in gone:
        await connection.execute(
            sa.delete(request_answers).where(request_answers.c.request_id == request_id)
        )
        await connection.execute(sa.delete(requests).where(requests.c.id == request_id))
    return len(gone)


def _request(row: sa.Row[Any]) -> StoredRequest:
    values = row._asdict()
    values["state"] = RequestState(row.state)
    values["options"] = msgspec.json.decode(row.options, type=RequestOptions)
    values["servers"] = (
        msgspec.json.decode(row.servers, type=tuple[AskedServer, ...]) if row.servers else ()
    )
    return StoredRequest(**values)


def _answer(row: Any) -> RequestAnswer:
    values = row._asdict()
    del values["request_id"]
    values |= {
        "outcome": Outcome(row.outcome),
        "server": ServerName(row.server),
        "team": row.team or "",
        "raw": None,
    }
    return RequestAnswer(**values)
