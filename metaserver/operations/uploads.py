"""Uploads that count: how many a team has left, and which of them an organiser should look at."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.model.boards import RAW
from metaserver.model.errors import Refusal, RefusedError
from metaserver.model.plans import UploadLimits
from metaserver.model.records import ArticleId, ServerName, TaskName, count_stated
from metaserver.model.states import Role
from metaserver.model.zones import in_zone
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import PhaseField, TeamField
from metaserver.operations.table import operation
from metaserver.phases.runtime import RunningPhase
from metaserver.store import uploads
from metaserver.store.teams import Team
from metaserver.tasks.plugin import FiledTask, OfflineTask

DAY = 86_400.0
PRINT_BYTES = 8


class UploadsOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A phase, and the team whose uploads are counted; organisers may ask for all teams."""

    phase: PhaseField
    team: Annotated[
        TeamField | None,
        Meta(description="The team (organisers); none: all that have uploaded a file"),
    ] = None


class UploadAllowance(msgspec.Struct, frozen=True, kw_only=True):
    """The uploads of a task that a team has made, and has left.

    `today` are those of the last 24 hours, `used` all; `a_day` and `total` are the limits. `left`
    may be made now. `next_at` (Unix seconds) is when the next is free: null where one is free now,
    or where none will be.
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
        left = max(0, min(limits.a_day - today, limits.total - used))
        more = left == 0 and used < limits.total
        return cls(
            team=team,
            task=task,
            a_day=limits.a_day,
            total=limits.total,
            today=today,
            used=used,
            left=left,
            next_at=recent[-limits.a_day] + DAY if more else None,
        )


@operation("Uploads.list", "GET /phases/{phase}/uploads", Role.TEAM)
async def list_(hub: HubContext, caller: Caller, request: UploadsOf) -> Sequence[UploadAllowance]:
    """Return how many result files a team may still upload in a phase, task by task.

    Every file that could be read counts, also one that replaced another or was deleted since. Files
    that organisers upload do not.
    """
    running = hub.phase(request.phase)
    if caller.organiser and request.team is None:
        return _of_all(running, hub.clock())
    team = await team_of(hub, caller, request.team)
    async with hub.store.reading() as connection:
        return [
            await allowance(connection, running, team, task, hub.clock())
            for task in filed_tasks(running)
        ]


def _of_all(running: RunningPhase, now: float) -> Sequence[UploadAllowance]:
    """Return what is left of the tasks that a team has uploaded a file of, by team and task."""
    moments: dict[tuple[str, str], list[float]] = {}
    for upload in running.uploads:
        moments.setdefault((upload.team, upload.task), []).append(upload.at)
    limits = running.phase.plan.limits.uploads
    return [
        UploadAllowance.of(team, task, limits, sorted(made), now)
        for (team, task), made in sorted(moments.items())
    ]


async def team_of(hub: HubContext, caller: Caller, team: str | None) -> Team:
    """Return the team that a request is for: the caller's own, or the one an organiser names."""
    if caller.organiser and team is None:
        raise RefusedError(Refusal.INVALID, "is required of an organiser", field="team")
    if not caller.organiser and team not in (None, caller.team):
        raise RefusedError(Refusal.NOT_YOURS, "that is not your team", field="team")
    return await hub.team(team or caller.team or "")


def filed_tasks(running: RunningPhase) -> Mapping[TaskName, FiledTask | OfflineTask]:
    """Return the tasks of a phase whose runs may be uploaded, by name."""
    tasks = {task.name: task for task in (*running.boards.tasks(), *running.tasks)}
    return {name: task for name, task in tasks.items() if isinstance(task, FiledTask | OfflineTask)}


async def allowance(
    connection: AsyncConnection, running: RunningPhase, team: Team, task: TaskName, now: float
) -> UploadAllowance:
    """Return the uploads that a team has left in a task."""
    made = await uploads.moments(connection, running.phase.id, team.id, task)
    return UploadAllowance.of(team.name, task, running.phase.plan.limits.uploads, made, now)


