"""A server's attempts, and its raw answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import ArticleId, Problem, Timings
from metaserver.base.states import Outcome, Role
from metaserver.base.structs import convert
from metaserver.base.usage import DeclaredUsage
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import GREATEST, Limit
from metaserver.operations.lanes import InLane, lane_of, position_of
from metaserver.operations.table import Scope, operation

PAGE = 100


class AttemptQuery(InLane, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selection of a server's attempts."""

    since: Annotated[
        float, Meta(ge=0, description="Only attempts begun at or after this time, in Unix seconds")
    ] = 0.0
    before: Annotated[
        float | None, Meta(description="Only attempts begun before this time, in Unix seconds")
    ] = None
    outcome: Annotated[Outcome | None, Meta(description="Only attempts with this outcome")] = None
    article: Annotated[str | None, Meta(description="Only attempts for this article")] = None
    limit: Limit = PAGE


class OneAttempt(InLane, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server's attempt."""

    article: Annotated[str, Meta(description="The article's id")]
    number: Annotated[
        int,
        Meta(
            ge=1, le=GREATEST, description="The number of the attempt for this article: 1, 2, ..."
        ),
    ]


class AttemptDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A finished request; times in seconds, `started_at` in Unix seconds.

    `usage` is what its answer took, as the team declares; null if it declares nothing.
    """

    article: str
    number: int
    started_at: float
    outcome: Outcome
    message: str
    timings: Timings
    bytes_out: int
    bytes_in: int
    problems: tuple[Problem, ...]
    problem_count: int
    final: bool
    usage: DeclaredUsage | None = None


class RawAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt with its answer's bytes (null without an answer)."""

    attempt: AttemptDetail
    raw: bytes | None


@operation("Servers.attempts", "GET /servers/{server}/attempts", Role.TEAM, scope=Scope.PHASE)
async def attempts(
    hub: HubContext, caller: Caller, request: AttemptQuery
) -> Sequence[AttemptDetail]:
    """Return a server's attempts, newest first, with every problem in each answer."""
    registered, running = await lane_of(hub, caller, request)
    newest = await hub.store.newest_attempts(
        running.key(registered),
        registered.server.name,
        running.corpus,
        limit=request.limit,
        since=request.since,
        before=request.before,
        outcome=request.outcome,
        article=None if request.article is None else ArticleId(request.article),
    )
    return [convert(stored.attempt, AttemptDetail, final=stored.final) for stored in newest]


@operation(
    "Servers.answer",
    "GET /servers/{server}/attempts/{article}/{number}",
    Role.TEAM,
    scope=Scope.PHASE,
)
async def answer(hub: HubContext, caller: Caller, request: OneAttempt) -> RawAnswer:
    """Return an attempt with the raw answer that the server sent."""
    registered, running = await lane_of(hub, caller, request)
    key, position = running.key(registered), position_of(running, request.article)
    stored = await hub.store.attempt(
        key, registered.server.name, running.corpus, position, request.number
    )
    if stored is None:
        raise RefusedError(Refusal.UNKNOWN, "there is no such attempt", field="number")
    raw = await hub.store.raw_answer(key, position, request.number)
    return RawAnswer(attempt=convert(stored.attempt, AttemptDetail, final=stored.final), raw=raw)
