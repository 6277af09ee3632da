"""PSI-MI XML 2.5.4: valid by its schema for any text, and complete."""

import os
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from lxml import etree

from metaserver.base.errors import RefusedError
from metaserver.curation.exports.psi_xml import write_psi_xml
from tests.conformance.foreign import CACHE, missing
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SAMPLE, curations

MI = {"m": "http://psi.hupo.org/mi/mif"}
SCHEMA = CACHE / "python" / "pymex" / "mif" / "MIF254.xsd"
"""The schema as the package pymex ships it; `.ci/peers` installs it."""


@cache
def schema() -> etree.XMLSchema:
    path = Path(os.environ.get("MIF254_XSD", SCHEMA))
    if not path.exists():
        missing("MIF254.xsd")
    return etree.XMLSchema(etree.parse(path))


@settings(max_examples=50)
@given(curations().filter(lambda one: one.accepted("IPT")))
def test_any_curation_is_valid(curation) -> None:
    schema().assertValid(etree.fromstring(write_psi_xml([curation])))


def test_the_schema_refuses_what_is_not_valid() -> None:
    root = etree.fromstring(write_psi_xml([SAMPLE]))
    root.find(".//m:interactionDetectionMethod", MI).clear()
    assert not schema().validate(root)


def test_the_compact_form_refers_to_experiments_and_interactors() -> None:
    root = etree.fromstring(write_psi_xml([SAMPLE]))
    experiments = {
        one.get("id"): one.findtext("m:interactionDetectionMethod/m:names/m:shortLabel", "", MI)
        for one in root.iterfind(".//m:experimentDescription", MI)
    }
    interactors = {
        one.get("id"): one.find("m:xref/m:primaryRef", MI).get("id")
        for one in root.iterfind(".//m:interactor", MI)
    }
    assert [*experiments.values()] == ["pull down", "unspecified method"]
    assert [*interactors.values()] == [EGFR, GRB2]
    found = [
        (
            experiments[one.findtext("m:experimentList/m:experimentRef", "", MI)],
            [interactors[ref.text] for ref in one.iterfind(".//m:interactorRef", MI)],
            one.findtext("m:interactionType/m:names/m:shortLabel", "", MI),
        )
        for one in root.iterfind(".//m:interaction", MI)
    ]
    assert found == [
        ("pull down", [EGFR, GRB2], "physical association"),
        ("unspecified method", [EGFR, EGFR], "physical association"),
    ]


@settings(max_examples=50)
@given(curations().filter(lambda one: one.accepted("IPT")))
def test_ids_are_unique_and_references_lead_somewhere(curation) -> None:
    root = etree.fromstring(write_psi_xml([curation, curation]))
    for entry in root:
        for kind in ("interactor", "experiment"):
            tag = "experimentDescription" if kind == "experiment" else kind
            known = {one.get("id") for one in entry.iterfind(f".//m:{tag}", MI)}
            assert {one.text for one in entry.iterfind(f".//m:{kind}Ref", MI)} == known
    ids = [
        one.get("id")
        for one in root.iter()
        if one.get("id", "").isdigit() and "db" not in one.attrib
    ]
    assert len(ids) == len(set(ids))


def test_an_experiment_names_its_publication() -> None:
    experiment = etree.fromstring(write_psi_xml([SAMPLE])).find(".//m:experimentDescription", MI)
    [reference] = experiment.iterfind("m:bibref/m:xref", MI)
    assert [(one.get("db"), one.get("id")) for one in reference] == [
        ("pubmed", "10068444"),
        ("doi", "10.1000/grb2.1"),
    ]
    told = {one.get("name"): one.text for one in experiment.iterfind(".//m:attribute", MI)}
    assert told == {"author-list": "Smith", "journal": "J. Examples", "publication year": "1999"}


def test_an_article_without_a_pair_has_no_entry() -> None:
    none = msgspec.structs.replace(SAMPLE, items=())
    assert len(etree.fromstring(write_psi_xml([none, SAMPLE]))) == 1


def test_without_a_pair_there_is_no_such_file() -> None:
    with pytest.raises(RefusedError, match="no pair is accepted"):
        write_psi_xml([])
