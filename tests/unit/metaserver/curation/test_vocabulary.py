"""The PSI-MI vocabulary: its table, the search among its names, and hostile OBO files."""

import re
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.curation import psi_mi
from metaserver.curation.psi_mi import METHOD, ROOTS, TYPE, built_in, read_obo, to_table
from tests.shared import ROOT, shared


def test_the_table_is_what_the_file_of_psi_mi_says() -> None:
    """Counted without the reader: terms of the file that are not obsolete, and what they are."""
    path = Path(shared("data/psi-mi/psi-mi.obo"))
    terms = [one for one in path.read_text("utf-8").split("\n\n") if one.strip()[:6] == "[Term]"]
    live = [one for one in terms if "is_obsolete: true" not in one]
    known = built_in()
    assert (known.version, len(known.entries)) == ("2021-04-15", len(live))
    names = [
        {
            *re.findall(r"^name: (.*)$", one, re.MULTILINE),
            *re.findall(r'^synonym: "(.*?)" ', one, re.MULTILINE),
        }
        for one in live
    ]
    assert sum(map(len, names)) == sum(len(one.names) for one in known.entries.values())
    table = ROOT / "metaserver" / "curation" / "psi_mi_terms.tsv"
    assert table.read_text("utf-8") == to_table(read_obo(path))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("two hybrid", "two hybrid"),
        ("Y2H", "two hybrid"),
        ("co-IP", "coimmunoprecipitation"),
        ("SPR", "surface plasmon resonance"),
        ("pulldown", "pull down"),
        ("x-ray cryst", "x-ray crystallography"),
        ("MI:0018", "two hybrid"),
        ("lambda of nobody", None),
    ],
)
def test_a_search_has_the_exact_name_or_synonym_first(words: str, name: str | None) -> None:
    found = built_in().search(METHOD, words)
    assert (found[0].term.name if found else None) == name


@pytest.mark.parametrize(
    ("sentence", "root", "names"),
    [
        ("MDM2 was pulled down with TP53.", METHOD, ["pull down"]),
        ("EGFR was co-immunoprecipitated with Grb2.", METHOD, ["coimmunoprecipitation"]),
        ("In a yeast two-hybrid screen", METHOD, ["two hybrid"]),
        (
            "a phosphorylation reaction",
            TYPE,
            ["phosphorylation reaction"],
        ),
        ("We thank all.", METHOD, []),
    ],
)
def test_a_sentence_proposes_the_terms_that_it_names(sentence, root, names):
    found = [one.term.name for one in built_in().proposed(root, sentence)]
    assert found[: len(names)] == names
    assert bool(found) == bool(names)


NEW = "[Term]\nid: MI:9001\nname: a"


def obo(*stanzas: str) -> str:
    roots = "\n\n".join(f"[Term]\nid: {root}\nname: root {root}" for root in ROOTS.values())
    return "\n\n".join(("format-version: 1.2\ndate: 01:02:2030 10:00", roots, *stanzas)) + "\n"


def test_a_newer_file_is_read_with_its_date_and_a_circle_of_parents_ends(tmp_path: Path) -> None:
    path = tmp_path / "new.obo"
    named = '[Term]\nid: MI:9001\nname: new way\nsynonym: "NW" EXACT []'
    one = f"{named}\nis_a: MI:0001 ! x\nis_a: MI:9002"
    other = "[Term]\nid: MI:9002\nname: newer way\nis_a: MI:9001"
    path.write_text(obo(one, other, "[Term]\nid: GO:1\nname: foreign\nis_a: MI:0001"))
    found = read_obo(path)
    assert found.version == "2030-02-01"
    assert [*found.under(METHOD)] == ["MI:9001", "MI:9002"]
    assert set(found.ancestors("MI:9002")) == {"MI:9001", "MI:9002", "MI:0001"}
    assert found.search(METHOD, "nw")[0].term.id == "MI:9001"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"[Term]\nid: MI:0001\nname: alone\n",
        obo("[Term]\nid: MI:9001\nname: " + "a" * 301).encode(),
        obo("[Term]\nid: MI:9001\nname: a\tb").encode(),
        obo("[Term]\nid: MI:9001").encode(),
        obo("\n".join((NEW, *(f'synonym: "{i}" []' for i in range(101))))).encode(),
        obo("\n".join((NEW, *(f"is_a: MI:1{i:03}" for i in range(21))))).encode(),
    ],
)
def test_a_file_that_is_not_psi_mi_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.obo"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_obo(path)


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_TERMS"])
def test_a_file_is_read_up_to_its_limits(tmp_path, limit, monkeypatch):
    path = tmp_path / "long.obo"
    path.write_text(obo())
    read_obo(path)
    monkeypatch.setattr(psi_mi, limit, 5)
    with pytest.raises(InputError, match="more than 5"):
        read_obo(path)
