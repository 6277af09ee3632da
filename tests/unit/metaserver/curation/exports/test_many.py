"""One file of many articles: CSV, MITAB and PSI-MI XML, read by parsers of their own, agree."""

import csv
import io

import msgspec
import pytest
from hypothesis import given, settings

from metaserver.curation import psi_mi
from metaserver.curation.exports.csv_lines import COLUMNS, write_csv
from metaserver.curation.exports.mitab import write_mitab
from metaserver.curation.exports.psi_xml import PSI_25, PSI_30, Form, write_psi_xml
from tests.unit.metaserver.curation.exports.mitab_reader import MitabField, read_mitab
from tests.unit.metaserver.curation.exports.psi_xml_reader import read_psi_xml
from tests.unit.metaserver.curation.samples import DETAILED, EGFR, GRB2, SAMPLE, curations

OTHER = msgspec.structs.replace(
    SAMPLE, id="c43", article=msgspec.structs.replace(SAMPLE.article, id="7", title="=1+1")
)
MANY = [DETAILED, OTHER]
PSI_ID = slice(0, len("MI:0000"))


def read_csv(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def value(column: list[MitabField]) -> str:
    return column[0].value if column else ""


def id_of(feature: str) -> str:
    return psi_mi.terms().named(psi_mi.FEATURE, feature)


def test_csv_says_what_the_curator_said() -> None:
    pulled, hybrid, dimer, unsaid, _ = read_csv(write_csv(MANY))
    assert pulled == {
        "article": "10068444", "pmid": "10068444", "pmcid": "", "doi": "10.1000/grb2.1",
        "author": "Smith", "journal": "J. Examples", "year": "1999",
        "title": "Grb2 binds the EGF receptor.", "interaction": "c42-1",
        "protein_a": f"{EGFR}-2", "entry_a": "EGFR_HUMAN", "symbol_a": "EGFR", "taxon_a": "9606",
        "experimental_role_a": "MI:0498 prey", "biological_role_a": "", "identification_a": "",
        "features_a": "MI:0119 mutation decreasing interaction Y1092F 1092-1092"
        " | MI:0518 flag tag N-terminal ?-? | MI:0429 necessary binding region ?-679",
        "protein_b": GRB2, "entry_b": "GRB2_HUMAN", "symbol_b": "GRB2", "taxon_b": "9606",
        "experimental_role_b": "MI:0496 bait", "biological_role_b": "",
        "identification_b": "MI:0113 western blot", "features_b": "",
        "participants": "2", "method": "MI:0096 pull down", "type": "", "host": "-1",
        "figure": "Fig. 1B", "negative": "no",
        "evidence": "EGFR (α-phosphorylated) was pulled down with Grb2.",
        "experiment_note": "", "note": "", "probability": "0.93", "curator": "curator 1",
        "decided": "2025-11-22",
    }  # fmt: skip
    assert (hybrid["method"], hybrid["negative"]) == ("MI:0018 two hybrid", "yes")
    assert (dimer["protein_a"], dimer["protein_b"], dimer["method"]) == (EGFR, EGFR, "")
    assert unsaid["title"] == "'=1+1"  # no formula to a spreadsheet


@pytest.mark.parametrize("form", [PSI_25, PSI_30], ids=["2.5.4", "3.0"])
def test_three_files_of_many_articles_say_the_same(form: Form) -> None:
    """Types by rule and unspecified methods are MITAB's and XML's alone."""
    lines, rows = read_mitab(write_mitab(MANY)), read_csv(write_csv(MANY))
    found = read_psi_xml(write_psi_xml(MANY, form))
    assert [one.id for one in found] == ["c42-1", "c42-2", "c42-3", "c43-1", "c43-2"]
    for one, line, row in zip(found, lines, rows, strict=True):
        assert one.id == value(line["Interaction identifier(s)"]) == row["interaction"]
        published = {"pubmed": row["pmid"], "doi": row["doi"]}
        assert dict(one.publications) == published
        assert {
            part.database: part.value for part in line["Publication Identifier(s)"]
        } == published
        told = {"author-list": row["author"], "journal": row["journal"]}
        assert one.attributes == told | {"publication year": row["year"]}
        method = value(line["Interaction detection method(s)"])
        assert one.method == method == (row["method"][PSI_ID] or "MI:0686")
        assert one.type == value(line["Interaction type(s)"])
        assert one.host == value(line["Host organism(s)"]) == row["host"]
        assert one.negative is (value(line["Negative"]) == "true") is (row["negative"] == "yes")
        assert dict(one.notes).get("figure legend", "") == row["figure"]
        noted = {part.value for part in line["Interaction annotation(s)"]}
        assert row["evidence"] in {"", *noted} & {"", *(text for _, text in one.notes)}
        for side, part in zip("ab", one.participants, strict=True):
            of_line = {
                name: value(line[f"{name} interactor {side.upper()}"])
                for name in ("ID(s)", "Taxid", "Experimental role(s)", "Biological role(s)")
            }
            identified = value(line[f"Identification method participant {side.upper()}"])
            features = line[f"Feature(s) interactor {side.upper()}"]
            assert part == (
                *of_line.values(), identified,
                tuple((id_of(one.database), one.text, one.value) for one in features),
            )  # fmt: skip
            assert part[:-1] == (
                row[f"protein_{side}"], row[f"taxon_{side}"],
                row[f"experimental_role_{side}"][PSI_ID], row[f"biological_role_{side}"][PSI_ID],
                row[f"identification_{side}"][PSI_ID],
            )  # fmt: skip


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_lines_of_all_columns(curation) -> None:
    rows = list(csv.reader(io.StringIO(write_csv([curation, curation]).decode(), newline="")))
    expected = sum(max(1, len(one.experiment.participants) - 1) for one in curation.observations())
    assert rows[0] == list(COLUMNS)
    assert [len(row) for row in rows] == [len(COLUMNS)] * (1 + 2 * expected)
