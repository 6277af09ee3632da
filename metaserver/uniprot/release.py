"""A memory-mapped UniProt release, which judges thousands of strings in one call.

Opening reads only `META.json` and the list of pages; the kernel loads the memory that look-ups
touch, and shares it among processes. An open release is not affected when its directory is replaced
or removed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.base.errors import InputError
from metaserver.uniprot import verdicts
from metaserver.uniprot.bits import (
    NO_ENTRY,
    PAGE_BYTES,
    AccessionPages,
    Bitmap,
    EntryBits,
    Ranks,
    bits_at,
)
from metaserver.uniprot.codec import MALFORMED, Codes, cluster_id, decode, encode, name_key
from metaserver.uniprot.layout import FORMAT, Meta, ReleaseCounts, map_array, read_meta
from metaserver.uniprot.verdicts import (
    AccessionVerdict,
    Intent,
    Status,
    entry_name_accession,
    guess,
)

# -- a release's entry data: organism, UniRef50 cluster, homonym orthologs -------------------------

Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Entries:
    """The arrays that run parallel to the entries (see `layout`)."""

    bits: EntryBits
    taxon: Numbers
    cluster: Codes
    strain: Numbers
    species: Numbers
    homonym_rank: Numbers
    homonym_set: Numbers
    set_start: Codes
    set_member: Numbers

    @classmethod
    def mapped(
        cls, bits: EntryBits, counts: ReleaseCounts, load: Callable[[str, int], Any]
    ) -> Entries:
        """Return a release's entries; `load(name, length)` maps a file."""
        entries, strains, homonyms = counts.primary, counts.strains, counts.homonyms
        return cls(
            bits=bits,
            taxon=load("taxon.u4", entries),
            cluster=load("cluster.i8", entries),
            strain=load("strain.u4", strains),
            species=load("species.u4", strains),
            homonym_rank=load("homonym_rank.u4", homonyms),
            homonym_set=load("homonym_set.u4", homonyms),
            set_start=load("set_start.i8", counts.homonym_sets + 1),
            set_member=load("set_member.u4", homonyms),
        )

    def taxa(self, accessions: Sequence[str], *, strains: bool = False) -> list[int]:
        """Return the NCBI taxon for each primary accession's species, 0 if it is unknown.

        `strains=True` returns the entry's own taxon, which may be a strain's.
        """
        taxa = self._of(self.taxon, accessions)
        return [int(taxon) for taxon in (taxa if strains else self.roll_up(taxa))]

    def roll_up(self, taxa: Numbers) -> Numbers:
        """Return each taxon's species; the taxon itself if it has no known species."""
        if not self.strain.size:
            return taxa
        place = np.searchsorted(self.strain, taxa)
        place[place == self.strain.size] = 0
        return np.where(self.strain[place] == taxa, self.species[place], taxa)

    def clusters(self, accessions: Sequence[str]) -> list[str]:
        """Return each primary accession's UniRef50 cluster, "" if it is unknown."""
        return [cluster_id(key) for key in self._of(self.cluster, accessions).tolist()]

    def orthologs(self, accessions: Sequence[str]) -> list[list[str]]:
        """Return each accession's homonym orthologs, in the release's order.

        They share with it a name or synonym (ignoring case; neither a single letter nor a number)
        and the UniRef50 cluster, and belong to another organism: the sets of the BioCreative II.5
        overview, one set per name, without transitive closure.
        """
        return [
            self._orthologs(rank) if rank != NO_ENTRY else []
            for rank in self.bits.ranks(encode(accessions)).tolist()
        ]

    def _orthologs(self, rank: int) -> list[str]:
        keys = np.array([rank, rank + 1], np.uint32)
        first, last = np.searchsorted(self.homonym_rank, keys)
        sets = self.homonym_set[first:last]
        members = [self.set_member[self.set_start[i] : self.set_start[i + 1]] for i in sets]
        if not members:
            return []
        ranks = np.unique(np.concatenate(members)).astype(np.int64)
        orthologs = ranks[self.taxon[ranks] != self.taxon[rank]]
        return decode(self.bits.codes(orthologs))

    def of_species(self, species: Set[int]) -> Iterator[tuple[list[str], list[int]]]:
        """Yield all entries of these species, in blocks: accessions and their species."""
        requested = np.array(sorted(species), np.uint32)
        rank = 0
        for codes in self.bits.scan():
            taxa = self.roll_up(self.taxon[rank : rank + len(codes)])
            rank += len(codes)
            matches = np.isin(taxa, requested)
            if matches.any():
                yield decode(codes[matches]), taxa[matches].tolist()

    def _of(self, values: npt.NDArray[Any], accessions: Sequence[str]) -> npt.NDArray[Any]:
        ranks: Ranks = self.bits.ranks(encode(accessions))
        result = np.zeros(len(ranks), values.dtype)
        present = ranks != NO_ENTRY
        result[present] = values[ranks[present]]
        return result


