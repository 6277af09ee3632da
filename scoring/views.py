"""Views of a run: its hits mapped to homologous gold accessions, filtered by organism, or both.

The BC II.5 overview scores every run four ways, since teams found the right gene in the wrong
species (Leitner et al. 2010, Table 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import FormatError, OptionError, Problem
from scoring.gold import ItemGold
from scoring.rows import Sheet
from scoring.tasks import Accession, Hit, Item, pair

VIEWS = ("raw", "mapped", "filtered", "both")


@dataclass(frozen=True, kw_only=True)
class View:
    """What is done to an article's hits before they are scored; mapping runs before the filter.

    `homologs` has for a gold accession the accessions that stand for it; `taxa` has the taxon of
    every accession known. `files` names the digests of the files they came from.
    """

    name: str = "raw"
    homologs: Mapping[Accession, frozenset[Accession]] | None = None
    taxa: Mapping[Accession, str] | None = None
    files: str | None = None

    def apply(self, hits: Sequence[Hit], gold: frozenset[Item]) -> Sequence[Hit]:
        """Return an article's hits in this view, by rank, ranks closed up from 1."""
        known = sorted({accession for item in gold for accession in members(item)})
        if self.homologs is not None:
            hits = self._mapped(hits, known)
        if self.taxa is not None:
            taxa = {self.taxa[accession] for accession in known}
            hits = [
                hit
                for hit in sorted(hits, key=lambda hit: hit.rank)
                if all(self.taxa.get(accession) in taxa for accession in members(hit.item))
            ]
        return [hit._replace(rank=rank) for rank, hit in enumerate(hits, start=1)]

    def _mapped(self, hits: Sequence[Hit], known: Sequence[Accession]) -> Sequence[Hit]:
        """Return the hits with homologs replaced; of equal items the best rank stays.

        A gold accession always stands for itself; what stands for two is given to the first.
        """
        assert self.homologs is not None
        stands_for: dict[Accession, Accession] = {accession: accession for accession in known}
        for accession in known:
            for homolog in self.homologs.get(accession, ()):
                stands_for.setdefault(homolog, accession)
        best: dict[Item, Hit] = {}
        for hit in sorted(hits, key=lambda hit: hit.rank):
            mapped = [stands_for.get(accession, accession) for accession in members(hit.item)]
            item = mapped[0] if len(mapped) == 1 else pair(mapped[0], mapped[1])
            best.setdefault(item, hit._replace(item=item))
        return list(best.values())


RAW = View()


def members(item: Item) -> tuple[Accession, ...]:
    """Return the accessions of an item: one (INT) or two (IPT)."""
    return (item,) if isinstance(item, str) else item


def select_views(
    gold: ItemGold,
    names: Iterable[str],
    *,
    homologs: Path | None = None,
    taxa: Path | None = None,
) -> list[View]:
    """Return the named views, their files read and checked against the gold.

    Raises `OptionError` where a view's file was not given and `FormatError` for a file that cannot
    be read or that leaves a gold accession without a taxon.
    """
    groups = read_homologs(homologs) if homologs else None
    organisms = read_taxa(taxa, gold) if taxa else None
    views = []
    for name in names:
        mapped, filtered = name in ("mapped", "both"), name in ("filtered", "both")
        if mapped and groups is None:
            raise OptionError(f"the view {name!r} needs --map")
        if filtered and organisms is None:
            raise OptionError(f"the view {name!r} needs --taxa")
        used = [homologs if mapped else None, taxa if filtered else None]
        views.append(
            View(
                name=name,
                homologs=groups if mapped else None,
                taxa=organisms if filtered else None,
                files="+".join(_digest(path) for path in used if path) or None,
            )
        )
    return views


def read_homologs(path: Path) -> dict[Accession, frozenset[Accession]]:
    """Read a map file: `gold accession<TAB>accession,accession,...`, a gold accession once."""
    sheet = Sheet(path, ("gold accession", "accessions"))
    groups: dict[Accession, frozenset[Accession]] = {}
    for line, fields in sheet.rows():
        if not sheet.names(line, fields):
            continue
        if fields[0] in groups:
            sheet.problem(line, 1, f"{fields[0]!r} again; expected one line a gold accession")
        group = fields[1].split(",")
        if any(accession.strip() != accession or not accession for accession in group):
            sheet.problem(line, 2, f"{fields[1]!r}; expected accessions separated by commas only")
        groups[fields[0]] = frozenset(group)
    sheet.finish()
    return groups


def read_taxa(path: Path, gold: ItemGold) -> dict[Accession, str]:
    """Read a taxon file: `accession<TAB>taxon`, an accession once, every gold accession in it."""
    sheet = Sheet(path, ("accession", "taxon"))
    taxa: dict[Accession, str] = {}
    for line, fields in sheet.rows():
        if not sheet.names(line, fields):
            continue
        if fields[0] in taxa:
            sheet.problem(line, 1, f"{fields[0]!r} again; expected one taxon an accession")
        taxa[fields[0]] = fields[1]
    sheet.finish()
    known = {one for items in gold.items.values() for item in items for one in members(item)}
    if missing := sorted(known - taxa.keys()):
        raise FormatError(
            [Problem(str(path), 0, 0, f"no taxon for gold accession {one!r}") for one in missing]
        )
    return taxa


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
