"""Places of candidates: of servers, of evidence and of names, at code points."""

from hypothesis import given
from hypothesis import strategies as st

from annotators.matching import Protein
from metaserver.curation import mentions
from metaserver.curation.mentions import (
    LONGEST_QUOTE,
    MOST_SPANS,
    CandidateSpan,
    EvidenceSpan,
    Mentions,
    SentEvidence,
    SentMention,
)
from tests.unit.metaserver.curation.samples import EGFR, GRB2

TEXT = "𝛼 The EGF receptor (EGFR)\nbinds  Grb2; EGFR\u00a0dimers bind GRB-2."
KNOWN = [
    Protein(accession=EGFR, names=("Epidermal growth factor receptor",), symbols=("EGFR",)),
    Protein(accession=GRB2, names=(), symbols=("GRB2",)),
]


def words(spans) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(TEXT[one.start : one.end], one.accession, one.servers) for one in spans]


def test_servers_come_before_names() -> None:
    at = TEXT.index("EGF receptor")
    second = TEXT.index("EGFR")
    sent = [
        SentMention(server="b", accession=EGFR, offset=at, words="EGF receptor"),
        SentMention(server="a", accession=EGFR, offset=at, words="EGF receptor"),
        SentMention(server="a", accession=EGFR, offset=second, words="EGFR)"),
        SentMention(server="a", accession=GRB2, offset=second, words="EGFR"),
        SentMention(server="c", accession=EGFR, offset=at + 1, words="EGF receptor"),
        SentMention(server="c", accession=EGFR, offset=-5, words="bind"),
        SentMention(server="c", accession=EGFR, offset=0, words=""),
    ]
    found = Mentions(TEXT).spans(sent, KNOWN)
    assert words(found) == [
        ("EGF receptor", EGFR, ("a", "b")),
        ("EGFR", GRB2, ("a",)),
        ("EGFR)", EGFR, ("a",)),
        ("Grb2", GRB2, ()),
        ("EGFR", EGFR, ()),
        ("GRB-2", GRB2, ()),
    ]
    assert [one.origin for one in found] == ["server"] * 3 + ["names"] * 3
    assert [one.start for one in found if one.accession == EGFR] == [
        at,
        second,
        TEXT.rindex("EGFR"),
    ]


def test_a_name_within_several_mentions_is_left_out() -> None:
    at = TEXT.index("(EGFR)")
    sent = [
        SentMention(server="a", accession=EGFR, offset=at, words="(EG"),
        SentMention(server="b", accession=EGFR, offset=at + 2, words="GFR)"),
    ]
    found = [one for one in Mentions(TEXT).spans(sent, KNOWN) if one.accession == EGFR]
    assert words(found) == [("(EG", EGFR, ("a",)), ("GFR)", EGFR, ("b",)), ("EGFR", EGFR, ())]
    assert found[-1].start == TEXT.rindex("EGFR")


def test_evidence_is_found_but_for_its_blanks() -> None:
    sent = [
        SentEvidence(server="b", item=(EGFR, GRB2), words=" (EGFR) binds Grb2;\n"),
        SentEvidence(server="a", item=(EGFR, GRB2), words="(EGFR)  binds\tGrb2;"),
        SentEvidence(server="a", item=(EGFR,), words="is not there"),
        SentEvidence(server="a", item=(EGFR,), words=" "),
        SentEvidence(server="a", item=(EGFR,), words="E" * (LONGEST_QUOTE + 1)),
    ]
    [found] = Mentions(TEXT).evidence(sent)
    assert found == EvidenceSpan(
        start=TEXT.index("(EGFR)"), end=TEXT.index(";") + 1, item=(EGFR, GRB2), servers=("a", "b")
    )


def test_the_number_of_spans_is_bounded() -> None:
    text = "EGFR " * (MOST_SPANS + 10)
    assert len(Mentions(text).spans([], KNOWN)) == MOST_SPANS


def test_the_characters_that_are_looked_through_for_quotes_are_bounded(monkeypatch):
    monkeypatch.setattr(mentions, "MOST_SEARCHED", 2 * len(TEXT) + 1)
    quoted = ["dimers", "not there", "dimers", "receptor", "dimers"]
    sent = [
        SentEvidence(server=str(place), item=(EGFR,), words=words)
        for place, words in enumerate(quoted)
    ]
    [found] = Mentions(TEXT).evidence(sent)
    assert found.servers == ("0", "2", "4"), "the same words are looked for once"
    assert TEXT[found.start : found.end] == "dimers"


@given(st.text(st.sampled_from("EGFR2b \n\t\u00a0𝛼-"), max_size=60), st.data())
def test_quotes_of_any_text_are_found_at_their_words(text: str, data) -> None:
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    found = Mentions(text).evidence([SentEvidence(server="a", item=(EGFR,), words=quote)])
    if quote.split():
        assert text[found[0].start : found[0].end].split() == quote.split()
    else:
        assert found == []


@given(st.text(st.sampled_from("EGFRGrb2 -\n𝛼"), max_size=80))
def test_names_are_where_the_spans_say(text: str) -> None:
    for one in Mentions(text).spans([], KNOWN):
        assert isinstance(one, CandidateSpan)
        shown = text[one.start : one.end].replace("-", "").replace(" ", "").replace("\n", "")
        assert shown.upper() in ("EGFR", "GRB2")
