"""Views of a run: its hits mapped to homologous gold accessions, filtered by organism, or both.

The BC II.5 overview scores every run four ways, since teams found the right gene in the wrong
species (Leitner et al. 2010, Table 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from scoring.errors import FileProblem, FormatError, OptionError
from scoring.gold import ItemGold
from scoring.rows import TabFile
from scoring.tasks import Accession, Hit, Item, by_rank
from scoring.text import Piped, Source, rereadable

VIEWS = ("raw", "mapped", "filtered", "both")


@dataclass(frozen=True, kw_only=True)
class View:
    """A transformation of an article's hits before they are scored: mapping, then the filter.

    `homologs` has for a gold accession the accessions that count as it; `taxa` has the taxon of
    every accession known. `files` names the digests of the files they came from.
    """

    name: str = "raw"
    homologs: Mapping[Accession, frozenset[Accession]] | None = None
    taxa: Mapping[Accession, str] | None = None
    files: str | None = None

    def apply(self, hits: Iterable[Hit], gold: frozenset[Item]) -> Sequence[Hit]:
        """Return an article's hits in this view, by rank, ranks closed up from 1.

        Without gold there is nothing to map to and nothing to filter by: all hits stay.
        """
        hits = sorted(hits, key=by_rank)
        if gold and self.homologs is not None:
            hits = list(_mapped(hits, gold, self.homologs))
        if gold and self.taxa is not None:
            taxa = {self.taxa[accession] for item in gold for accession in members(item)}
            taxon = self.taxa.get
            hits = [
                hit
                for hit in hits
                if (
                    taxon(hit.item) in taxa
                    if isinstance(hit.item, str)
                    else all(taxon(accession) in taxa for accession in hit.item)
                )
            ]
        return [Hit(item, rank, sure) for rank, (item, _, sure) in enumerate(hits, start=1)]


def _mapped(
    hits: Sequence[Hit], gold: frozenset[Item], homologs: Mapping[Accession, frozenset[Accession]]
) -> Iterable[Hit]:
    """Return the hits, in order of rank, as the gold items that they count as.

    An item of the gold counts as itself only, any other as every gold item that it matches as a
    whole; an item that matches none stays. Of equal items the best rank stays.
    """
    gold_items = _GoldItems(hits, gold, homologs)
    best: dict[Item, Hit] = {}
    for hit in hits:
        for item in (hit.item,) if hit.item in gold else gold_items.instead_of(hit.item):
            if item not in best:
                best[item] = Hit(item, hit.rank, hit.confidence)
    return best.values()


_Sides: TypeAlias = tuple[frozenset[Accession], ...]
"""The gold accessions that each member of an item stands for."""
_NONE: frozenset[Accession] = frozenset()


class _GoldItems:
    """An article's gold items, looked up by the accessions that count as their members.

    However many hits count as the same gold accessions, their matches are computed once.
    """

    def __init__(
        self,
        hits: Iterable[Hit],
        gold: frozenset[Item],
        homologs: Mapping[Accession, frozenset[Accession]],
    ) -> None:
        self._with: dict[Accession, list[Item]] = {}  # a gold accession's items
        for item in gold:
            for accession in set(members(item)):
                self._with.setdefault(accession, []).append(item)
        # Of the homologs, which can be many, only those that are among the hits.
        listed = {accession for hit in hits for accession in members(hit.item)}
        stands_for: dict[Accession, set[Accession]] = {}
        for accession in self._with:
            for one in (accession, *(listed & homologs.get(accession, frozenset()))):
                stands_for.setdefault(one, set()).add(accession)
        self._stands_for = {one: frozenset(found) for one, found in stands_for.items()}
        self._matching: dict[_Sides, bool] = {}

    def instead_of(self, item: Item) -> Sequence[Item]:
        """Return what an item becomes: the gold items it matches, or itself if it matches none.

        Nothing where an earlier item already became the same gold items.
        """
        sides = tuple(self._stands_for.get(one, _NONE) for one in members(item))
        if sides not in self._matching:
            matched = self._match(*sides)
            self._matching[sides] = bool(matched)
            return matched or (item,)
        return () if self._matching[sides] else (item,)

    def _match(
        self, left: frozenset[Accession], right: frozenset[Accession] | None = None
    ) -> Sequence[Item]:
        """Return the gold items whose members are among these, one for one."""
        if right is None:
            return sorted(left)
        return sorted(
            {pair for one in left for pair in self._with[one] if _other(pair, one) in right}
        )


def _other(item: Item, accession: Accession) -> Accession:
    """Return the member of a pair beside `accession`, which may be there twice."""
    left, right = members(item)
    return right if left == accession else left


RAW = View()


def members(item: Item) -> tuple[Accession, ...]:
    """Return the accessions of an item: one (INT) or two (IPT).

    >>> members("P04637"), members(("P04637", "Q00987"))
    (('P04637',), ('P04637', 'Q00987'))
    """
    return (item,) if isinstance(item, str) else item


def select_views(
    gold: ItemGold,
    names: Iterable[str],
    *,
    homologs: Source | None = None,
    taxa: Source | None = None,
) -> list[View]:
    """Return the named views, their files read and checked against the gold.

    Raises `OptionError` where a view's file was not given and `FormatError` for a file that cannot
    be read or that leaves a gold accession without a taxon.
    """
    homologs, taxa = (path and rereadable(path) for path in (homologs, taxa))
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


def read_homologs(path: Source) -> dict[Accession, frozenset[Accession]]:
    r"""Read a map file: `gold accession<TAB>accession,accession,...`, a gold accession once.

    >>> _ = Path("homologs.tsv").write_text("P04637\tP02340,P10361\n")
    >>> {gold: sorted(others) for gold, others in read_homologs(Path("homologs.tsv")).items()}
    {'P04637': ['P02340', 'P10361']}
    """
    sheet = TabFile(path, ("gold accession", "accessions"))
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


def read_taxa(path: Source, gold: ItemGold) -> dict[Accession, str]:
    r"""Read a taxon file: `accession<TAB>taxon`, an accession once, every gold accession in it.

    >>> _ = Path("taxa.tsv").write_text("P04637\t9606\nP02340\t10090\n")
    >>> from scoring import ItemGold, Task
    >>> gold = ItemGold(task=Task.INT, items={"10.1": frozenset({"P04637"})})
    >>> read_taxa(Path("taxa.tsv"), gold)
    {'P04637': '9606', 'P02340': '10090'}
    """
    sheet = TabFile(path, ("accession", "taxon"))
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
            [
                FileProblem(str(path), 0, 0, f"no taxon for gold accession {one!r}")
                for one in missing
            ]
        )
    return taxa


def _digest(path: Source) -> str:
    content = path.content if isinstance(path, Piped) else path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:8]
