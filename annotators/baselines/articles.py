"""Articles with an ACT label, read from files for training."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotators.errors import BadInputError

SUFFIXES = (".json", ".tsv", ".txt")


def read_gold(path: Path) -> dict[str, bool]:
    """Read an ACT gold file, `article<TAB>0|1` a line; `BadInputError` names the bad line."""
    gold: dict[str, bool] = {}
    for number, line in enumerate(_read(path).splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) != 2 or columns[1] not in {"0", "1"}:
            raise BadInputError(path, f"{line!r:.60}; expected article<TAB>0 or 1", line=number)
        if gold.setdefault(columns[0], columns[1] == "1") != (columns[1] == "1"):
            raise BadInputError(path, f"article {columns[0]} again, of another class", line=number)
    return gold


def read_articles(paths: Iterable[Path]) -> dict[str, str]:
    """Read article texts by id: the title's line, then the rest.

    A path is BioC JSON, a `.tsv` of `article<TAB>title<TAB>text` lines, a `.txt` file (its stem is
    the id), or a folder of these.
    """
    texts: dict[str, str] = {}
    for path in paths:
        inside = sorted(found for found in path.rglob("*") if found.suffix in SUFFIXES)
        if path.is_dir() and not inside:
            raise BadInputError(
                path, "no article in this folder; expected .json, .tsv or .txt files"
            )
        for file in inside if path.is_dir() else [path]:
            texts.update(_articles(file))
    return texts


def _articles(path: Path) -> Iterator[tuple[str, str]]:
    match path.suffix:
        case ".json":
            yield from _bioc(path)
        case ".tsv":
            for number, line in enumerate(_read(path).splitlines(), start=1):
                columns = line.split("\t")
                if len(columns) != 3:
                    raise BadInputError(path, "expected article<TAB>title<TAB>text", line=number)
                yield columns[0], "\n".join(columns[1:])
        case _:
            yield path.stem, _read(path)


def _bioc(path: Path) -> Iterator[tuple[str, str]]:
    try:
        collection: Any = json.loads(_read(path))
        for document in collection["documents"]:
            yield document["id"], "\n".join(passage["text"] for passage in document["passages"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(path, f"not a BioC JSON collection: {error!r}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInputError(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInputError(path, f"not UTF-8: {error}") from error
