"""MITAB 2.7: its columns by the specification, and its grammar for any text."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from metaserver.base.publications import UNKNOWN
from metaserver.curation.experiments import Experiment, Participant
from metaserver.curation.exports.characters import one_line
from metaserver.curation.exports.mitab import COLUMNS, field, write_mitab
from tests.unit.metaserver.curation.exports.mitab_reader import MitabField, read_column, read_mitab
from tests.unit.metaserver.curation.samples import DETAILED, EGFR, HOSTILE, SAMPLE, curations


def test_a_pair_is_a_line_of_42_columns() -> None:
    bound, dimer = read_mitab(write_mitab([SAMPLE]))
    assert len(COLUMNS) == 42
    assert bound["ID(s) interactor A"] == [("uniprotkb", EGFR, "")]
    assert bound["Alias(es) interactor A"] == [
        ("psi-mi", "egfr_human", "display_long"),
        ("uniprotkb", "EGFR", "gene name"),
        ("uniprotkb", "ERBB1", "gene name synonym"),
        ("psi-mi", "EGFR", "display_short"),
    ]
    assert bound["Interaction detection method(s)"] == [("psi-mi", "MI:0096", "pull down")]
    found = bound["Publication Identifier(s)"]
    assert found == [("pubmed", "10068444", ""), ("doi", "10.1000/grb2.1", "")]
    assert bound["Publication 1st author(s)"] == [("", "Smith et al.", "1999")]
    found = bound["Taxid interactor A"]
    assert found == [("taxid", "9606", "human"), ("taxid", "9606", "Homo sapiens")]
    assert bound["Source database(s)"] == [("psi-mi", "MI:0471", "mint")]
    assert bound["Confidence value(s)"] == [("metaserver-consensus", "0.93", "")]
    assert bound["Update date"] == [("", "2025/11/22", "")]
    assert (bound["Negative"], bound["Stoichiometry(s) interactor A"]) == ([("", "false", "")], [])
    assert dimer["ID(s) interactor A"] == dimer["ID(s) interactor B"]


def test_an_article_without_an_identifier_is_given_none() -> None:
    """PubMed has no such number: the column is empty, and a comment names the article."""
    article = replace(SAMPLE.article, id="request-7", publication=UNKNOWN)
    bound, _ = read_mitab(write_mitab([replace(SAMPLE, article=article)]))
    assert bound["Publication Identifier(s)"] == []
    notes = [one.value for one in bound["Interaction annotation(s)"]]
    assert notes[-1] == "article request-7"


def test_copies_of_a_protein_have_a_stoichiometry_of_0() -> None:
    _, dimer = read_mitab(write_mitab([SAMPLE]))
    for side in "AB":
        assert dimer[f"Stoichiometry(s) interactor {side}"] == [("", "0", "")]


def test_a_type_that_was_not_chosen_says_so() -> None:
    bound, dimer = read_mitab(write_mitab([SAMPLE]))
    notes = [one.value for one in bound["Interaction annotation(s)"]]
    assert "type by rule" in notes
    assert notes[0] == "EGFR (α-phosphorylated) was pulled down with Grb2."
    assert bound["Interaction type(s)"] == [("psi-mi", "MI:0915", "physical association")]
    assert "proposed by no server" in [one.value for one in dimer["Interaction annotation(s)"]]


def test_an_experiment_is_a_line_with_its_host_roles_and_isoforms() -> None:
    pulled, hybrid, _ = read_mitab(write_mitab([DETAILED]))
    assert pulled["ID(s) interactor A"] == [("uniprotkb", f"{EGFR}-2", "")]
    assert pulled["Host organism(s)"] == [("taxid", "-1", "in vitro")]
    roles = [pulled[f"Experimental role(s) interactor {side}"] for side in "AB"]
    assert roles == [[("psi-mi", "MI:0498", "prey")], [("psi-mi", "MI:0496", "bait")]]
    assert pulled["Biological role(s) interactor A"] == []  # nothing was said
    assert pulled["Identification method participant B"] == [("psi-mi", "MI:0113", "western blot")]
    assert pulled["Feature(s) interactor A"] == [
        ("mutation decreasing interaction", "1092-1092", "Y1092F"),
        ("flag tag", "?-?", "N-terminal"),
        ("necessary binding region", "?-679", ""),
    ]
    assert pulled["Feature(s) interactor B"] == []
    assert [one.value for one in pulled["Interaction annotation(s)"]][1] == "figure: Fig. 1B"
    assert (pulled["Negative"], hybrid["Negative"]) == ([("", "false", "")], [("", "true", "")])
    assert hybrid["Interaction detection method(s)"] == [("psi-mi", "MI:0018", "two hybrid")]
    assert hybrid["Host organism(s)"] == [("taxid", "4932", "Saccharomyces cerevisiae")]


def test_a_complex_is_its_bait_with_each_other_participant() -> None:
    taking_part = [
        Participant(accession=EGFR),
        Participant(accession="P62993", experimental_role="MI:0496"),
        Participant(accession="P98083"),
    ]
    one = Experiment(method="MI:0676", participants=tuple(taking_part))
    pair = replace(SAMPLE.pairs()[0], experiments=(one,))
    lines = read_mitab(write_mitab([replace(SAMPLE, items=(pair,))]))
    sides = [[line[f"ID(s) interactor {side}"][0].value for side in "AB"] for line in lines]
    assert sides == [["P62993", EGFR], ["P62993", "P98083"]]
    for line in lines:
        assert line["Expansion method(s)"] == [("psi-mi", "MI:1060", "spoke expansion")]
    assert lines[0]["Interaction identifier(s)"] == lines[1]["Interaction identifier(s)"]


def test_without_pairs_there_is_the_header_alone() -> None:
    assert read_mitab(write_mitab([])) == []


@pytest.mark.parametrize(
    ("field_", "written"),
    [
        (("psi-mi", "MI:0000", "a cv term"), 'psi-mi:"MI:0000"(a cv term)'),
        (("uniprotkb", "P12345", 'a "nice" protein'), 'uniprotkb:P12345("a \\"nice\\" protein")'),
        (("a|b", "(c)", ""), '"a|b":"(c)"'),
        (("taxid", "-1", "in vitro"), "taxid:-1(in vitro)"),
        (("comment", "-", ""), 'comment:"-"'),
        (("comment", "one\ttab\nand\x00more", ""), "comment:one tab and more"),
        (("comment", 'ends: in "\\', ""), 'comment:"ends: in \\"\\ "'),
    ],
)
def test_reserved_characters_are_quoted(field_: tuple[str, str, str], written: str) -> None:
    """The first two are the specification's own examples."""
    assert field(*field_) == written


@given(HOSTILE, HOSTILE, HOSTILE)
def test_any_field_is_read_back(database: str, value: str, text: str) -> None:
    [found] = read_column(field(database, value, text))
    shown = [one_line(part) or "?" for part in (database, value)]
    assert [found.database.rstrip(), found.value.rstrip()] == [one.rstrip() for one in shown]
    assert found.text.rstrip() == (one_line(text) or ("?" if text else ""))
    assert isinstance(found, MitabField)


@settings(max_examples=50)
@given(curations())
def test_any_curation_is_of_the_grammar(curation) -> None:
    lines = read_mitab(write_mitab([curation, curation]))
    expected = sum(max(1, len(one.experiment.participants) - 1) for one in curation.observations())
    assert len(lines) == 2 * expected
    for line in lines:
        assert line["ID(s) interactor A"]
        assert line["ID(s) interactor B"]
