"""Concept similarity, and both kinds of ontology files."""

from pathlib import Path

import pytest

from scoring.errors import FormatError
from scoring.ontology import Ontology, read_ontology
from tests.shared import shared

OBO = """format-version: 1.2
ontology: toy

[Term]
id: T:0
name: root

[Term]
id: T:1
name: water ! not a comment
alt_id: T:9
is_a: T:0 ! root

[Term]
id: T:2
is_a: T:0 {source="x"} ! root
relationship: part_of T:1

[Term]
id: T:3
is_a: T:1
is_a: T:2

[Term]
id: T:4
is_a: T:3
is_obsolete: true

[Typedef]
id: part_of

[Typedef]
id: T:5
is_a: part_of
"""


def test_obo_and_pairs_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(OBO)
    (tmp_path / "a.tsv").write_text("T:1\tT:0\nT:2\tT:0\nT:3\tT:1\nT:3\tT:2\n")
    one, other = read_ontology(tmp_path / "a.obo"), read_ontology(tmp_path / "a.tsv")
    names = ["T:0", "T:1", "T:2", "T:3", "T:4", "T:5"]
    for name in names:
        assert one.contributions(name) == other.contributions(name)
    assert one.contributions("T:3") == {"T:3": 1.0, "T:1": 0.65, "T:2": 0.65, "T:0": 0.65**2}
    assert one.similarity("T:9", "T:1") == 1
    assert one.similarity("T:4", "T:3") == 0


def test_pronto_reads_the_same_hierarchy(tmp_path: Path) -> None:
    pronto = pytest.importorskip("pronto")
    (tmp_path / "a.obo").write_text(OBO)
    ours = read_ontology(tmp_path / "a.obo")
    for term in pronto.Ontology(str(tmp_path / "a.obo")).terms():
        if not term.obsolete:
            assert set(ours.contributions(term.id)) == {one.id for one in term.superclasses()}


def test_a_concept_that_is_not_in_the_ontology_is_only_like_itself() -> None:
    ontology = Ontology({"B": ["A"]})
    assert ontology.similarity("X", "X") == 1
    assert ontology.similarity("X", "B") == 0
    assert ontology.set_similarity(set(), {"B"}) == 0


def test_a_loop_ends() -> None:
    looped = Ontology({"A": ["B"], "B": ["A"]})
    assert looped.contributions("A") == {"A": 1.0, "B": 0.65}


@pytest.mark.parametrize(
    ("content", "line"), [("", 0), ("A\tB\nA B\n", 2), ("A\t\n", 1), ("A\tA\n", 1)]
)
def test_a_bad_file_is_refused_by_line(tmp_path: Path, content: str, line: int) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(FormatError) as caught:
        read_ontology(tmp_path / "a.tsv")
    assert [problem.line for problem in caught.value.problems] == [line]


def test_every_concept_of_ontobiotope_leads_to_its_root() -> None:
    ontology = read_ontology(shared("data/bb2016/OntoBiotope_BioNLP-ST-2016_parents.txt"))
    concepts = shared("data/bb2016/OntoBiotope_BioNLP-ST-2016.txt").read_text().split()
    for concept in concepts:
        assert "OBT:000000" in ontology.contributions(concept)
        assert ontology.similarity(concept, concept) == 1
