"""Request texts: of a file or a source, bounded, and compared with the articles of open phases."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from metaserver.base.compression import unpack
from metaserver.base.errors import InputError, PeerError, Refusal, RefusedError
from metaserver.base.lanes import Corpus
from metaserver.base.publications import KINDS, UNKNOWN, Publication, plain_id
from metaserver.base.records import Article, ArticleId
from metaserver.config import ArticleSource
from metaserver.corpus.files import read_bytes, stem_and_suffix
from metaserver.corpus.fingerprints import BLOCK, fingerprints, folded_text
from metaserver.corpus.reader import article_of, read_drafts
from metaserver.curation.pdf import PdfReader, is_pdf
from metaserver.curation.rules import ChallengeRules
from metaserver.curation.uploaded import FileAnnotations, read_annotations
from metaserver.exchange.http.client import HttpClient
from metaserver.store.reader import ReadStore

FILE_RATIO = 8
"""The most bytes of a file, unpacked, for each byte that its text may have: tags and references."""
MOST_KNOWN = 2_000
"""The most stored texts whose digests are kept in memory."""
GUARDED = "the article is in a phase that is not closed yet"
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileArticle:
    """A file's article, with what the file says of its publication.

    `annotations` came with it, in BioC. `from_pdf`: its text was read out of a PDF.
    """

    article: Article
    annotations: FileAnnotations | None = None
    publication: Publication = UNKNOWN
    from_pdf: bool = False


async def read_article(
    pdfs: PdfReader,
    content: bytes,
    source: str,
    text_bytes: int,
    aside: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> FileArticle:
    """Return the only article of a file as corpora have, or of a PDF; raises `RefusedError`.

    Its id is empty if the file says none. `aside` does the work, from a thread.
    """
    name = _file_name(source)
    pdf = await aside(_pdf_of, content, name, FILE_RATIO * text_bytes)
    if pdf is None:
        file_article: FileArticle = await aside(read_file, content, name, text_bytes)
        return file_article
    text = await pdfs.read(pdf, text_bytes)
    article = Article(id=ArticleId(""), text=text, source=name)
    return FileArticle(article=article, from_pdf=True)


def _pdf_of(content: bytes, name: str, limit: int) -> bytes | None:
    """Return a PDF, unpacked if it is gzipped; None for any other file."""
    if content.startswith(_GZIP):
        with tempfile.TemporaryDirectory(prefix="metaserver-request-") as folder:
            path = Path(folder) / "packed"
            path.write_bytes(content)
            try:
                content = read_bytes(path, limit)
            except InputError as error:
                raise _refused(name, error) from error
    if not is_pdf(content) and stem_and_suffix(Path(name))[1] != ".pdf":
        return None
    if len(content) > limit:
        message = (
            f"{name}: the PDF has {len(content):,} bytes; expected at most {limit:,},"
            f" {FILE_RATIO} times curation.text_bytes"
        )
        raise RefusedError(Refusal.TOO_LARGE, message, field="content")
    return content


def _refused(name: str, error: InputError) -> RefusedError:
    return RefusedError(Refusal.INVALID, f"{name}: {error.message}", field="content")


def _file_name(source: str) -> str:
    """Return the name of a file without its folders; `RefusedError` for what is none."""
    name = Path(source.replace("\\", "/")).name or "article"
    if name == ".." or not name.isprintable() or len(name.encode()) > 200:
        raise RefusedError(
            Refusal.INVALID,
            "expected the name of a file, at most 200 bytes of printable characters",
            field="source",
        )
    return name


def read_file(content: bytes, source: str, text_bytes: int) -> FileArticle:
    """Return the only article of a file; slow: call it in a thread.

    Its id is empty if the file says none. Raises `RefusedError`.

    >>> read_file(b"MDM2 binds p53.", "10022833.txt", 1_000).article.text
    'MDM2 binds p53.'
    """
    name = _file_name(source)
    with tempfile.TemporaryDirectory(prefix="metaserver-request-") as folder:
        path = Path(folder) / name
        try:
            path.write_bytes(content)
            data = read_bytes(path, FILE_RATIO * text_bytes)
            drafts = list(islice(read_drafts(path, FILE_RATIO * text_bytes), 2))
            articles = [article_of(path, draft) for draft in drafts]
        except InputError as error:
            raise _refused(name, error) from error
    if len(drafts) != 1:
        message = f"{name}: expected one article, found {'several' if drafts else 'none'}"
        raise RefusedError(Refusal.INVALID, message, field="content")
    [draft], [article] = drafts, articles
    article_read = Article(
        id=ArticleId(draft.id), text=article.text, title=article.title, source=name
    )
    return FileArticle(
        article=article_read,
        annotations=read_annotations(data, name, article.text),
        publication=draft.publication,
    )


def folded_id(article: str) -> str:
    """Return the form of an identifier by which it is compared: small letters, no zeros in front.

    PMCIDs and DOIs are the same in capitals, and numbers with zeros in front.

    >>> folded_id("PMC0012345"), folded_id("10.1000/ABC")
    ('pmc12345', '10.1000/abc')
    """
    folded = folded_text(plain_id(article))
    digits = folded.removeprefix("pmc")
    if not (digits.isascii() and digits.isdigit()):
        return folded
    return folded[: len(folded) - len(digits)] + (digits.lstrip("0") or "0")


class CorpusFingerprints(NamedTuple):
    """The marks by which a corpus' articles are recognised: folded ids, and digests of texts."""

    ids: frozenset[str]
    texts: frozenset[bytes]


