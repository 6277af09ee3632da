"""Views as the official BC II.5 evaluator 2.3.1 has them: 200 cases, from files and live.

In 102 of them an accession stands for several gold accessions of an article.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from metaserver.tasks.ranked import ReleaseView
from metaserver.uniprot import Release
from metaserver.uniprot.codec import PATTERN
from scoring import (
    Classification,
    ItemGold,
    RunScorer,
    View,
    evaluate_runs,
    read_gold,
    read_run,
    select_views,
)
from scoring.views import members
from tests.golden.bceval import POLICY, assert_agrees, cases
from tests.unit.metaserver.uniprot.samples import build, flat_entry

VIEWS = "parity_views"


def write(case: dict[str, Any], folder: Path) -> tuple[ItemGold, Path, View]:
    """Write a case's files; return its gold, its run's path and the view it is scored in."""
    files = {name: folder / name for name in ("gold", "run", "ho", "of") if name in case}
    for name, path in files.items():
        path.write_text(case[name])
    gold = read_gold(case["task"], files["gold"])
    assert isinstance(gold, ItemGold)
    views = select_views(gold, [case["view"]], homologs=files.get("ho"), taxa=files.get("of"))
    return gold, files["run"], views[0]


@pytest.mark.parametrize("number", range(200))
def test_files_agree_with_the_official_program(number: int, tmp_path: Path) -> None:
    case = cases(VIEWS)[number]
    gold, run, view = write(case, tmp_path)
    [scorecard] = evaluate_runs(
        case["task"], gold, [run], articles=POLICY[case["documents"]], cutoff=case["cutoff"],
        lenient_ranks=True, views=[view],
    )  # fmt: skip
    assert_agrees(scorecard, case["expected"])


@pytest.mark.slow  # a release is built for every case of the organism filter
@pytest.mark.parametrize("number", range(200))
def test_live_views_agree_with_the_official_program(number, small, tmp_path):
    case = with_valid_accessions(cases(VIEWS)[number])
    gold, run, view = write(case, tmp_path)
    release = small if view.taxa is None else holding(view.taxa, tmp_path)
    in_view = live_view(gold, view, release)
    scorer = RunScorer(
        case["task"], gold, articles=POLICY[case["documents"]], cutoff=case["cutoff"]
    )
    for article, answer in read_run(case["task"], run, lenient_ranks=True).answers.items():
        assert not isinstance(answer, Classification)
        scorer.put(article, in_view.apply(article, answer))
    assert_agrees(scorer.scorecard(), case["expected"])


def with_valid_accessions(case: dict[str, Any]) -> dict[str, Any]:
    """Give the accessions that were made up for a case names that a release can hold."""
    names = {line.split("\t")[0] for line in case.get("of", "").splitlines()}
    invented = sorted(name for name in names if not PATTERN.fullmatch(name))
    valid = {name: f"O{number // 1000}Z{number % 1000:03}" for number, name in enumerate(invented)}
    assert not names.intersection(valid.values())
    renamed = {
        name: re.sub(r"[^\t\r\n,]+", lambda field: valid.get(field[0], field[0]), case[name])
        for name in ("gold", "run", "ho", "of")
        if name in case
    }
    return case | renamed


def holding(taxa: Mapping[str, str], folder: Path) -> Release:
    entries = (
        flat_entry(f"N{number}_HUMAN", f"{accession};", int(taxon))
        for number, (accession, taxon) in enumerate(taxa.items())
    )
    return build(folder, {"sprot.dat": "".join(entries)})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return holding({"P04637": "9606"}, tmp_path_factory.mktemp("release"))


def live_view(gold: ItemGold, view: View, release: Release) -> ReleaseView:
    """Return a view as a hub makes it, with its taxa in a release, but the case's homologs."""
    known = {one for items in gold.items.values() for item in items for one in members(item)}
    return ReleaseView(
        name=view.name,
        gold=gold,
        release=release,
        homologs=view.homologs,
        taxa={one: view.taxa[one] for one in known} if view.taxa is not None else None,
    )
