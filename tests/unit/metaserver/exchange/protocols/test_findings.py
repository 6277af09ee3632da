"""Annotations without ranks become the values of the contract."""

import pytest

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.findings import COVERS, FEW, PAIR, Findings
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import Limits

TEXT = "TP53 binds BRCA1; TP53 is p53."


def findings(**limits: int) -> tuple[Findings, Report]:
    report = Report()
    return Findings(TEXT, report, Limits(**limits)), report


def test_confidences_follow_from_counts() -> None:
    found, report = findings()
    for accession in ("P04637", "P38398", "P04637", "P04637", "P04637"):
        found.normalization(accession, None)
    found.pair("P38398", "P04637", None)
    found.pair("P04637", "P38398", None)
    answer = found.answer()
    assert answer["normalizations"] == [
        {"dbid": "P04637", "confidence": 1.0},
        {"dbid": "P38398", "confidence": 0.625},
    ]
    assert answer["pairs"] == [{"dbid_a": "P04637", "dbid_b": "P38398", "confidence": 1.0}]
    assert answer["interaction"] == [True, 1.0]
    assert [str(one) for one in report.problems] == ["confidence: derived from counts"]


def test_the_best_score_counts() -> None:
    found, report = findings()
    for score in (0.25, 0.75, 0.5):
        found.normalization("P04637", score)
    assert found.answer()["normalizations"] == [{"dbid": "P04637", "confidence": 0.75}]
    assert not report.problem_count


@pytest.mark.parametrize(
    ("text", "accession"),
    [
        ("P04637", "P04637"),
        ("uniprot:P04637", "P04637"),
        ("https://www.uniprot.org/uniprot/P04637", "P04637"),
        ("http://uniprot.org/uniprotkb/P04637/entry", "P04637"),
        ("https://identifiers.org/uniprot:P04637-2", "P04637"),
        ("http://purl.uniprot.org/uniprot/P04637", "P04637"),
        ("protein", None),
        ("7157", None),
        ("P53_HUMAN", None),
    ],
)
def test_an_accession_is_read_out_of_what_contains_it(text: str, accession: str | None) -> None:
    found, report = findings()
    assert found.accession(text, "/x") == accession
    mended = accession is not None and accession != text
    assert report.problem_count == mended


def test_words_decide_about_places() -> None:
    found, report = findings()
    found.mention("/a", 2, 6, "protein", words="TP53")
    found.mention("/b", 0, 4, "gene", words="nowhere")
    found.mention("/c", 90, 94, "protein", words="TP\x0053")
    mentions = found.answer()["mentions"]
    result = [(one["offset"], one["mention"]) for one in mentions]
    assert result == [(0, "TP53"), (0, "TP53"), (90, "TP\ufffd53")]
    assert [str(one) for one in report.problems] == [
        "/a: moved by -2", "/b: the words do not stand there", "/c: the words do not stand there",
    ]  # fmt: skip


def test_their_number_is_bounded() -> None:
    found, _ = findings(values=2)
    found.normalization("P04637", None)
    found.mention("/a", 0, 4, "protein")
    with pytest.raises(PeerError) as caught:
        found.pair("P04637", "P38398", None)
    assert caught.value.outcome is Outcome.TOO_LARGE


@pytest.mark.parametrize(("size", "most"), [(0, "8,000"), (FEW + PAIR, "8,008")])
def test_their_number_is_bounded_by_the_size_of_the_answer(size: int, most: str) -> None:
    """The pairs of a relation multiply the accessions of its ends; a small answer has some."""
    found, _ = findings()
    found.size = size
    for _ in range(max(size, FEW) // PAIR):
        found.pair("P04637", "P38398", None)
    with pytest.raises(PeerError, match=f"more than {most} annotations and names in") as caught:
        found.pair("P04637", "P38398", None)
    assert caught.value.outcome is Outcome.TOO_LARGE


def test_mentions_may_cover_the_text_some_times() -> None:
    found, _ = findings()
    found.size = 10
    for _ in range(COVERS):
        found.mention("/a", 0, 10**9, "section")
    with pytest.raises(PeerError, match="/b: the mentions have more than 160 characters") as caught:
        found.mention("/b", 10**9, 10**9, "section", words="x" * 41)
    assert caught.value.outcome is Outcome.TOO_LARGE


def test_their_words_are_bounded_which_no_server_need_send() -> None:
    found, _ = findings(bytes=3 * len(TEXT))
    for _ in range(3):
        found.mention("/a", 0, 10**9, "protein")
    with pytest.raises(PeerError) as caught:
        found.mention("/a", 1, 2, "protein")
    assert caught.value.outcome is Outcome.TOO_LARGE


def test_names_are_bounded_whether_they_are_accessions_or_not() -> None:
    found, _ = findings(values=2)
    found.accession("P04637", "/a")
    found.accession("?", "/a")
    with pytest.raises(PeerError) as caught:
        found.accession("?", "/a")
    assert caught.value.outcome is Outcome.TOO_LARGE
