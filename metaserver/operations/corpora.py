"""Corpora: the phases' articles, imported from files; each import is a version."""

from __future__ import annotations

import asyncio
import ctypes
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import InputError, Refusal, RefusedError, listed
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.corpus.reader import read_upload
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, NAME, Limit, NewName
from metaserver.operations.table import Nothing, operation
from metaserver.store import articles, phases
from metaserver.store.articles import ListedArticle, PackedArticles, pack_articles

Content = Annotated[bytes, Meta(description="The file: articles, or a zip of such files")]
OfVersion = Annotated[
    Annotated[int, Meta(ge=1, le=GREATEST)] | None,
    Meta(description="Its version; none: the newest"),
]
Source = Annotated[str, Meta(min_length=1, max_length=200, description="The file's name")]


class ImportCorpus(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with articles, or a zip of such files (docs/corpus.md).

    `partial`: faulty files in a zip are left out; otherwise a fault stops the import.
    """

    corpus: NewName
    content: Content
    source: Source
    partial: Annotated[bool, Meta(description="Leave out files with faults")] = False


class ArticlesOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A range of a corpus' articles: at most `limit`, from position `start` on."""

    corpus: Annotated[str, Meta(pattern=NAME, description="The corpus's name")]
    version: OfVersion = None
    start: Annotated[
        int, Meta(ge=0, le=GREATEST, description="The first one's position, from 0")
    ] = 0
    limit: Limit = 200


class CorpusDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A corpus version."""

    corpus: str
    version: int
    articles: int
    source: str
    created_at: float


class CorpusImported(msgspec.Struct, frozen=True, kw_only=True):
    """An import's result: `new` is false if the articles equal the newest version's.

    `problems` name the files that were left out.
    """

    corpus: str
    version: int
    articles: int
    new: bool
    problems: tuple[str, ...]


@operation("Corpora.import", "PUT /corpora/{corpus}", Role.ORGANISER)
async def import_(hub: HubContext, caller: Caller, request: ImportCorpus) -> CorpusImported:
    """Import articles as a corpus's next version; the same articles keep their version."""
    problems: list[InputError] = []
    packed = await asyncio.to_thread(_read, request, problems)
    if problems and not request.partial:
        raise RefusedError(Refusal.INVALID, listed(problems), field="content")
    if not packed.rows:
        raise RefusedError(Refusal.INVALID, "no article in it", field="content")
    async with hub.store.writing() as connection:
        before = await phases.corpus_version(connection, request.corpus)
        corpus = await articles.store_articles(connection, packed)
        version = await phases.add_corpus_version(
            connection, request.corpus, corpus.id, request.source
        )
        is_new = before is None or before.version != version
        if is_new:
            await audit_log(
                connection,
                caller,
                "corpora.import",
                request.corpus,
                version=version,
                articles=len(corpus),
                source=request.source,
            )
    del packed
    await asyncio.to_thread(give_back)
    return CorpusImported(
        corpus=request.corpus,
        version=version,
        articles=len(corpus),
        new=is_new,
        problems=tuple(map(str, problems)),
    )


def give_back() -> None:
    """Give freed memory back to the system; glibc keeps what lies between blocks in use.

    It takes some hundredths of a second. Other C libraries have no such call, and need none.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


@operation("Corpora.list", "GET /corpora", Role.ORGANISER)
async def list_(hub: HubContext, _caller: Caller, _request: Nothing) -> Sequence[CorpusDetail]:
    """Return all corpora's versions, by name, newest first."""
    async with hub.store.reading() as connection:
        return [
            convert(version, CorpusDetail, corpus=version.name)
            for version in await phases.list_corpora(connection)
        ]


@operation("Corpora.articles", "GET /corpora/{corpus}/articles", Role.ORGANISER)
async def list_articles(
    hub: HubContext, _caller: Caller, request: ArticlesOf
) -> Sequence[ListedArticle]:
    """Return a corpus's articles, in the order in which they are sent, without their texts."""
    async with hub.store.reading() as connection:
        version = await phases.corpus_version(connection, request.corpus, request.version)
        if version is None:
            message = f"there is no corpus {request.corpus!r}, or none of that version"
            raise RefusedError(Refusal.UNKNOWN, message, field="corpus")
        return await articles.list_page(connection, version.corpus_id, request.start, request.limit)


def _read(request: ImportCorpus, problems: list[InputError]) -> PackedArticles:
    """Read and compress the articles; takes seconds for a large corpus: call it in a thread."""
    with tempfile.TemporaryDirectory(prefix="metaserver-corpus-") as folder:
        try:
            return pack_articles(
                read_upload(request.content, request.source, Path(folder), problems)
            )
        except InputError as error:
            raise RefusedError(Refusal.INVALID, str(error), field="content") from error
