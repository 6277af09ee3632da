"""Queries for challenges, announcements, phases, corpora by name and version, gold by version."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack, unpack
from metaserver.base.phases import (
    Announcement,
    Challenge,
    ChallengePage,
    CorpusVersion,
    GoldEntry,
    GoldVersion,
    Phase,
)
from metaserver.base.plans import Moments, PhasePlan
from metaserver.base.records import PhaseName, TaskName
from metaserver.store import tables
from metaserver.store.database import insert, read_first, read_row
from metaserver.store.keys import digest_key, keyed_digest
from metaserver.store.tables import (
    announcements,
    challenge_pictures,
    challenges,
    corpora,
    corpus_versions,
    gold,
    metadata,
    offline_runs,
    one_time_links,
    phases,
    sign_ups,
    teams,
    uploads,
)

ENTRY = ("task", "version", "source", "checksum", "created_at")
"""A gold version's columns without its file."""


async def set_challenge(connection: AsyncConnection, name: str, title: str, timezone: str) -> None:
    """Store a challenge, or change the challenge with this name."""
    values = {"title": title, "timezone": timezone}
    same_name = challenges.c.name == name
    changed = await connection.execute(sa.update(challenges).where(same_name).values(**values))
    if not changed.rowcount:
        row = {"name": name, "created_at": time.time(), **values}
        await connection.execute(sa.insert(challenges).values(**row))


async def list_challenges(connection: AsyncConnection) -> Sequence[Challenge]:
    """Return all challenges, oldest first."""
    rows = await connection.execute(sa.select(challenges).order_by(challenges.c.id))
    return [_challenge(row) for row in rows]


async def get_challenge(connection: AsyncConnection, name: str) -> Challenge | None:
    """Return a challenge by name."""
    query = sa.select(challenges).where(challenges.c.name == name)
    return await read_first(connection, query, _challenge)


async def change_challenge(connection: AsyncConnection, name: str, **values: Any) -> None:
    """Change a challenge's columns; `page` is a `ChallengePage`."""
    if "page" in values:
        values["page"] = msgspec.json.encode(values["page"])
    query = sa.update(challenges).where(challenges.c.name == name)
    await connection.execute(query.values(**values))


def _challenge(row: sa.Row[Any]) -> Challenge:
    page = msgspec.json.decode(row.page, type=ChallengePage) if row.page else ChallengePage()
    return read_row(row, Challenge, page=page, code=row.code or "")


async def add(
    connection: AsyncConnection,
    own_name: str,
    challenge_id: int,
    plan: PhasePlan,
    *,
    corpus_id: int,
    release: str,
    after: int = 0,
) -> int:
    """Store a new phase; return its id, which is above `after`.

    `own_name` is unused in its challenge. The phase's name in the hub is that, or if another phase
    has it `CHALLENGE.NAME`, or this with a number at the end.
    """
    of_id = sa.select(challenges.c.name).where(challenges.c.id == challenge_id)
    longer = f"{(await connection.execute(of_id)).scalar_one()}.{own_name}"
    numbered = (f"{longer}-{number}" for number in itertools.count(2))
    for text in itertools.chain((own_name, longer), numbered):
        if await get(connection, name := PhaseName(text)) is None:
            break
    newest = (await connection.execute(sa.select(sa.func.max(phases.c.id)))).scalar() or 0
    row = {
        "id": max(newest, after) + 1,
        "name": name,
        "own_name": own_name,
        "challenge_id": challenge_id,
        "plan": msgspec.json.encode(plan),
        "corpus_id": corpus_id,
        "release": release,
        "created_at": time.time(),
    }
    return await insert(connection, phases, row)


async def change(connection: AsyncConnection, phase_id: int, **values: Any) -> None:
    """Change a phase's columns; `plan` is a `PhasePlan`, `moments` are `Moments`."""
    encoded = {"plan", "moments"} & values.keys()
    values |= {name: msgspec.json.encode(values[name]) for name in encoded}
    await connection.execute(sa.update(phases).where(phases.c.id == phase_id).values(**values))


async def get(connection: AsyncConnection, name: PhaseName) -> Phase | None:
    """Return a challenge's phase by its name in the hub."""
    return await read_first(connection, _phases().where(phases.c.name == name), _phase)


async def in_challenge(connection: AsyncConnection, challenge: str, own_name: str) -> Phase | None:
    """Return a challenge's phase by its name there."""
    named = (challenges.c.name == challenge, phases.c.own_name == own_name)
    return await read_first(connection, _phases().where(*named), _phase)


async def by_id(connection: AsyncConnection, phase_id: int) -> Phase | None:
    """Return a phase by its id."""
    return await read_first(connection, _phases().where(phases.c.id == phase_id), _phase)


