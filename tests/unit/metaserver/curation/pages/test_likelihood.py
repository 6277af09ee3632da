"""Probabilities in words: the edges of each class."""

import pytest

from metaserver.curation.pages.likelihood import likelihood, speaks


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        (0.0, "very unlikely: under 1 of 20 such was right"),
        (0.0499, "very unlikely: under 1 of 20 such was right"),
        (0.05, "unlikely: 1 of 10 such was right"),
        (0.149, "unlikely: 1 of 10 such was right"),
        (0.15, "unlikely: 2 of 10 such were right"),
        (0.349, "unlikely: 3 of 10 such were right"),
        (0.35, "uncertain: 4 of 10 such were right"),
        (0.5, "uncertain: 5 of 10 such were right"),
        (0.649, "uncertain: 6 of 10 such were right"),
        (0.65, "likely: 7 of 10 such were right"),
        (0.8, "likely: 8 of 10 such were right"),
        (0.95, "likely: 9 of 10 such were right"),
        (0.9501, "very likely: over 19 of 20 such were right"),
        (1.0, "very likely: over 19 of 20 such were right"),
    ],
)
def test_a_probability_is_a_word_and_a_whole_number(probability: float, expected: str) -> None:
    found = likelihood(probability)
    assert found.sentence == expected
    assert expected.startswith(f"{found.words} such ")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (1.0, "for it, strongly"),
        (0.999, "for it, somewhat"),
        (0.1, "for it, somewhat"),
        (0.0999, "hardly either way"),
        (0.0, "hardly either way"),
        (-0.0999, "hardly either way"),
        (-0.1, "against it, somewhat"),
        (-1.0, "against it, strongly"),
    ],
)
def test_what_adds_to_a_probability_speaks_for_or_against(part: float, expected: str) -> None:
    assert speaks(part) == expected
