import pytest

from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins, split_names
from annotators.errors import BadInputError
from tests.shared import shared


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Insulin", ["Insulin"]),
        ("Caspase-3 (CASP-3) (EC 3.4.22.56) (Apopain)", ["Caspase-3", "CASP-3", "Apopain"]),
        (
            "Calcium channel (Calcium channel (L-type)) (X)",
            ["Calcium channel", "Calcium channel (L-type)", "X"],
        ),
        ("Poly(A)-binding protein 1 (PABP-1)", ["Poly(A)-binding protein 1", "PABP-1"]),
        ("Insulin (INS) [Cleaved into: Insulin B chain]", ["Insulin", "INS"]),
    ],
)
def test_a_cell_of_names_is_taken_apart(cell, expected):
    assert list(split_names(cell)) == expected


def test_columns_are_found_by_their_headings(tmp_path):
    table = tmp_path / "names.tsv"
    table.write_text(
        "Gene Names\tLength\tEntry\tProtein names\nTP53 P53\t393\tP04637\tp53 (Tumor suppressor)\n"
    )
    (protein,) = read_proteins(table)
    assert (protein.accession, protein.names) == ("P04637", ("p53", "Tumor suppressor"))
    assert protein.symbols == ("TP53", "P53")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "names.tsv:1: no column 'Entry'"),
        (b"Entry\tLength\nP04637\t393\n", "names.tsv:1: no column 'Protein names'"),
        (b"Entry\tProtein names\tGene names\nP04637\n", "names.tsv:2: 1 columns; expected 3"),
        (b"Entry\tProtein names\tGene names\nP04637\t\xff\t\n", "names.tsv: not a UTF-8 table"),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path, content, expected):
    table = tmp_path / "names.tsv"
    table.write_bytes(content)
    with pytest.raises(BadInputError) as caught:
        read_proteins(table)
    assert expected in str(caught.value)


def test_the_shipped_table_agrees_with_uniprot():
    reviewed = {
        protein.accession: protein
        for protein in read_proteins(shared("data/uniprot/human_reviewed.tsv"))
    }
    for protein in read_proteins(SHIPPED_NAMES):
        assert protein.symbols[0] == reviewed[protein.accession].symbols[0]