async def list_all(connection: AsyncConnection) -> Sequence[Phase]:
    """Return all challenges' phases, oldest first."""
    return [_phase(row) for row in await connection.execute(_phases().order_by(phases.c.id))]


def _phases() -> sa.Select[Any]:
    of_challenge = (
        challenges.c.name.label("challenge"),
        challenges.c.title.label("challenge_title"),
        challenges.c.timezone,
        challenges.c.announced_at,
    )
    return sa.select(phases, *of_challenge).join(
        challenges, challenges.c.id == phases.c.challenge_id
    )


def _phase(row: sa.Row[Any]) -> Phase:
    return read_row(
        row,
        Phase,
        plan=msgspec.json.decode(row.plan, type=PhasePlan),
        reached=row.standing,
        moments=msgspec.json.decode(row.moments, type=Moments) if row.moments else Moments(),
    )


# -- corpora ---------------------------------------------------------------------------------------


async def add_corpus_version(
    connection: AsyncConnection, name: str, corpus_id: int, source: str
) -> int:
    """Store a corpus as the next version of a name; equal articles keep their version."""
    newest = await corpus_version(connection, name)
    if newest is not None and newest.corpus_id == corpus_id:
        return newest.version
    version = 1 if newest is None else newest.version + 1
    await connection.execute(
        sa.insert(corpus_versions).values(
            name=name, version=version, corpus_id=corpus_id, source=source, created_at=time.time()
        )
    )
    return version


async def corpus_version(
    connection: AsyncConnection, name: str, version: int | None = None
) -> CorpusVersion | None:
    """Return a corpus by name, in the given version or the newest, or None."""
    query = _corpus_versions().where(corpus_versions.c.name == name)
    if version is not None:
        query = query.where(corpus_versions.c.version == version)
    return await read_first(connection, query, CorpusVersion)


async def list_corpora(connection: AsyncConnection) -> Sequence[CorpusVersion]:
    """Return all corpora's versions, by name, newest first."""
    rows = await connection.execute(_corpus_versions())
    return [read_row(row, CorpusVersion) for row in rows]


def _corpus_versions() -> sa.Select[Any]:
    return (
        sa.select(corpus_versions, corpora.c.articles)
        .join(corpora, corpora.c.id == corpus_versions.c.corpus_id)
        .order_by(corpus_versions.c.name, corpus_versions.c.version.desc())
    )


# -- gold ------------------------------------------------------------------------------------------


async def gold_versions(connection: AsyncConnection, phase_id: int) -> Sequence[GoldEntry]:
    """Return every version of a phase's gold, by task, newest first."""
    columns = [gold.c[name] for name in ENTRY]
    query = sa.select(*columns).where(gold.c.phase_id == phase_id)
    query = query.order_by(gold.c.task, gold.c.version.desc())
    return [read_row(row, GoldEntry) for row in await connection.execute(query)]


async def gold_version(
    connection: AsyncConnection, phase_id: int, task: str, version: int | None = None
) -> GoldVersion | None:
    """Return a task's gold with its file, in the given version or the newest."""
    query = sa.select(gold).where(gold.c.phase_id == phase_id, gold.c.task == task)
    if version is not None:
        query = query.where(gold.c.version == version)
    row = (await connection.execute(query.order_by(gold.c.version.desc()).limit(1))).first()
    if row is None:
        return None
    content = await asyncio.to_thread(unpack, row.content)
    return read_row(row, GoldVersion, content=content)


async def set_gold(
    connection: AsyncConnection, phase_id: int, task: TaskName, source: str, content: bytes
) -> int:
    """Store a gold file as the task's newest version; equal content keeps its version."""
    checksum = await asyncio.to_thread(keyed_digest, await digest_key(connection), content)
    query = (
        sa.select(gold.c.version, gold.c.checksum)
        .where(gold.c.phase_id == phase_id, gold.c.task == task)
        .order_by(gold.c.version.desc())
        .limit(1)
    )
    newest = (await connection.execute(query)).first()
    if newest is not None and newest.checksum == checksum:
        return int(newest.version)
    version = 1 if newest is None else int(newest.version) + 1
    row = {
        "phase_id": phase_id,
        "task": task,
        "version": version,
        "checksum": checksum,
        "source": source,
        "content": await asyncio.to_thread(pack, content),
        "created_at": time.time(),
    }
    await connection.execute(sa.insert(gold), row)
    return version


async def newest_gold(connection: AsyncConnection, phase_id: int) -> Mapping[TaskName, GoldVersion]:
    """Return a phase's newest gold, by task."""
    tasks = sa.select(gold.c.task).where(gold.c.phase_id == phase_id).distinct()
    newest: dict[TaskName, GoldVersion] = {}
    for task in sorted((await connection.execute(tasks)).scalars()):
        if (version := await gold_version(connection, phase_id, task)) is not None:
            newest[TaskName(task)] = version
    return newest


