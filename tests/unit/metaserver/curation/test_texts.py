"""Identifiers of articles, as they are compared with those of test articles."""

from __future__ import annotations

import pytest

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
    article = read_file(content.encode(), name, 1_000)
    assert (article.id, article.text, article.source) == (own, "T", name)
