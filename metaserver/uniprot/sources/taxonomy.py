"""Organisms from UniProt's `speclist.txt` and NCBI's `nodes.dmp`, and strains' species."""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.sources.reader import SourceFile
from metaserver.uniprot.spill import distinct

Taxa = npt.NDArray[np.int64]


class Organism(NamedTuple):
    """A taxon's name in `speclist.txt`: official, common or a synonym."""

    taxon: int
    name: str
    official: bool
    kingdom: str  # A, B, E, V or O; viruses are V


class Node(NamedTuple):
    """A line in `nodes.dmp`: a taxon, its parent, and its rank."""

    taxon: int
    parent: int
    rank: str


_CODE = re.compile(r"[A-Z0-9]{3,5} +([ABEOV]) +([0-9]+): (.*)")
_NAME = re.compile(r"\s*([NCS])=(.*)")
_TAG = re.compile(r"<[^<>]*>")
_RULE = b"_____ _ _____"
_END = ("=====", "-----")  # the virtual codes' heading, or the licence


def read_speclist(source: SourceFile) -> Iterator[Organism]:
    """Yield the real organism codes' names; also reads the UniProt site's web page.

    Raises `InputError` if the list is truncated.

    Example: the line `HUMAN E    9606: N=Homo sapiens`.
    """
    lines = source.lines()
    for raw in lines:
        if raw.startswith(_RULE):
            break
    taxon, kingdom = 0, ""
    for raw in lines:
        line = _TAG.sub("", html.unescape(raw.decode("utf-8", "replace"))).rstrip()
        if line.startswith(_END):
            break
        if match := _CODE.fullmatch(line):
            kingdom, taxon, line = match[1], int(match[2]), match[3]
        if line:
            yield _organism(source, line, taxon, kingdom)
    else:
        raise source.error("truncated: the list of real organism codes does not end")
    for _ in lines:  # to the end, for the checksum
        pass


def _organism(source: SourceFile, line: str, taxon: int, kingdom: str) -> Organism:
    match = _NAME.fullmatch(line)
    if match is None or not taxon:
        raise source.error(f"expected an organism's code or name, got {line[:40]!r}")
    return Organism(taxon, match[2], match[1] == "N", kingdom)


def read_nodes(source: SourceFile) -> Iterator[Node]:
    """Yield the nodes of `nodes.dmp`.

    Example: the line `9606<TAB>|<TAB>9605<TAB>|<TAB>species<TAB>|`.
    """
    for line in source.lines():
        fields = line.split(b"\t|\t", 3)
        if len(fields) < 3 or not (fields[0].isdigit() and fields[1].isdigit()):
            raise source.error("expected 'taxon | parent | rank | ...' as in nodes.dmp")
        yield Node(int(fields[0]), int(fields[1]), fields[2].decode("ascii", "replace"))


class Taxonomy:
    """A taxonomy of organism names and strains; `nodes.dmp` precedes `speclist.txt`."""

    def __init__(self) -> None:
        self._taxa: dict[str, int] = {}
        self._official: list[Organism] = []
        self._nodes = array("q")  # taxon, parent, whether it is a species; millions of each

    def add(self, records: Iterable[Organism | Node]) -> None:
        """Take a file's records."""
        for record in records:
            if isinstance(record, Node):
                self._nodes.extend((record.taxon, record.parent, record.rank == "species"))
            elif record.official:
                self._official.append(record)
                self._taxa[record.name] = record.taxon
            else:
                self._taxa.setdefault(record.name, record.taxon)

    def taxon(self, organism: str) -> int:
        """Return the taxon for an organism as named in entries, 0 if unknown.

        Example: `Homo sapiens (Human)` is looked up as `Homo sapiens`.
        """
        while organism and organism not in self._taxa:
            organism = organism.rpartition(" (")[0]
        return self._taxa.get(organism, 0)

    def official_names(self) -> Mapping[int, str]:
        """Return each listed taxon's official name."""
        return {record.taxon: record.name for record in self._official}

    def strains(self) -> Taxa:
        """Return the (taxon, species) pairs for all taxa below a species, ascending."""
        listed = {(record.kingdom, record.name): record.taxon for record in self._official}
        by_name = {record.taxon: _species(record, listed) for record in self._official}
        pairs = np.array(list(by_name.items()), np.int64).reshape(-1, 2)
        by_tree = _species_above(np.array(self._nodes, np.int64).reshape(-1, 3))
        pairs = np.concatenate([by_tree, pairs[~np.isin(pairs[:, 0], by_tree[:, 0])]])
        return distinct(pairs[pairs[:, 0] != pairs[:, 1]])


def _species(organism: Organism, listed: Mapping[tuple[str, str], int]) -> int:
    """Return the taxon whose name an organism's name extends, or its own.

    `Escherichia coli O157:H7 (strain EC869)` is an `Escherichia coli`; a bacterium named after its
    host belongs to another kingdom. Virus and hybrid (`x`) names follow no such order: only the
    text in brackets is left out. An unnamed species (`sp.`) is not a species.
    """
    name = organism.name
    words = (name.partition(" (")[0] if name.endswith(")") else name).split()
    fewest = len(words) if organism.kingdom == "V" or "x" in words else 2
    for count in range(fewest, len(words) + 1):
        shorter = (organism.kingdom, " ".join(words[:count]))
        if shorter in listed and words[count - 1] != "sp.":
            return listed[shorter]
    return organism.taxon


def _species_above(nodes: Taxa) -> Taxa:
    """Return (taxon, species) for each taxon at or below a species."""
    if not len(nodes):
        return np.empty((0, 2), np.int64)
    taxon, parent, is_species = nodes.T
    above = np.zeros(nodes[:, :2].max() + 1, np.int64)
    above[taxon] = np.where(is_species, taxon, parent)  # a walk up stops at a species
    while not np.array_equal(higher := above[above], above):  # each iteration doubles the steps
        above = higher
    below = taxon[np.isin(above[taxon], taxon[is_species == 1])]
    return np.stack([below, above[below]], axis=1)
