"""The scores of each article of a run as rows, as `trec_eval -q` prints each topic's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scoring.frames import Row, act_rows, item_rows
from scoring.measures import mean_of, measure_named
from scoring.scorecard import ItemScorecard, Scorecard

ALL = "all"
"""The name of the line with the macro-averages, as trec_eval has it."""


def rows_of(card: Scorecard, names: Sequence[str]) -> Iterator[Row]:
    """Yield a run's rows; those of ACT have no last one, since only the whole list has measures."""
    if not isinstance(card, ItemScorecard):
        yield from act_rows(card)
        return
    for row, score in zip(item_rows(card), card.articles.values(), strict=True):
        yield row | {name: measure_named(name)(score.matches) for name in names}
    macro = card.macro
    yield {
        "run": card.run,
        "view": card.signature.view,
        "article": ALL,
        "hits": card.tp + card.fp,
        "gold": card.tp + card.fn,
        "correct": card.tp,
        "precision": macro.precision,
        "recall": macro.recall,
        "f_score": macro.f_score,
        "auc_ipr": macro.auc_ipr,
        **{name: mean_of(name, card) for name in names},
    }
