"""Columns of matches: every measure, mean and curve has the bits of its definition."""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, zip_longest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import Hit, ItemGold, Matches, RunScorer, Task, ranking
from scoring.article_scores import ArticleScore, ArticleScores
from scoring.averages import deviation, macro_curve, mean, micro_auc
from scoring.biocreative import ItemScorer
from scoring.match_lists import MatchLists
from scoring.ranking import Curve
from scoring.scorecard import Signature


@st.composite
def lists(draw: st.DrawFn) -> Matches:
    """Draw a ranked list; large numbers need other columns than small ones."""
    most = draw(st.sampled_from([6, 300, 70_000]))
    ranks = sorted(draw(st.sets(st.integers(1, most), max_size=8)))
    hits = draw(st.integers(max(ranks, default=0), most))
    return Matches(tuple(ranks), hits, len(ranks) + draw(st.integers(0, 3)))


arrivals = st.lists(st.tuples(st.integers(0, 5), lists()), max_size=12)


def columns(given: Sequence[Matches]) -> MatchLists:
    return MatchLists.of(enumerate(given))


def sizes(given: Sequence[Matches]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([matches.gold for matches in given], dtype=np.int64)


def by_definition(matches: Matches, beta: float) -> ArticleScore:
    return ArticleScore(
        matches,
        ranking.precision(matches),
        ranking.recall(matches),
        ranking.f_beta(len(matches.ranks), matches.hits, matches.gold, beta),
        ranking.auc_ipr(matches),
    )


def micro_by_definition(lists: Sequence[Matches]) -> float:
    """Add every list's k-th hit at rank k, and record one point."""
    gold = sum(matches.gold for matches in lists)
    correct_at = Counter(rank for matches in lists for rank in matches.ranks)
    ranks = sorted(correct_at)
    correct = list(accumulate(correct_at[rank] for rank in ranks))
    ordered = sorted(matches.hits for matches in lists)
    sums = [0, *accumulate(ordered)]
    shorter = [bisect_right(ordered, rank) for rank in ranks]
    pooled = [
        sums[short] + (len(ordered) - short) * rank
        for short, rank in zip(shorter, ranks, strict=True)
    ]
    area = best = 0.0
    for rank, found, length in zip(ranks[::-1], correct[::-1], pooled[::-1], strict=True):
        best = max(best, found / length)
        area += correct_at[rank] * best
    return area / gold if gold else 0.0


def curve_by_definition(lists: Sequence[Matches]) -> Curve:
    """Add the drops of all curves, the one of the greatest recall first."""
    drops: defaultdict[float, list[float]] = defaultdict(list)
    for ranks, _, gold in lists:
        steps = ranking.interpolated(ranks)
        for found, (step, following) in enumerate(zip_longest(steps, steps[1:], fillvalue=0.0), 1):
            if step > following:
                drops[found / gold].append(step - following)
    counted = sum(bool(matches.gold) for matches in lists)
    height, curve = 0.0, []
    for recall in sorted(drops, reverse=True):
        height += math.fsum(drops[recall])
        curve.append((recall, height / counted))
    return tuple(reversed(curve))


@given(given=st.lists(lists(), max_size=12), beta=st.sampled_from([1.0, 0.5, 2.0]))
def test_the_measures_of_columns_are_those_of_each_list(given, beta):
    names = [f"a{number}" for number in range(len(given))]
    scores = ArticleScores(names, sizes(given), columns(given), beta)
    due = {name: by_definition(matches, beta) for name, matches in zip(names, given, strict=True)}
    assert list(scores.items()) == list(due.items())
    for measure in ("precision", "recall", "f_score", "auc_ipr"):
        counted = [getattr(score, measure) for score in due.values() if score.matches.gold]
        assert scores.counted(measure).tolist() == counted
    with pytest.raises(ValueError, match="measure 'mcc'"):
        scores.column("mcc")


@given(given=st.lists(lists(), max_size=12))
def test_micro_averages_and_curves_of_columns(given: Sequence[Matches]) -> None:
    gold = sizes(given)
    assert micro_auc(columns(given), int(gold.sum())) == micro_by_definition(given)
    assert macro_curve(columns(given), gold) == curve_by_definition(given)


@given(first=arrivals, second=arrivals)
def test_the_last_list_of_a_place_counts(first, second):
    found = MatchLists.of(first).updated(MatchLists.of(second))
    due = {**dict(first), **dict(second)}
    gold = [due[place].gold for place in found.places.tolist()]
    assert list(found.rows(gold)) == sorted(due.items())
    chosen = found.hits > 3
    gold = [size for size, kept in zip(gold, chosen.tolist(), strict=True) if kept]
    assert list(found.where(chosen).rows(gold)) == [
        (place, matches) for place, matches in sorted(due.items()) if matches.hits > 3
    ]


def test_columns_are_as_narrow_as_their_numbers_allow() -> None:
    small = columns([Matches((1, 255), 255, 2)])
    assert {column.dtype.itemsize for column in (small.places, small.hits, small.ranks)} == {1}
    wide = small.updated(MatchLists.of([(1, Matches((256, 70_000), 70_000, 2))]))
    assert (wide.places.dtype.itemsize, wide.hits.dtype.itemsize) == (1, 4)
    assert wide.ranks.tolist() == [1, 255, 256, 70_000]


@pytest.mark.parametrize(
    ("places", "hits", "counts", "ranks"),
    [
        ([0, 1], [3], [1, 1], [1, 1]),
        ([0, 1], [3, 3], [1, 1], [1]),
        ([1, 0], [3, 3], [1, 1], [1, 1]),
        ([0, 0], [3, 3], [1, 1], [1, 1]),
        ([0, 2], [3, 3], [1, 1], [1, 1]),
        ([0, 1], [3, 3], [2, 1], [2, 2, 1]),
        ([0, 1], [3, 3], [2, 1], [2, 1, 1]),
        ([0, 1], [3, 3], [1, 1], [0, 1]),
        ([0, 1], [3, 3], [1, 1], [4, 1]),
        ([0, 1], [3, 3], [1, 2], [1, 1, 2]),
    ],
)
def test_columns_that_are_no_lists_of_a_gold_are_refused(places, hits, counts, ranks):
    given = (np.array(column, dtype=np.uint8) for column in (places, hits, counts, ranks))
    with pytest.raises(ValueError, match=r"columns|ranks|places|correct hits"):
        MatchLists(*given).require_valid(np.array([2, 1]))


@pytest.mark.parametrize("policy", ["answered", "all"])
@given(given=st.lists(st.tuples(st.integers(0, 79), st.integers(0, 3)), max_size=200))
def test_a_run_keeps_the_last_of_many_answers(policy, given):
    """More than are packed at a time."""
    gold = ItemGold(task=Task.INT, items={f"a{number}": frozenset("P") for number in range(80)})
    signature = Signature(task=Task.INT, gold=None, articles=policy)  # type: ignore[arg-type]
    scorer = ItemScorer(gold, signature, "run")
    for number, hits in given:
        scorer.put_matches(f"a{number}", Matches((hits,) if hits else (), hits, 1))
    last = {f"a{number}": hits for number, hits in given}
    card = scorer.scorecard()
    expected = {
        article: last.get(article, 0)
        for article in gold.items
        if policy == "all" or last.get(article)
    }
    assert {article: score.matches.hits for article, score in card.articles.items()} == expected
    assert list(card.articles) == sorted(expected)
    found = [1 / hits if hits else 0.0 for hits in expected.values()]
    assert card.macro.auc_ipr == card.means.auc_ipr == mean(found)
    assert card.macro.sd_auc_ipr == deviation(found, mean(found))
    result = (card.tp, card.fp + card.tp)
    assert result == (sum(map(bool, expected.values())), sum(expected.values()))


def test_a_card_stays_as_it_was_when_more_is_put() -> None:
    gold = ItemGold(task=Task.INT, items={"a": frozenset("P"), "b": frozenset("Q")})
    scorer, other = RunScorer(Task.INT, gold), RunScorer(Task.INT, gold)
    scorer.put("a", [Hit("P", 1, 0.5)])
    card, state = scorer.scorecard(), scorer.state()
    scorer.put("a", [Hit("Q", 1, 0.5)])
    scorer.put("b", [Hit("Q", 1, 0.5)])
    other.resume(state)
    assert (card.means.recall, list(card.articles)) == (1.0, ["a"])
    assert other.scorecard() == card != scorer.scorecard()
