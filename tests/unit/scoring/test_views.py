"""The rules of mapping and filtering that the golden numbers do not reach."""

import hashlib
import time
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import pytest

from scoring import (
    VIEWS,
    FormatError,
    Hit,
    ItemGold,
    OptionError,
    View,
    evaluate_runs,
    select_views,
)
from scoring.biocreative import match
from scoring.tasks import Task
from scoring.views import RAW

GOLD = ItemGold(task=Task.INT, items={"a": frozenset({"P1", "P2"})})


def hits(*items: str) -> list[Hit]:
    return [Hit(item, rank, 1 / rank) for rank, item in enumerate(items, start=1)]


@pytest.mark.parametrize(
    ("homologs", "taxa", "correct"),
    [
        (None, None, (2, 4)),
        ({"P1": frozenset({"Q1"})}, None, (2, 3)),
        (None, dict.fromkeys(("P1", "P2", "Q1"), "9606"), (1, 3)),
        ({"P1": frozenset({"Q1"})}, dict.fromkeys(("P1", "P2"), "9606"), (1, 2)),
    ],
    ids=VIEWS,
)
def test_the_rank_counts_and_not_the_order_of_the_lines(homologs, taxa, correct):
    view = View(homologs=homologs, taxa=taxa)
    for listed in permutations(hits("X", "P2", "Q1", "P1")):
        found = view.apply(listed, GOLD.items["a"])
        assert [hit.rank for hit in found] == [*range(1, len(found) + 1)]
        assert match(found, GOLD.items["a"]).ranks == correct


def test_pairs_of_homologs_of_everything_cost_no_more_for_a_larger_gold() -> None:
    """A team can list all pairs of accessions that stand for much of the gold."""

    def seconds(size: int) -> float:
        known = [f"P{number}" for number in range(size)]
        gold = frozenset(combinations_with_replacement(known, 2))
        homologs = dict.fromkeys(known, frozenset(f"Q{number}" for number in range(150)))
        view = View(name="mapped", homologs=homologs)
        pairs = combinations_with_replacement(sorted(homologs[known[0]]), 2)
        listed = [Hit(item, rank, 1.0) for rank, item in enumerate(pairs, start=1)]
        begun = time.thread_time()
        found = view.apply(listed, gold)
        taken = time.thread_time() - begun
        assert {hit.item for hit in found} == gold
        return taken

    few, many = (min(seconds(size) for _ in range(3)) for size in (4, 40))  # 10 and 820 pairs
    assert many < 10 * few


def test_hits_for_an_article_without_gold_stay() -> None:
    view = View(name="both", homologs={"P1": frozenset({"Q1"})}, taxa={"P1": "9606"})
    assert view.apply(hits("Q1", "M1"), frozenset()) == hits("Q1", "M1")


def test_a_pair_passes_the_filter_only_with_both_members() -> None:
    view = View(name="filtered", taxa={"P1": "9606", "P2": "9606", "M1": "10090"})
    pairs = [Hit(("M1", "P1"), 1, 1.0), Hit(("P1", "P2"), 2, 0.5), Hit(("P1", "U"), 3, 0.2)]
    assert view.apply(pairs, frozenset({("P1", "P2")})) == [Hit(("P1", "P2"), 1, 0.5)]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("mapped", "taxa", "'mapped' needs --map"),
        ("filtered", "homologs", "'filtered' needs --taxa"),
        ("both", "taxa", "'both' needs --map"),
        ("both", "homologs", "'both' needs --taxa"),
    ],
)
def test_a_views_file_must_be_given(name: str, given: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("P1\tQ1\nP2\tQ2\n")
    with pytest.raises(OptionError, match=said):
        select_views(GOLD, ["raw", name], **{given: path})


def test_each_view_has_its_files_and_names_them_by_their_digests(tmp_path: Path) -> None:
    homologs, taxa = tmp_path / "map", tmp_path / "taxa"
    homologs.write_bytes(b"P1\tQ1,Q2\nP2\tQ3\n")
    taxa.write_bytes(b"P1\t9606\nP2\t10090\nQ1\t9606\n")
    views = select_views(GOLD, VIEWS, homologs=homologs, taxa=taxa)
    assert [view.name for view in views] == list(VIEWS)
    groups = {"P1": frozenset({"Q1", "Q2"}), "P2": frozenset({"Q3"})}
    organisms = {"P1": "9606", "P2": "10090", "Q1": "9606"}
    assert [view.homologs for view in views] == [None, groups, None, groups]
    assert [view.taxa for view in views] == [None, None, organisms, organisms]
    map_digest, taxa_digest = (
        hashlib.sha256(path.read_bytes()).hexdigest()[:8] for path in (homologs, taxa)
    )
    assert [view.files for view in views] == [
        None, map_digest, taxa_digest, f"{map_digest}+{taxa_digest}",
    ]  # fmt: skip
    taxa.write_bytes(taxa.read_bytes() + b"Q2\t9606\n")
    assert select_views(GOLD, ["raw"]) == [RAW]
    [other] = select_views(GOLD, ["filtered"], taxa=taxa)
    assert other.files not in (None, taxa_digest)
    [signed] = evaluate_runs("INT", GOLD, [_run(tmp_path)], views=[views[3]])
    assert f"{map_digest}+{taxa_digest}" in str(signed.signature)


def _run(folder: Path) -> Path:
    path = folder / "run"
    path.write_text("a\tP1\t1\t1.0\n")
    return path


def test_every_problem_of_a_file_is_reported(tmp_path: Path) -> None:
    homologs, taxa = tmp_path / "map", tmp_path / "taxa"
    homologs.write_text("P1\tQ1\n\tQ2\nP1\tQ3\nP2\tQ4,\n")
    with pytest.raises(FormatError) as raised:
        select_views(GOLD, [], homologs=homologs)
    assert [(one.line, one.column) for one in raised.value.problems] == [(2, 1), (3, 1), (4, 2)]
    taxa.write_text("\t1\n")
    with pytest.raises(FormatError) as raised:
        select_views(GOLD, [], taxa=taxa)
    assert [(one.line, one.column) for one in raised.value.problems] == [(1, 1)]
    taxa.write_text("Q1\t1\n")
    with pytest.raises(FormatError) as raised:
        select_views(GOLD, [], taxa=taxa)
    assert [str(one) for one in raised.value.problems] == [
        f"{taxa}: no taxon for gold accession 'P1'",
        f"{taxa}: no taxon for gold accession 'P2'",
    ]


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("homologs", "P1\tQ1\nP1\tQ2\n", "2:column 1: 'P1' again"),
        ("homologs", "P1\tQ1, Q2\n", "1:column 2: 'Q1, Q2'; expected accessions separated"),
        ("homologs", "P1\tQ1,,Q2\n", "1:column 2: 'Q1,,Q2'; expected accessions separated"),
        ("homologs", "P1\tQ1,\n", "1:column 2: 'Q1,'; expected accessions separated"),
        ("homologs", "P1\n", "1: 1 column; expected 2 separated by tabs: gold accession, acc"),
        ("taxa", "P1\n", "1: 1 column; expected 2 separated by tabs: accession, taxon"),
        ("taxa", "P1\t9606\nP1\t9606\n", "2:column 1: 'P1' again"),
        ("taxa", "P1\t9606\n", ": no taxon for gold accession 'P2'"),
    ],
)
def test_bad_view_files(option: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(FormatError) as raised:
        select_views(GOLD, ["raw"], **{option: path})
    assert message in str(raised.value.problems[0])
