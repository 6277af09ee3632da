"""Queries for corpora's articles."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.compression import pack
from metaserver.base.lanes import Corpus
from metaserver.base.records import Article, ArticleId
from metaserver.exchange.wire.xmlrpc import escape_text
from metaserver.store.database import insert, read_row
from metaserver.store.tables import articles, corpora

INSERT_BATCH = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedArticles:
    """Articles as rows ready to be stored.

    `checksum` is that of ids, texts and original files, in order.
    """

    checksum: str
    rows: Sequence[dict[str, Any]]


class ListedArticle(msgspec.Struct, frozen=True, kw_only=True):
    """An article in the list of its corpus; `wire_bytes` is its text's size in a request."""

    article: str
    title: str
    source: str
    wire_bytes: int


def pack_articles(entries: Iterable[Article]) -> PackedArticles:
    """Compress articles for the store. Slow for many: call it in a thread then."""
    digest = hashlib.sha256()
    rows: list[dict[str, Any]] = []
    for position, article in enumerate(entries):
        text = article.text.encode("utf-8", "surrogatepass")
        digest.update(b"%d %s\0%d " % (position, article.id.encode(), len(text)))
        digest.update(text)
        if article.original:
            digest.update(b"original %d " % len(article.original))
            digest.update(article.original)
        rows.append(
            {
                "position": position,
                "article_id": article.id,
                "title": article.title,
                "source": article.source,
                "text": pack(text),
                "original": pack(article.original) if article.original else None,
                "wire_bytes": len(escape_text(article.text)),
            }
        )
    return PackedArticles(checksum=digest.hexdigest(), rows=rows)


async def store_articles(connection: AsyncConnection, packed: PackedArticles) -> Corpus:
    """Store articles, in order, and return their corpus; equal articles are the same corpus."""
    same = sa.select(corpora.c.id).where(corpora.c.checksum == packed.checksum)
    corpus_id = (await connection.execute(same)).scalar_one_or_none()
    if corpus_id is None:
        row = {"checksum": packed.checksum, "articles": len(packed.rows), "created_at": time.time()}
        corpus_id = await insert(connection, corpora, row)
        for start in range(0, len(packed.rows), INSERT_BATCH):
            batch = packed.rows[start : start + INSERT_BATCH]
            await connection.execute(
                sa.insert(articles), [row | {"corpus_id": corpus_id} for row in batch]
            )
    return Corpus(
        id=corpus_id,
        ids=tuple(ArticleId(row["article_id"]) for row in packed.rows),
        wire_bytes=tuple(row["wire_bytes"] for row in packed.rows),
    )


async def list_page(
    connection: AsyncConnection, corpus_id: int, start: int, limit: int
) -> Sequence[ListedArticle]:
    """Return a corpus' articles from position `start` on, without texts."""
    query: sa.Select[Any] = (
        sa.select(articles.c.article_id, articles.c.title, articles.c.source, articles.c.wire_bytes)
        .where(articles.c.corpus_id == corpus_id, articles.c.position >= start)
        .order_by(articles.c.position)
        .limit(limit)
    )
    return [
        read_row(row, ListedArticle, article=row.article_id)
        for row in await connection.execute(query)
    ]


async def titles(
    connection: AsyncConnection, corpus_id: int, positions: Sequence[int]
) -> Mapping[int, str]:
    """Return articles' titles by position."""
    query = sa.select(articles.c.position, articles.c.title).where(
        articles.c.corpus_id == corpus_id, articles.c.position.in_(positions)
    )
    return {row.position: row.title for row in await connection.execute(query)}
