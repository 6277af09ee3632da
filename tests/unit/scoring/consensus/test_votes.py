"""Votes in columns: the order of servers has no effect, and servers can be left out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import Hit
from scoring.consensus.votes import Votes
from tests.unit.scoring.consensus.answers import Answers, answers, votes_of

COLUMNS = ("article_of", "correct", "row", "place", "confidence", "scaled")


def of(votes: Votes) -> list[object]:
    server = [votes.servers[one] for one in votes.server]
    return [list(votes.items), server, *(getattr(votes, name).tolist() for name in COLUMNS)]


@given(answers(), st.randoms())
@settings(max_examples=40)
def test_the_order_of_answers_has_no_effect(given: Answers, random: np.random.Generator) -> None:
    names = list(given)
    random.shuffle(names)
    assert of(votes_of({name: given[name] for name in names})) == of(votes_of(given))


@given(answers(), st.sets(st.sampled_from("abcdefg")))
@settings(max_examples=40)
def test_servers_left_out_might_as_well_not_have_answered(given: Answers, kept: set[str]) -> None:
    votes = votes_of(given)
    found = votes.of_servers(np.array([name in kept for name in votes.servers], dtype=bool))
    alone = votes_of({name: hits for name, hits in given.items() if name in kept})
    assert of(found) == of(alone)
    assert found.answered.sum() == alone.answered.sum()


def test_articles_and_cutoffs() -> None:
    hits = {"x": [Hit("P2", 5, 0.2), Hit("P1", 2, 0.6)], "y": []}
    gold = {"x": frozenset({"P2"}), "y": frozenset({"P1"})}
    votes = Votes.of({"b": hits, "a": {"y": [Hit("P9", 1, 0.5)]}}, ["x", "y", "z"], gold=gold)
    assert votes.answered.tolist() == [[False, True], [True, True], [False, False]]
    assert [votes.place.tolist(), votes.scaled.tolist()] == [[1, 2, 1], [1, 0, 1]]
    assert votes.items == ["P1", "P2", "P9"]
    assert votes.correct.tolist() == [False, True, False]
    assert votes.firsts.tolist() == [0, 2, 3, 3]
    some = votes.of_articles(np.array([False, True, True]))
    assert (some.items, some.articles) == (["P9"], votes.articles)
    assert not some.answered[0].any()
    assert Votes.of({"b": hits}, ["x"], cutoff=1).items == ["P1"]


def test_an_item_again_counts_once_at_its_best_rank() -> None:
    votes = votes_of({"a": [Hit("P1", 3, 0.1), Hit("P2", 2, 0.4), Hit("P1", 1, 0.9)]})
    assert votes.items == ["P1", "P2"]
    assert votes.place.tolist() == [1, 2]


def test_equal_scores_are_ordered_by_item_whatever_the_rounding() -> None:
    votes = votes_of({"a": [Hit("P2", 1, 1.0), Hit("P1", 2, 1.0)]})
    assert votes.order(np.array([0.3, 0.1 + 0.2])).tolist() == [0, 1]
