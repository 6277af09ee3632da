"""Articles with annotations: BioC collections, XML and JSON, and PubAnnotation JSON.

BioC (Comeau et al. 2013, doi:10.1093/database/bat064): a protein is an annotation per mention, a
pair a relation between both first mentions. PubAnnotation (Kim and Wang 2012): a protein without a
place in the text cannot be a denotation and is left out, with its pairs. Offsets and lengths are in
Unicode characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
from lxml import etree
from lxml.etree import _Element

from metaserver.corpus.writing import split_title
from metaserver.curation.exports.characters import date, one_line, unicode_tree, xml_text
from metaserver.curation.exports.finished import CuratedItem, FinishedCuration
from metaserver.curation.psi_mi import DOI, PUBMED, PUBMED_CENTRAL
from scoring import Task

_SOURCE = "BioCreative Meta-Server"
_DOCTYPE = '<!DOCTYPE collection SYSTEM "BioC.dtd">'


@dataclass(frozen=True, kw_only=True, slots=True)
class _Annotated:
    """An annotation, with its place in the text or without any."""

    id: str
    accession: str
    infons: Mapping[str, str]
    start: int | None
    text: str

    def inside(self, start: int, end: int) -> bool:
        return self.start is not None and start <= self.start and self.start + len(self.text) <= end


def write_bioc_json(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the curations as a collection in BioC JSON, a document a curation."""
    return msgspec.json.format(msgspec.json.encode(unicode_tree(_collection(curations))), indent=1)


def write_bioc_xml(curations: Sequence[FinishedCuration]) -> bytes:
    """Return the curations as a collection in BioC XML, a document a curation."""
    content = _collection(curations)
    root = etree.Element("collection")
    for name in ("source", "date", "key"):
        _add(root, name, content[name])
    for document in content["documents"]:
        inside = etree.SubElement(root, "document")
        _add(inside, "id", document["id"])
        _add_infons(inside, document)
        for passage in document["passages"]:
            part = etree.SubElement(inside, "passage")
            _add_infons(part, passage)
            _add(part, "offset", str(passage["offset"]))
            _add(part, "text", passage["text"])
            for annotation in passage["annotations"]:
                _add_annotation(part, annotation)
        for relation in document["relations"]:
            related = etree.SubElement(inside, "relation", id=relation["id"])
            _add_infons(related, relation)
            for node in relation["nodes"]:
                etree.SubElement(related, "node", node)
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", doctype=_DOCTYPE)
    return written + b"\n"


def _add_annotation(passage: _Element, annotation: Mapping[str, Any]) -> None:
    element = etree.SubElement(passage, "annotation", id=annotation["id"])
    _add_infons(element, annotation)
    for place in annotation["locations"]:
        etree.SubElement(element, "location", {name: str(value) for name, value in place.items()})
    _add(element, "text", annotation["text"])


def _add_infons(parent: _Element, described: Mapping[str, Any]) -> None:
    for key, value in described["infons"].items():
        _add(parent, "infon", value).set("key", key)


def _add(parent: _Element, tag: str, text: str) -> _Element:
    element = etree.SubElement(parent, tag)
    element.text = xml_text(text)
    return element


def _collection(curations: Sequence[FinishedCuration]) -> dict[str, Any]:
    newest = max((curation.submitted_at for curation in curations), default=0.0)
    return {
        "source": _SOURCE,
        "date": date(newest, "%Y%m%d"),
        "key": "curation.key",
        "infons": {},
        "documents": [_document(curation) for curation in curations],
    }


def _document(curation: FinishedCuration) -> dict[str, Any]:
    article = curation.article
    annotations_found = list(_annotations(curation))
    parts = split_title(article.title, article.text)
    cut = parts[-1][0]
    if len(parts) > 1 and any(
        annotation.start is not None
        and annotation.start < cut < annotation.start + len(annotation.text) + 1
        for annotation in annotations_found
    ):
        parts = [(0, "text", article.text)]
    infons = {"curator": curation.curator, "curation": curation.id}
    if curation.relevant is not None:
        infons["relevant"] = "yes" if curation.relevant else "no"
    return {
        "id": one_line(article.id),
        "infons": _clean(infons),
        "passages": [
            _passage(offset, kind, text, annotations_found, first=not place)
            for place, (offset, kind, text) in enumerate(parts)
        ],
        "annotations": [],
        "relations": list(_relations(curation, annotations_found)),
    }


def _passage(
    offset: int, kind: str, text: str, annotations_found: Sequence[_Annotated], *, first: bool
) -> dict[str, Any]:
    """Return a passage with the annotations inside it; the first has those without a place."""
    end = offset + len(text)
    inside = [
        annotation
        for annotation in annotations_found
        if annotation.inside(offset, end) or (first and annotation.start is None)
    ]
    return {
        "offset": offset,
        "infons": {"type": kind},
        "text": text,
        "sentences": [],
        "annotations": [
            {
                "id": annotation.id,
                "infons": annotation.infons,
                "text": annotation.text,
                "locations": []
                if annotation.start is None
                else [{"offset": annotation.start, "length": len(annotation.text)}],
            }
            for annotation in inside
        ],
        "relations": [],
    }


def _annotations(curation: FinishedCuration) -> Iterator[_Annotated]:
    decided = {item.item[0]: item for item in curation.accepted(Task.INT)}
    text, numbers = curation.article.text, count(1)
    for accession in curation.accessions():
        infons = {"type": "Gene", "identifier": f"UniProt:{accession}"}
        infons |= _particulars(curation, decided.get(accession))
        places = curation.places(accession)
        for place in places:
            yield _Annotated(
                id=f"A{next(numbers)}",
                accession=accession,
                infons=_clean(infons),
                start=place.start,
                text=text[place.start : place.end],
            )
        if not places:
            name = _shown(curation, accession)
            yield _Annotated(
                id=f"A{next(numbers)}",
                accession=accession,
                infons=_clean(infons),
                start=None,
                text=name,
            )


def _relations(
    curation: FinishedCuration, annotations_found: Sequence[_Annotated]
) -> Iterator[Mapping[str, Any]]:
    first: dict[str, str] = {}
    for annotation in annotations_found:
        first.setdefault(annotation.accession, annotation.id)
    for number, item, experiment in curation.observations():
        method, kind = experiment.detection, experiment.interaction
        infons = {"type": "PPI", "method": f"{method.id} {method.name}"}
        infons |= {"interaction": f"{kind.id} {kind.name}"}
        if experiment.negative:
            infons["negative"] = "yes"
        infons |= _particulars(curation, item)
        if evidence := " … ".join(curation.evidence_of(item, experiment)):
            infons["evidence"] = evidence
        yield {
            "id": f"R{number}",
            "infons": _clean(infons),
            "nodes": [{"refid": first[accession], "role": "interactor"} for accession in item.item],
        }


def _particulars(curation: FinishedCuration, item: CuratedItem | None) -> dict[str, str]:
    infons = {"curator": (item and item.curator) or curation.curator}
    if item and item.servers:
        infons["servers"] = " ".join(f"{vote.server}:{vote.rank}" for vote in item.servers)
    if item and item.probability is not None:
        infons["probability"] = f"{item.probability:.4f}"
    return infons


def _shown(curation: FinishedCuration, accession: str) -> str:
    protein = curation.protein(accession)
    return next(iter(protein.symbols), "") or protein.name or accession


def _clean(infons: Mapping[str, str]) -> dict[str, str]:
    return {key: one_line(xml_text(value)) for key, value in infons.items()}


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
