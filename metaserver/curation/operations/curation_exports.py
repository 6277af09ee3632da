"""Finished curations as files of every format; look-ups of orthologs and of terms of PSI-MI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation import psi_mi
from metaserver.curation.basis import CurationBasis
from metaserver.curation.completeness import MissingField, missing
from metaserver.curation.decisions import fold
from metaserver.curation.exports.finished import (
    CuratedArticle,
    CurationOrigin,
    FinishedCuration,
)
from metaserver.curation.exports.finishing import finish
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.operations.curation_view import CurationWork, published
from metaserver.curation.operations.curations import OneCuration, read_work, seen_curation
from metaserver.curation.operations.withheld import require_shown
from metaserver.curation.parts import CurationParts
from metaserver.curation.psi_mi import ROOTS
from metaserver.curation.store import curations
from metaserver.curation.store.curations import CurationEntry
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import Limit, require_one_of
from metaserver.operations.releases import FoundEntry
from metaserver.operations.table import operation

HUB = "metaserver"
"""The name of a hub in exports that has no address (`web.url`)."""
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]+")

FormatField = Annotated[str, Meta(max_length=32, description=f"One of {', '.join(FORMATS)}")]


class CurationExport(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A submitted curation, and the format to write it in."""

    format: FormatField = "json"


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its name and media type."""

    source: str
    media_type: str
    content: bytes


class OneOrtholog(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A protein whose orthologs are looked for in a curation's release."""

    accession: Annotated[str, Meta(min_length=1, max_length=32, description="The protein")]


class TermQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Terms of a branch of PSI-MI: those with words in a name, or those that a sentence names."""

    branch: Annotated[str, Meta(max_length=32, description=f"One of {', '.join(ROOTS)}")] = "method"
    words: Annotated[str, Meta(max_length=200, description="A name, a synonym or a part")] = ""
    sentence: Annotated[str, Meta(max_length=5_000, description="A sentence of an article")] = ""
    limit: Limit = 20


class FoundTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A term of PSI-MI with its synonyms."""

    id: str
    name: str
    synonyms: tuple[str, ...]


@operation("Curation.export", "GET /curations/{curation}/export", Role.CURATOR)
async def export(hub: HubContext, caller: Caller, request: CurationExport) -> ExportedFile:
    """Return a submitted curation as a file (docs/curators.md)."""
    require_one_of(request.format, FORMATS, "format")
    entry = await seen_curation(hub, caller, request.curation)
    if entry.state is not CurationStanding.SUBMITTED:
        raise RefusedError(Refusal.STATE, "it is open: submit it first")
    await require_shown(hub, caller, entry)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
    work = await read_work(hub, caller, content, events)
    form = FORMATS[request.format]

    def made() -> bytes:
        return form.write([finished(hub, entry, work)])

    written = await caller.aside(made)
    name = _OUTSIDE.sub("_", entry.article).strip("_.")[:64] or f"curation-{entry.id}"
    return ExportedFile(source=f"{name}{form.suffix}", media_type=form.media_type, content=written)


@operation("Curation.check", "GET /curations/{curation}/check", Role.CURATOR)
async def check(hub: HubContext, caller: Caller, request: OneCuration) -> Sequence[MissingField]:
    """Return what MIMIx and IMEx require of the accepted pairs and is not said yet."""
    entry = await seen_curation(hub, caller, request.curation)
    await require_shown(hub, caller, entry)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
    work = await read_work(hub, caller, content, events)
    return await caller.aside(lambda: missing(finished(hub, entry, work)))


@operation("Curation.orthologs", "GET /curations/{curation}/orthologs/{accession}", Role.CURATOR)
async def orthologs(hub: HubContext, caller: Caller, request: OneOrtholog) -> Sequence[FoundEntry]:
    """Return the entries of other species that share a protein's name and UniRef50 cluster."""
    entry = await seen_curation(hub, caller, request.curation)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)

    def found() -> Sequence[FoundEntry]:
        release = CurationWork.read(content, ()).basis.release
        return [
            FoundEntry.of(entry)
            for entry in hub.part(CurationParts).proteins(release).orthologs(request.accession)
        ]

    return await caller.aside(found)


@operation("Curation.terms", "GET /curation-terms", Role.CURATOR)
async def terms(hub: HubContext, caller: Caller, request: TermQuery) -> Sequence[FoundTerm]:
    """Return terms of PSI-MI: the same name first, then beginnings, then words, then parts."""
    require_one_of(request.branch, ROOTS, "branch")
    if bool(request.words.strip()) == bool(request.sentence.strip()):
        message = "expected either words or a sentence"
        raise RefusedError(Refusal.INVALID, message, field="words")
    root, known = ROOTS[request.branch], psi_mi.terms()
    if request.words.strip():
        result = await caller.aside(known.search, root, request.words, limit=request.limit)
    else:
        result = await caller.aside(known.proposed, root, request.sentence, limit=request.limit)
    return [FoundTerm(id=one.term.id, name=one.term.name, synonyms=one.synonyms) for one in result]


def finished(hub: HubContext, entry: CurationEntry, work: CurationWork) -> FinishedCuration:
    """Return a submitted curation as exports are written from it."""
    publication = published(entry.article, work.basis, fold(work.log))
    return finish(
        entry.id,
        CuratedArticle(
            id=entry.article or next(iter(publication.ids), entry.id),
            text=work.text,
            title=entry.title,
            publication=publication,
        ),
        entry.curator,
        work.log,
        submitted_at=entry.submitted_at or 0.0,
        opened_at=entry.opened_at,
        proposed=work.basis.proposed(),
        proteins=work.proteins(),
        spans=work.spans(),
        origin=_origin(hub, entry, work.basis),
    )


def _origin(hub: HubContext, entry: CurationEntry, basis: CurationBasis) -> CurationOrigin:
    settings = hub.settings.curation
    methods = dict.fromkeys(
        f"{candidate.task} {candidate.method}" for candidate in basis.candidates
    )
    models = dict.fromkeys(candidate.model for candidate in basis.candidates if candidate.model)
    return CurationOrigin(
        hub=urlsplit(hub.settings.web.url).hostname or HUB,
        request=entry.request or "",
        request_version=basis.version,
        method=", ".join(methods),
        model=", ".join(models),
        release=basis.release,
        source=settings.source,
        source_id=settings.source_id,
    )
