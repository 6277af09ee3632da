"""Sets: fair seats, the gold of two seats, and what servers had proposed of it."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.adjudication import RulingChoice
from metaserver.curation.decisions import CurationState, fold
from metaserver.curation.sets import (
    LONGEST_SOURCE,
    SetArticle,
    agreement,
    open_questions,
    pool_report,
    seated,
    set_gold,
    works,
)
from scoring import ItemGold, Task
from tests.unit.metaserver.curation.samples import EGFR, GRB2, SHC1, event


def decided(*accessions: str, relevant: bool | None = None) -> CurationState:
    log = [event(number, "add", "INT", one) for number, one in enumerate(accessions)]
    if relevant is not None:
        log.append(event(99, "relevant", relevant=relevant))
    return fold(log)


def article(name: str, *states: CurationState, curators: str = "abc") -> SetArticle:
    return SetArticle(
        article=name, curators=dict(enumerate(curators, start=1)),
        states=dict(enumerate(states, start=1)),
    )  # fmt: skip


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 40))
def test_seats_are_shared_fairly(curators: int, each: int, articles: int) -> None:
    each = min(each, curators)
    tokens = list(range(10, 10 + curators))
    found = seated("round", range(articles), tokens, each)
    assert found == seated("round", list(range(articles))[::-1], tokens, each)
    of_article: dict[int, dict[int, int]] = {}
    for one in found:
        of_article.setdefault(one.position, {})[one.seat] = one.token_id
    assert set(of_article) == set(range(articles))
    for seats in of_article.values():
        assert sorted(seats) == list(range(1, each + 1))
        assert len(set(seats.values())) == each
    groups = Counter(frozenset(seats.values()) for seats in of_article.values())
    times = [groups[frozenset(one)] for one in combinations(tokens, each)]
    assert max(times) - min(times) <= 1
    for token in tokens:
        places = [one.place for one in found if one.token_id == token]
        assert places == list(range(len(places)))


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_everybody_makes_gold_where_more_than_two_share_an_article(name: str) -> None:
    found = seated(name, range(10), [1, 2, 3, 4, 5], 3)
    of_gold = Counter(one.token_id for one in found if one.seat <= 2)
    assert sum(of_gold.values()) == 20
    assert min(of_gold[token] for token in range(1, 6)) >= 3


def test_orders_differ_between_curators_and_sets() -> None:
    orders = {
        (name, token): [one.position for one in seated(name, range(20), [1, 2], 2)
                        if one.token_id == token]
        for name in ("a", "b")
        for token in (1, 2)
    }  # fmt: skip
    assert len(set(map(tuple, orders.values()))) == 4
    assert all(sorted(order) == list(range(20)) for order in orders.values())


def test_gold_is_what_two_seats_agree_on_or_an_adjudicator_ruled() -> None:
    articles = [
        article("1", decided(EGFR), decided(EGFR, GRB2), decided(SHC1)),
        article("2", decided(EGFR), decided(EGFR), curators="bca"),
        article("3", decided(GRB2), curators="ab"),
        article("4", decided(), decided(), curators="ab"),
    ]
    [asked] = open_questions(articles, "INT")
    assert asked.question == ("1", (GRB2,))
    with pytest.raises(RefusedError) as caught:
        set_gold("round", articles, "INT", {})
    assert caught.value.refusal is Refusal.STATE
    old = (("9", (EGFR,)), (RulingChoice.BOTH, "eve"))  # nobody differs on it any more
    ruled = {asked.question: (RulingChoice.SECOND, "eve"), old[0]: old[1]}
    found = set_gold("round", articles, "INT", ruled)
    assert found.gold == ItemGold(
        task=Task.INT, items={"1": frozenset({EGFR, GRB2}), "2": frozenset({EGFR})}
    )
    assert found.source == "set round, a + b + c adjudicated by eve"
    assert (found.agreed, found.ruled, found.empty, found.missing) == (2, 1, ["4"], ["3"])
    items = {"1": frozenset({SHC1}), "4": frozenset({SHC1}), "8": frozenset({SHC1})}
    present = ItemGold(task=Task.INT, items=items)
    assert found.content(present) == (f"8\t{SHC1}\n1\t{EGFR}\n1\t{GRB2}\n2\t{EGFR}\n".encode())
    assert found.content(None) == f"1\t{EGFR}\n1\t{GRB2}\n2\t{EGFR}\n".encode()
    report = pool_report(found.gold, {"1": {(EGFR,): ["x", "y"]}, "2": {(EGFR,): ["x"]}})
    assert report.unproposed == [("1", (GRB2,))]
    assert list(report.servers.items()) == [("x", 2), ("y", 1)]


def test_classes_of_articles_are_gold_too() -> None:
    articles = [
        article("1", decided(relevant=True), decided(relevant=True)),
        article("2", decided(relevant=True), decided(relevant=False)),
    ]
    ruled = {("2", ()): (RulingChoice.FIRST, "eve")}
    found = set_gold("round", articles, "ACT", ruled)
    assert found.content(None) == b"1\t1\n2\t1\n"


def test_many_names_do_not_make_a_source_too_long() -> None:
    long = [
        article(str(number), decided(EGFR), decided(EGFR), curators="ab") for number in range(9)
    ]
    named = [
        SetArticle(
            article=one.article,
            curators={1: "x" * 40 + one.article, 2: "y" * 40 + one.article},
            states=one.states,
        )
        for one in long
    ]
    source = set_gold("round", named, "INT", {}).source
    assert source == "set round, 18 curators"
    assert len(source) <= LONGEST_SOURCE


def test_agreement_is_of_articles_that_two_have_finished() -> None:
    with pytest.raises(RefusedError):
        agreement([article("1", decided(EGFR))], "INT")
    nothing = agreement([article("1", decided(), decided())], "ACT")  # nobody gave a class
    assert nothing.articles == []
    assert not any(one.articles for one in nothing.measured.pairs)
    articles = [
        article("1", decided(EGFR), decided(EGFR), curators="ab"),
        article("2", decided(EGFR), decided(GRB2), curators="bc"),
        article("3", decided(GRB2), curators="ac"),
    ]
    found = agreement(articles, "INT")
    assert [one.article for one in found.articles] == ["2", "1"]
    common = [(one.a, one.b) for one in found.measured.pairs if one.articles]
    assert common == [("a", "b"), ("b", "c")]
    assert [one.curator for one in works(articles)] == ["a", "b", "c"]
