"""Terms of the PSI-MI controlled vocabulary: detection methods and interaction types.

`psi_mi.tsv` has those that curators choose from, and the type that follows from a method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Term(NamedTuple):
    """A term of PSI-MI: its id, `MI:0019`, and its name."""

    id: str
    name: str


UNSPECIFIED_METHOD = Term("MI:0686", "unspecified method")
UNSPECIFIED_ROLE = Term("MI:0499", "unspecified role")
PHYSICAL_ASSOCIATION = Term("MI:0915", "physical association")
PROTEIN = Term("MI:0326", "protein")
UNIPROT = Term("MI:0486", "uniprotkb")
PUBMED = Term("MI:0446", "pubmed")
PUBMED_CENTRAL = Term("MI:1042", "pubmed central")
DOI = Term("MI:0574", "doi")
PSI_MI = Term("MI:0488", "psi-mi")
IDENTITY = Term("MI:0356", "identity")
PRIMARY_REFERENCE = Term("MI:0358", "primary-reference")
GENE_NAME = Term("MI:0301", "gene name")
GENE_SYNONYM = Term("MI:0302", "gene name synonym")
COMMENT = Term("MI:0612", "comment")
AUTHORS = Term("MI:0636", "author-list")
JOURNAL = Term("MI:0885", "journal")
YEAR = Term("MI:0886", "publication year")


@cache
def methods() -> Mapping[str, Term]:
    """Return the interaction detection methods by id, in the order of their names."""
    found = sorted((Term(*row[1:3]) for row in _rows("method")), key=lambda term: term.name.lower())
    return {term.id: term for term in found}


@cache
def types() -> Mapping[str, Term]:
    """Return the interaction types by id, in the order of their names."""
    found = sorted((Term(*row[1:3]) for row in _rows("type")), key=lambda term: term.name.lower())
    return {term.id: term for term in found}


def type_by_rule(method: str) -> Term:
    """Return the interaction type that follows from a method's id.

    Two purified partners whose binding is measured interact directly; a modification is named after
    the enzyme's assay; a picture shows colocalization; all else is a physical association.
    """
    return types()[_rules().get(method, PHYSICAL_ASSOCIATION.id)]


@cache
def _rules() -> Mapping[str, str]:
    return {row[1]: row[3] for row in _rows("method")}


def _rows(kind: str) -> Iterator[list[str]]:
    table = (files("metaserver") / "curation" / "psi_mi.tsv").read_text("utf-8")
    for line in table.splitlines():
        row = line.split("\t")
        if row[0] == kind:
            yield row
