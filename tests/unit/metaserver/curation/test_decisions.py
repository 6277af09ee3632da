"""Decisions: a log that retries do not change, undo to any depth, and the state that follows."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.base.errors import RefusedError
from metaserver.curation.decisions import (
    MOST_EVENTS,
    OF_REJECTED,
    WRONG_SPECIES,
    CurationEvent,
    DecisionDetail,
    DecisionKind,
    MissingEventsError,
    fold,
    next_redo,
    next_undo,
    normal,
    receive,
)
from metaserver.curation.experiments import Experiment, Feature, Participant
from scoring import Task
from tests.unit.metaserver.curation.samples import EGFR, GRB2, PULLED_DOWN, SHC1, event

LENGTH = 1_000


def undo(number: int, key: str) -> CurationEvent:
    return event(number, "undo", undoes=key)


def test_later_decisions_win() -> None:
    log = [event(1, "accept", "INT", EGFR), event(2, "reject", "INT", EGFR, reason="family")]
    assert fold(log).items["INT", (EGFR,)].reason == "family"
    log.append(event(3, "undecide", "INT", EGFR))
    [one] = fold(log).items.values()
    assert (one.decision, one.reason) == ("undecided", "")


def test_an_accepted_pair_accepts_its_proteins() -> None:
    log = [event(1, "reject", "INT", GRB2), event(2, "accept", "IPT", EGFR, GRB2)]
    state = fold(log)
    assert state.accepted("INT") == [(GRB2,), (EGFR,)]
    assert state.items["INT", (EGFR,)].implied
    assert fold([*log, event(3, "reject", "INT", GRB2)]).accepted("INT") == [(EGFR,)]
    assert fold([*log, event(3, "undecide", "IPT", EGFR, GRB2)]).accepted("INT") == []


def test_pairs_are_rejected_with_their_protein_and_come_back_with_it() -> None:
    log = [
        event(1, "accept", "IPT", EGFR, GRB2),
        event(2, "reject", "INT", GRB2, pairs=((EGFR, GRB2), (GRB2, SHC1))),
    ]
    state = fold(log)
    assert state.items["IPT", (EGFR, GRB2)].reason == OF_REJECTED
    assert state.rejected("IPT") == [(EGFR, GRB2), (GRB2, SHC1)]
    assert state.accepted("INT") == []  # nothing says that EGFR is accepted
    assert fold([*log, undo(3, log[1].key)]).items.keys() == fold(log[:1]).items.keys()


def test_another_species_takes_the_place_of_an_item() -> None:
    state = fold([event(1, "species", "INT", SHC1, replaced=(EGFR,))])
    assert state.accepted("INT") == [(SHC1,)]
    assert state.items["INT", (SHC1,)].replaced == (EGFR,)
    assert state.items["INT", (EGFR,)].reason == WRONG_SPECIES


def test_particulars_are_kept() -> None:
    log = [
        event(1, "pair", "IPT", EGFR, EGFR),
        event(2, "method", "IPT", EGFR, EGFR, method="MI:0107", type="MI:0407"),
        event(3, "evidence", "IPT", EGFR, EGFR, evidence=((3, 9),)),
        event(4, "note", "IPT", EGFR, EGFR, note="a dimer"),
        event(5, "note", note="whole article"),
        event(6, "relevant", relevant=False),
    ]
    state = fold(log)
    one = state.items["IPT", (EGFR, EGFR)]
    assert (one.method, one.type, one.evidence, one.note) == (
        "MI:0107", "MI:0407", ((3, 9),), "a dimer",
    )  # fmt: skip
    assert one.by_hand
    assert (state.note, state.relevant) == ("whole article", False)
    cleared = fold([*log[:1], event(9, "evidence", "IPT", EGFR, EGFR)])
    assert not cleared.items["IPT", (EGFR, EGFR)].evidence


def test_undo_and_redo_go_to_any_depth() -> None:
    assert (next_undo([]), next_redo([])) == ("", "")
    log = [event(number, "accept", "INT", f"P0000{number}") for number in range(3)]
    states = [fold(log[:count]) for count in range(4)]
    for count in (2, 1, 0):
        log.append(undo(len(log), next_undo(log)))
        assert fold(log) == states[count]
    assert next_undo(log) == ""
    for count in (1, 2, 3):
        log.append(undo(len(log), next_redo(log)))
        assert fold(log) == states[count]
    assert next_redo(log) == ""
    log.append(undo(len(log), next_undo(log)))
    assert fold(log) == states[2]
    log.append(event(len(log), "reject", "INT", SHC1))
    assert next_redo(log) == ""


ITEMS = [("INT", (EGFR,)), ("INT", (GRB2,)), ("IPT", (EGFR, GRB2)), ("IPT", (GRB2, GRB2))]


@st.composite
def logs(draw: st.DrawFn) -> list[CurationEvent]:
    log: list[CurationEvent] = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(
            st.sampled_from(["accept", "reject", "undecide", "undo", "undo", "add", "species"])
        )
        if kind == "undo":
            if log:
                log.append(undo(number, draw(st.sampled_from(log)).key))
            continue
        task, item = draw(st.sampled_from(ITEMS))
        replaced = dict(ITEMS)[task] if kind == "species" else ()
        log.append(event(number, kind, task, *item, replaced=replaced))
    return log


@given(logs(), st.data())
def test_undo_is_the_state_without_the_event(log, data) -> None:
    if not log:
        return
    at = data.draw(st.integers(0, len(log) - 1))
    gone = log[at].key
    without = [one for one in log if one.key != gone]
    assert fold([*log, undo(99, gone)]) == fold(without)
    assert fold([*log, undo(99, gone), undo(100, undo(99, "").key)]) == fold(log)


@settings(max_examples=60)
@given(logs(), st.data())
def test_any_order_of_retries_gives_the_same_log(log, data) -> None:
    """Batches arrive in their order at first; any of them arrives again at any later time."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=3)))
    bounds = [0, *cuts, len(log)]
    batches = [log[a:b] for a, b in pairwise(bounds)]
    kept: list[CurationEvent] = []
    for place, batch in enumerate(batches):
        again = data.draw(st.lists(st.sampled_from(batches[: place + 1]), max_size=3))
        for sent in [batch, *again]:
            received = receive(kept, sent, known_length=len(kept), length=LENGTH)
            kept += received.added
            assert [kept[received.seqs[one.key]].key for one in sent] == [one.key for one in sent]
    assert [one.key for one in kept] == [one.key for one in log]
    assert fold(kept) == fold(log)


