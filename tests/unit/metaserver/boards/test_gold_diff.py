"""Changes that another gold makes: labels by article, values and places by run."""

from dataclasses import replace
from typing import Any

from metaserver.base.plans import Ranking
from metaserver.base.records import ArticleId, ServerName
from metaserver.boards.gold import (
    ArticleChange,
    LabelChanges,
    RunChange,
    label_changes,
    run_changes,
)
from metaserver.tasks.int_ import INT
from metaserver.tasks.plugin import Score
from scoring import ItemGold, Task

NO_SCORE = Score(values={}, articles_scored=0, articles_in_gold=0, curve=(), detail={})


def gold(**items: str) -> ItemGold:
    return ItemGold(
        task=Task.INT, items={name: frozenset(of.split()) for name, of in items.items()}
    )


def score(value: float) -> Score:
    return replace(NO_SCORE, values=dict.fromkeys(INT.order, value))


def test_labels_are_compared_by_article() -> None:
    old, new = gold(a="P1 P2", b="P1", c="P3"), gold(a="P2 P4 P3", c="P3", d="P5")
    corpus = [ArticleId("a"), ArticleId("b"), ArticleId("c")]
    assert label_changes(INT, old, new, corpus) == LabelChanges(
        articles=3,
        added=3,
        removed=2,
        changes=(
            ArticleChange(article="a", added=("P3", "P4"), removed=("P1",)),
            ArticleChange(article="b", added=(), removed=("P1",)),
            ArticleChange(article="d", added=("P5",), removed=()),
        ),
        unknown_articles=1,
        unknown=("d",),
    )
    assert label_changes(INT, new, new, corpus).changes == ()
    assert label_changes(INT, None, new, corpus).removed == 0


def test_a_thousand_articles_and_a_hundred_labels_of_each_are_reported() -> None:
    many = gold(**{f"a{number:04}": "P1" for number in range(1_001)})
    found = label_changes(INT, None, many, [])
    assert (len(found.changes), len(found.unknown)) == (1_000, 1_000)
    assert (found.articles, found.added, found.unknown_articles) == (1_001, 1_001, 1_001)
    long = gold(a=" ".join(f"P{number:03}" for number in range(101)))
    [added] = label_changes(INT, None, long, []).changes
    [removed] = label_changes(INT, long, gold(), []).changes
    assert added.added == removed.removed == tuple(f"P{number:03}" for number in range(100))


def test_of_a_task_without_labels_nothing_is_reported() -> None:
    unlabelled: Any = object()
    found = label_changes(unlabelled, gold(a="P1"), gold(a="P2"), [])
    assert (found.articles, found.added, found.removed, found.unknown_articles) == (0, 0, 0, 0)
    assert (found.changes, found.unknown) == ((), ())


def test_runs_are_told_in_the_order_of_the_board_after() -> None:
    one, two, new = ServerName("one"), ServerName("two"), ServerName("new")
    before = {one: score(0.9), two: score(0.5)}
    after = {one: score(0.1), two: score(0.5), new: score(0.5)}
    assert run_changes(INT, Ranking(min_coverage=0.0), before, after) == [
        RunChange(
            run="new", place_before=None, place_after=1, before=None, after=dict(after[new].values)
        ),
        RunChange(
            run="two", place_before=2, place_after=1, before=dict(before[two].values),
            after=dict(after[two].values),
        ),
        RunChange(
            run="one", place_before=1, place_after=3, before=dict(before[one].values),
            after=dict(after[one].values),
        ),
    ]  # fmt: skip
