"""Mentions: where names stand, and a team's own check of its offsets."""

import pytest

from annotators.baselines.mentions import mentions
from annotators.contract import misplaced, problems
from annotators.matching import Dictionary, Protein

KNOWN = Dictionary(
    [
        Protein(accession="P04637", names=("Cellular tumor antigen p53",), symbols=("TP53", "P53")),
        Protein(accession="P35222", names=("Catenin beta-1", "Beta-catenin"), symbols=()),
    ]
)
TEXT = "🧬 β-catenin frees p53\nWild-type p53 is stable."


def test_names_stand_where_they_are_said_to() -> None:
    found = mentions(TEXT, KNOWN.find(TEXT))
    result = [(hit["offset"], hit["mention"], hit["type"]) for hit in found]
    assert result == [(2, "β-catenin", "protein"), (18, "p53", "protein"), (32, "p53", "protein")]
    answer = {"mentions": found}
    assert list(problems(answer)) == list(misplaced(answer, TEXT)) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_offsets_in_other_units_are_told(encoding: str) -> None:
    width = 2 if encoding == "utf-16-le" else 1
    offset = len(TEXT.partition("p53")[0].encode(encoding)) // width
    [told] = misplaced({"mentions": [{"offset": offset, "mention": "p53"}]}, TEXT)
    assert told.startswith(f"mentions[0]: at {offset} is ")
    assert told.endswith(", not 'p53'")


def test_an_offset_below_zero_is_told() -> None:
    assert list(misplaced({"mentions": [{"offset": -3, "mention": "le."}]}, TEXT))


@pytest.mark.parametrize("answer", [[], {}, {"mentions": 5}, {"mentions": [5, {"offset": "x"}]}])
def test_other_shapes_are_for_the_contract(answer: object) -> None:
    assert list(misplaced(answer, TEXT)) == []
