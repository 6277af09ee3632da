"""An article's annotations, and the servers that produced them.

Organisers may read all answers in a phase, a team its own servers' answers, everybody those in a
closed phase with public scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.lanes import Asides
from metaserver.base.records import ArticleId, RegisteredServer, ServerName
from metaserver.exchange.wire.contract import MENTIONS
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OneServer, ServerField
from metaserver.operations.table import operation
from metaserver.operations.visibility import may_read_answers
from metaserver.phases.runtime import RunningPhase
from metaserver.tasks.plugin import answered_tasks

Article = Annotated[str, Meta(description="The article's id: PubMed id, PMCID, DOI, ...")]


class OneArticle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article by id."""

    article: Article


class ArticleOfServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article by id, and a server by name."""

    article: Article
    server: ServerField


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted part of a server's answer for an article, in the structure it was sent in.

    It has the evidence and the taxon of the hits, and mentions that are not scored, as far as they
    are kept.
    """

    article: str
    server: str
    phase: str
    answer: Mapping[str, Any]


class PublicServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server's public fields."""

    server: str
    team: str
    tasks: tuple[str, ...]


@operation("Annotations.getAnnotations", "GET /annotations/{article}", None)
async def get_annotations(
    hub: HubContext, caller: Caller, request: OneArticle
) -> Sequence[Annotation]:
    """Return the servers' annotations for an article that the caller may read."""
    return [
        annotation
        for running, registered in readable(hub, caller)
        if (annotation := await _annotation(hub, caller, running, registered, request.article))
        is not None
    ]


@operation("Annotations.getAnnotation", "GET /annotations/{article}/{server}", None)
async def get_annotation(hub: HubContext, caller: Caller, request: ArticleOfServer) -> Annotation:
    """Return what a server answered for an article."""
    for running, registered in readable(hub, caller):
        if registered.server.name == request.server:
            annotation = await _annotation(hub, caller, running, registered, request.article)
            if annotation is not None:
                return annotation
    message = f"there is no annotation of article {request.article!r} by {request.server!r} to read"
    raise RefusedError(Refusal.UNKNOWN, message, field="article")


@operation("Annotations.getAnnotationServerList", "GET /annotations/{article}/servers", None)
async def get_server_list(hub: HubContext, caller: Caller, request: OneArticle) -> Sequence[str]:
    """Return the names of the servers that have annotated an article."""
    return [annotation.server for annotation in await get_annotations(hub, caller, request)]


@operation("Resources.getServer", "GET /resources/servers/{server}", None)
async def get_server(hub: HubContext, caller: Caller, request: OneServer) -> PublicServer:
    """Return a server's public fields, if the caller may read its annotations."""
    for _, registered in readable(hub, caller):
        if registered.server.name == request.server:
            return PublicServer(
                server=registered.server.name,
                team=registered.team or "",
                tasks=registered.server.tasks,
            )
    raise RefusedError(Refusal.UNKNOWN, f"there is no server {request.server!r}", field="server")


def readable(hub: HubContext, caller: Caller) -> Iterator[tuple[RunningPhase, RegisteredServer]]:
    """Yield the servers whose answers the caller may read, newest phase first."""
    for running in reversed(hub.seen_phases(caller)):
        visibility = running.phase.plan.visibility
        for registered in running.servers.values():
            if may_read_answers(running.state, visibility, registered.team, caller.viewer):
                yield running, registered


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
    answer: dict[str, Any] = {}
    for name, plugin in answered_tasks().items():
        if name in stored.payloads:
            member = answer[plugin.key] = plugin.member(stored.payloads[name])
            for hit, (evidence, taxon) in zip(member, asides.hits.get(name, ()), strict=False):
                hit |= _filled(evidence=evidence, taxid=taxon)
    if asides.mentions:
        answer[MENTIONS] = [_mention(*each) for each in asides.mentions]
    return Annotation(
        article=article,
        server=ServerName(registered.server.name),
        phase=running.name,
        answer=answer,
    )


def _mention(offset: int, words: str, kind: str, accession: str) -> Mapping[str, Any]:
    return {"offset": offset, "mention": words} | _filled(type=kind, dbid=accession)


def _filled(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
