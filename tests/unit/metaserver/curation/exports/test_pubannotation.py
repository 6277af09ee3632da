"""PubAnnotation JSON: spans that hold, references that lead somewhere."""

import json

from hypothesis import given, settings

from metaserver.curation.exports.bioc import write_pubannotation
from tests.unit.metaserver.curation.samples import EGFR, SAMPLE, TEXT, curations


def test_a_curation_is_an_object() -> None:
    found = json.loads(write_pubannotation([SAMPLE]))
    assert (found["sourcedb"], found["sourceid"], found["text"]) == ("PubMed", "10068444", TEXT)
    spans = [(one["obj"], one["span"]) for one in found["denotations"]]
    result = {TEXT[at["begin"] : at["end"]] for obj, at in spans if obj == f"uniprot:{EGFR}"}
    assert result == {"EGF receptor", "EGFR"}
    assert len(found["relations"]) == 2
    dimer = found["relations"][1]
    assert dimer["subj"] != dimer["obj"]  # two mentions of the one protein


def test_several_are_an_array() -> None:
    found = [one["sourceid"] for one in json.loads(write_pubannotation([SAMPLE] * 2))]
    assert found == ["10068444"] * 2


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_well_formed(curation) -> None:
    found = json.loads(write_pubannotation([curation]))
    length = len(found["text"])
    assert length == len(curation.article.text)
    for one in found["denotations"]:
        assert 0 <= one["span"]["begin"] < one["span"]["end"] <= length
    known = {one["id"] for one in found["denotations"]}
    assert {one[side] for one in found["relations"] for side in ("subj", "obj")} <= known
