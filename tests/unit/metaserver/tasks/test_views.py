"""Live views equal those of `scoring` with the files of the release, hit by hit."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import msgspec
import pytest

from metaserver.tasks.ranked import ViewScorer, release_views
from metaserver.uniprot import Release
from metaserver.uniprot.views import ortholog_lines, taxon_lines, write_lines
from scoring import Hit, ItemGold, RunScorer, View, pair, select_views
from scoring.tasks import Item, Task
from scoring.views import members

HUMAN, MOUSE, RAT, COW, COLI, SECONDARY = (
    "P04637",
    "P02340",
    "P10361",
    "P68250",
    "P0A7G6",
    "Q15087",  # of the human entry: no primary accession
)
GOLD: dict[Task, dict[str, frozenset[Item]]] = {
    Task.INT: {
        "a1": frozenset({HUMAN}), "a2": frozenset({HUMAN, MOUSE}), "a3": frozenset({SECONDARY}),
    },
    Task.IPT: {
        "a1": frozenset({(MOUSE, HUMAN)}),
        "a2": frozenset({pair(HUMAN, COLI), pair(MOUSE, COLI)}),
        "a3": frozenset({pair(SECONDARY, HUMAN)}),
    },
}  # fmt: skip
NAMES = [RAT, SECONDARY, COW, HUMAN, "Q00000", COLI, MOUSE]
ITEMS: dict[Task, list[Item]] = {
    Task.INT: [*NAMES],
    Task.IPT: [pair(NAMES[left], NAMES[right]) for left in range(7) for right in range(left, 7)],
}


@pytest.mark.parametrize("task", GOLD)
def test_every_hit_is_seen_as_with_the_files(task: Task, release: Release, tmp_path: Path) -> None:
    gold = ItemGold(task=task, items=GOLD[task])
    hits = [Hit(item, rank, 0.5) for rank, item in enumerate(ITEMS[task], start=1)]
    views = list(release_views(gold, release))
    assert [view.name for view in views] == ["mapped", "filtered", "both"]
    for live, filed in zip(views, from_files(gold, release, tmp_path), strict=True):
        seen = [live.apply(article, hits) for article in gold.items]
        assert seen == [filed.apply(hits, items) for items in gold.items.values()]
        assert seen[0] != hits
        assert live.apply("an article without gold", hits) == hits


@pytest.mark.parametrize(
    ("lacking", "names"),
    [
        (["homonym_sets"], ["filtered"]),
        (["with_taxon"], ["mapped"]),
        (["homonym_sets", "with_taxon"], []),
    ],
)
def test_a_release_without_the_data_of_a_view_has_no_such_view(lacking, names, release):
    counts = msgspec.structs.replace(release.meta.counts, **dict.fromkeys(lacking, 0))
    without = replace(release, meta=msgspec.structs.replace(release.meta, counts=counts))
    gold = ItemGold(task=Task.INT, items=GOLD[Task.INT])
    assert [view.name for view in release_views(gold, without)] == names


def test_an_ortholog_of_several_gold_accessions_becomes_all_of_them(release: Release) -> None:
    gold = ItemGold(task=Task.INT, items=GOLD[Task.INT])
    mapped = next(release_views(gold, release))
    found = mapped.apply("a2", [Hit(COW, 1, 0.5), Hit(RAT, 2, 0.4)])
    assert [hit.item for hit in found] == [COW, *sorted([HUMAN, MOUSE])]


def from_files(gold: ItemGold, release: Release, folder: Path) -> list[View]:
    """Return the views of `scoring evaluate` with the files of the release."""
    names = [one for item in chain.from_iterable(gold.items.values()) for one in members(item)]
    homologs, taxa = folder / "homologs", folder / "taxa"
    write_lines(homologs, ortholog_lines(release, names))
    write_lines(taxa, taxon_lines(release, names))
    return select_views(gold, ["mapped", "filtered", "both"], homologs=homologs, taxa=taxa)


@pytest.mark.parametrize("task", GOLD)
def test_answers_are_scored_live_in_every_view_as_with_the_files(task, release, tmp_path):
    gold = ItemGold(task=task, items=GOLD[task])
    lists = {
        article: [Hit(item, rank, 0.5) for rank, item in enumerate(ITEMS[task][skip:], start=1)]
        for skip, article in enumerate([*gold.items, "an article without gold"])
    }
    filed = from_files(gold, release, tmp_path)
    for live, view in zip(release_views(gold, release), filed, strict=True):
        scorer, expected = ViewScorer(live), RunScorer(task, gold, run="")
        scorer.keep("a1", scorer.prepare("a1", lists["a2"]))  # an earlier answer
        for article, hits in lists.items():
            scorer.keep(article, scorer.prepare(article, hits))
            expected.put(article, view.apply(hits, gold.items.get(article, frozenset())))
        found, due = scorer.scorecard(), expected.scorecard()
        assert (found.run, found.signature.view) == ("", live.name)
        assert (found.articles, found.macro) == (due.articles, due.macro)
        assert found.articles_scored == len(gold.items)
