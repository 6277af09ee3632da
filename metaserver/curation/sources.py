"""Sources of articles that no phase has: addresses of the settings, filled in with an id."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from metaserver.base.errors import PeerError, Refusal, RefusedError
from metaserver.base.publications import KINDS, Publication
from metaserver.base.records import ArticleId
from metaserver.config import ArticleSource
from metaserver.curation.pdf import PdfReader
from metaserver.curation.texts import FILE_RATIO, FileArticle, read_article
from metaserver.exchange.http.client import HttpClient

log = logging.getLogger(__name__)

SECONDS = 20.0
"""Seconds that a source may take."""
SUFFIXES = {"xml": ".xml", "json": ".json", "text/plain": ".txt", "application/pdf": ".pdf"}
"""The suffix that a source's file is read by, by what its content type contains."""


async def fetch(
    client: HttpClient,
    pdfs: PdfReader,
    sources: Sequence[ArticleSource],
    article: str,
    text_bytes: int,
) -> FileArticle:
    """Return an article from the first source that has it; `RefusedError` if none has.

    The client's guard decides which addresses may be asked. A refusal has no reasons, which would
    show that the article is in no phase; in the log they have no word of an answer that failed, and
    no address, which may have a key in it.
    """
    tried = []
    for source in sources:
        url = filled(source.url, article)
        if url is None:
            continue
        try:
            content, kind = await client.fetch(url, FILE_RATIO * text_bytes, SECONDS)
        except PeerError as error:
            tried.append(f"{source.name}: {error.outcome}")
            continue
        suffix = next((suffix for name, suffix in SUFFIXES.items() if name in kind), None)
        if suffix is None:
            tried.append(f"{source.name}: no XML, JSON, PDF or plain text")
            continue
        file_article = await read_article(pdfs, content, f"article{suffix}", text_bytes)
        return replace(file_article, article=replace(file_article.article, source=source.name))
    if tried:
        log.info("no source has article %r: %s", article, "; ".join(tried))
    raise not_there(article)


def not_there(article: str) -> RefusedError:
    """Return the refusal of an article that curators may not have, whatever the reason."""
    message = f"there is no article {article!r} in a closed phase: send its text"
    return RefusedError(Refusal.UNKNOWN, message, field="article")


def filled(url: str, article: str) -> str | None:
    """Return a source's address with an identifier in it; None for another kind of identifier."""
    publication = Publication.named(article)
    for kind in KINDS:
        if f"{{{kind}}}" in url:
            value = getattr(publication, kind)
            return url.replace(f"{{{kind}}}", quote(value, safe="")) if value else None
    return None


def with_id(file_article: FileArticle, article: str) -> FileArticle:
    """Return an article that was fetched under the identifier that it was asked for by."""
    return replace(file_article, article=replace(file_article.article, id=ArticleId(article)))
