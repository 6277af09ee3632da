"""PSI-MI XML 2.5.4 and 3.0: valid by their schemas for any text, and complete."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from metaserver.base.errors import RefusedError
from metaserver.curation.exports.psi_xml import PSI_25, PSI_30, Form, write_psi_xml
from tests.unit.metaserver.curation.exports.psi_xml_reader import schema
from tests.unit.metaserver.curation.samples import DETAILED, EGFR, GRB2, SAMPLE, curations

MI = {"m": "http://psi.hupo.org/mi/mif"}
ROLE = "m:experimentalRoleList/m:experimentalRole/m:names/m:shortLabel"


@pytest.mark.parametrize("form", [PSI_25, PSI_30], ids=["2.5.4", "3.0"])
def test_a_curation_is_valid(form: Form) -> None:
    written = write_psi_xml([SAMPLE, DETAILED], form)
    schema(form.level["level"]).assertValid(etree.fromstring(written))


@settings(max_examples=50)
@given(curations().filter(lambda one: one.accepted("IPT")), st.sampled_from([PSI_25, PSI_30]))
def test_any_curation_is_valid(curation, form: Form) -> None:
    schema(form.level["level"]).assertValid(etree.fromstring(write_psi_xml([curation], form)))


def test_an_experiment_has_its_host_participants_and_sign() -> None:
    root = etree.fromstring(write_psi_xml([DETAILED]))
    hosts = [one.get("ncbiTaxId") for one in root.iterfind(".//m:hostOrganism", MI)]
    assert hosts == ["-1", "4932"]
    pulled, hybrid, _ = root.iterfind(".//m:interaction", MI)
    assert [one.findtext("m:negative", "", MI) for one in (pulled, hybrid)] == ["", "true"]
    known = {
        one.get("id"): one.find("m:xref/m:primaryRef", MI).get("id")
        for one in root.iterfind(".//m:interactor", MI)
    }
    taking_part = [
        (known[one.findtext("m:interactorRef", "", MI)], one.findtext(ROLE, "", MI))
        for one in pulled.iterfind(".//m:participant", MI)
    ]
    assert taking_part == [(f"{EGFR}-2", "prey"), (GRB2, "bait")]
    texts = {one.get("name"): one.text for one in pulled.iterfind("m:attributeList/*", MI)}
    assert texts["figure legend"] == "Fig. 1B"


def test_the_schema_refuses_what_is_not_valid() -> None:
    root = etree.fromstring(write_psi_xml([SAMPLE]))
    root.find(".//m:interactionDetectionMethod", MI).clear()
    assert not schema("2").validate(root)


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
    found = [(one.get("db"), one.get("id")) for one in reference]
    assert found == [("pubmed", "10068444"), ("doi", "10.1000/grb2.1")]
    told = {one.get("name"): one.text for one in experiment.iterfind(".//m:attribute", MI)}
    assert told == {"author-list": "Smith", "journal": "J. Examples", "publication year": "1999"}


def test_an_article_without_a_pair_has_no_entry() -> None:
    none = msgspec.structs.replace(SAMPLE, items=())
    assert len(etree.fromstring(write_psi_xml([none, SAMPLE]))) == 1


def test_without_a_pair_there_is_no_such_file() -> None:
    with pytest.raises(RefusedError, match="no pair is accepted"):
        write_psi_xml([])
