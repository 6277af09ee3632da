"""Where a text names entries: only a request's candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metaserver.curation.mentions import Mentions
from metaserver.curation.proteins import ReleaseProteins, matched

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
