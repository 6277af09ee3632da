from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotators.baselines.dictionary import normalizations, protein_scores
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.contract import problems
from annotators.matching import Dictionary, Protein


def protein(accession, *names, symbols=()):
    return Protein(accession=accession, names=names, symbols=symbols)


KNOWN = Dictionary(
    [
        protein("P04637", "Cellular tumor antigen p53", symbols=("TP53", "P53")),
        protein("P10415", "Apoptosis regulator Bcl-2", symbols=("BCL2",)),
        protein("Q07817", "Bcl-2-like protein 1", symbols=("BCL2L1",)),
        protein("P01375", "Tumor necrosis factor", symbols=("TNF", "TNFalpha")),
        protein("P60484", "Phosphatase", symbols=("PTEN",)),
        protein("P00001", "First shared", symbols=("AAA1", "SHR1")),
        protein("P00002", "Second shared", symbols=("BBB1", "SHR1")),
        protein("P49768", "Presenilin-1", symbols=("PSEN1", "SET")),
    ]
)


def test_a_dictionary_without_names_finds_none():
    assert Dictionary([]).find("p53 binds Mdm2") == []
    assert Dictionary([protein("P04637", "was")]).find("it was p53") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p53 is stable", [("p53", {"P04637"})]),
        ("wild-type p53-binding", [("p53", {"P04637"})]),
        ("TP53BP1 and Xp53", []),
        (
            "Bcl-2, BCL 2 and bcl2",
            [("Bcl-2", {"P10415"}), ("BCL 2", {"P10415"}), ("bcl2", {"P10415"})],
        ),
        ("BCL, 2 of them", []),
        ("a Bcl-2-like protein 1 gene", [("Bcl-2-like protein 1", {"Q07817"})]),
        ("TNF-α or TNF alpha", [("TNF-α", {"P01375"}), ("TNF alpha", {"P01375"})]),
        ("PTEN but not pten", [("PTEN", {"P60484"})]),
        ("SHR1", [("SHR1", {"P00001", "P00002"})]),
        ("a SET of presenilin-1", [("presenilin-1", {"P49768"})]),
        ("", []),
    ],
)
def test_names_are_found_as_people_write_them(text, expected):
    found = [(text[hit.start : hit.end], set(hit.weights)) for hit in KNOWN.find(text)]
    assert found == expected


def test_a_shared_name_is_worth_less_to_each():
    (hit,) = KNOWN.find("SHR1")
    assert hit.weights == {"P00001": 0.35, "P00002": 0.35}


def test_the_protein_the_article_is_about_ranks_first():
    text = "Bcl-2 binds.\nPTEN was a control. TNF was added. Bcl-2 interacts with membranes."
    hits = normalizations(protein_scores(text, KNOWN.find(text)))
    assert hits[0]["dbid"] == "P10415"
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


SHIPPED = Dictionary(read_proteins(SHIPPED_NAMES))
WORDS = st.sampled_from(
    ["p53", "MDM2", "binds", "TNF-α", "β-catenin", ".", "\n", " ", "(", "Bcl-2", "e"]
)


@given(st.lists(WORDS | st.text(max_size=5)).map("".join))
def test_any_text_gives_an_answer_in_the_contract(text):
    found = SHIPPED.find(text)
    assert all(0 <= hit.start < hit.end <= len(text) for hit in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert list(problems({"normalizations": normalizations(protein_scores(text, found))})) == []
