"""Organisms in texts, and the choice of a mention's species."""

import pytest

from annotators.organisms import KnownOrganism, OrganismWords, SpeciesOfText

YEAST = "Saccharomyces cerevisiae"
ORGANISMS = [
    KnownOrganism(9606, "Homo sapiens (Human)", "HUMAN", 20_000),
    KnownOrganism(10090, "Mus musculus (Mouse)", "MOUSE", 17_000),
    KnownOrganism(559292, f"{YEAST} (strain ATCC 204508 / S288c) (Baker's yeast)", "YEAST", 6_700),
    KnownOrganism(764099, f"{YEAST} (strain VIN 13) (Baker's yeast)", "YEASV", 3),
    KnownOrganism(9685, "Felis catus (Cat) (Felis silvestris catus)", "FELCA", 300),
    KnownOrganism(562, "Escherichia coli", "ECOLX", 2_000),
    KnownOrganism(83333, "Escherichia coli (strain K12)", "ECOLI", 4_500),
]  # fmt: skip
WORDS = OrganismWords(ORGANISMS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In mice and Mus musculus", [("mice", 10090), ("Mus musculus", 10090)]),
        ("M. musculus, S. cerevisiae", [("M. musculus", 10090), ("S. cerevisiae", 559292)]),
        ("the budding yeast protein", [("budding yeast", 559292)]),
        ("Saccharomyces cerevisiae", [("Saccharomyces cerevisiae", 559292)]),
        ("P53_MOUSE and A1_XXXXX", [("MOUSE", 10090)]),
        ("E. coli", [("E. coli", 83333)]),
        ("a cat scan of Felis catus", [("Felis catus", 9685)]),
        ("HeLa cells, hela", [("HeLa", 9606), ("hela", 9606)]),
        ("mousetrap", []),
        ("Mus. Musculus", [("Mus. Musculus", 10090)]),
        ("", []),
    ],
)
def test_organisms_are_found(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(text[one.start : one.end], one.taxon) for one in WORDS.find(text)] == expected


def test_a_word_for_what_the_release_lacks_is_none() -> None:
    assert OrganismWords(ORGANISMS[:1]).find("mice and yeast") == []


@pytest.mark.parametrize(
    ("text", "taxa", "expected"),
    [
        ("mouse * and human", {9606, 10090}, 10090),
        ("human cells. * in mice, and mice", {9606, 10090}, 10090),
        ("yeast, then mouse *", {9606, 559292}, 559292),
        ("mouse and human *", {9606, 10090}, 9606),
        ("*", {9606, 10090}, 9606),
        ("* of mice", {9606}, 9606),
        ("* of mice", {559292}, 0),
    ],
)
def test_the_species_of_a_mention(text: str, taxa: set[int], expected: int) -> None:
    starts = [0] if ". " not in text else [0, text.index(". ") + 2]
    species = SpeciesOfText(WORDS.find(text), starts, 9606)
    assert species.choose(text.index("*"), dict.fromkeys(taxa)) == expected


def test_a_mention_is_not_compared_with_every_organism_of_a_long_sentence() -> None:
    text = "mouse " + "human " * 100
    species = SpeciesOfText(WORDS.find(text), [0], 562)
    assert species.choose(len(text), {10090: None}) == 10090  # named in the text, though not near
    assert species.choose(len(text), {83333: None}) == 0
