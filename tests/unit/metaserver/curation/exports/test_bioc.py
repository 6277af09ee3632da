"""BioC: read by its own library and by the hub, with offsets that hold."""

import json
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from bioc import BioCCollection, biocjson, biocxml
from hypothesis import given, settings
from lxml import etree

from metaserver.corpus.markup import read_bioc_json, read_bioc_xml
from metaserver.curation.exports.bioc import write_bioc_json, write_bioc_xml
from metaserver.curation.exports.characters import xml_text
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SAMPLE, TEXT, curations


def from_xml(data: bytes) -> BioCCollection:
    return biocxml.load(StringIO(data.decode().partition("?>")[2]))


@pytest.mark.parametrize(
    ("write", "read"), [(write_bioc_xml, from_xml), (write_bioc_json, biocjson.loads)]
)
def test_the_library_reads_it(write, read) -> None:
    [document] = read(write([SAMPLE])).documents
    assert document.id == "10068444"
    assert [passage.infons["type"] for passage in document.passages] == ["title", "text"]
    marks = [mark for passage in document.passages for mark in passage.annotations]
    assert {mark.infons["identifier"] for mark in marks} == {f"UniProt:{EGFR}", f"UniProt:{GRB2}"}
    for passage in document.passages:
        for mark in passage.annotations:
            start = mark.total_span.offset - passage.offset
            assert passage.text[start : start + mark.total_span.length] == mark.text
    bound, dimer = document.relations
    refids = [[node.refid for node in one.nodes] for one in (bound, dimer)]
    assert refids[1][0] == refids[1][1] == refids[0][0]
    assert (bound.infons["method"], bound.infons["probability"]) == ("MI:0096 pull down", "0.9300")
    assert bound.infons["servers"] == "team7:1"


def test_a_protein_without_a_place_is_an_annotation_without_a_location() -> None:
    unplaced = msgspec.structs.replace(SAMPLE, mentions={})
    [document] = from_xml(write_bioc_xml([unplaced])).documents
    marks = document.passages[0].annotations
    assert [(mark.text, mark.locations) for mark in marks] == [("EGFR", []), ("GRB2", [])]


def test_the_hub_reads_it() -> None:
    [draft] = read_bioc_json(Path("c.json"), write_bioc_json([SAMPLE]))
    assert draft.text == TEXT
    root = etree.fromstring(write_bioc_xml([SAMPLE]))
    assert read_bioc_xml(root.find("document")).text == TEXT


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_well_formed_and_its_offsets_hold(curation) -> None:
    in_json = json.loads(write_bioc_json([curation]))["documents"][0]
    in_xml = etree.fromstring(write_bioc_xml([curation])).find("document")
    whole = "\n".join(one["text"] for one in in_json["passages"])
    assert len(whole) == len(curation.article.text)
    found = [one.text or "" for one in in_xml.iterfind("passage/text")]
    assert found == [xml_text(one["text"]) for one in in_json["passages"]]
    marks = [mark for one in in_json["passages"] for mark in one["annotations"]]
    for mark in marks:
        for place in mark["locations"]:
            end = place["offset"] + place["length"]
            assert whole[place["offset"] : end] == mark["text"]
    known = {mark["id"] for mark in marks}
    assert len(marks) == len(known) == len(in_xml.findall("passage/annotation"))
    for relation in in_json["relations"]:
        assert {node["refid"] for node in relation["nodes"]} <= known
