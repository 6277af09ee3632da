"""Records that source files are read into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ProteinEntry(NamedTuple):
    """A UniProtKB entry, as far as its source has it; `line` is its accession's line.

    `names` are its own protein and gene names, without its parts' names; `symbols` are the gene
    names alone, `genes` its NCBI Gene ids. `organism` is its name; if `taxon` is 0 the taxon
    follows from it.
    """

    line: int
    accession: str
    entry_name: str = ""
    taxon: int = 0
    organism: str = ""
    names: Sequence[str] = ()
    secondaries: Sequence[str] = ()
    cluster: str = ""
    symbols: Sequence[str] = ()
    genes: Sequence[int] = ()


class Secondary(NamedTuple):
    """A secondary accession and an entry that it was merged or split into."""

    line: int
    accession: str
    successor: str


class Deleted(NamedTuple):
    """An accession whose entry was removed."""

    line: int
    accession: str


class Membership(NamedTuple):
    """An entry's UniRef50 cluster."""

    line: int
    accession: str
    cluster: str
