"""The files of the views, out of releases in which some species are not known."""

from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.uniprot import Release
from metaserver.uniprot.views import (
    GoldAccession,
    gold_species,
    ortholog_lines,
    read_gold_accessions,
    taxon_lines,
    write_lines,
)
from tests.unit.metaserver.uniprot.samples import SOURCES, build, flat_entry

HUMAN, MOUSE, RAT, COW = "P04637", "P02340", "P10361", "P68250"
SECONDARY, SHARED, UNKNOWN = "Q15086", "P29358", "Q00987"  # SHARED is of a cow and of a sheep


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    flat = SOURCES["sprot.dat"] + flat_entry("ROOT_1", "P38398;", 1)
    return build(tmp_path_factory.mktemp("uniprot"), SOURCES | {"sprot.dat": flat})


def test_a_species_is_that_of_all_successors_or_not_known(release: Release) -> None:
    accessions = [HUMAN, SECONDARY, SHARED, UNKNOWN]
    assert gold_species(release, accessions) == {
        HUMAN: 9606, SECONDARY: 9606, SHARED: 0, UNKNOWN: 0,
    }  # fmt: skip


def test_the_taxa_are_of_all_entries_of_the_golds_species(release: Release) -> None:
    assert list(taxon_lines(release, [MOUSE, HUMAN, MOUSE, SECONDARY])) == [
        f"{SECONDARY}\t9606\n", f"{MOUSE}\t10090\n", f"{HUMAN}\t9606\n",
    ]  # fmt: skip
    assert list(taxon_lines(release, ["P38398"])) == ["P38398\t1\n"]


def test_of_a_species_that_is_not_known_no_others_are_listed(tmp_path: Path) -> None:
    table = "accession\nO00001\nO00002\n"
    sources = {"sprot.dat": flat_entry("P53_HUMAN", f"{HUMAN};", 9606), "others.tsv": table}
    release = build(tmp_path, sources)
    assert gold_species(release, ["O00001"]) == {"O00001": 0}
    assert list(taxon_lines(release, ["O00001", HUMAN])) == ["O00001\t0\n", f"{HUMAN}\t9606\n"]


def test_the_orthologs_are_those_of_each_accession_that_has_any(release: Release) -> None:
    assert list(ortholog_lines(release, [MOUSE, COW, HUMAN, HUMAN, UNKNOWN])) == [
        f"{MOUSE}\t{HUMAN},{RAT}\n", f"{HUMAN}\t{MOUSE},{RAT}\n", f"{COW}\tP68251\n",
    ]  # fmt: skip


def test_the_accessions_of_a_gold_file_have_their_places(tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text(f"\ufeff100\t{HUMAN}\n200\t{MOUSE}\t{RAT}\n", "utf-8")
    assert list(read_gold_accessions(path)) == [
        GoldAccession(path, 1, "100", HUMAN),
        GoldAccession(path, 2, "200", MOUSE),
        GoldAccession(path, 2, "200", RAT),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("100", "1 column, expected article and one or two accessions"),
        (f"100\t{HUMAN}\t{MOUSE}\t{RAT}", "4 columns, expected article"),
        (f"100\t{HUMAN} ", f"'{HUMAN} ' is not an accession"),
    ],
)
def test_a_gold_file_that_cannot_be_read_is_refused_by_line(line, said, tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text(f"100\t{HUMAN}\n{line}\n", "utf-8")
    with pytest.raises(InputError) as raised:
        list(read_gold_accessions(path))
    assert str(raised.value).startswith(f"{path}:2: {said}")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_gold_accessions(tmp_path / "nowhere"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.tsv"
    write_lines(path, ["a\n", "b\n"])
    assert path.read_text("utf-8") == "a\nb\n"

    def broken() -> object:
        yield "c\n"
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_lines(path, broken())  # type: ignore[arg-type]
    assert path.read_text("utf-8") == "a\nb\n"
    assert list(tmp_path.iterdir()) == [path]
