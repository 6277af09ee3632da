"""The table of PSI-MI terms: whole in itself, and equal to the vocabulary where that is here."""

import os
from pathlib import Path

import pytest

from metaserver.curation import psi_mi
from metaserver.curation.psi_mi import ROOTS, Entry, Vocabulary
from tests.shared import shared

CONSTANTS = [one for one in vars(psi_mi).values() if isinstance(one, psi_mi.Term)]
SHORT_LABELS = {
    "MI:0486": "uniprot knowledge base",
    "MI:0574": "digital object identifier",
    "MI:0356": "identical object in an external resource",
}
"""The names of terms that files call by their short label."""


def test_every_method_has_a_type() -> None:
    kinds = {psi_mi.type_by_rule(method) for method in psi_mi.methods()}
    assert kinds <= {*psi_mi.types().values()}
    assert len(kinds) > 10


@pytest.mark.parametrize(
    ("method", "type_"),
    [
        ("MI:0019", "physical association"),
        ("MI:0018", "physical association"),
        ("MI:0107", "direct interaction"),
        ("MI:0424", "phosphorylation reaction"),
        ("MI:0416", "colocalization"),
        ("MI:0020", "colocalization"),
        ("MI:1000", "enzymatic reaction"),
        ("MI:0686", "physical association"),
        ("unknown", "physical association"),
    ],
)
def test_a_type_follows_from_a_method(method: str, type_: str) -> None:
    assert psi_mi.type_by_rule(method).name == type_


def test_terms_are_those_of_the_vocabulary() -> None:
    """PSI_MI_OBO names psi-mi.obo (HUPO-PSI/psi-mi-CV), else it is looked for in ../shared."""
    path = os.environ.get("PSI_MI_OBO") or shared("data/psi-mi/psi-mi.obo")
    found = terms(Path(path).read_text("utf-8"))
    for term in CONSTANTS:
        assert found[term.id]["name"] == [SHORT_LABELS.get(term.id, term.name)]
        assert "is_obsolete" not in found[term.id]
    live = {key for key, one in found.items() if "is_obsolete" not in one}
    assert {*psi_mi.methods()} == {one for one in live if "MI:0001" in above(found, one)}
    assert {*psi_mi.types()} == {one for one in live if "MI:0190" in above(found, one)}


def test_another_vocabulary_can_be_used() -> None:
    new = psi_mi.Term("MI:9001", "new way")
    entries = {key: Entry(term=psi_mi.Term(key, key)) for key in ROOTS.values()}
    entries[new.id] = Entry(term=new, parents=("MI:0001",))
    psi_mi.use(Vocabulary(version="2030-01-01", entries=entries))
    try:
        assert [*psi_mi.methods().values()] == [new]
        assert psi_mi.type_by_rule(new.id) == psi_mi.PHYSICAL_ASSOCIATION
    finally:
        psi_mi.use(None)


@pytest.mark.parametrize(
    ("kind", "typed", "found"),
    [
        ("type", "Physical", "MI:0915"),
        ("biological-role", "unspec", "MI:0499"),
        ("identification", "nucleotide seq", "MI:0078"),  # two names of one term
        ("feature", "mutation", "MI:0118"),  # its name, although others begin so
        ("feature", "mutation d", "mutation d"),  # decreasing, disrupting
        ("type", "", ""),
    ],
)
def test_a_beginning_that_no_other_term_has_names_it(kind: str, typed: str, found: str) -> None:
    assert psi_mi.terms().named(ROOTS[kind], typed) == found


def terms(text: str) -> dict[str, dict[str, list[str]]]:
    """Read an OBO file; pronto refuses this one for a date in the month 26."""
    found = {}
    for block in text.split("\n\n"):
        kind, *lines = block.strip().split("\n")
        if kind == "[Term]":
            values: dict[str, list[str]] = {}
            for line in lines:
                name, _, value = line.partition(": ")
                values.setdefault(name, []).append(value)
            found[values["id"][0]] = values
    return found


def above(found: dict[str, dict[str, list[str]]], term: str) -> set[str]:
    """Return the terms above a term: those that it is a kind of or a part of."""
    parents = [one.split(" ! ")[0] for one in found[term].get("is_a", [])]
    parents += [
        one.removeprefix("part_of ").split(" ! ")[0]
        for one in found[term].get("relationship", [])
        if one.startswith("part_of ")
    ]
    return {*parents}.union(*(above(found, one) for one in parents))
