"""Reader of articles from files, folders and uploads, with unique ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.base.records import Article, ArticleId
from metaserver.corpus.files import (
    MAX_BYTES,
    ZipLimits,
    article_files,
    read_bytes,
    stem_and_suffix,
    unpack,
)
from metaserver.corpus.markup import (
    PUBTATOR,
    ArticleDraft,
    read_bioc_json,
    read_pubtator,
    read_xml,
    utf8,
)

PDF = b"%PDF-"
"""How a PDF begins; it may be text to its end."""


def read_articles(paths: Iterable[Path]) -> Iterator[Article]:
    """Yield the articles in files and folders, in order; a folder's are sorted by path.

    Reads text files (UTF-8), XML from JATS, Elsevier, IOP, Nature, the RSC, Springer, TEI, PubMed
    and BioC, BioC JSON and PubTator's text, each also gzipped. An article's id is its PubMed id,
    else its PMCID, else its DOI, else the file's name without suffix; in BioC it is the document's
    id. Raises `InputError`, with file and line, for a file that cannot be read completely or has
    more than `files.MAX_BYTES` unpacked, an article without text, and a repeated id.

    Example: the id of the article in `10022833.txt` is "10022833".
    """
    sources: dict[ArticleId, str] = {}
    for path in list(article_files(paths)):
        yield from _articles(path, read_drafts(path), sources)


def _articles(
    path: Path, drafts: Iterable[ArticleDraft], sources: dict[ArticleId, str]
) -> Iterator[Article]:
    for draft in drafts:
        article = article_of(path, draft)
        if article.id in sources:
            message = f"article {article.id} is in {sources[article.id]} too; an id comes once"
            raise InputError(path, message, line=draft.line)
        sources[article.id] = article.source
        yield article


def read_drafts(path: Path, limit: int = MAX_BYTES) -> Iterator[ArticleDraft]:
    r"""Yield a file's articles; an article's id is "" if the file does not say it.

    The beginning shows the kind; a `.txt` is text or PubTator's. Raises `InputError`.

    >>> _ = Path("two.txt").write_text("1|t|MDM2 binds p53.\n1|a|Both bind DNA.\n")
    >>> [(draft.id, draft.text) for draft in read_drafts(Path("two.txt"))]
    [('1', 'MDM2 binds p53.\nBoth bind DNA.')]
    """
    yield from _drafts(path, read_bytes(path, limit))


def _drafts(path: Path, data: bytes, *, keep_xml: int = 0) -> Iterator[ArticleDraft]:
    if data.startswith(PDF):
        raise InputError(path, "a PDF is not read; expected text, XML or BioC JSON")
    _, suffix = stem_and_suffix(path)
    if suffix != ".txt" and (_start(data) == b"<" or suffix in {".xml", ".nxml"}):
        yield from read_xml(path, data, keep=keep_xml)
    elif suffix != ".txt" and (_start(data) in {b"{", b"["} or suffix == ".json"):
        yield from read_bioc_json(path, data.removeprefix(b"\xef\xbb\xbf"))
    elif PUBTATOR.match(data):
        yield from read_pubtator(path, data)
    else:
        yield _read_text(path, data)


def _start(data: bytes) -> bytes:
    return data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def _read_text(path: Path, data: bytes) -> ArticleDraft:
    text = utf8(path, data)
    return ArticleDraft(
        id="", title="", text=text.replace("\r\n", "\n").replace("\r", "\n"), line=1
    )


def article_of(path: Path, draft: ArticleDraft) -> Article:
    """Return a draft's article, named by its file if the draft has no id.

    Raises `InputError` if it has no text, or a control character in its id.
    """
    article_id = draft.id or stem_and_suffix(path)[0]
    if not article_id.isprintable():
        message = f"article id {article_id!r} has a tab, a line end or a control character"
        raise InputError(path, message, line=draft.line)
    if not draft.text.strip():
        raise InputError(path, f"article {article_id} has no text", line=draft.line)
    return Article(
        id=ArticleId(article_id),
        text=draft.text.replace("\r", " "),
        title=draft.title,
        source=str(path),
        original=draft.xml,
    )


# -- reader for uploaded corpora, a file or a zip: it reports every file's problems ----------------
# Uploads are not trusted: `zipped` bounds them.

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
MOST = 2**30
"""The maximum total length of articles, in characters: a small gzip file can contain many."""
MOST_ARTICLES = 100_000
MOST_XML = 2**26
"""The maximum bytes in an XML file that is kept beside its articles' texts, and in those parts."""


def read_upload(
    content: bytes, source: str, folder: Path, problems: list[InputError]
) -> Iterator[Article]:
    """Yield an uploaded file's articles; a zip's are sorted by path.

    `source` is the file's name in articles and problems; `folder` exists and is empty. A file that
    cannot be read and a repeated id are added to `problems` and skipped; an invalid zip raises
    `InputError`.
    """
    name = _plain(source)
    if content.startswith(_ZIP):
        unpack(name, content, folder, ZipLimits())
        paths = _files(folder, name)
    else:
        paths = [folder / name]
        paths[0].write_bytes(content)
    yield from read_unpacked(paths, folder, name, problems)


def read_unpacked(
    paths: Sequence[Path], folder: Path, name: str, problems: list[InputError]
) -> Iterator[Article]:
    """Yield the articles of files that are not trusted, below a folder, as `read_upload` does.

    `name` is what they came in.
    """
    sources: dict[ArticleId, str] = {}
    size = 0
    for path in paths:
        for article in _read(path, folder, problems, MOST_ARTICLES - len(sources)):
            size += len(article.text)
            if size > MOST:
                raise InputError(name, f"more than {MOST >> 20} Mi characters of text")
            if len(sources) == MOST_ARTICLES:
                raise InputError(
                    name, f"more than {MOST_ARTICLES:,} articles; make several corpora"
                )
            if article.id in sources:
                message = f"article {article.id} is in {sources[article.id]} too; an id comes once"
                problems.append(InputError(article.source, message))
                continue
            sources[article.id] = article.source
            yield article


def _files(folder: Path, name: str) -> Sequence[Path]:
    try:
        return list(article_files([folder]))
    except InputError as error:
        raise InputError(name, error.message.replace("folder", "zip file")) from error


def _read(path: Path, folder: Path, problems: list[InputError], limit: int) -> Sequence[Article]:
    """Return a file's articles, at most `limit` + 1; none if it has a problem.

    The only article of an XML file has the file itself, unpacked, as its original.
    """
    name = path.relative_to(folder).as_posix()
    try:
        data = read_bytes(path)
        drafts = _drafts(path, data, keep_xml=MOST_XML)
        articles = [
            replace(article, source=name)
            for article in islice(_articles(path, drafts, {}), limit + 1)
        ]
    except InputError as error:
        place = error.place.replace(str(path), name)
        problems.append(InputError(place, error.message.replace(str(path), name)))
        return ()
    if len(articles) == 1 and articles[0].original:
        return [replace(articles[0], original=data)]
    return articles


def _plain(source: str) -> str:
    """Return a file name that is safe on this machine, with its suffixes."""
    last = source.replace("\\", "/").rpartition("/")[2]
    return re.sub(r"[^\w.-]", "_", last).lstrip(".")[-200:] or "articles"
