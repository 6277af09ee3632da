"""Identifiers of articles, as they are compared with those of test articles."""

import sys
import unicodedata

import pytest

from metaserver.corpus.fingerprints import fingerprints, folded_text
from metaserver.curation.texts import folded_id, read_file


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("pmc2375009", "PMC2375009"),
        ("PMC002375009", "PMC2375009"),
        ("doi:10.1016/j.febslet.2008.02.065", "10.1016/J.FEBSLET.2008.02.065"),
        ("PMID: 010068444", "10068444"),
        ("\uff17", "7"),
        ("000", "0"),
        ("PMC000", "pmc0"),
    ],
)
def test_identifiers_of_the_same_article_are_the_same(asked: str, known: str) -> None:
    assert folded_id(asked) == folded_id(known)


@pytest.mark.parametrize("other", ["100684440", "PMC10068444", "10068444a", "", "0"])
def test_others_are_not(other: str) -> None:
    assert folded_id(other) != folded_id("10068444")


@pytest.mark.parametrize(
    ("name", "content", "own"),
    [
        ("10068444.json", '{"id": "10068444", "passages": [{"text": "T"}]}', "10068444"),
        ("10068444.json", '{"passages": [{"text": "T"}]}', ""),
        (
            "10068444.xml",
            "<collection><document><id>10068444</id><passage><text>T</text></passage></document></collection>",
            "10068444",
        ),
        ("10068444.txt", "T", ""),
    ],
)
def test_a_file_that_is_named_by_its_id_keeps_it(name: str, content: str, own: str) -> None:
    article = read_file(content.encode(), name, 1_000).article
    assert (article.id, article.text, article.source) == (own, "T", name)


@pytest.mark.parametrize(
    "text", ["e\u0301" * 40, "a" + "\u0301" * 30, "\u2014" * 40, "\u2026" * 40]
)
def test_texts_without_long_runs_of_marks_are_normalised_as_they_are(text: str) -> None:
    assert folded_text(text) == unicodedata.normalize("NFKC", text)


def test_a_long_run_of_marks_is_cut_wherever_it_stands() -> None:
    marks = "\u0315\u0334" * 40
    assert folded_text(f"a{marks}b") == f"a{folded_text(marks)}b"
    assert max(map(len, folded_text(marks).split("\u034f"))) == 30
    assert fingerprints(f"a  {marks}\nB") == fingerprints(f"A {marks} b")


def test_no_mark_is_taken_for_a_letter() -> None:
    letters = map(chr, range(sys.maxunicode + 1))
    normal = ((one, unicodedata.normalize("NFKD", one)) for one in letters)
    runs = [one * 31 for one, parts in normal if unicodedata.combining(parts[0])]
    assert len(runs) > 900
    assert [run for run in runs if "\u034f" not in folded_text(run)] == []
