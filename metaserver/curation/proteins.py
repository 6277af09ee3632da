"""Proteins of a release as curators know them: names, organisms, orthologs; places of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from annotators.matching import Protein
from metaserver.base.errors import InputError
from metaserver.base.structs import convert
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.mentions import Mentions
from metaserver.uniprot.directory import NamedEntry, NameDirectory
from metaserver.uniprot.release import Release

MOST_ORTHOLOGS = 100
"""The most orthologs of a protein that are returned."""


class ReleaseProteins:
    """The proteins of a release in a folder; a missing release knows none.

    Every look-up reads files: call it in a thread.
    """

    def __init__(self, releases: Path, release: str) -> None:
        self.release = release
        self._folder = releases / release if release else None

    def entries(self, accessions: Sequence[str]) -> Mapping[str, NamedEntry]:
        """Return the accession entries, in their order.

        Those without names, such as unreviewed entries, have their taxon alone.
        """
        release = self._opened()
        if release is None or not accessions:
            return {}
        reviewed = self._named(accessions)
        taxa = release.entries.taxa(accessions)
        return {
            accession: reviewed.get(accession)
            or NamedEntry(
                accession=accession, entry_name="", names=(), symbols=(), taxon=taxon, organism=""
            )
            for accession, taxon in zip(accessions, taxa, strict=True)
            if taxon or accession in reviewed
        }

    def orthologs(self, accession: str) -> Sequence[NamedEntry]:
        """Return the homonym orthologs of an accession, at most `MOST_ORTHOLOGS`."""
        release = self._opened()
        if release is None:
            return []
        [accessions] = release.entries.orthologs([accession])
        return list(self.entries(list(islice(accessions, MOST_ORTHOLOGS))).values())

    def _opened(self) -> Release | None:
        try:
            return Release.open(self._folder) if self._folder is not None else None
        except InputError:
            return None

    def _named(self, accessions: Sequence[str]) -> Mapping[str, NamedEntry]:
        assert self._folder is not None
        try:
            directory = NameDirectory.open(self._folder)
        except InputError:
            return {}  # it was built without names
        with closing(directory):
            return directory.entries(accessions)


def curated(entry: NamedEntry) -> CuratedProtein:
    """Return an entry as exports have it."""
    return convert(
        entry, CuratedProtein, name=next(iter(entry.names), ""), taxid=entry.taxon or None
    )


def matched(entry: NamedEntry) -> Protein:
    """Return an entry as the matcher of names takes it."""
    return Protein(accession=entry.accession, names=entry.names, symbols=entry.symbols)


MOST_ENTRIES = 60
"""The most entries whose names are searched for."""


@dataclass(kw_only=True, slots=True)
class NamedPlaces:
    """The places of entries' names in one text, by accession, kept until others are requested.

    Names are searched for together: of overlapping names, the longer counts.
    """

    entries: frozenset[str] = frozenset()
    places: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def search(self, text: str, accessions: Iterable[str], names: ReleaseProteins) -> None:
        """Search for the entry names, unless that is done; slow for a long text."""
        wanted = list(dict.fromkeys(accessions))[:MOST_ENTRIES]
        if self.entries.issuperset(wanted):
            return
        places: dict[str, list[tuple[int, int]]] = {}
        for span in Mentions(text).spans((), map(matched, names.entries(wanted).values())):
            places.setdefault(span.accession, []).append((span.start, span.end))
        self.places = {accession: tuple(places) for accession, places in places.items()}
        self.entries = frozenset(wanted)
