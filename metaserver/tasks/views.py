"""Views of a run (`scoring.views`), computed from a UniProt release while answers arrive.

They give the same digits as `scoring evaluate` with the files of `metaserver uniprot taxa` and
`orthologs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from metaserver.uniprot import Release
from metaserver.uniprot.views import gold_species
from scoring import Answer, Classification, Hit, ItemGold, Signature, View
from scoring.biocreative import ItemScorer
from scoring.ranking import Matches
from scoring.tasks import Accession, Item
from scoring.views import members


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseView:
    """The mapping and filtering of hits, for one gold standard, before they are scored.

    `homologs` and `taxa` are those of the gold's accessions, None where the view does not map or
    filter.
    """

    name: str
    gold: ItemGold
    release: Release
    homologs: Mapping[Accession, frozenset[Accession]] | None
    taxa: Mapping[Accession, str] | None

    def apply(self, article: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits for an article in this view, with consecutive ranks from 1."""
        gold = self.gold.items.get(article, frozenset())
        taxa = None if self.taxa is None else self._taxa(hits, gold, self.taxa)
        return View(name=self.name, homologs=self.homologs, taxa=taxa).apply(hits, gold)

    def _taxa(
        self, hits: Sequence[Hit], gold: frozenset[Item], gold_taxa: Mapping[Accession, str]
    ) -> dict[Accession, str]:
        """Return the taxa of an article's hits and gold; `known` precedes those of the release."""
        items = {*gold, *(hit.item for hit in hits)}
        accessions = list({accession for item in items for accession in members(item)})
        pairs = zip(accessions, self.release.entries.taxa(accessions), strict=True)
        taxa = {accession: str(taxon) for accession, taxon in pairs if taxon}
        return taxa | {
            accession: gold_taxa[accession] for accession in gold_taxa.keys() & accessions
        }


def release_views(gold: ItemGold, release: Release) -> Iterator[ReleaseView]:
    """Yield the views that a release allows besides the raw one.

    Without homonym-ortholog sets nothing is mapped, without taxa nothing is filtered.
    """
    accessions = sorted(
        {accession for items in gold.items.values() for i in items for accession in members(i)}
    )
    homologs = taxa = None
    if release.meta.counts.homonym_sets:
        sets = zip(accessions, release.entries.orthologs(accessions), strict=True)
        homologs = {accession: frozenset(orthologs) for accession, orthologs in sets if orthologs}
    if release.meta.counts.with_taxon:
        species = gold_species(release, accessions)
        taxa = {accession: str(taxon) for accession, taxon in species.items()}
    view = partial(ReleaseView, gold=gold, release=release)
    if homologs is not None:
        yield view(name="mapped", homologs=homologs, taxa=None)
    if taxa is not None:
        yield view(name="filtered", homologs=None, taxa=taxa)
    if homologs is not None and taxa is not None:
        yield view(name="both", homologs=homologs, taxa=taxa)


class ViewScorer(ItemScorer):
    """A scorer of one run in one view, like `scoring.RunScorer` in the raw one."""

    def __init__(self, view: ReleaseView) -> None:
        signature = Signature(task=view.gold.task, gold=None, view=view.name)
        super().__init__(view.gold, signature, run="")
        self._view = view

    def prepare(self, article: str, answer: Answer) -> Matches:
        """Return the places of an answer's correct hits in this view."""
        assert not isinstance(answer, Classification)
        return super().prepare(article, self._view.apply(article, answer))