async def gold_tasks(connection: AsyncConnection, phase_id: int) -> frozenset[TaskName]:
    """Return the phase's tasks that have gold."""
    tasks = sa.select(gold.c.task).where(gold.c.phase_id == phase_id).distinct()
    return frozenset(map(TaskName, (await connection.execute(tasks)).scalars()))


async def gold_numbers(connection: AsyncConnection, phase_id: int) -> Mapping[TaskName, int]:
    """Return the newest gold's number for each task in a phase."""
    newest = sa.select(gold.c.task, sa.func.max(gold.c.version))
    query = newest.where(gold.c.phase_id == phase_id).group_by(gold.c.task)
    return {TaskName(task): version for task, version in await connection.execute(query)}


# -- deletion of phases and challenges that nobody has answered in ---------------------------------

ANSWERS = {
    "answers of servers": sa.select(tables.answers.c.phase_id),
    "uploaded runs": sa.select(offline_runs.c.phase_id).join(teams).where(teams.c.host.is_(False)),
    "uploads": sa.select(uploads.c.phase_id),
    "sets of curators": sa.select(tables.curation_sets.c.phase_id),
}
"""The rows of which a phase that may be deleted has none, by what they hold.

The organisers' own uploads, its baselines, go with it.
"""


async def answers(connection: AsyncConnection, phase_id: int) -> str:
    """Return what a phase has that must not be deleted, in words; empty if nothing."""
    reasons = []
    for word, query in ANSWERS.items():
        [of_phase] = query.selected_columns
        found = await connection.execute(query.where(of_phase == phase_id).limit(1))
        if found.first() is not None:
            reasons.append(word)
    return " and ".join(reasons)


async def delete_phase(connection: AsyncConnection, phase_id: int) -> None:
    """Delete a phase with all that refers to it: gold, tests, lanes, failed attempts, boards."""
    for table in _referring("phase_id"):
        await connection.execute(sa.delete(table).where(table.c.phase_id == phase_id))
    await connection.execute(sa.delete(phases).where(phases.c.id == phase_id))


async def delete_challenge(connection: AsyncConnection, challenge_id: int) -> None:
    """Delete a challenge that has no phase, with all that refers to it."""
    signed_up = sa.select(sign_ups.c.id).where(sign_ups.c.challenge_id == challenge_id)
    of_them = one_time_links.c.sign_up_id.in_(signed_up)
    await connection.execute(sa.delete(one_time_links).where(of_them))
    for table in _referring("challenge_id"):
        await connection.execute(sa.delete(table).where(table.c.challenge_id == challenge_id))
    await connection.execute(sa.delete(challenges).where(challenges.c.id == challenge_id))


def _referring(column: str) -> Iterator[sa.Table]:
    """Yield the tables with a column, those first that others do not refer to."""
    for table in reversed(metadata.sorted_tables):
        if column in table.c and table is not phases:
            yield table


async def add_announcement(
    connection: AsyncConnection, challenge_id: int, at: float, title: str, text: str
) -> int:
    """Store an announcement; return its id."""
    row = {"challenge_id": challenge_id, "at": at, "title": title, "text": text}
    return await insert(connection, announcements, row)


async def add_pictures(
    connection: AsyncConnection, challenge_id: int, pictures: Mapping[str, bytes]
) -> None:
    """Store a challenge's pictures by name."""
    for name, content in pictures.items():
        row = {"challenge_id": challenge_id, "name": name, "content": content}
        await connection.execute(sa.insert(challenge_pictures).values(**row))


async def picture_names(connection: AsyncConnection, challenge_id: int) -> Sequence[str]:
    """Return the names of a challenge's pictures, in their order."""
    query = sa.select(challenge_pictures.c.name).where(
        challenge_pictures.c.challenge_id == challenge_id
    )
    return sorted((await connection.execute(query)).scalars())


async def picture(connection: AsyncConnection, challenge_id: int, name: str) -> bytes | None:
    """Return a picture of a challenge; None if there is none of this name."""
    query = sa.select(challenge_pictures.c.content).where(
        challenge_pictures.c.challenge_id == challenge_id, challenge_pictures.c.name == name
    )
    content: bytes | None = await connection.scalar(query)
    return content


async def newest_announcements(
    connection: AsyncConnection, challenge_id: int, limit: int
) -> Sequence[Announcement]:
    """Return a challenge's announcements, the newest first."""
    query = (
        sa.select(announcements)
        .where(announcements.c.challenge_id == challenge_id)
        .order_by(announcements.c.id.desc())
        .limit(limit)
    )
    return [read_row(row, Announcement) for row in await connection.execute(query)]
