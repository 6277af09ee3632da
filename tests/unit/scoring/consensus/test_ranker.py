"""Candidates of one article, as a hub asks for them: late, missing, suspended, unknown servers."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import ConsensusModel, ConsensusRanker, Hit, OptionError, Task
from scoring.consensus import Member
from scoring.consensus.fusion import FUSIONS
from tests.unit.scoring.consensus.answers import Answers, answers

MODEL = ConsensusModel(
    task=Task.INT,
    method="stacked",
    members=tuple(
        Member(name=name, team=name, weights=(0.3 * place, 0.5, 1.0 - 0.2 * place))
        for place, name in enumerate("abcde")
    ),
    panel=(1.5, 0.5, -0.25, 1.0, 0.75, -0.5, 2.0),
    bias=-3.0,
)
RANKER = ConsensusRanker(MODEL)


@given(answers())
@settings(max_examples=40)
def test_the_parts_of_a_candidate_sum_to_its_log_odds(given: Answers) -> None:
    for one in RANKER.rank(given).candidates:
        assert math.fsum(one.parts.values()) == pytest.approx(one.score, abs=1e-12)
        assert math.log(one.probability / (1 - one.probability)) == pytest.approx(one.score)
        assert {vote.server for vote in one.votes} == {
            name for name, hits in given.items() if any(hit.item == one.item for hit in hits)
        }
        assert one.agreement == len(one.votes) / len(given)


@given(answers(), st.randoms(), st.sampled_from([MODEL.method, *FUSIONS]))
@settings(max_examples=40)
def test_the_order_of_servers_and_of_their_hits_has_no_effect(given, random, method):
    ranker = ConsensusRanker(
        ConsensusModel(task=Task.INT, method=method, members=MODEL.members, panel=MODEL.panel)
    )
    shuffled: dict[str, list[Hit]] = {}
    names = list(given)
    random.shuffle(names)
    for name in names:
        shuffled[name] = list(given[name])
        random.shuffle(shuffled[name])
    assert ranker.rank(shuffled) == ranker.rank(given)


@given(answers())
@settings(max_examples=40)
def test_candidates_are_ranked_by_score_then_item(given: Answers) -> None:
    found = RANKER.rank(given, cutoff=None, threshold=0).candidates
    keys = [(-round(one.score, 12), one.item) for one in found]
    assert keys == sorted(keys)
    assert [one.rank for one in found] == list(range(1, len(found) + 1))
    assert {one.item for one in found} == {hit.item for hits in given.values() for hit in hits}


def hits(*items: str) -> Sequence[Hit]:
    return [Hit(item, rank, 1 / (1 + rank)) for rank, item in enumerate(items, start=1)]


def test_who_had_a_part() -> None:
    found = RANKER.rank({"b": hits("P1"), "z": hits("P1", "P2"), "a": []})
    assert (found.answered, found.absent, found.unknown) == (("a", "b"), ("c", "d", "e"), ("z",))
    [first, second] = found.candidates
    assert (first.item, first.agreement) == ("P1", 2 / 3)
    assert [(vote.server, vote.rank) for vote in second.votes] == [("z", 2)]


def test_an_unknown_server_counts_for_less_and_through_the_panel_alone() -> None:
    def log_odds(name: str, weights: Mapping[str, float] | None = None) -> float:
        given = {"a": hits("P9"), name: hits("P1")}
        found = RANKER.rank(given, weights=weights).candidates
        return next(one.score for one in found if one.item == "P1")

    half, whole = log_odds("z"), log_odds("z", {"z": 1.0})
    assert half < whole
    assert log_odds("z", {"z": 0.5}) == half
    assert whole < log_odds("b")  # its own weights are above 0
    assert log_odds("z", {"z": 0.0}) == MODEL.bias


def test_thresholds() -> None:
    given = {"a": hits("P1", "P2", "P3"), "b": hits("P1", "P3")}
    whole = RANKER.rank(given).candidates
    middle = whole[1].probability
    assert middle is not None
    found = RANKER.rank(given, threshold=middle)
    assert (found.candidates, found.left_out) == (whole[:2], 1)
    assert len(RANKER.rank(given, threshold=0.999).candidates) == 1  # the best one stays
    assert len(RANKER.rank(given, cutoff=1).candidates) == 1
    strict = ConsensusModel(
        task=MODEL.task, method=MODEL.method, members=MODEL.members, panel=MODEL.panel,
        bias=MODEL.bias, threshold=middle,
    )  # fmt: skip
    assert len(ConsensusRanker(strict).rank(given).candidates) == 2
    assert len(ConsensusRanker(strict).rank(given, threshold=0).candidates) == 3


def test_a_fusion_has_scores_and_no_probabilities() -> None:
    ranker = ConsensusRanker(ConsensusModel(task=Task.INT, method="rrf1", members=MODEL.members))
    found = ranker.rank({"a": hits("P1", "P2"), "z": hits("P2")})
    result = [(one.item, one.probability, one.bias) for one in found.candidates]
    assert result == [("P2", None, None), ("P1", None, None)]
    assert found.candidates[0].score == pytest.approx(1 / 3 + 1 / 2)  # it trusts all alike
    assert found.candidates[0].parts == {}
    assert [vote.part for vote in found.candidates[0].votes] == [None, None]
    with pytest.raises(OptionError, match="rrf1 has no probabilities"):
        ranker.rank({}, threshold=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"a": -1.0}}, "a weight of -1.0 for 'a'"),
        ({"weights": {"a": math.nan}}, "a weight of nan"),
        ({"weights": {"a": math.inf}}, "a weight of inf"),
        ({"cutoff": 0}, "a cutoff of 0"),
        ({"threshold": 1.0}, "a threshold of 1.0"),
        ({"threshold": math.nan}, "a threshold of nan"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        RANKER.rank({}, **options)  # type: ignore[arg-type]
