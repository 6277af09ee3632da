"""Answers of servers about a set's articles: shown to its curators, or reported on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from metaserver.base.compression import pack, pack_json
from metaserver.base.curations import RequestOptions
from metaserver.base.records import ServerName, TaskName
from metaserver.curation.basis import CurationBasis, find_basis
from metaserver.curation.parts import CurationParts
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase


async def stored_basis(
    hub: HubContext, running: RunningPhase, position: int, text: str, tasks: Sequence[str]
) -> CurationBasis:
    """Return the candidates of the answers that a phase has for an article.

    The caller sees to it that the phase is closed.
    """
    answers = [
        RequestAnswer(
            server_id=registered.id,
            server=name,
            team=registered.team or "",
            started_at=0.0,
            ended_at=0.0,
            payloads=pack_json(
                {task: payload for task, payload in stored.payloads.items() if task in tasks}
            ),
            asides=stored.asides,
        )
        for name, registered in running.servers.items()
        if (stored := await hub.store.answer(running.key(registered), position)) is not None
    ]
    article = running.corpus.ids[position]
    request = StoredRequest(
        id="",
        token_id=0,
        caller="",
        at=0.0,
        article=article,
        title="",
        length=len(text),
        text=await asyncio.to_thread(pack, text.encode("utf-8", "surrogatepass")),
        options=RequestOptions(),
        release=running.vocabulary.name,
        expires_at=0.0,
    )
    names = hub.part(CurationParts).proteins(running.vocabulary.name)
    teams = {name: registered.team or "" for name, registered in running.servers.items()}
    return await asyncio.to_thread(
        find_basis, request, answers, teams, 0, hub.part(CurationParts).models, names
    )


async def proposals(
    hub: HubContext, running: RunningPhase, position: int, task: str
) -> Mapping[tuple[str, ...], Sequence[ServerName]]:
    """Return the servers of a phase that proposed each item of a task (INT, IPT)."""
    by_item: dict[tuple[str, ...], list[ServerName]] = {}
    for name, registered in running.servers.items():
        stored = await hub.store.answer(running.key(registered), position)
        payloads = {} if stored is None else stored.payloads
        for *item, _rank, _confidence in payloads.get(TaskName(task), ()):
            by_item.setdefault(tuple(sorted(item)), []).append(name)
    return by_item
