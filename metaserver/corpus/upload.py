"""Reader for uploaded corpora, a file or a zip: it reports every file's problems.

Uploads are not trusted: `zipped` bounds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.base.records import Article, ArticleId
from metaserver.corpus.files import article_files
from metaserver.corpus.reader import read_articles
from metaserver.corpus.zipped import ZipLimits, unpack

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
MOST = 2**30
"""The maximum total length of articles, in characters: a small gzip file can contain many."""
MOST_ARTICLES = 100_000


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
    """Return a file's articles, at most `limit` + 1; none if it has a problem."""
    name = path.relative_to(folder).as_posix()
    try:
        articles = islice(read_articles([path]), limit + 1)
        return [replace(article, source=name) for article in articles]
    except InputError as error:
        place = error.place.replace(str(path), name)
        problems.append(InputError(place, error.message.replace(str(path), name)))
        return ()


def _plain(source: str) -> str:
    """Return a file name that is safe on this machine, with its suffixes."""
    last = source.replace("\\", "/").rpartition("/")[2]
    return re.sub(r"[^\w.-]", "_", last).lstrip(".")[-200:] or "articles"
