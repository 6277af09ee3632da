"""A real article curated by keyboard alone, and its files read by others' parsers.

PubMed 10913138: two methods for a pair, a mutant, a homomer, and proteins that do not interact.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from playwright.sync_api import Locator, Page, expect

from annotators.contract import Answer
from tests.browser.conftest import Visits
from tests.browser.curating import CuratorHub, asked
from tests.shared import shared
from tests.unit.metaserver.curation.exports.mitab_reader import read_mitab
from tests.unit.metaserver.curation.exports.psi_xml_reader import read_by_pymex, schema

pytestmark = pytest.mark.slow

PMID = "10913138"
B, A1, A6, A11 = "P04271", "P23297", "P06703", "P31949"
PAIRS = ((B, A6), (B, A11), (B, A1))
BOUND = "Furthermore, co-immunoprecipitation experiments demonstrated"
NOT_BOUND = "S100A1, the closest homologue of S100B, is capable of interaction with S100B but"
DIMER = (
    "Deletion of the C-terminal domain or mutation of Phe(87) and Phe(88) residues has no effect"
)
MUTANT = (
    ("MI:0119", "mutation decreasing interaction", "F87A", "87-87"),
    ("MI:0119", "mutation decreasing interaction", "F88A", "88-88"),
)
TOLD = "document.activeElement.labels?.[0]?.innerText.trim() ?? document.activeElement.innerText"


# Participants, method, host, figure, beginning of the sentence, features of the first, negative.
COIMMUNO, HYBRID = ("MI:0019", "9606", "MI:0113"), ("MI:0018", "4932", "MI:0078")
EXPECTED = [
    ((B, A6), COIMMUNO, "Fig. 5", BOUND, (), False),
    ((B, A6), HYBRID, "Fig. 1", BOUND, (), False),
    ((B, A6), HYBRID, "Fig. 6", BOUND, MUTANT, False),
    ((B, A11), HYBRID, "Fig. 6", BOUND, (), False),
    ((B, A1), HYBRID, "Fig. 1", NOT_BOUND, (), False),
    ((B, B), HYBRID, "Fig. 1", DIMER, (), False),
    ((A6, A1), HYBRID, "Fig. 1", NOT_BOUND, (), True),
]
ROLES = (("MI:0496", "MI:0499"), ("MI:0498", "MI:0499"))  # bait and prey, of no other role


def article() -> str:
    """Return title and abstract."""
    for name in ("TrainingSet", "TestSet"):
        file = shared(f"data/bc6pm/PMtask_Relations_{name}.json")
        for document in json.loads(file.read_text("utf-8"))["documents"]:
            if document["id"] == PMID:
                return "\n".join(passage["text"] for passage in document["passages"])
    raise AssertionError("it is in neither file")


def answer(*pairs: tuple[str, str]) -> Answer:
    """Return an answer with the four proteins and some pairs."""
    return {
        "interaction": [True, 0.9],
        "normalizations": [
            {"dbid": one, "rank": rank, "confidence": 1 / rank}
            for rank, one in enumerate((B, A6, A11, A1), 1)
        ],
        "pairs": [
            {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": 0.5}
            for rank, (a, b) in enumerate(pairs, 1)
        ],
    }


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CuratorHub]:
    folder = tmp_path_factory.mktemp("hub")
    header, *rows = shared("data/uniprot/human_reviewed.tsv").read_text("utf-8").splitlines()
    entries = [f"{row}\t9606" for row in rows if row.partition("\t")[0] in (B, A1, A6, A11)]
    (folder / "s100.tsv").write_text("\n".join([f"{header}\tOrganism (ID)", *entries, ""]), "utf-8")
    with CuratorHub(folder, entries=[folder / "s100.tsv"]) as hub:
        hub.servers["fast"].answer = answer(*PAIRS)
        hub.servers["slow"].answer = answer(*PAIRS[:2])
        yield hub


class Keys:
    """A keyboard that counts its keys."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.count += len(keys)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.count += len(text)

    def choose(self, words: str, found: str) -> None:
        """Type words into the chooser, and take the first that is found."""
        self.type(words)
        expect(self.page.locator("#chooser-options li").first).to_contain_text(found)
        self.press("Enter")
        expect(self.page.get_by_role("dialog")).to_have_count(0)

    def fill(self, *fields: tuple[str, str], end: str = "Enter") -> None:
        """Go on to fields by Tab, and type into each in the place of what it has."""
        for label, text in fields:
            for _ in range(40):
                if self.page.evaluate(TOLD).startswith(label):
                    break
                self.press("Tab")
            else:
                raise AssertionError(f"Tab does not reach {label}")
            self.type(text)  # in the place of what Tab has selected
        self.press(end)

    def form(self, *fields: tuple[str, str]) -> None:
        """Fill in the form of the pair's last experiment, and come back."""
        self.press("f")
        self.page.wait_for_url("**/experiments/**")
        expect(self.page.locator("input[autofocus]")).to_be_focused()
        self.fill(*fields)
        self.page.wait_for_url("**/curations/*")
        expect(self.page.locator("[aria-selected=true]:visible").first).to_be_focused()

    def taken(self) -> int:
        """Return the keys since it was asked last."""
        count, self.count = self.count, 0
        return count


