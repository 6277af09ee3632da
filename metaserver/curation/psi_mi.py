"""Terms of the PSI-MI vocabulary that this hub uses: those that files name, and the branches.

The vocabulary is the hub's own, or that of the OBO file in the settings (`curation.psi_mi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from metaserver.curation import vocabulary
from metaserver.curation.vocabulary import METHOD, TYPE, Term, Vocabulary

UNSPECIFIED_METHOD = Term("MI:0686", "unspecified method")
BAIT = Term("MI:0496", "bait")
ENZYME = Term("MI:0501", "enzyme")
SPOKE = Term("MI:1060", "spoke expansion")
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
FIGURE = Term("MI:0599", "figure legend")
COMMENT = Term("MI:0612", "comment")
AUTHORS = Term("MI:0636", "author-list")
JOURNAL = Term("MI:0885", "journal")
YEAR = Term("MI:0886", "publication year")

_in_use: list[Vocabulary] = []


def use(new: Vocabulary | None) -> None:
    """Use a vocabulary in this process; None: the hub's own."""
    _in_use[:] = [] if new is None else [new]


def terms() -> Vocabulary:
    """Return the vocabulary that this process uses."""
    return _in_use[0] if _in_use else vocabulary.built_in()


def methods() -> Mapping[str, Term]:
    """Return the interaction detection methods by id, in the order of their names."""
    return terms().under(METHOD)


def types() -> Mapping[str, Term]:
    """Return the interaction types by id, in the order of their names."""
    return terms().under(TYPE)


def type_by_rule(method: str) -> Term:
    """Return the interaction type that follows from a method's id, or from a term above it.

    Two purified partners whose binding is measured interact directly; a modification is named after
    the enzyme's assay; a picture shows colocalization; all else is a physical association.
    """
    rules = _rules()
    ruled = (rules[one] for one in terms().ancestors(method) if one in rules)
    return types().get(next(ruled, ""), PHYSICAL_ASSOCIATION)


@cache
def _rules() -> Mapping[str, str]:
    table = (files("metaserver") / "curation" / "psi_mi_types.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return dict(row[:2] for row in rows)
