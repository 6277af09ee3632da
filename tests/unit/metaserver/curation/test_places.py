"""Places of names: searched together, within bounds, and once."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from metaserver.curation.candidates import MOST_MENTIONS, CandidateVote, ConsensusCandidate, Span
from metaserver.curation.places import placed
from metaserver.curation.proteins import MOST_ENTRIES, NamedPlaces, ReleaseProteins
from metaserver.uniprot.directory import NamedEntry

NAMES = {"P1": "EGF", "P2": "EGF receptor", "P3": "GRB2"}


class Proteins(ReleaseProteins):
    """A release that keeps what was looked up."""

    def __init__(self) -> None:
        super().__init__(Path("none"), "")
        self.asked: list[list[str]] = []

    def entries(self, accessions: Sequence[str]) -> Mapping[str, NamedEntry]:
        self.asked.append(list(accessions))
        return {
            one: NamedEntry(
                accession=one, entry_name="", names=(NAMES[one],), symbols=(), taxon=9606,
                organism="",
            )
            for one in accessions
            if one in NAMES
        }  # fmt: skip


def candidate(*item, mentions=(), evidence=""):
    vote = CandidateVote(
        server="a", rank=1, confidence=0.5, part=None, evidence=evidence, taxid=None
    )
    return ConsensusCandidate(
        task="INT" if len(item) == 1 else "IPT", item=item, rank=1, score=1.0, probability=None,
        agreement=1.0, bias=None, votes=(vote,), mentions=mentions, new_since=1,
    )  # fmt: skip


SEEN = (Span(start=0, end=12, servers=("a",)),)
TEXT = "EGF receptor binds EGF and GRB2."


def test_names_are_searched_beside_those_of_candidates_that_have_a_place() -> None:
    proteins, named = Proteins(), NamedPlaces()
    given = (candidate("P2", mentions=SEEN), candidate("P1"), candidate("P1", "P3"))
    first, second, pair = placed(given, TEXT, proteins, named)
    assert first.mentions == SEEN
    assert [(one.start, one.end, one.origin) for one in second.mentions] == [(19, 22, "names")]
    assert [TEXT[one.start : one.end] for one in pair.mentions] == ["EGF", "GRB2"]
    assert placed(given[1:], TEXT, proteins, named) == (second, pair)
    assert len(proteins.asked) == 1
    [other] = placed((candidate("P9"),), TEXT, proteins, named)
    assert (other.mentions, len(proteins.asked)) == ((), 2)


def test_names_are_not_searched_where_all_have_a_place() -> None:
    proteins = Proteins()
    quoted = candidate("P3", evidence="binds\nEGF")
    found = placed((candidate("P2", mentions=SEEN), quoted), TEXT, proteins, NamedPlaces())
    assert [(one.start, one.end, one.origin, one.servers) for one in found[1].mentions] == [
        (13, 22, "evidence", ("a",))
    ]
    assert proteins.asked == []


@pytest.mark.parametrize("count", [1, MOST_ENTRIES, 500])
def test_entries_and_places_are_bounded(count: int) -> None:
    proteins = Proteins()
    given = (candidate("P3"), *(candidate(f"Q{at}") for at in range(count)))
    first, *_ = placed(given, "GRB2 " * 1_000, proteins, NamedPlaces())
    assert len(first.mentions) == MOST_MENTIONS
    assert len(proteins.asked[0]) == min(count + 1, MOST_ENTRIES)