# -- a memory-mapped UniProt release, which judges thousands of strings per call -------------------

Statuses = npt.NDArray[np.uint8]

_PRIMARY, _UNKNOWN = np.uint8(Status.PRIMARY), np.uint8(Status.UNKNOWN)


def _dtype(name: str) -> str:
    """Return the type of the values in a release's file."""
    return "u1" if name.endswith("bits") else name[-2:]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release:
    """An open release, opened by `Release.open`. Safe to share among threads."""

    directory: Path
    meta: Meta
    bits: EntryBits = field(repr=False)
    entries: Entries = field(repr=False)
    deleted: Bitmap = field(repr=False)
    sec_from: Codes = field(repr=False)
    sec_to: Codes = field(repr=False)
    names: Codes = field(repr=False)
    name_to: Codes = field(repr=False)
    genes: Codes = field(repr=False)
    gene_to: Codes = field(repr=False)

    @classmethod
    def open(cls, directory: Path | str) -> Release:
        """Open a release directory, or the link that `metaserver uniprot use` sets.

        Raises `InputError` naming the path if it is no release, has another format version or is
        damaged.
        """
        meta = read_meta(Path(directory))
        home = Path(directory).resolve()

        def load(name: str, length: int) -> Any:
            return map_array(home / name, _dtype(name), length)

        return cls._of(home, meta, load)

    @classmethod
    def empty(cls) -> Release:
        """Return a release without a name and without entries: all accessions are unknown."""
        counts = ReleaseCounts(**dict.fromkeys(ReleaseCounts.__struct_fields__, 0))
        meta = Meta(format=FORMAT, name="", counts=counts, sources=[])
        return cls._of(Path(), meta, lambda name, length: np.zeros(length, _dtype(name)))

    @classmethod
    def _of(cls, home: Path, meta: Meta, load: Callable[[str, int], Any]) -> Release:
        counts = meta.counts
        pages = AccessionPages.of(load("pages.i4", counts.pages))
        size = pages.count * PAGE_BYTES
        bits = EntryBits(
            pages=pages, live=load("live.bits", size), rank64=load("rank64.u4", size // 8)
        )
        return cls(
            directory=home,
            meta=meta,
            bits=bits,
            entries=Entries.mapped(bits, counts, load),
            deleted=load("deleted.bits", size),
            sec_from=load("sec_from.i8", counts.secondary),
            sec_to=load("sec_to.i8", counts.secondary),
            names=load("name.i8", counts.entry_names),
            name_to=load("name_to.i8", counts.entry_names),
            genes=load("gene.i8", counts.genes) if counts.genes else np.empty(0, np.int64),
            gene_to=load("gene_to.i8", counts.genes) if counts.genes else np.empty(0, np.int64),
        )

    @property
    def name(self) -> str:
        """The release's name, such as `2025_04`."""
        return self.meta.name

    def judge(self, strings: Sequence[str]) -> Statuses:
        """Return each string's `Status` as a number: fast, without reasons."""
        return self.statuses(encode(strings))

    def statuses(self, codes: Codes) -> Statuses:
        """Return each code's `Status`."""
        addresses = self.bits.pages.addresses(codes)
        statuses = np.where(bits_at(self.bits.live, addresses) & 1, _PRIMARY, _UNKNOWN)
        absent = statuses.nonzero()[0]
        if absent.size:
            statuses[absent] = self._absent(codes[absent], addresses[absent])
        return statuses

    def _absent(self, codes: Codes, addresses: Codes) -> Statuses:
        statuses = np.full(len(codes), _UNKNOWN)
        statuses[codes == MALFORMED] = Status.MALFORMED
        statuses[bits_at(self.deleted, addresses) & 1 == 1] = Status.DELETED
        if self.sec_from.size:
            rest = np.flatnonzero(statuses == Status.UNKNOWN)
            place = np.searchsorted(self.sec_from, codes[rest])
            place[place == self.sec_from.size] = 0
            statuses[rest[self.sec_from[place] == codes[rest]]] = Status.SECONDARY
        return statuses

    def lookup(self, strings: Sequence[str]) -> list[AccessionVerdict]:
        """Return the verdict on each string, with its reason and the right accessions."""
        codes = encode(strings)
        statuses = self.statuses(codes)
        successors = self._successors(codes[statuses == Status.SECONDARY])
        places = np.flatnonzero(statuses == Status.MALFORMED).tolist()
        meanings = self._meanings([strings[place] for place in places])
        return [
            self._verdict(text, status, successors, meanings)
            for text, status in zip(strings, statuses.tolist(), strict=True)
        ]

    def _verdict(
        self,
        text: str,
        status: int,
        successors: Iterator[list[str]],
        meanings: Iterator[tuple[Intent, AccessionVerdict | None]],
    ) -> AccessionVerdict:
        match status:
            case Status.PRIMARY:
                return verdicts.primary(text, self.name)
            case Status.SECONDARY:
                return verdicts.secondary(text, next(successors))
            case Status.DELETED:
                return verdicts.deleted(text)
            case Status.UNKNOWN:
                return verdicts.unknown(text, self.name)
            case _:
                return self._malformed(text, *next(meanings))

    def _malformed(
        self, text: str, intent: Intent, meant: AccessionVerdict | None
    ) -> AccessionVerdict:
        if intent is Intent.GENE:
            gene = guess(text).gene
            return verdicts.of_gene(text, gene, self.of_gene(gene), self.name)
        return verdicts.malformed(text, intent, meant)

    def of_gene(self, gene: int) -> list[str]:
        """Return an NCBI Gene id's reviewed entries."""
        first, last = np.searchsorted(self.genes, [gene, gene + 1])
        return [str(accession) for accession in decode(self.gene_to[first:last])]

    def _successors(self, codes: Codes) -> Iterator[list[str]]:
        """Yield each secondary code's successors."""
        first = np.searchsorted(self.sec_from, codes)
        size = np.searchsorted(self.sec_from, codes, side="right") - first
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        accessions = iter(decode(self.sec_to[np.repeat(first, size) + within]))
        for count in size.tolist():
            yield list(islice(accessions, count))

    def _meanings(self, texts: Sequence[str]) -> Iterator[tuple[Intent, AccessionVerdict | None]]:
        """Yield each malformed string's likely meaning, with the verdict on it."""
        guesses = [guess(text) for text in texts]
        by_name = self._named([guessed.entry_name for guessed in guesses])
        meant = [
            guessed.accession or accession
            for guessed, accession in zip(guesses, by_name, strict=True)
        ]
        judged = iter(self.lookup([accession for accession in meant if accession]))
        for guessed, accession in zip(guesses, meant, strict=True):
            yield guessed.intent, next(judged) if accession else None

    def _named(self, entry_names: Sequence[str]) -> list[str]:
        """Return each entry name's accession, "" if unknown."""
        keys = np.array([name_key(name) for name in entry_names], np.int64)
        place = np.searchsorted(self.names, keys)
        place[place == self.names.size] = -1
        matches = self.names[place] == keys if self.names.size else np.zeros(len(keys), bool)
        accessions = iter(decode(self.name_to[place[matches]]))
        return [
            next(accessions) if is_known else entry_name_accession(name)
            for name, is_known in zip(entry_names, matches.tolist(), strict=True)
        ]


# -- activation of a release through a symbolic link that is replaced atomically -------------------


def use(release: Path, link: Path) -> Release:
    """Point `link` at a release directory, and return the release.

    A program that opens `link` gets either the old or the new release completely; a hub opens it
    when a phase begins, so its answers keep that release. Raises `InputError` if `release` is not a
    release, or `link` is not a symbolic link or cannot be set.
    """
    opened = Release.open(release)
    if link.exists() and not link.is_symlink():
        raise InputError(link, "is not a symbolic link; it is left as it is")
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        target = os.path.relpath(opened.directory, link.parent.resolve())
        beside = link.with_name(f".{link.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        beside.symlink_to(target, target_is_directory=True)
        beside.replace(link)
    except OSError as error:
        raise InputError(link, f"cannot be set: {error.strerror}") from error
    return opened


# -- the difference between two releases -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """A release's primary accessions, counted by their status in another release.

    `kept`, `secondary`, `deleted` and `unknown` count the old release's; `new` counts the new
    release's that are not primary in the old.
    """

    kept: int
    secondary: int
    deleted: int
    unknown: int
    new: int


def compare(old: Release, new: Release) -> Diff:
    """Count `old`'s entries by their status in `new`."""
    status_counts: Counter[int] = Counter()
    for codes in old.bits.scan():
        statuses, counts = np.unique(new.statuses(codes), return_counts=True)
        status_counts.update(dict(zip(statuses.tolist(), counts.tolist(), strict=True)))
    kept_count = status_counts[Status.PRIMARY]
    return Diff(
        kept=kept_count,
        secondary=status_counts[Status.SECONDARY],
        deleted=status_counts[Status.DELETED],
        unknown=status_counts[Status.UNKNOWN],
        new=new.meta.counts.primary - kept_count,
    )


def gone(old: Release, new: Release) -> Iterator[AccessionVerdict]:
    """Yield `new`'s verdict on each primary accession in `old` that is no longer primary."""
    for codes in old.bits.scan():
        absent = codes[new.statuses(codes) != Status.PRIMARY]
        if absent.size:
            yield from new.lookup(decode(absent))
