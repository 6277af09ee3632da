"""An article's annotations, and the servers and uploaded runs that produced them.

Organisers may read all answers in a phase, a team those of its own servers and runs, everybody
those in a closed phase with public scores.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.lanes import Asides
from metaserver.base.records import ArticleId, RegisteredServer, ServerName, TaskName
from metaserver.exchange.wire.contract import MENTIONS
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import operation
from metaserver.operations.visibility import may_read_answers
from metaserver.phases.runtime import RunningPhase
from metaserver.store import runs
from metaserver.store.runs import OfflineRun
from metaserver.tasks.plugin import answered_tasks

Article = Annotated[str, Meta(description="The article's id: PubMed id, PMCID, DOI, ...")]


class OneArticle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article by id."""

    article: Article


class ArticleOfServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article by id, and a server or an uploaded run by name."""

    article: Article
    server: Annotated[
        str, Meta(max_length=200, description="The server's name, or that of an uploaded run")
    ]


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted part of a server's answer for an article, in the structure it was sent in.

    It has the evidence and the taxon of the hits, and mentions that are not scored, as far as they
    are kept. The answer of an uploaded run has the same structure; `server` is the run's name.
    """

    article: str
    server: str
    phase: str
    answer: Mapping[str, Any]


@operation("Annotations.getAnnotations", "GET /annotations/{article}", None)
async def get_annotations(
    hub: HubContext, caller: Caller, request: OneArticle
) -> Sequence[Annotation]:
    """Return an article's annotations, of servers and uploaded runs, that the caller may read."""
    return [annotation async for annotation in _annotations(hub, caller, request.article)]


@operation("Annotations.getAnnotation", "GET /annotations/{article}/{server}", None)
async def get_annotation(hub: HubContext, caller: Caller, request: ArticleOfServer) -> Annotation:
    """Return what a server, or the uploaded run of that name, answered for an article."""
    async for annotation in _annotations(hub, caller, request.article, request.server):
        return annotation
    message = f"there is no annotation of article {request.article!r} by {request.server!r} to read"
    raise RefusedError(Refusal.UNKNOWN, message, field="article")


@operation("Annotations.getAnnotationServerList", "GET /annotations/{article}/servers", None)
async def get_server_list(hub: HubContext, caller: Caller, request: OneArticle) -> Sequence[str]:
    """Return the names of the servers and uploaded runs that have annotated an article."""
    return [annotation.server for annotation in await get_annotations(hub, caller, request)]


def readable(hub: HubContext, caller: Caller) -> Iterator[tuple[RunningPhase, RegisteredServer]]:
    """Yield the servers whose answers the caller may read, newest phase first."""
    for running in reversed(hub.seen_phases(caller)):
        visibility = running.phase.plan.visibility
        for registered in running.servers.values():
            if may_read_answers(running.state, visibility, registered.team, caller.viewer):
                yield running, registered


def _readable_runs(hub: HubContext, caller: Caller) -> Iterator[tuple[RunningPhase, OfflineRun]]:
    """Yield the uploaded runs whose answers the caller may read, newest phase first."""
    for running in reversed(hub.seen_phases(caller)):
        visibility = running.phase.plan.visibility
        for run in list(running.offline.values()):
            may_read = may_read_answers(running.state, visibility, run.team, caller.viewer)
            if may_read and run.task in answered_tasks():
                yield running, run


async def _annotations(
    hub: HubContext, caller: Caller, article: str, server: str | None = None
) -> AsyncIterator[Annotation]:
    """Yield the annotations for an article that the caller may read, or those of one name."""
    for running, registered in readable(hub, caller):
        if server in (None, registered.server.name):
            annotation = await _annotation(hub, caller, running, registered, article)
            if annotation is not None:
                yield annotation
    for running, run in _readable_runs(hub, caller):
        if server in (None, run.name) and article in running.positions:
            annotation = await _annotation_of_run(hub, caller, running, run, ArticleId(article))
            if annotation is not None:
                yield annotation


async def _annotation(
    hub: HubContext,
    caller: Caller,
    running: RunningPhase,
    registered: RegisteredServer,
    article: str,
) -> Annotation | None:
    position = running.positions.get(ArticleId(article))
    if position is None:
        return None
    stored = await hub.store.answer(running.key(registered), position)
    if stored is None:
        return None
    asides = Asides()
    if stored.asides is not None:
        asides = await caller.aside(Asides.unpacked, stored.asides)
    return _shown(article, ServerName(registered.server.name), running, stored.payloads, asides)


async def _annotation_of_run(
    hub: HubContext, caller: Caller, running: RunningPhase, run: OfflineRun, article: ArticleId
) -> Annotation | None:
    async with hub.store.reading() as connection:
        packed = await runs.packed_payloads(connection, run)
        packed_asides = await runs.packed_asides(connection, run)
    payload = await caller.aside(runs.unpack_one, packed, article)
    if payload is None:
        return None
    asides = Asides()
    if packed_asides is not None:
        hits = await caller.aside(runs.unpack_one, packed_asides, article)
        asides = Asides(hits={run.task: hits or ()})
    return _shown(article, run.name, running, {run.task: payload}, asides)


def _shown(
    article: str,
    server: ServerName,
    running: RunningPhase,
    payloads: Mapping[TaskName, Any],
    asides: Asides,
) -> Annotation:
    return Annotation(
        article=article, server=server, phase=running.name, answer=answer_of(payloads, asides)
    )


def answer_of(payloads: Mapping[TaskName, Any], asides: Asides) -> dict[str, Any]:
    """Return the accepted part of an answer in the structure it was sent in."""
    answer: dict[str, Any] = {}
    for name, plugin in answered_tasks().items():
        if name in payloads:
            member = answer[plugin.key] = plugin.member(payloads[name])
            for hit, (evidence, taxon) in zip(member, asides.hits.get(name, ()), strict=False):
                hit |= _filled(evidence=evidence, taxid=taxon)
    if asides.mentions:
        answer[MENTIONS] = [_mention(*each) for each in asides.mentions]
    return answer


def _mention(offset: int, words: str, kind: str, accession: str) -> Mapping[str, Any]:
    return {"offset": offset, "mention": words} | _filled(type=kind, dbid=accession)


def _filled(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
