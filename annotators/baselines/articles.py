"""Articles of a team's files: the texts that a hub would send of them, and labels for training.

The rules are those of the hub's own reader, which docs/corpus.md describes; a test compares both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from annotators.errors import BadInputError

SUFFIXES = frozenset({".json", ".tsv", ".txt"})
NO_ARTICLES = frozenset({"readme", "license", "licence", "copying", "notice"})
TABLE = ("article", "title", "text")
LISTING = ("article", "file", "title")
"""The columns of a table of articles, and of a data package's, which has them in its first line."""


def read_gold(path: Path) -> dict[str, bool]:
    r"""Read an ACT gold file, `article<TAB>0|1` a line; `BadInputError` names the bad line.

    >>> _ = Path("gold.tsv").write_text("10.1\t1\n10.2\t0\n")
    >>> read_gold(Path("gold.tsv"))
    {'10.1': True, '10.2': False}
    """
    gold: dict[str, bool] = {}
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2 or columns[1] not in {"0", "1"}:
            raise BadInputError(path, f"{line!r:.60}; expected article<TAB>0 or 1", line=number)
        if gold.setdefault(columns[0], columns[1] == "1") != (columns[1] == "1"):
            raise BadInputError(
                path, f"article {columns[0]} again, with the other class", line=number
            )
    return gold


def read_articles(paths: Iterable[Path]) -> dict[str, str]:
    r"""Read article texts by id: the title's line, then the rest.

    A path is BioC JSON, a `.tsv` of `article<TAB>title<TAB>text` lines, a `.txt` file (its stem is
    the id, or what a data package's `articles.tsv` says), a folder of these, or a data package.

    >>> _ = Path("10.1.txt").write_text("MDM2 binds p53.\nBoth bind DNA.\n")
    >>> read_articles([Path("10.1.txt")])
    {'10.1': 'MDM2 binds p53.\nBoth bind DNA.\n'}
    """
    texts: dict[str, str] = {}
    sources: dict[str, Path] = {}
    listed = cache(_listed)  # each package's table is read once
    for file in (file for path in paths for file in _files(path)):
        for article, text in _articles(file, listed):
            if not article.isprintable():
                raise BadInputError(file, f"article id {article!r:.60} has a control character")
            if not text.strip():
                raise BadInputError(file, f"article {article} has no text")
            if article in texts:
                also = f"article {article} is in {sources[article]} too; an id comes once"
                raise BadInputError(file, also)
            texts[article], sources[article] = text, file
    return texts


def _files(path: Path) -> list[Path]:
    """Return the files of a path; of a data package, which has each article twice, the texts."""
    if not path.exists():
        raise BadInputError(path, "no such file or folder")
    if not path.is_dir():
        return [path]
    folder = path / "text" if _listed(path) else path
    found = sorted(filter(_is_article_file, folder.rglob("*")))
    if not found:
        raise BadInputError(folder, "no article in this folder; expected .json, .tsv or .txt files")
    return found


def _is_article_file(path: Path) -> bool:
    known = path.suffix.lower() in SUFFIXES and path.stem.lower() not in NO_ARTICLES
    return known and not path.name.startswith(".") and path.is_file()


def _articles(path: Path, listed: Callable[[Path], Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    match path.suffix.lower():
        case ".json":
            yield from _bioc(path)
        case ".tsv":
            for article, title, text in _rows(path, TABLE):
                yield article, f"{title}\n{text}"
        case ".txt":
            folder = path.parent.resolve()
            article = listed(folder.parent).get(f"{folder.name}/{path.name}", path.stem)
            yield article, _read(path)
        case _:
            raise BadInputError(path, "no article file; expected .json, .tsv or .txt")


def _bioc(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the documents of a collection, of a list of collections, or of one document."""
    try:
        found: Any = json.loads(_read(path))
        for entry in found if isinstance(found, list) else [found]:
            for document in entry.get("documents") or [entry]:
                article = document.get("id", "")
                if type(article) not in {str, int}:
                    raise TypeError(f"id {article!r:.60}")
                texts = [_passage(one) for one in document["passages"] if not _is_reference(one)]
                yield str(article).strip() or path.stem, "\n".join(filter(None, texts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInputError(path, f"not a BioC JSON collection: {error!r:.200}") from error


def _passage(passage: Mapping[str, Any]) -> str:
    """Return a passage's text; libraries write an empty one beside the sentences that have it."""
    text, sentences = passage.get("text") or "", passage.get("sentences", ())
    if sentences and not text.strip():
        text = " ".join(sentence.get("text", "") for sentence in sentences)
    return str(text.replace("\r", " "))


def _is_reference(passage: Mapping[str, Any]) -> bool:
    infons = passage.get("infons", {})
    return bool(infons.get("section_type") == "REF" or infons.get("type") == "ref")


def _listed(package: Path) -> Mapping[str, str]:
    """Return the articles of a data package's text files, by their names in it; else nothing."""
    path = package / "articles.tsv"
    if not path.is_file() or _lines(path)[0] != "\t".join(LISTING):
        return {}
    return {name: article for article, name, _ in _rows(path, LISTING)}


def _rows(path: Path, names: tuple[str, ...]) -> Iterator[list[str]]:
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != len(names):
            raise BadInputError(path, f"expected {'<TAB>'.join(names)}", line=number)
        yield columns


def _lines(path: Path) -> list[str]:
    """Return a file's lines; a text may have characters that `splitlines` takes for line ends."""
    return _read(path).removesuffix("\n").split("\n")


def _read(path: Path) -> str:
    """Return a file's text: line feeds end its lines, and it has no byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInputError(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInputError(path, f"not UTF-8: {error}") from error
