"""Explanations of one article's score: its ranked list with the hits marked, and its curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scoring import ranking
from scoring.biocreative import match
from scoring.errors import OptionError
from scoring.files import Run
from scoring.gold import ActGold, ItemGold
from scoring.scorecard import ActScorecard
from scoring.tasks import Classification, Hit, Item, by_rank


def explain_items(gold: ItemGold, run: Run, article: str) -> Iterator[str]:
    """Yield the lines that explain an INT or IPT article: list, missed items, curve, measures."""
    if article not in gold.items:
        raise OptionError(f"article {article!r} is not in the gold standard")
    answer = run.answers.get(article, ())
    assert not isinstance(answer, Classification)
    correct = gold.items[article]
    matches = match(answer, correct)
    steps = dict(zip(matches.ranks, ranking.interpolated(matches.ranks), strict=True))
    yield f"{run.name}, {article}: {len(matches.ranks)} of {matches.gold} found"
    yield "rank  correct  precision  recall  iP     confidence  item"
    found = 0
    for place, hit in enumerate(sorted(answer, key=by_rank), start=1):
        found += place in steps
        mark = f"{steps[place]:.3f}" if place in steps else "     "
        yield (
            f"{place:4d}  {'*' if place in steps else ' ':^7}  {found / place:9.3f}"
            f"  {found / matches.gold:6.3f}  {mark}  {hit.confidence:10.5f}  {_text(hit.item)}"
        )
    yield from (f"missed: {_text(item)}" for item in _missed(answer, correct))
    yield from _curve_lines(matches)
    yield f"AUC iP/R {ranking.auc_ipr(matches) or 0:.5f} = {_sum(matches)}"
    yield f"average precision {ranking.average_precision(matches) or 0:.5f}"
    yield f"reciprocal rank {ranking.reciprocal_rank(matches):.5f}"
    yield f"total reciprocal rank {ranking.total_reciprocal_rank(matches):.5f}"


def explain_classification(gold: ActGold, scorecard: ActScorecard, article: str) -> Iterator[str]:
    """Yield the lines that explain an ACT run around one article: its place, and the curve."""
    listed = [gold.articles[place] for place in scorecard.ranked.tolist()]
    if article not in gold.relevant:
        raise OptionError(f"article {article!r} is not in the gold standard")
    truth = "relevant" if gold.relevant[article] else "not relevant"
    yield f"{scorecard.run}, {article}: {truth} in the gold"
    if article not in listed:
        yield "the run does not list it"
    else:
        place = listed.index(article)
        called = "relevant" if scorecard.called[place] else "not relevant"
        yield f"called {called}, rank {place + 1} of {len(listed)}"
        for near in range(max(0, place - 3), min(len(listed), place + 4)):
            mark = "*" if gold.relevant[listed[near]] else " "
            yield f"{'>' if near == place else ' '} {near + 1:5d} {mark} {listed[near]}"
    yield from _curve_lines(scorecard.matches)
    yield f"AUC iP/R {scorecard.auc_ipr:.5f}"


def _curve_lines(matches: ranking.Matches) -> Iterator[str]:
    yield "curve: up to recall, interpolated precision"
    for recall, precision in ranking.curve(matches):
        yield f"  {recall:.5f}  {precision:.5f}"


def _sum(matches: ranking.Matches) -> str:
    steps = " + ".join(f"{step:.3f}" for step in ranking.interpolated(matches.ranks))
    return f"({steps or '0'}) / {matches.gold}"


def _missed(answer: Sequence[Hit], correct: frozenset[Item]) -> list[Item]:
    return sorted(correct - {hit.item for hit in answer}, key=_text)


def _text(item: Item) -> str:
    return item if isinstance(item, str) else " ".join(item)
