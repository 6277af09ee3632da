"""The table of PSI-MI terms: whole in itself, and equal to the vocabulary where that is here."""

import os
import re
from pathlib import Path

import pytest

from metaserver.curation import psi_mi
from tests.shared import shared

CONSTANTS = [one for one in vars(psi_mi).values() if isinstance(one, psi_mi.Term)]
SHORT_LABELS = {
    "MI:0486": "uniprot knowledge base",
    "MI:0574": "digital object identifier",
    "MI:0356": "identical object in an external resource",
}
"""The names of terms that files call by their short label."""


def test_ids_and_names_are_unique_and_of_their_form() -> None:
    terms = [*psi_mi.methods().values(), *psi_mi.types().values()]
    assert len(psi_mi.methods()) >= 120
    assert len(psi_mi.types()) >= 15
    assert all(re.fullmatch(r"MI:\d{4}", term.id) and term.name for term in terms)
    assert len({term.id for term in terms}) == len({term.name for term in terms}) == len(terms)


def test_every_method_has_a_type() -> None:
    assert {psi_mi.type_by_rule(method) for method in psi_mi.methods()} <= {
        *psi_mi.types().values()
    }


@pytest.mark.parametrize(
    ("method", "type_"),
    [
        ("MI:0019", "physical association"),
        ("MI:0018", "physical association"),
        ("MI:0107", "direct interaction"),
        ("MI:0424", "phosphorylation reaction"),
        ("MI:0416", "colocalization"),
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
    for term in [*psi_mi.methods().values(), *psi_mi.types().values(), *CONSTANTS]:
        assert found[term.id]["name"] == [SHORT_LABELS.get(term.id, term.name)]
        assert "is_obsolete" not in found[term.id]
    assert all("MI:0001" in above(found, method) for method in psi_mi.methods())
    assert all("MI:0190" in above(found, type_) for type_ in psi_mi.types())


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
