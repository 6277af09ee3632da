"""Uploads that count: how many a team has left, and which of them an organiser should look at."""

from __future__ import annotations

import asyncio
import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.boards import RAW
from metaserver.base.errors import Refusal, RefusedError, counted
from metaserver.base.phases import DAY
from metaserver.base.plans import UploadLimits
from metaserver.base.records import ArticleId, TaskName, count_stated
from metaserver.base.states import Role
from metaserver.base.zones import in_zone
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import PhaseField, TeamField
from metaserver.operations.recent import RecentCounts
from metaserver.operations.table import Scope, operation
from metaserver.phases.runtime import Part, RunningPhase
from metaserver.store import uploads
from metaserver.store.teams import Team
from metaserver.tasks.plugin import FiledTask, OfflineTask, RewritableTask

DIGEST_BYTES = 8

READS, READS_SECONDS = 120, 3_600.0
"""The maximum number of a team's result files read within so many seconds: even those that count
nothing, such as previews and faulty files. Reading one can take seconds of a thread.
"""

Digest: TypeAlias = str | int
"""An answer's compared part: its digest, or its place in an order."""


class FileReads(RecentCounts):
    """The result files of each team that were read lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(READS, READS_SECONDS, clock)


class UploadsOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase, and the team whose uploads are counted; organisers may ask for all teams."""

    phase: PhaseField
    team: Annotated[
        TeamField | None,
        Meta(description="The team (for organisers); none: all teams that have uploaded a file"),
    ] = None


class UploadAllowance(msgspec.Struct, frozen=True, kw_only=True):
    """A team's uploads for a task: made and left.

    `today` are those in the last 24 hours, `used` all; `a_day` and `total` are the limits. `left`
    may be made now. `next_at` (Unix seconds) is when the next is free: null if it is free now, or
    never.
    """

    team: str
    task: str
    a_day: int
    total: int
    today: int
    used: int
    left: int
    next_at: float | None

    @classmethod
    def of(
        cls, team: str, task: str, limits: UploadLimits, moments: Sequence[float], now: float
    ) -> UploadAllowance:
        """Return what is left after uploads at these moments, the earliest first."""
        recent = [at for at in moments if at > now - DAY]
        today, used = len(recent), len(moments)
        remaining = max(0, min(limits.a_day - today, limits.total - used))
        more = remaining == 0 and used < limits.total
        return cls(
            team=team,
            task=task,
            a_day=limits.a_day,
            total=limits.total,
            today=today,
            used=used,
            left=remaining,
            next_at=recent[-limits.a_day] + DAY if more else None,
        )


@operation("Uploads.list", "GET /phases/{phase}/uploads", Role.TEAM, scope=Scope.PHASE)
async def list_(hub: HubContext, caller: Caller, request: UploadsOf) -> Sequence[UploadAllowance]:
    """Return how many result files a team may still upload in a phase, task by task.

    Every file that could be read counts, even if it replaced another or was deleted since. Files
    that organisers upload do not.
    """
    running = hub.phase(request.phase)
    if caller.organiser and request.team is None:
        return _of_all(running, hub.clock())
    team = await hub.team_for(caller, request.team, "run")
    async with hub.store.reading() as connection:
        return [
            await allowance(connection, running, team, task, hub.clock())
            for task in filed_tasks(running)
        ]


def _of_all(running: RunningPhase, now: float) -> Sequence[UploadAllowance]:
    """Return what is left for tasks with uploads, by team and task."""
    moments: dict[tuple[str, str], list[float]] = {}
    for upload in running.uploads:
        moments.setdefault((upload.team, upload.task), []).append(upload.at)
    limits = running.phase.plan.limits.uploads
    return [
        UploadAllowance.of(team, task, limits, sorted(times), now)
        for (team, task), times in sorted(moments.items())
    ]


def filed_tasks(running: RunningPhase) -> Mapping[TaskName, FiledTask | OfflineTask]:
    """Return the phase's tasks whose runs may be uploaded, by name."""
    tasks = {task.name: task for task in (*running.boards.tasks(), *running.tasks)}
    return {name: task for name, task in tasks.items() if isinstance(task, FiledTask | OfflineTask)}


async def allowance(
    connection: AsyncConnection, running: RunningPhase, team: Team, task: TaskName, now: float
) -> UploadAllowance:
    """Return the uploads that a team has left in a task."""
    times = await uploads.moments(connection, running.phase.id, team.id, task)
    return UploadAllowance.of(team.name, task, running.phase.plan.limits.uploads, times, now)


async def require_upload(
    connection: AsyncConnection, running: RunningPhase, team: Team, task: TaskName, now: float
) -> None:
    """Raise `RefusedError` if a team has no upload left for a task."""
    state = await allowance(connection, running, team, task, now)
    if state.left:
        return
    where = f"of {task} in {running.label}"
    if state.next_at is None:
        used = counted(state.used, "upload")
        message = f"team {team.name} has used all of its {used} {where} (limits.uploads)"
        raise RefusedError(Refusal.STATE, message, field="content")
    free = in_zone(datetime.fromtimestamp(state.next_at, UTC), running.phase.timezone)
    message = (
        f"team {team.name} has made {counted(state.today, 'upload')} {where} in the last 24 hours,"
        " which is the limit: the next is"
    )
    raise RefusedError(
        Refusal.TOO_MANY,
        f"{message} possible at {free}",
        field="content",
        retry_after=max(1.0, state.next_at - now),
    )


