"""A release's entry data: organism, UniRef50 cluster, homonym orthologs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaserver.uniprot.bits import NO_ENTRY, EntryBits, Ranks
from metaserver.uniprot.codec import Codes, decode, encode
from metaserver.uniprot.layout import ReleaseCounts
from metaserver.uniprot.names import cluster_id

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
