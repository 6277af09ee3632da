"""NCBI Gene ids of a release: read from its sources, and ruled on where answers have them."""

from pathlib import Path

import pytest

from metaserver.uniprot import FormatVocabulary, Release, ReleaseVocabulary, Ruling, build_release
from metaserver.uniprot.sources import SourceFile
from metaserver.uniprot.sources.entries import read_flatfile
from tests.shared import shared

TABLE = """\
Entry\tEntry Name\tOrganism (ID)\tGeneID
P04637\tP53_HUMAN\t9606\t7157;
P62805\tH4_HUMAN\t9606\t121504;8294;8359;
P01574\tIFNB_HUMAN\t9606\t3456;
P01563\tIFNA2_HUMAN\t9606\t3440;
P01562\tIFNA1_HUMAN\t9606\t3440;3439;
A0A023GPI8\tA0A023GPI8_HUMAN\t9606\t7157;
"""
IDMAPPING = "\t".join(["P38398", "BRCA1_HUMAN", "672; 999", *[""] * 9, "9606", *[""] * 9]) + "\n"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("genes")
    (folder / "table.tsv").write_text(TABLE)
    (folder / "idmapping_selected.tab").write_text(IDMAPPING)
    sources = [folder / "table.tsv", folder / "idmapping_selected.tab"]
    return build_release(sources, name="made", out=folder / "made")


@pytest.mark.parametrize(
    ("gene", "entries"),
    [
        (7157, ["P04637"]),  # not the unreviewed entry
        (8294, ["P62805"]),
        (3440, ["P01562", "P01563"]),
        (672, ["P38398"]),
        (999, ["P38398"]),
        (1, []),
        (9_999_999_999, []),
    ],
)
def test_reviewed_entries_of_a_gene(release: Release, gene: int, entries: list[str]) -> None:
    assert sorted(release.of_gene(gene)) == entries


@pytest.mark.parametrize(
    "text",
    [
        "NCBIGene:7157", "ncbigene:7157", "NCBI Gene:7157", "GeneID:7157", "Entrez:7157",
        "https://www.ncbi.nlm.nih.gov/gene/7157", "https://identifiers.org/ncbigene:7157",
    ],
)  # fmt: skip
def test_a_gene_with_one_entry_counts_as_it(release: Release, text: str) -> None:
    rulings = ReleaseVocabulary(release=release).rulings(["P04637", text])
    assert rulings == {1: Ruling("P04637", "NCBI gene 7157: read as P04637")}


def test_a_gene_with_several_entries_or_none_does_not_count(release: Release) -> None:
    rulings = ReleaseVocabulary(release=release).rulings(["GeneID:3440", "GeneID:1", "7157"])
    assert {place: ruling.accession for place, ruling in rulings.items()} == dict.fromkeys(range(3))
    assert rulings[0].note.startswith("is NCBI gene 3440, which has 2 entries: P0156")
    assert rulings[1].note == "is NCBI gene 1, which has no reviewed entry in UniProt made"
    assert rulings[2].note == "looks like an Entrez Gene id: map it to UniProt first"


def test_without_a_release_no_gene_counts() -> None:
    (ruling,) = FormatVocabulary().rulings(["GeneID:7157"]).values()
    assert ruling == Ruling(None, "is an NCBI Gene id")


def test_a_release_built_before_has_none(tmp_path: Path, release: Release) -> None:
    table = tmp_path / "list.txt"
    table.write_text("P04637\n")
    plain = build_release([table], name="plain", out=tmp_path / "plain")
    for name in ("gene.i8", "gene_to.i8"):
        (plain.directory / name).unlink()
    assert Release.open(plain.directory).of_gene(7157) == []


def test_a_real_flat_file_has_gene_ids() -> None:
    with SourceFile(shared("data/uniprot/flat/O95832.txt")) as source:
        (entry,) = read_flatfile(source)
    assert entry.genes == (9076,)