def standing(page: Page) -> Locator:
    return page.locator("#standing")


def curated(page: Page) -> dict[str, int]:
    """Curate the article, and return the keys that each pair took."""
    keys, took = Keys(page), dict[str, int]()
    expect(page.locator("#list-INT > li").first).to_be_focused()
    keys.press("a", "a", "a", "a", "t", "i")
    keys.taken()

    keys.press("3", "d")  # the sentence on co-immunoprecipitation, which the chooser reads
    keys.press("1")
    expect(standing(page)).to_contain_text("coimmunoprecipitation")
    keys.form(
        ("Interaction type", "physical"), ("Host", "homo"),
        ("Figure", "Fig. 5"), ("Experimental role", "bait"),
        ("Biological role", "unspecified"),
        ("Identified by", "western"), ("Accession", A6), ("Experimental role", "prey"),
        ("Biological role", "unspecified"), ("Identified by", "western"),
    )  # fmt: skip
    expect(standing(page)).to_have_text(
        "undecided · coimmunoprecipitation · physical association · Fig. 5"
    )
    keys.press("D")
    keys.choose("two-hybrid", "MI:0018")
    keys.form(
        ("Interaction type", "physical"), ("Host", "saccharomyces"),
        ("Figure", "Fig. 1"), ("Experimental role", "bait"),
        ("Biological role", "unspecified"),
        ("Identified by", "nucleotide"), ("Accession", A6), ("Experimental role", "prey"),
        ("Biological role", "unspecified"), ("Identified by", "nucleotide"),
    )  # fmt: skip
    expect(standing(page)).to_contain_text("Fig. 5; two hybrid · physical association · Fig. 1")
    keys.press("D", "1")  # two hybrid, as before
    (_, kind, *first), (_, _, *second) = MUTANT
    begun = "mutation decreasing"  # the beginning of this kind's names alone
    named = ("Its name", "Its range")
    keys.form(("Figure", "Fig. 6"), ("Feature", begun), *zip(named, first, strict=True))
    keys.form(("Another feature", begun), *zip(named, second, strict=True))
    expect(standing(page)).to_contain_text(f"Fig. 6 · {kind} F87A 87-87 · {kind} F88A 88-88")
    keys.press("a")
    took["the first, with the forms of three experiments"] = keys.taken()

    keys.press("3", "=", "a")
    took["another of the experiment before"] = keys.taken()
    keys.press("1", "=", "#", "Enter", "a")
    took["another, of a figure before"] = keys.taken()

    keys.press("m", "1", "1", "5", "=")
    expect(standing(page)).to_contain_text("accepted · two hybrid")
    took["a homomer that no server names"] = keys.taken()
    keys.press("m", "2", "4", "1", "=", "!")
    expect(standing(page)).to_contain_text("no interaction")
    last = page.locator("#list-IPT > li").last
    expect(last.locator(".said")).to_have_text("accepted: no interaction")
    took["a pair that does not interact"] = keys.taken()
    return took


