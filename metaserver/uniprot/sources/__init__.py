"""Readers of the files that a release is built from; `recognise` tells them by their contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from metaserver.uniprot.codec import PATTERN
from metaserver.uniprot.sources import flatfile, tables
from metaserver.uniprot.sources.reader import SourceFile

__all__ = ["Kind", "SourceFile", "recognise"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of source file: its name in messages and `META.json`, and its reader."""

    name: str
    read: Callable[[SourceFile], Iterator[Any]]


FLAT = Kind(name="flat file", read=flatfile.read)
LIST = Kind(name="list", read=tables.read_list)
TSV = Kind(name="TSV", read=tables.read_tsv)
IDMAPPING = Kind(name="idmapping_selected.tab", read=tables.read_idmapping)
MEMBERSHIP = Kind(name="UniRef50 membership", read=tables.read_memberships)


def recognise(source: SourceFile) -> Kind:
    """Return the kind of a file from its first lines; raises `InputError` for any other file."""
    head = source.head()
    if head.startswith(b"ID   "):
        return FLAT
    return _recognise_table(source, head.splitlines()[:1])


def _recognise_table(source: SourceFile, first: list[bytes]) -> Kind:
    line = first[0] if first else b""
    cells = line.decode("utf-8", "replace").split("\t")
    if PATTERN.fullmatch(cells[0].partition("-")[0]):
        if len(cells) == 1:
            return LIST
        return IDMAPPING if len(cells) > 3 else MEMBERSHIP
    if "accession" in tables.column_roles(line):
        return TSV
    raise source.error(
        f"neither a UniProt file nor a table with an 'Entry' column, got {cells[0][:40]!r}", 1
    )
