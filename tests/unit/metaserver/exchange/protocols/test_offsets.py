"""Offsets in any unit are code points of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.exchange.protocols.options import Places, Unit, aligned


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_every_offset_is_found_again(text: str) -> None:
    sizes = {Unit.CODE_POINT: None, Unit.UTF16: "utf-16-le", Unit.UTF8: "utf-8"}
    for unit, encoding in sizes.items():
        places = Places(text, unit)
        width = 2 if unit is Unit.UTF16 else 1
        for at in range(len(text) + 1):
            sent = at if encoding is None else len(text[:at].encode(encoding)) // width
            assert places.code_point(sent) == at


def test_an_offset_in_a_character_is_the_characters() -> None:
    assert Places("a𝛼b", Unit.UTF16).code_point(2) == 1
    assert Places("aαb", Unit.UTF8).code_point(2) == 1


@pytest.mark.parametrize("offset", [-1, 99])
def test_an_offset_outside_stays_as_it_is(offset: int) -> None:
    assert Places("aαb", Unit.UTF8).code_point(offset) == offset


@pytest.mark.parametrize(
    ("begin", "place"), [(4, 4), (3, 4), (9, 12), (10, 12), (-1, 4), (40, None), (33, None)]
)
def test_words_are_looked_for_near_their_place(begin: int, place: int | None) -> None:
    assert aligned("the p53 and p53 bind", begin, "p53") == place


def test_no_words_are_nowhere_else() -> None:
    assert aligned("abc", 1, "x") is None
