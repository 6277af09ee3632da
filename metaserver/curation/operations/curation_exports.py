"""Finished curations as files of every format; look-ups of orthologs and of terms of PSI-MI."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
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
from metaserver.curation.operations.curations import OneCuration, read_curation, read_work
from metaserver.curation.operations.requests import token_of
from metaserver.curation.operations.withheld import require_shown
from metaserver.curation.parts import CurationParts
from metaserver.curation.psi_mi import ROOTS
from metaserver.curation.store import curations
from metaserver.curation.store.curations import CurationEntry
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import Limit, require_one_of
from metaserver.operations.table import operation
from metaserver.uniprot import NamedEntry

HUB = "metaserver"
"""The name of a hub in exports that has no address (`web.url`)."""
MOST_ARTICLES, MOST_CHARACTERS = 1_000, 50_000_000
"""The most curations of a token in a file; characters of texts, and bytes of events, in any."""
_DAY = 86_400.0  # seconds
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]+")

FormatField = Annotated[str, Meta(max_length=32, description=f"One of {', '.join(FORMATS)}")]


class CurationExport(OneCuration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A submitted curation, and the format to write it in."""

    format: FormatField = "json"


class FinishedExport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All submitted curations, or those of a day, and the format to write them in."""

    format: FormatField = "json"
    day: Annotated[
        str, Meta(max_length=10, description="The day (UTC) of submission, 2026-11-27; empty: all")
    ] = ""


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
    """Return a submitted curation as a file (docs/exports.md)."""
    require_one_of(request.format, FORMATS, "format")
    entry = await read_curation(hub, caller, request.curation)
    if entry.state is not CurationStanding.SUBMITTED:
        raise RefusedError(Refusal.STATE, "it is open: submit it first")
    name = _OUTSIDE.sub("_", entry.article).strip("_.")[:64] or f"curation-{entry.id}"
    return await file_of(hub, caller, [entry], request.format, name)


@operation("Curation.exportAll", "GET /curation-exports", Role.CURATOR)
async def export_all(hub: HubContext, caller: Caller, request: FinishedExport) -> ExportedFile:
    """Return the token's submitted curations as one file; organisers get those of all tokens."""
    require_one_of(request.format, FORMATS, "format")
    since, until = _span(request.day)
    token_id = None if caller.organiser else token_of(caller)
    async with hub.store.reading() as connection:
        entries = await curations.submitted(
            connection, token_id, since, until, limit=MOST_ARTICLES + 1
        )
    if len(entries) > MOST_ARTICLES:
        message = f"more than {MOST_ARTICLES:,} curations: export those of a day"
        raise RefusedError(Refusal.TOO_LARGE, message, field="day")
    return await file_of(hub, caller, entries, request.format, request.day or "curations")


def _span(day: str) -> tuple[float, float]:
    """Return the moments between which a day is, in UTC; all of time for no day."""
    if not day:
        return 0.0, math.inf
    try:
        begin = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp()
    except ValueError as error:
        raise RefusedError(Refusal.INVALID, "expected such as 2026-11-27", field="day") from error
    return begin, begin + _DAY


async def file_of(
    hub: HubContext, caller: Caller, entries: Sequence[CurationEntry], name: str, stem: str
) -> ExportedFile:
    """Return submitted curations as a file of a format; `RefusedError` if they are too many."""
    return await written(caller, await finished_of(hub, caller, entries), name, stem)


async def finished_of(
    hub: HubContext, caller: Caller, entries: Sequence[CurationEntry]
) -> Sequence[FinishedCuration]:
    """Return submitted curations, as exports have them; `RefusedError` if they are too many."""
    if not entries:
        raise RefusedError(Refusal.STATE, "no curation is submitted yet")
    if sum(entry.length + entry.bytes for entry in entries) > MOST_CHARACTERS:
        message = f"more than {MOST_CHARACTERS:,} characters and events: export fewer curations"
        raise RefusedError(Refusal.TOO_LARGE, message)
    return [await _finished(hub, caller, entry) for entry in entries]


async def written(
    caller: Caller, made: Sequence[FinishedCuration], name: str, stem: str
) -> ExportedFile:
    """Return curations as a file of a format."""
    form = FORMATS[name]
    content = await caller.aside(form.write, made)
    return ExportedFile(source=f"{stem}{form.suffix}", media_type=form.media_type, content=content)


async def _finished(hub: HubContext, caller: Caller, entry: CurationEntry) -> FinishedCuration:
    """Return a curation as exports have it; `RefusedError` while its candidates are withheld."""
    await require_shown(hub, caller, entry)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)
        events = await curations.log(connection, entry.id)
    work = await read_work(hub, caller, content, events)
    return await caller.aside(finished, hub, entry, work)


@operation("Curation.check", "GET /curations/{curation}/check", Role.CURATOR)
async def check(hub: HubContext, caller: Caller, request: OneCuration) -> Sequence[MissingField]:
    """Return what MIMIx and IMEx require for the accepted pairs and is still missing."""
    entry = await read_curation(hub, caller, request.curation)
    return await caller.aside(missing, await _finished(hub, caller, entry))


@operation("Curation.orthologs", "GET /curations/{curation}/orthologs/{accession}", Role.CURATOR)
async def orthologs(hub: HubContext, caller: Caller, request: OneOrtholog) -> Sequence[NamedEntry]:
    """Return the entries of other species that share a protein's name and UniRef50 cluster."""
    entry = await read_curation(hub, caller, request.curation)
    async with hub.store.reading() as connection:
        content = await curations.content(connection, entry.id)

    def found() -> Sequence[NamedEntry]:
        release = CurationWork.read(content, ()).basis.release
        return hub.part(CurationParts).proteins(release).orthologs(request.accession)

    return await caller.aside(found)


@operation("Curation.terms", "GET /curation-terms", Role.CURATOR)
async def terms(hub: HubContext, caller: Caller, request: TermQuery) -> Sequence[FoundTerm]:
    """Search terms of PSI-MI: exact names first, then beginnings, whole words, and parts."""
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
