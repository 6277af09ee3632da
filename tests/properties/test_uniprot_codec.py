"""The codec against the pattern it stands for, and against a set."""

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.uniprot.codec import MALFORMED, PATTERN, cluster_keys, decode, encode, name_key

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What has fooled matchers: line ends, Arabic digits, look-alikes, lone surrogates, NUL, long tails.
ODD = "-.|_ \n\r\t\0aoz٣٠éＡ\U0001f9ec\ud800"
ANY = LETTERS + "0123456789"


def near_accession(rng: random.Random) -> str:
    """Return a string drawn from an accession's places, about half of the time with one flaw."""
    places = [LETTERS, "0123456789", ANY, ANY, ANY, "0123456789", LETTERS, ANY, ANY, "0123456789"]
    characters = [rng.choice(place) for place in places[: rng.choice((5, 6, 6, 6, 7, 10, 10, 11))]]
    if rng.random() < 0.4:
        characters[rng.randrange(len(characters))] = rng.choice(ANY + ODD)
    if rng.random() < 0.1:
        characters.insert(rng.randrange(len(characters) + 1), rng.choice(ANY + ODD))
    return "".join(characters)


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.nightly, id="a million")])
def test_random_strings_agree_with_the_pattern_and_a_set(rounds):
    rng = random.Random(2009)
    codes: dict[str, int] = {}
    for _ in range(rounds):
        strings = [near_accession(rng) for _ in range(50_000)]
        found = encode(strings)
        expected = [PATTERN.fullmatch(text) is not None for text in strings]
        assert (found != MALFORMED).tolist() == expected
        valid = [text for text, is_valid in zip(strings, expected, strict=True) if is_valid]
        numbers = found[found != MALFORMED]
        assert decode(numbers) == valid
        codes.update(zip(valid, numbers.tolist(), strict=True))
    assert len(codes) > 10_000 * rounds
    assert len(set(codes.values())) == len(codes)


@given(st.lists(st.text() | st.from_regex(PATTERN, fullmatch=True)))
def test_any_text_agrees_with_the_pattern(strings):
    expected = [PATTERN.fullmatch(text) is not None for text in strings]
    assert (encode(strings) != MALFORMED).tolist() == expected


@given(st.from_regex(PATTERN, fullmatch=True), st.integers(0, 30), st.integers(0, 30))
def test_a_string_is_judged_alike_in_any_company(accession, before, after):
    company = ["x\ny"] * before + [accession] + [accession + "1"] * after
    assert encode(company)[before] == encode([accession])[0]


@pytest.mark.parametrize(
    "text",
    ["P04637\n", "P0463٧", "A0A023GPI8-2", "Á04637", "", "\n", "A12345", "P04637\0", "A0A023GPI\0"],
)
def test_strings_that_have_fooled_matchers_are_malformed(text):
    assert encode([text]).tolist() == [MALFORMED]


def test_the_pattern_is_the_published_one():
    """https://www.uniprot.org/help/accession_numbers, with its brackets where they belong."""
    published = re.compile(
        r"([OPQ][0-9][A-Z0-9]{3}[0-9])|([A-NR-Z][0-9]([A-Z][A-Z0-9][A-Z0-9][0-9]){1,2})"
    )
    rng = random.Random(7)
    for text in (near_accession(rng) for _ in range(20_000)):
        assert bool(PATTERN.fullmatch(text)) == bool(published.fullmatch(text))


def test_codes_fill_their_range_without_gaps():
    everything = np.r_[0:91_497_600:997, 91_497_599]
    texts = decode(everything)
    assert encode(texts).tolist() == everything.tolist()


def test_keys_stay_those_of_the_releases_that_were_built() -> None:
    names = ["UniRef50_A0AAA0", "UniRef50_B0AAA0-2", "UniRef50_UPI00000000FF", "UniRef90_A0AAA0"]
    assert cluster_keys(names).tolist() == [1 << 14, (3_369_601 << 14) + 3, (1 << 62) + 255, 0]
    key = (36 * 38**2 + 37 * 38 + 36) * 38**8
    assert [name_key(name) for name in ("Z_Z", "z_z", "A0AAA0AAA0_Z")] == [key, -1, -1]
