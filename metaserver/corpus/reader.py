"""Reader for articles in files and folders, with unique ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.base.records import Article, ArticleId
from metaserver.corpus.bioc import read_bioc_json
from metaserver.corpus.draft import ArticleDraft
from metaserver.corpus.files import MAX_BYTES, article_files, read_bytes, stem_and_suffix
from metaserver.corpus.markup import read_xml

PDF = b"%PDF-"
"""How a PDF begins; it may be text to its end."""


def read_articles(paths: Iterable[Path], *, limit: int = MAX_BYTES) -> Iterator[Article]:
    """Yield the articles in files and folders, in order; a folder's are sorted by path.

    Reads text files (UTF-8), XML from JATS, Elsevier, IOP, Nature, the RSC, PubMed and BioC, and
    BioC JSON, each also gzipped. An article's id is its PubMed id, else its PMCID, else its DOI,
    else the file's name without suffix; in BioC it is the document's id. Raises `InputError`, with
    file and line, for a file that cannot be read completely or has more than `limit` bytes
    unpacked, an article without text, and a repeated id.

    Example: the id of the article in `10022833.txt` is "10022833".
    """
    sources: dict[ArticleId, str] = {}
    for path in list(article_files(paths)):
        for draft in read_drafts(path, limit):
            article = article_of(path, draft)
            if article.id in sources:
                message = f"article {article.id} is in {sources[article.id]} too; an id comes once"
                raise InputError(path, message, line=draft.line)
            sources[article.id] = article.source
            yield article


def read_drafts(path: Path, limit: int = MAX_BYTES) -> Iterator[ArticleDraft]:
    """Yield a file's articles; an article's id is "" if the file does not say it.

    The first byte shows the kind, except that `.txt` is always text. Raises `InputError`.
    """
    data = read_bytes(path, limit)
    if data.startswith(PDF):
        raise InputError(path, "a PDF is not read; expected text, XML or BioC JSON")
    _, suffix = stem_and_suffix(path)
    start = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if suffix != ".txt" and (start == b"<" or suffix in {".xml", ".nxml"}):
        yield from read_xml(path, data)
    elif suffix != ".txt" and (start in {b"{", b"["} or suffix == ".json"):
        yield from read_bioc_json(path, data.removeprefix(b"\xef\xbb\xbf"))
    else:
        yield _read_text(path, data)


def _read_text(path: Path, data: bytes) -> ArticleDraft:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(path, "not UTF-8; expected UTF-8 text", line=line) from error
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
    )