def count_read(hub: HubContext, caller: Caller, team: Team) -> None:
    """Count a result file that is read for a team; `RefusedError` if there were too many."""
    if caller.organiser:
        return
    if wait := hub.part(FileReads).take(team.name):
        message = (
            f"team {team.name} has sent {READS} result files in an hour, which is the"
            " limit: try again"
        )
        message += f" in {math.ceil(wait / 60)} min"
        raise RefusedError(Refusal.TOO_MANY, message, field="content", retry_after=wait)


class ComparedUpload(NamedTuple):
    """An upload compared with the team's earlier uploads: see `store.uploads.Upload`.

    `digests` are None if it is like an earlier upload: later uploads are compared with that.
    """

    articles: int
    changed: int | None
    digests: Mapping[str, Digest] | None


async def compare_upload(
    connection: AsyncConnection,
    running: RunningPhase,
    team: Team,
    task: TaskName,
    payloads: Mapping[ArticleId, Any],
) -> ComparedUpload:
    """Compare a result file with what the team has uploaded before, in a thread."""
    earlier = await uploads.packed_digests(connection, running.phase.id, team.id, task)
    scored = {scored.plugin.name: scored for scored in running.boards.scoreboard.scored()}.get(task)

    def work() -> ComparedUpload:
        counted = None
        if scored is not None and isinstance(scored.plugin, RewritableTask):
            counted = scored.plugin.counted(scored.gold, payloads)
        return compared(payloads, earlier, counted)

    return await asyncio.to_thread(work)


def compared(
    payloads: Mapping[ArticleId, Any],
    earlier_digests: Iterable[bytes],
    counted: Mapping[str, Any] | None = None,
) -> ComparedUpload:
    """Compare answers with others' packed digests; for `counted` see `RewritableTask`."""
    digests, fewest = digests_of(payloads, counted), None
    stated = count_stated(payloads)
    for packed in earlier_digests:
        earlier = uploads.unpack_digests(packed)
        if earlier == digests:
            return ComparedUpload(stated, None, None)
        difference = differing(earlier, digests)
        fewest = difference if fewest is None else min(fewest, difference)
    near = fewest is not None and uploads.is_few(fewest, stated)
    return ComparedUpload(stated, fewest, None if near else digests)


async def keep_score(hub: HubContext, running: RunningPhase, upload: int) -> None:
    """Store the newest uploaded run's present score, if its task has gold."""
    newest = running.uploads[-1]
    plugin = {task.name: task for task in running.boards.tasks()}.get(newest.task)
    if plugin is None:
        return
    mean_score = await running.boards.scoreboard.average(newest.task, RAW, newest.run)
    score = None if mean_score is None else mean_score.values.get(plugin.order[0])
    if score is not None:
        async with hub.store.writing() as connection:
            await uploads.set_score(connection, upload, score)
        await running.reload(Part.UPLOADS)


EXACT = ""
"""The name for the digest of all answers, numbers included: no article has it."""


def digests_of(
    payloads: Mapping[ArticleId, Any], counted: Mapping[str, Any] | None = None
) -> Mapping[str, Digest]:
    """Return a digest of each answer's part that counts, or its place, and one of all as sent.

    If a task does not say what counts, everything but the numbers does: ranks and confidences.
    """
    whole = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for article in sorted(payloads):
        whole.update(msgspec.json.encode([article, payloads[article]]))
    if counted is None:
        counted = {str(article): _named(payload) for article, payload in payloads.items()}
    digests: dict[str, Digest] = {name: _digest(value) for name, value in counted.items()}
    return digests | {EXACT: whole.hexdigest()}


def _digest(value: Any) -> Digest:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=DIGEST_BYTES).hexdigest()


def _named(value: Any) -> Any:
    """Return a value without the numbers in it: ranks and confidences."""
    if isinstance(value, list):
        return [_named(item) for item in value if isinstance(item, bool | str | list | dict)]
    if isinstance(value, dict):
        return {name: _named(item) for name, item in value.items()}
    return value


def differing(before: Mapping[str, Digest], after: Mapping[str, Digest]) -> int:
    """Count the articles that two runs answer differently.

    For places in an order, it is the fewest moves that turn one into the other.
    """
    names = (before.keys() | after.keys()) - {EXACT}
    shared = (before.keys() & after.keys()) - {EXACT}
    places = {name: place for name in shared if isinstance(place := before[name], int)}
    places_after = {name: place for name in places if isinstance(place := after[name], int)}
    if places_after:
        ordered = sorted(places_after, key=places_after.__getitem__)
        return len(names) - _longest_rising([places[name] for name in ordered])
    return sum(before.get(name) != after.get(name) for name in names)


def _longest_rising(values: Iterable[int]) -> int:
    """Return the length of the longest rising subsequence."""
    ends: list[int] = []  # the least end of a rising part of each length
    for value in values:
        place = bisect_left(ends, value)
        ends[place : place + 1] = [value]
    return len(ends)