def test_databases_read_what_was_curated_by_keyboard(
    hub: CuratorHub, visits: Visits, tmp_path: Path
) -> None:
    page: Page = asked(hub, visits, article(), pmid=PMID, viewport={"width": 1360, "height": 900})
    expect(page.locator("#list-IPT > li")).to_have_count(3)
    expect(page.locator("#left")).to_have_text("2 of 2 servers")
    took = curated(page)
    assert [*took.values()][1:] == [3, 5, 5, 6]
    keys = Keys(page)
    keys.press("Control+Enter")
    page.wait_for_url("**/submit")
    expect(page.get_by_role("button", name="Submit")).to_be_focused()
    said = page.locator("main")
    expect(said).to_contain_text("Every candidate has a decision")
    expect(said).to_contain_text("author IMEx")
    keys.fill(("First author", "Deloulme"), ("Journal", "J Biol Chem"), ("Year", "2000"))
    expect(said).not_to_contain_text("Not said yet")
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/curations/[0-9a-f]{16}$"))
    path = page.url.rpartition("/")[2].partition("#")[0]
    for name in ("mitab", "psi-xml", "psi-xml-3"):
        sent = page.request.get(f"{hub.url}/curations/{path}/export?format={name}")
        (tmp_path / name).write_bytes(sent.body())
    check_mitab((tmp_path / "mitab").read_bytes())
    for name, level in (("psi-xml", "2"), ("psi-xml-3", "3")):
        schema(level).assertValid(etree.parse(tmp_path / name))
        check_xml(read_by_pymex(tmp_path / name, level), level)


def check_mitab(data: bytes) -> None:
    for line, expected in zip(read_mitab(data), EXPECTED, strict=True):

        def value(column: str, line: Any = line) -> str:
            return line[column][0].value if line[column] else ""

        pair, (method, host, identified), figure, evidence, features, negative = expected
        for side, accession, roles in zip("AB", pair, ROLES, strict=True):
            assert value(f"ID(s) interactor {side}") == accession
            assert value(f"Taxid interactor {side}") == "9606"
            assert value(f"Type(s) interactor {side}") == "MI:0326"
            assert value(f"Experimental role(s) interactor {side}") == roles[0]
            assert value(f"Biological role(s) interactor {side}") == roles[1]
            assert value(f"Identification method participant {side}") == identified
            assert value(f"Stoichiometry(s) interactor {side}") == "0" * (pair == (B, B))
        assert value("Interaction detection method(s)") == method
        assert value("Interaction type(s)") == "MI:0915"
        assert value("Host organism(s)") == host
        assert line["Publication Identifier(s)"] == [("pubmed", PMID, "")]
        assert line["Publication 1st author(s)"] == [("", "Deloulme et al.", "2000")]
        notes = [one.value for one in line["Interaction annotation(s)"]]
        assert notes[0].startswith(evidence)
        assert notes[1] == f"figure: {figure}"
        found = [(one.database, one.text, one.value) for one in line["Feature(s) interactor A"]]
        assert found == [one[1:] for one in features]
        assert line["Feature(s) interactor B"] == []
        assert value("Negative") == str(negative).lower()


def term(described: Any) -> str:
    return str(described["xref"]["primaryRef"]["id"])


def feature_of(one: Any) -> tuple[str, str, str, str]:
    [found] = one["featureRange"]
    kind = one["featureType"]
    assert {term(found[status]) for status in ("startStatus", "endStatus")} == {"MI:0335"}
    return (
        term(kind), kind["names"]["shortLabel"], one["names"]["shortLabel"],
        f"{found['begin']['position']}-{found['end']['position']}",
    )  # fmt: skip


def check_xml(interactions: list[Any], level: str) -> None:
    for one, expected in zip(interactions, EXPECTED, strict=True):
        pair, (method, host, identified), figure, evidence, features, negative = expected
        [experiment] = one["experiment"]
        assert term(experiment["interactionDetectionMethod"]) == method
        assert [each["ncbiTaxId"] for each in experiment["hostOrganism"]] == [host]
        assert term(experiment["bibref"]) == PMID
        told = {each["name"]: each["value"] for each in experiment["attribute"]}
        written = {"author-list": "Deloulme", "journal": "J Biol Chem", "publication year": "2000"}
        assert told == written
        assert [term(each) for each in one["interactionType"]] == ["MI:0915"]
        assert ("negative" in one) is negative
        notes = {each["name"]: each["value"] for each in reversed(one["attribute"])}
        assert notes["figure legend"] == figure
        assert notes["comment"].startswith(evidence)
        for place, (part, roles) in enumerate(zip(one["participant"], ROLES, strict=True)):
            assert term(part["interactor"]) == pair[place]
            assert [term(each) for each in part["experimentalRole"]] == [roles[0]]
            assert term(part["biologicalRole"]) == roles[1]
            [found] = part["participantIdentificationMethodList"].values()
            assert term(found) == identified
            assert [*map(feature_of, part.get("feature", ()))] == [*features] * (place == 0)
            assert ("stoichiometry" in part) is (pair == (B, B) and level == "3")
