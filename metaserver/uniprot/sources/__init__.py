"""Readers of the files that a release is built from; `recognise` finds a file's kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from metaserver.uniprot.codec import PATTERN
from metaserver.uniprot.sources import entries, tables, taxonomy
from metaserver.uniprot.sources.reader import SourceFile

__all__ = ["SourceFile", "SourceKind", "recognise"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceKind:
    """A kind of source file: its name in messages and `META.json`, and its reader.

    `mark` matches the beginning of such a file, from its first character.
    """

    name: str
    read: Callable[[SourceFile], Iterator[Any]]
    mark: re.Pattern[bytes]
    taxonomy: bool = False


def _kind(
    name: str, reader: Callable[[SourceFile], Iterator[Any]], mark: bytes, *, taxonomy: bool = False
) -> SourceKind:
    return SourceKind(name=name, read=reader, mark=re.compile(mark), taxonomy=taxonomy)


_ACCESSION = b"(?:" + PATTERN.pattern.encode() + b")"
_END = rb"\r?(?:\n|$)"
_DOCUMENT = rb"(?s:.{0,60000}?)"  # documents begin with a preamble of any length

KINDS = (
    _kind("flat file", entries.read_flatfile, rb"ID   "),
    _kind("FASTA", entries.read_fasta, rb">"),
    _kind("XML", entries.read_xmlfile, rb"(?s:.{0,500}?)<uniprot\b"),
    _kind("UniRef XML", tables.read_uniref, rb"(?s:.{0,500}?)<UniRef"),
    _kind("list", tables.read_list, _ACCESSION + _END),
    _kind("idmapping_selected.tab", tables.read_idmapping, _ACCESSION + rb"(?:\t[^\t\n]*){6}"),
    _kind("UniRef50 membership", tables.read_memberships, _ACCESSION + rb"(?:-[0-9]+)?\t"),
    _kind("nodes.dmp", taxonomy.read_nodes, rb"[0-9]+\t\|\t[0-9]+\t\|\t", taxonomy=True),
    _kind("TSV", tables.read_tsv, tables.HEADING),
    _kind("sec_ac.txt", tables.read_secondary, _DOCUMENT + rb"\bName: +sec_ac\b"),
    _kind("delac", tables.read_deleted, _DOCUMENT + rb"\bName: +delac_"),
    _kind(
        "speclist.txt", taxonomy.read_speclist, _DOCUMENT + rb"\bName: +speclist\b", taxonomy=True
    ),
)


def recognise(source: SourceFile) -> SourceKind:
    """Return a file's kind by its first lines; raises `InputError` for an unknown kind.

    Example: a file that begins with `ID P53_HUMAN` is a flat file.
    """
    start = source.start()
    for kind in KINDS:
        if kind.mark.match(start):
            return kind
    first_line = start.split(b"\n", 1)[0][:40].decode("utf-8", "replace")
    raise source.error(f"not a file a release is built from, it begins with {first_line!r}", 1)
