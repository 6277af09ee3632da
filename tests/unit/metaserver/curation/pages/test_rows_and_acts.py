"""Forms as events: each form makes one event, or is refused."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from metaserver.base.curations import CurationStanding
from metaserver.base.errors import RefusedError
from metaserver.base.publications import UNKNOWN
from metaserver.curation.basis import ShownCandidate
from metaserver.curation.candidates import CandidateVote, PanelDifference
from metaserver.curation.exports.finished import CuratedProtein
from metaserver.curation.mentions import CandidateSpan, EvidenceSpan
from metaserver.curation.operations.curation_view import CurationDetail, DecidedItem
from metaserver.curation.pages.acts import event_of
from metaserver.curation.pages.rows import Together, marked_text, rows_of
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.templates import Templates

TEXT = "A title\n\nEGFR binds  Grb2 in cells. EGFR again."
EGFR, GRB2 = "P00533", "P62993"


def vote(server: str, evidence: str = "") -> CandidateVote:
    return CandidateVote(
        server=server, rank=1, confidence=0.5, part=0.25, evidence=evidence, taxid=None
    )


def candidate(task: str, *item: str, **values: Any) -> ShownCandidate:
    given: dict[str, Any] = {
        "rank": 1,
        "score": 0.75,
        "probability": 0.75,
        "agreement": 0.5,
        "bias": -1.0,
        "votes": (vote("a", "EGFR binds Grb2"), vote("b", "not in it")),
        "new_since": 1,
        "version": 3,
        "method": "stacked",
    }
    return ShownCandidate(task=task, item=item, **given | values)


def decided(task: str, *item: str, **values: Any) -> DecidedItem:
    given: dict[str, Any] = {
        "decision": "accepted", "at": 1.0, "implied": False, "by_hand": False, "reason": "",
        "replaced": (), "evidence": ((0, 7),), "method": "", "type": "",
        "note": "", "experiments": (),
    }  # fmt: skip
    return DecidedItem(task=task, item=item, **given | values)


DETAIL = CurationDetail(
    curation="0" * 16,
    request="",
    set="",
    article="1",
    title="",
    uploaded=None,
    notice="",
    length=len(TEXT),
    curator="curator ana",
    state=CurationStanding.OPEN,
    opened_at=1.0,
    changed_at=1.0,
    submitted_at=None,
    seen=0,
    accepted=0,
    rejected=0,
    left=0,
    active_ms=0,
    own=True,
    text=TEXT,
    version=3,
    newest_version=3,
    release="",
    candidates=(candidate("INT", EGFR), candidate("INT", GRB2, rank=2, probability=None)),
    differences={},
    opinions=(),
    proteins={EGFR: CuratedProtein(accession=EGFR, entry_name="EGFR_HUMAN", symbols=("EGFR",))},
    spans=(
        CandidateSpan(start=9, end=13, accession=EGFR),
        CandidateSpan(start=21, end=25, accession=GRB2),
        CandidateSpan(start=36, end=40, accession=EGFR),
    ),
    evidence=(EvidenceSpan(start=9, end=25, item=(EGFR,), servers=("a",)),),
    decisions=(decided("INT", EGFR), decided("IPT", EGFR, GRB2, by_hand=True, method="MI:0096")),
    relevant=None,
    publication=UNKNOWN,
    note="",
    undecided=(),
    undo="event-0007",
    redo="",
)


DIFFERENCE = PanelDifference(absent=("c", "d"), unknown=("b",))
SPEAKS = ("for it, somewhat", "against it, strongly")


def test_rows_have_what_a_curator_decides_by() -> None:
    rows = rows_of(DETAIL)
    egfr, grb2 = rows["INT"]
    assert (egfr.name, egfr.id, egfr.key) == ("EGFR_HUMAN", f"c-INT-{EGFR}", f"INT:{EGFR}")
    assert (egfr.decision, egfr.chance, egfr.answered, egfr.mentions) == (
        "accepted",
        "likely: 8 of 10",
        4,
        2,
    )
    found = [(one.words, one.place) for one in egfr.quotes]
    assert found == [("EGFR binds  Grb2", (9, 25)), ("not in it", None)]
    assert (grb2.name, grb2.decision, grb2.chance, grb2.written) == (
        GRB2, "undecided", "rank 2", "Grb2",
    )  # fmt: skip
    [pair] = rows["IPT"]
    assert (pair.candidate, pair.mentions) == (None, 3)
    assert (pair.chance, pair.answered, pair.written) == ("", 0, "EGFR – Grb2")
    assert [(one.words, one.servers) for one in pair.quotes] == [
        ("EGFR binds  Grb2 in cells.", ())  # the sentence that names both
    ]
    assert (egfr.pairs, grb2.pairs, pair.pairs, pair.rejected) == (1, 1, 0, ())


def test_a_sentence_is_offered_if_no_server_quoted_it() -> None:
    pair = candidate("IPT", EGFR, GRB2)
    evidence = (EvidenceSpan(start=14, end=19, item=pair.item, servers=("a",)),)
    detail = msgspec.structs.replace(DETAIL, candidates=(pair,), evidence=evidence)
    [row] = rows_of(detail)["IPT"]
    assert [one.place for one in row.quotes] == [(14, 19), None]


@pytest.mark.parametrize(
    ("text", "item", "expected"),
    [
        ("A and B. A met C. A binds B. B", "AB", ["A binds B.", "A and B."]),
        ("A alone. A dimer of A.", "AA", ["A dimer of A."]),
        ("A and " + "x " * 600 + "B.", "AB", []),  # a table
        ("A, then B. " * 9, "AB", ["A, then B."] * 5),
    ],
)
def test_sentences_name_both_at_places_of_their_own(
    text: str, item: str, expected: list[str]
) -> None:
    spans = [
        CandidateSpan(start=start, end=start + 1, accession=letter)
        for start, letter in enumerate(text)
        if letter in item
    ]
    found = Together(text, spans).of(item)
    assert [text[start:end] for start, end in found] == expected


def test_one_name_of_two_proteins_is_no_sentence_of_both() -> None:
    spans = [CandidateSpan(start=0, end=3, accession=name) for name in "AB"]
    assert Together("p53 binds.", spans).of("AB") == []


def test_a_candidate_that_is_gone_stays_at_the_end() -> None:
    new = (candidate("INT", GRB2, version=4), candidate("INT", "Q00987", rank=2, version=4))
    gone = candidate("INT", EGFR)
    detail = msgspec.structs.replace(DETAIL, candidates=(*new, gone))
    assert [row.item for row in rows_of(detail)["INT"]] == [(GRB2,), ("Q00987",), (EGFR,)]


def test_a_pair_that_is_most_probably_wrong_is_folded_until_it_is_decided() -> None:
    chances = {EGFR: 0.049, GRB2: 0.05, "Q00987": None}
    pairs = tuple(candidate("IPT", EGFR, one, probability=p) for one, p in chances.items())
    detail = msgspec.structs.replace(DETAIL, candidates=pairs, decisions=())
    assert [row.unlikely for row in rows_of(detail)["IPT"]] == [True, False, False]
    decisions = (decided("IPT", EGFR, EGFR),)
    kept = msgspec.structs.replace(detail, decisions=decisions)
    assert not rows_of(kept)["IPT"][0].unlikely
    unsure = msgspec.structs.replace(detail, differences={"IPT": DIFFERENCE})
    assert not rows_of(unsure)["IPT"][0].unlikely


def test_marks_are_shaded_by_agreement() -> None:
    [_, line] = marked_text(DETAIL)
    assert line.at == 9
    assert f'<mark class="m a3" data-c="{EGFR}">EGFR</mark> binds' in line.html


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"kind": "undo"}, {"kind": "undo", "detail": {"undoes": "event-0007"}}),
        ({"kind": "relevant", "relevant": "no"}, {"detail": {"relevant": False}}),
        ({"kind": "note", "note": "of it"}, {"kind": "note", "detail": {"note": "of it"}}),
        (
            {"kind": "reject", "task": "INT", "item": EGFR, "reason": "family"},
            {"item": [EGFR], "task": "INT"},
        ),
        (
            {"kind": "species", "task": "INT", "item": EGFR, "other": "Q01279"},
            {"item": ["Q01279"], "detail": {"replaced": [EGFR]}},
        ),
    ],
)
def test_a_form_is_an_event(form: dict[str, str], expected: dict[str, Any]) -> None:
    found = msgspec.json.decode(msgspec.json.encode(event_of(form, DETAIL)))
    assert {name: found[name] for name in expected} == expected


def test_pairs_and_proteins_know_of_each_other() -> None:
    form = {"kind": "reject", "task": "INT", "item": GRB2, "pairs": "yes"}
    assert event_of(form, DETAIL).detail.pairs == ((EGFR, GRB2),)
    without = (decided("INT", EGFR, decision="rejected"),)
    detail = msgspec.structs.replace(DETAIL, decisions=without)
    pair = {"kind": "accept", "task": "IPT", "item": f"{EGFR},{GRB2}"}
    with pytest.raises(RefusedError, match=f"{EGFR} rejected"):
        event_of(pair, detail)
    assert event_of({**pair, "proteins": "yes"}, detail).kind == "accept"


def test_what_was_seen_comes_with_a_decision() -> None:
    event = event_of({"kind": "accept", "task": "INT", "item": EGFR}, DETAIL)
    detail = event.detail
    assert (detail.seen_rank, detail.seen_probability, detail.request_version) == (1, 0.75, 3)
    unsure = msgspec.structs.replace(DETAIL, differences={"INT": DIFFERENCE})
    event = event_of({"kind": "accept", "task": "INT", "item": EGFR}, unsure)
    assert (event.detail.seen_rank, event.detail.seen_probability) == (1, None)


def test_evidence_is_added_and_taken_away() -> None:
    given = {"kind": "evidence", "task": "INT", "item": EGFR}
    words = event_of({**given, "words": " binds Grb2 "}, DETAIL)
    assert words.detail.evidence == ((0, 7), (14, 25))
    again = event_of({**given, "place": "0-7"}, DETAIL)
    assert again.detail.evidence == ()


@pytest.mark.slow
def test_words_are_looked_for_in_time_that_grows_with_the_text_alone() -> None:
    long = msgspec.structs.replace(DETAIL, text="a " * 1_000_000)
    given = {"kind": "evidence", "task": "INT", "item": EGFR}
    found = event_of({**given, "words": "a\n" * 2_000}, long)
    assert found.detail.evidence[-1] == (0, 3_999)
    for words in ("a " * 2_000 + "b", "a " * 3_000):  # not there; more than is looked for
        with pytest.raises(RefusedError):
            event_of({**given, "words": words}, long)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"kind": "redo"},
        {"kind": "accept"},
        {"kind": "accept", "task": "NER", "item": EGFR},
        {"kind": "accept", "task": "INT", "item": "P1,P2,P3"},
        {"kind": "evidence", "task": "INT", "item": EGFR, "words": ".*"},
        {"kind": "evidence", "task": "INT", "item": EGFR},
    ],
)
def test_a_form_that_means_nothing_is_refused(form: dict[str, str]) -> None:
    with pytest.raises(RefusedError):
        event_of(form, DETAIL)


def drawn(*, differences: Mapping[str, PanelDifference] | None = None, **values: Any) -> str:
    """Return the row of a candidate as the page has it."""
    one = candidate("INT", EGFR, **values)
    detail = msgspec.structs.replace(
        DETAIL, candidates=(one,), decisions=(), differences=differences or {}
    )
    [row] = rows_of(detail)["INT"]
    templates = Templates.of(Assets.of("metaserver.curation"))
    return templates.part("curate_parts.html", "row", row, "", False, (), ())


def test_a_likelihood_and_what_speaks_for_it_are_words() -> None:
    votes = (vote("a"), msgspec.structs.replace(vote("b"), part=-1.5))
    shown = drawn(votes=votes)
    assert 'class="bar"' in shown
    assert "likely: 8 of 10 such were right" in shown
    assert [shown.count(f"<td>{words}</td>") for words in SPEAKS] == [1, 2]
    assert "Model: INT demo, stacked" in drawn(model="INT demo")
    assert "−" not in shown
    assert "og-odds" not in shown


@pytest.mark.parametrize(
    ("values", "figure", "said"),
    [
        (
            {"differences": {"INT": DIFFERENCE}},
            "rank 1",
            "No likelihood. Missing servers of the model: c, d. Servers unknown to it: b.",
        ),
        (
            {"differences": {"INT": PanelDifference(changed=("b",), weighted=("c", "d"))}},
            "rank 1",
            (
                "No likelihood. Servers with another version than the model learned from: b."
                " Servers that you gave a weight: c, d."
            ),
        ),
        ({"version": 2}, "no longer listed", "with the newest answers it is no longer listed"),
        (
            {"probability": None, "bias": None, "method": "rrf1"},
            "rank 1",
            "the order is that of rrf1, which has none",
        ),
    ],
)
def test_without_its_servers_a_model_says_no_likelihood(
    values: dict[str, Any], figure: str, said: str
) -> None:
    shown = drawn(**values)
    assert f'<span class="figure">{figure}</span>' in shown
    assert said in shown
    for figures in ('class="bar"', "0.75", " of 10"):
        assert figures not in shown
