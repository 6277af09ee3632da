"""Challenges in `config.yaml`: created, and changed when the file has changed.

Each version of a phase's settings is applied once: what organisers then change by command stays,
until the file's settings for that phase change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.errors import InputError, RefusedError
from metaserver.base.plans import DATES
from metaserver.base.states import JobState, Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.config import ChallengeSettings, PhaseSettings
from metaserver.corpus import read_articles
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import perform
from metaserver.store import audit, phases
from metaserver.store.keys import digest_key, keyed_digest

CONFIG = Caller(role=Role.ORGANISER, name="config")
APPLIED = "config.applied"


async def apply(hub: HubContext) -> None:
    """Apply the challenges' settings; `InputError` names the setting that cannot be applied."""
    for place, challenge in enumerate(hub.settings.challenges):
        where = f"challenges[{place}]"
        request = {"title": challenge.title, "timezone": challenge.timezone}
        digest = await _digest(hub, request)
        if await _is_new(hub, challenge.challenge, digest):
            await _do(hub, where, "challenges.set", challenge=challenge.challenge, **request)
            await _remember(hub, challenge.challenge, digest)
        for index, phase in enumerate(challenge.phases):
            await _apply_phase(hub, challenge, phase, f"{where}.phases[{index}]")


async def _apply_phase(
    hub: HubContext, challenge: ChallengeSettings, phase: PhaseSettings, where: str
) -> None:
    gold = {task: _content(path, f"{where}.gold.{task}") for task, path in phase.gold.items()}
    digest = await _digest(hub, [msgspec.to_builtins(phase), gold])
    subject = f"{challenge.challenge}/{phase.phase}"
    if not await _is_new(hub, subject, digest):
        return
    corpus = await _corpus(hub, phase, where)
    plan = msgspec.to_builtins(phase) | {"corpus": corpus}
    plan |= {name: plan[name] or "" for name in DATES}
    del plan["phase"], plan["articles"], plan["gold"]
    async with hub.store.reading() as connection:
        stored = await phases.in_challenge(connection, challenge.challenge, phase.phase)
    if stored is None:
        plan = {field: value for field, value in plan.items() if value != ""}
        plan |= {"challenge": challenge.challenge, "phase": phase.phase}
        name = (await _do(hub, where, "phases.create", **plan)).phase
    else:
        name, known = stored.name, hub.phases.scheduler.phases[stored.name]
        fixed = ("corpus", "release", "tasks", "public_share", "answers") if known.has_runs else ()
        changed = {field: value for field, value in plan.items() if field not in fixed}
        await _do(hub, where, "phases.update", phase=name, **changed)
    for task, content in gold.items():
        source = Path(phase.gold[task]).name
        request = {"phase": name, "task": task, "source": source, "content": content}
        await _do_job(hub, f"{where}.gold", "gold.set", **request)
    await _remember(hub, subject, digest)


async def _corpus(hub: HubContext, phase: PhaseSettings, where: str) -> str:
    """Return the name of the phase's corpus, importing its own articles, if any."""
    if not phase.articles:
        return phase.corpus
    paths = [Path(path) for path in phase.articles]
    articles = await asyncio.to_thread(lambda: list(read_articles(paths)))
    if not articles:
        raise InputError(f"{where}.articles", "there is no article")
    corpus = await hub.store.add_corpus(articles)
    name = phase.corpus or phase.phase
    async with hub.store.writing() as connection:
        version = await phases.add_corpus_version(connection, name, corpus.id, phase.articles[0])
    return f"{name}@{version}"


async def _do(hub: HubContext, where: str, name: str, **values: Any) -> Any:
    try:
        return await perform(OPERATIONS[name], hub, CONFIG, values)
    except RefusedError as error:
        field = f".{error.field}" if error.field else ""
        raise InputError(f"{where}{field}", error.message) from error


async def _do_job(hub: HubContext, where: str, name: str, **values: Any) -> None:
    """Run an operation that is a background job, and wait for its end."""
    begun: JobDetail = await _do(hub, where, name, **values)
    job = hub.jobs.own.get(begun.job)
    assert job is not None
    await job.ended()
    if job.state is not JobState.DONE:
        raise InputError(where, job.error or f"the job was {job.state}")


async def _is_new(hub: HubContext, subject: str, digest: str) -> bool:
    async with hub.store.reading() as connection:
        known = await audit.entries(connection, subject=subject, action=APPLIED, limit=1)
    return not known or known[0].detail.get("digest") != digest


async def _remember(hub: HubContext, subject: str, digest: str) -> None:
    async with hub.store.writing() as connection:
        await audit_log(connection, CONFIG, APPLIED, subject, digest=digest)


async def _digest(hub: HubContext, settings: Mapping[str, Any] | list[Any]) -> str:
    """Return the settings' keyed digest, gold included, that the audit log stores."""
    async with hub.store.reading() as connection:
        key = await digest_key(connection)
    return keyed_digest(key, msgspec.json.encode(settings, order="deterministic"))[:16]


def _content(path: str, where: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(where, f"{path}: {error.strerror or error}") from error
