"""Texts of requests: read from a file, bounded, and compared with the articles of open phases."""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
import unicodedata
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from metaserver.corpus import read_articles
from metaserver.corpus.files import stem_and_suffix
from metaserver.curation.ports import Challenges
from metaserver.model.errors import InputError, Refusal, RefusedError
from metaserver.model.lanes import Corpus
from metaserver.model.records import Article, ArticleId
from metaserver.store.reader import ReadStore

FILE_RATIO = 8
"""The most bytes of a file, unpacked, for each byte that its text may have: tags and references."""
SHORT = 200
"""Characters below which a text without its first line says little of which article it is."""
BLOCK = 32
_PREFIX = re.compile(r"^(?:pmid:|doi:|https?://(?:dx\.)?doi\.org/)\s*", re.IGNORECASE)


def read_file(content: bytes, source: str, text_bytes: int) -> Article:
    """Return the only article of a file; slow: call it in a thread.

    Its id is empty where the file says none. Raises `RefusedError`.
    """
    name = Path(source.replace("\\", "/")).name or "article"
    if name == ".." or not name.isprintable() or len(name.encode()) > 200:
        raise RefusedError(Refusal.INVALID, "expected a file's name", field="source")
    with tempfile.TemporaryDirectory(prefix="metaserver-request-") as folder:
        path = Path(folder) / name
        try:
            path.write_bytes(content)
            found = list(islice(read_articles([path], limit=FILE_RATIO * text_bytes), 2))
        except InputError as error:
            message = f"{name}: {error.message}"
            raise RefusedError(Refusal.INVALID, message, field="content") from error
    if len(found) != 1:
        message = f"{name}: expected one article, found {'several' if found else 'none'}"
        raise RefusedError(Refusal.INVALID, message, field="content")
    [article] = found
    own = article.id if article.id != stem_and_suffix(Path(name))[0] else ArticleId("")
    return Article(id=own, text=article.text, title=article.title, source=name)


def plain_id(article: str) -> str:
    """Return an identifier without blanks and the prefixes of its kind."""
    return _PREFIX.sub("", article.strip())


def prints(text: str) -> frozenset[bytes]:
    """Return the digests by which a text is recognised: of all of it, and without its first line.

    Forms of the same character (NFKC), case and blanks do not matter.
    """
    head, _, body = text.strip().partition("\n")
    whole = _print(text)
    return frozenset({whole, _print(body)}) if len(body) >= SHORT and head else frozenset({whole})


def _print(text: str) -> bytes:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).digest()


class GuardedArticles:
    """The articles of phases that are not closed: no curator may ask about them.

    The digests of a corpus, which never changes, are computed once, in a thread.
    """

    def __init__(self, store: ReadStore, challenges: Challenges) -> None:
        self._store = store
        self._challenges = challenges
        self._known: dict[int, asyncio.Task[frozenset[bytes]]] = {}

    async def require_free(self, article: str, text: str) -> None:
        """Raise `RefusedError` where the article, by id or by text, is in such a phase."""
        found = await asyncio.to_thread(prints, text)
        for corpus in self._challenges.guarded():
            if article and article in corpus.ids:
                raise _refused()
            if found & await self._prints_of(corpus):
                raise _refused()

    async def _prints_of(self, corpus: Corpus) -> frozenset[bytes]:
        task = self._known.get(corpus.id)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[corpus.id] = asyncio.create_task(self._compute(corpus))
        return await asyncio.shield(task)

    async def _compute(self, corpus: Corpus) -> frozenset[bytes]:
        found: set[bytes] = set()
        for start in range(0, len(corpus), BLOCK):
            stop = min(start + BLOCK, len(corpus))
            texts = await self._store.article_texts(corpus.id, range(start, stop))
            found |= await asyncio.to_thread(_prints_of, texts)
        return frozenset(found)


def _prints_of(texts: Sequence[str]) -> set[bytes]:
    return {one for text in texts for one in prints(text)}


def _refused() -> RefusedError:
    return RefusedError(Refusal.STATE, "the article is in a phase that is not closed yet")