class GuardedArticles:
    """The articles of phases that are not closed: no curator may ask about them.

    The fingerprints of a corpus, which never changes, are computed once, in a thread.
    """

    def __init__(self, store: ReadStore, challenges: ChallengeRules) -> None:
        self._store = store
        self._challenges = challenges
        self._known: dict[int, asyncio.Task[CorpusFingerprints]] = {}
        self._texts: OrderedDict[str, frozenset[bytes]] = OrderedDict()

    async def require_free(self, text: str, *articles: str) -> None:
        """Raise `RefusedError` if an article, by an id or by its text, is in such a phase."""
        if await self.holds(await asyncio.to_thread(fingerprints, text), *articles):
            raise RefusedError(Refusal.STATE, GUARDED)

    async def holds(self, fingerprints_found: frozenset[bytes], *articles: str) -> bool:
        """Return whether an article, by an id or by its text's digests, is in such a phase."""
        ids = {folded_id(article) for article in articles if article}
        for corpus in self._challenges.guarded():
            corpus_fingerprints = await self._fingerprints_of(corpus)
            if ids & corpus_fingerprints.ids or fingerprints_found & corpus_fingerprints.texts:
                return True
        return False

    async def holds_text(self, key: str, article: str, packed: bytes) -> bool:
        """Return whether an article that is stored under a key, which is unique, is in one.

        Its text never changes, so that it is read once.
        """
        fingerprints_found = self._texts.pop(key, None)
        if fingerprints_found is None:
            fingerprints_found = await asyncio.to_thread(_fingerprints_of_packed, packed)
        self._texts[key] = fingerprints_found
        if len(self._texts) > MOST_KNOWN:
            self._texts.popitem(last=False)
        return await self.holds(fingerprints_found, article)

    async def _fingerprints_of(self, corpus: Corpus) -> CorpusFingerprints:
        task = self._known.get(corpus.id)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[corpus.id] = asyncio.create_task(self._compute(corpus))
        return await asyncio.shield(task)

    async def _compute(self, corpus: Corpus) -> CorpusFingerprints:
        ids = await asyncio.to_thread(lambda: frozenset(map(folded_id, corpus.ids)))
        fingerprints_found: set[bytes] = set()
        for start in range(0, len(corpus), BLOCK):
            stop = min(start + BLOCK, len(corpus))
            texts = await self._store.article_texts(corpus.id, range(start, stop))
            fingerprints_found |= await asyncio.to_thread(_fingerprints_of, texts)
        return CorpusFingerprints(ids, frozenset(fingerprints_found))


def _fingerprints_of_packed(packed: bytes) -> frozenset[bytes]:
    return fingerprints(unpack(packed).decode("utf-8", "surrogatepass"))


def _fingerprints_of(texts: Sequence[str]) -> set[bytes]:
    return {mark for text in texts for mark in fingerprints(text)}


log = logging.getLogger(__name__)

SOURCE_SECONDS = 20.0
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
            content, kind = await client.fetch(url, FILE_RATIO * text_bytes, SOURCE_SECONDS)
        except PeerError as error:
            tried.append(f"{source.name}: {error.outcome}")
            continue
        suffix = next((suffix for name, suffix in SUFFIXES.items() if name in kind), None)
        if suffix is None:
            tried.append(f"{source.name}: expected XML, JSON, PDF or plain text")
            continue
        file_article = await read_article(pdfs, content, f"article{suffix}", text_bytes)
        article_fetched = replace(file_article.article, source=source.name)
        return replace(file_article, article=article_fetched, annotations=None)
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
