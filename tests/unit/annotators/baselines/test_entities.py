"""Proteins and mutations of a text, masked and counted."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from annotators.baselines.entities import COUNTED, entities, masked, sentence_counts
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.matching import Dictionary

KNOWN = Dictionary(read_proteins(SHIPPED_NAMES))
TEXT = (
    "MDM2 binds p53\n"
    "MDM2 interacts with p53 R175H, and p.Arg248Trp does not. "
    "Mutant EGFR is inhibited. Cells grow."
)
WORDS = st.sampled_from(["MDM2 ", "p53", "R175H ", "binds ", "mutant ", ". A", "\n", "x ", "α"])


def counted(text: str) -> dict[tuple[str, int, int, int], int]:
    found = sentence_counts(text, entities(KNOWN, text))
    return {key: found[place] for key, place in COUNTED.items() if found[place]}


def test_proteins_and_substitutions_are_masked() -> None:
    assert " ".join(masked(TEXT, entities(KNOWN, TEXT)).split()) == (
        "geneprot binds geneprot geneprot interacts with geneprot mutprot , and mutprot does not. "
        "Mutant geneprot is inhibited. Cells grow."
    )


def test_sentences_are_counted_by_what_is_in_them() -> None:
    assert counted(TEXT) == {
        ("sentence", 2, 2, 0): 1,  # the title is a sentence too
        ("sentence", 2, 2, 2): 1,
        ("sentence", 1, 1, 1): 1,
        ("sentence", 0, 0, 0): 1,
        ("title", 2, 2, 0): 1,
        ("between", 0, 0, 0): 2,
        ("names", 0, 0, 0): 3,
        ("mutations", 0, 0, 0): 2,
    }


def test_a_text_without_anything_has_no_counts() -> None:
    assert counted("") == {}


@given(st.lists(WORDS, max_size=30).map("".join))
def test_entities_are_in_order_and_apart(text: str) -> None:
    found = entities(KNOWN, text)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert set(sentence_counts(text, found)) <= set(COUNTED.values())
