"""PubAnnotation JSON (Kim and Wang 2012): denotations of accepted proteins, relations of pairs.

A protein without a place in the text cannot be a denotation and is left out, with its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from metaserver.curation.exports.characters import unicode_tree
from metaserver.curation.exports.finished import FinishedCuration
from metaserver.curation.psi_mi import DOI, PUBMED, PUBMED_CENTRAL
from scoring import Task

_SOURCES = {PUBMED: "PubMed", PUBMED_CENTRAL: "PMC", DOI: "DOI"}
_NAMESPACES = [{"prefix": "uniprot", "uri": "https://www.uniprot.org/uniprotkb/"}]


def write_pubannotation(curations: Sequence[FinishedCuration]) -> bytes:
    """Return a curation as an object, several as an array of objects."""
    documents = [_annotated(curation) for curation in curations]
    content = unicode_tree(documents[0] if len(documents) == 1 else documents)
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def _annotated(curation: FinishedCuration) -> Mapping[str, Any]:
    denotations: list[Mapping[str, Any]] = []
    first: dict[str, tuple[str, str]] = {}  # the first and the last denotation of an accession
    for accession in curation.accessions():
        for place in curation.places(accession):
            name = f"T{len(denotations) + 1}"
            first[accession] = (first.get(accession, (name, name))[0], name)
            span = {"begin": place.start, "end": place.end}
            denotations.append({"id": name, "span": span, "obj": f"uniprot:{accession}"})
    relations: list[Mapping[str, Any]] = []
    for item in curation.found(Task.IPT):
        first_accession, second_accession = item.item
        if first_accession in first and second_accession in first:
            object_ = (
                first[second_accession][1]
                if first_accession == second_accession
                else first[second_accession][0]
            )
            name = f"R{len(relations) + 1}"
            relation = {
                "id": name,
                "pred": "interactsWith",
                "subj": first[first_accession][0],
                "obj": object_,
            }
            relations.append(relation)
    return {
        **_source(curation),
        "text": curation.article.text,
        "namespaces": _NAMESPACES,
        "denotations": denotations,
        "relations": relations,
    }


def _source(curation: FinishedCuration) -> Mapping[str, str]:
    references = curation.article.references()
    if not references:
        return {"sourcedb": "metaserver", "sourceid": curation.article.id}
    database, value = references[0]
    return {"sourcedb": _SOURCES[database], "sourceid": value.removeprefix("PMC")}