def test_a_page_that_lacks_events_of_another_gets_them() -> None:
    log = [event(1, "accept", "INT", EGFR), event(2, "accept", "INT", GRB2)]
    mine = event(3, "reject", "INT", GRB2)
    with pytest.raises(MissingEventsError) as refused:
        receive(log, [mine], known_length=1, length=LENGTH)
    assert refused.value.missing == [(1, log[1])]
    assert receive(log, [mine], known_length=2, length=LENGTH).seqs == {mine.key: 2}
    resent = receive(log, [log[1], mine], known_length=1, length=LENGTH)
    assert resent.seqs == {log[1].key: 1, mine.key: 2}  # its own lost acknowledgement
    assert receive(log, [log[0]], known_length=0, length=LENGTH).added == []


def test_a_key_with_another_content_is_refused() -> None:
    log = [event(1, "accept", "INT", EGFR)]
    with pytest.raises(RefusedError, match="another event"):
        receive(log, [event(1, "reject", "INT", EGFR)], known_length=1, length=LENGTH)


def test_a_pair_is_kept_sorted() -> None:
    received = receive([], [event(1, "pair", "IPT", GRB2, EGFR)], known_length=0, length=LENGTH)
    assert [one.item for one in received.added] == [(EGFR, GRB2)]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (event(1, "accept"), "needs a task"),
        (event(1, "pair", "INT", EGFR), "for a pair"),
        (event(1, "accept", "INT", EGFR, GRB2), "item of 1"),
        (event(1, "accept", "IPT", EGFR), "item of 2"),
        (event(1, "species", "INT", EGFR), "item of 1"),
        (event(1, "reject", "INT", EGFR, pairs=((GRB2, SHC1),)), "pairs of the protein"),
        (event(1, "accept", "INT", EGFR, pairs=((EGFR, SHC1),)), "pairs of the protein"),
        (event(1, "method", "IPT", EGFR, GRB2, method="MI:9999"), "no known method"),
        (event(1, "method", "IPT", EGFR, GRB2, type="MI:0019"), "no known type"),
        (event(1, "evidence", "INT", EGFR, evidence=((5, 5),)), "not in the article"),
        (event(1, "evidence", "INT", EGFR, evidence=((5, LENGTH + 1),)), "not in the article"),
        (event(1, "undo", undoes="no such key"), "no earlier event"),
    ],
)
def test_invalid_events_are_refused(sent: CurationEvent, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        receive([], [sent], known_length=0, length=LENGTH)


def test_of_several_events_the_refused_one_is_named() -> None:
    good, bad = event(1, "accept", "INT", EGFR), event(2, "accept")
    with pytest.raises(RefusedError, match=f"^task: event {bad.key}: accept needs a task"):
        receive([], [good, bad], known_length=0, length=LENGTH)
    undo = event(3, "undo", undoes="no such key")
    with pytest.raises(RefusedError, match=f"event {undo.key}: no earlier event.*'no such key'"):
        receive([], [good, undo], known_length=0, length=LENGTH)


def test_a_log_is_bounded() -> None:
    log = [event(number, "undecide", "INT", EGFR) for number in range(MOST_EVENTS)]
    more = [event(MOST_EVENTS, "accept", "INT", EGFR)]
    with pytest.raises(RefusedError, match="more than 10,000"):
        receive(log, more, known_length=MOST_EVENTS, length=LENGTH)


@pytest.mark.parametrize(
    "sent",
    [
        {"key": "short", "kind": "accept"},
        {"key": "k" * 65, "kind": "accept"},
        {"key": "event-0001", "kind": "forget"},
        {"key": "event-0001", "kind": "accept", "task": "NER"},
        {"key": "event-0001", "kind": "accept", "item": ["A", "B", "C"]},
        {"key": "event-0001", "kind": "note", "detail": {"note": "x" * 4_001}},
        {"key": "event-0001", "kind": "evidence", "detail": {"evidence": [[-1, 2]]}},
        {"key": "event-0001", "kind": "evidence", "detail": {"evidence": [[0, 2]] * 51}},
    ],
)
def test_the_shape_of_an_event_is_bounded(sent) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(sent, CurationEvent)


def test_an_event_is_read_back() -> None:
    one = CurationEvent(
        key="event-0001", kind=DecisionKind.ACCEPT, task="INT", item=(EGFR,),
        detail=DecisionDetail(seen_rank=3, evidence=((1, 2),)),
    )  # fmt: skip
    assert msgspec.json.decode(msgspec.json.encode(one), type=CurationEvent) == one


def test_a_pair_has_several_experiments_and_the_method_is_that_of_the_first() -> None:
    """Events of a page without experiments read as one, and change the first of several."""
    log = [
        event(1, "pair", "IPT", EGFR, GRB2, method="MI:0096"),
        event(2, "experiments", "IPT", EGFR, GRB2, experiments=PULLED_DOWN),
        event(3, "method", "IPT", EGFR, GRB2, method="MI:0019"),
    ]
    states = [fold(log[:end]).items[Task("IPT"), (EGFR, GRB2)] for end in (1, 2, 3)]
    assert states[0].experiments == (Experiment(method="MI:0096"),)
    assert states[1].experiments == PULLED_DOWN
    first, second = states[2].experiments
    assert (first.method, first.host, second) == ("MI:0019", -1, PULLED_DOWN[1])
    assert states[2].method == "MI:0019"


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("method", {"method": "MI:0407"}),
        ("type", {"type": "MI:0096"}),
        ("host", {"host": 0}),
        ("evidence", {"evidence": ((0, 10_000),)}),
        ("accession", {"participants": (Participant(accession="P00533-0"),)}),
        ("accession", {"participants": (Participant(accession="egfr"),)}),
        ("participants", {"participants": (Participant(accession=EGFR),)}),
        *(
            (field, {"participants": (Participant(accession=EGFR, features=(feature,)),)})
            for field, feature in (
                ("feature", Feature(type="")),
                ("feature", Feature(type="MI:0407")),
                ("range", Feature(type="MI:0118", start=49, end=48)),
            )
        ),
        (
            "biological_role",
            {
                "participants": (
                    Participant(accession=f"{EGFR}-PRO_0000016665", biological_role="MI:0496"),
                    Participant(accession=f"{GRB2}-2"),
                )
            },
        ),
    ],
)
def test_an_experiment_that_cannot_be_is_refused_by_its_field(field, values):
    one = event(1, "experiments", "IPT", EGFR, GRB2, experiments=(Experiment(**values),))
    with pytest.raises(RefusedError) as caught:
        normal(one, 100)
    assert caught.value.field == field


def test_an_experiment_in_words_is_what_was_said() -> None:
    pulled, hybrid = PULLED_DOWN
    assert pulled.in_words() == (
        "pull down · in vitro · Fig. 1B"
        f" · {EGFR}-2 mutation decreasing interaction Y1092F 1092-1092"
        f" · {EGFR}-2 flag tag N-terminal · {EGFR}-2 necessary binding region ?-679"
    )
    assert hybrid.in_words() == "two hybrid · Saccharomyces cerevisiae · no interaction"
    assert Experiment().in_words() == ""


def test_an_experiment_like_another_has_its_roles_by_place() -> None:
    new = PULLED_DOWN[0].like((SHC1, EGFR))
    assert (new.method, new.host, new.figure, new.negative) == ("MI:0096", -1, "Fig. 1B", False)
    found = [(one.accession, one.experimental_role, one.features) for one in new.participants]
    assert found == [(SHC1, "MI:0498", ()), (EGFR, "MI:0496", ())]
    assert PULLED_DOWN[1].like((SHC1, EGFR)).participants == ()