async def require_upload(
    connection: AsyncConnection, running: RunningPhase, team: Team, task: TaskName, now: float
) -> None:
    """Raise `RefusedError` where a team has no upload left in a task."""
    found = await allowance(connection, running, team, task, now)
    if found.left:
        return
    where = f"of {task} in phase {running.name}"
    if found.next_at is None:
        message = f"team {team.name} has made all its {found.used} uploads {where}"
        raise RefusedError(Refusal.STATE, message, field="content")
    free = in_zone(datetime.fromtimestamp(found.next_at, UTC), running.phase.timezone)
    message = f"team {team.name} has made {found.today} uploads {where} in 24 hours: the next is"
    raise RefusedError(
        Refusal.TOO_MANY,
        f"{message} free at {free}",
        field="content",
        retry_after=max(1.0, found.next_at - now),
    )


class ComparedUpload(NamedTuple):
    """An upload compared with the team's earlier ones: see `store.uploads.Upload`.

    `prints` are None where it is like one of them: later ones are compared with that.
    """

    articles: int
    changed: int | None
    prints: Mapping[str, str] | None


async def compare_upload(
    connection: AsyncConnection,
    running: RunningPhase,
    team: Team,
    task: TaskName,
    payloads: Mapping[ArticleId, Any],
) -> ComparedUpload:
    """Compare a result file with what the team has uploaded before, in a thread."""
    known = await uploads.packed_prints(connection, running.phase.id, team.id, task)
    return await asyncio.to_thread(compared, payloads, known)


def compared(payloads: Mapping[ArticleId, Any], known: Iterable[bytes]) -> ComparedUpload:
    """Compare answers with the packed prints of others."""
    prints, least, stated = prints_of(payloads), None, count_stated(payloads)
    for packed in known:
        earlier = uploads.unpack_prints(packed)
        if earlier == prints:
            return ComparedUpload(stated, None, None)
        found = differing(earlier, prints)
        least = found if least is None else min(least, found)
    near = least is not None and uploads.is_few(least, stated)
    return ComparedUpload(stated, least, None if near else prints)


async def spend_upload(
    connection: AsyncConnection,
    running: RunningPhase,
    team: Team,
    task: TaskName,
    run: ServerName,
    *,
    made: ComparedUpload,
    now: float,
) -> int:
    """Count an upload in the transaction that stores its run; return its id.

    Raises `RefusedError` where the team has none left.
    """
    await require_upload(connection, running, team, task, now)
    return await uploads.add(
        connection,
        running.phase.id,
        team.id,
        task,
        run,
        at=now,
        articles=made.articles,
        prints=made.prints,
        changed=made.changed,
    )


async def enter_upload(hub: HubContext, running: RunningPhase, upload: int) -> None:
    """Let a phase know of an upload that was stored, before its run is shown."""
    async with hub.store.reading() as connection:
        running.uploads += await uploads.list_all(connection, running.phase.id, after=upload - 1)


async def keep_score(hub: HubContext, running: RunningPhase, upload: int) -> None:
    """Keep the present score of the newest uploaded run, where its task has gold."""
    known = running.uploads[-1]
    plugin = {one.name: one for one in running.boards.tasks()}.get(known.task)
    if plugin is None:
        return
    found = await running.boards.scoreboard.average(known.task, RAW, known.run)
    score = None if found is None else found.values.get(plugin.order[0])
    if score is not None:
        async with hub.store.writing() as connection:
            await uploads.set_score(connection, upload, score)
        running.uploads[-1] = replace(known, score=score)


EXACT = ""
"""The name of the print of all answers, numbers included: no article has it."""


def prints_of(payloads: Mapping[ArticleId, Any]) -> Mapping[str, str]:
    """Return a digest of each answer without its numbers, and one of all with them."""
    whole = hashlib.blake2b(digest_size=PRINT_BYTES)
    prints = {}
    for article in sorted(payloads):
        payload = payloads[article]
        whole.update(msgspec.json.encode([article, payload]))
        named = msgspec.json.encode(_named(payload))
        prints[str(article)] = hashlib.blake2b(named, digest_size=PRINT_BYTES).hexdigest()
    return prints | {EXACT: whole.hexdigest()}


def _named(value: Any) -> Any:
    """Return a value without the numbers in it: ranks and confidences."""
    if isinstance(value, list):
        return [_named(one) for one in value if isinstance(one, bool | str | list | dict)]
    if isinstance(value, dict):
        return {name: _named(one) for name, one in value.items()}
    return value


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> int:
    """Count the articles that two runs answer differently."""
    articles = (before.keys() | after) - {EXACT}
    return sum(before.get(article) != after.get(article) for article in articles)
