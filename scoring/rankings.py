"""One ranked table of several runs, by their task's first measure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scoring.intervals import Bounds
from scoring.sign_flips import PairTest
from scoring.tables import (
    Cell,
    Table,
    best_cells,
    csv_table,
    latex_table,
    styled_table,
    table_of,
    text_table,
)


@dataclass(frozen=True, kw_only=True)
class RankedRun:
    """A run's score in the measure that ranks it, None where it has none, and further cells."""

    run: str
    score: float | None
    bounds: Bounds | None
    cells: Mapping[str, Cell] = field(default_factory=dict)


def ranking_table(runs: Sequence[RankedRun], measure: str, *, lowest_first: bool = False) -> Table:
    """Return the runs, best first, as a table; equal scores share the best rank.

    Runs without a score come last, without a rank. The order of equal runs is that of their names.
    """
    sign = 1 if lowest_first else -1
    scored = sorted(
        (one for one in runs if one.score is not None),
        key=lambda one: (sign * (one.score or 0.0), one.run),
    )
    unscored = sorted((one for one in runs if one.score is None), key=lambda one: one.run)
    ranks: list[int] = []
    for place, one in enumerate(scored, start=1):
        tied = place > 1 and one.score == scored[place - 2].score
        ranks.append(ranks[-1] if tied else place)
    header = ["run", "rank", measure, "95 %", *runs[0].cells]
    return [
        header,
        *(
            [one.run, rank, one.score, str(one.bounds or "n/a"), *one.cells.values()]
            for one, rank in zip(scored, ranks, strict=True)
        ),
        *([one.run, None, None, "n/a", *one.cells.values()] for one in unscored),
    ]


def pairs_table(runs: Mapping[str, Sequence[Mapping[str, Cell]]], style: str) -> str:
    """Return what was paired in each run, named if there are several; what is absent is a dash.

    In CSV it is empty.
    """
    several = len(runs) > 1
    rows: list[dict[str, Cell]] = [
        {"run": run, **pair} if several else {**pair}
        for run, pairs in runs.items()
        for pair in pairs
    ]
    if not rows:
        return "no pairs"
    table = table_of(rows)
    if style != "csv":
        table = [["-" if cell is None else cell for cell in row] for row in table]
    return styled_table(table, style)


def ranking_report(table: Table, style: str, measure: str, *, lowest_first: bool = False) -> str:
    """Return a ranking table as text, CSV or LaTeX, the best score there in bold."""
    if style == "csv":
        return csv_table(table)
    if style == "latex":
        return latex_table(table, best_cells(table, {measure: lowest_first}))
    return text_table(table)


def tests_report(tests: Mapping[str, Sequence[PairTest]], style: str) -> str:
    """Return paired tests by measure; a difference is the score of `run` less that of `other`."""
    rows: list[dict[str, Cell]] = [
        {
            "measure": measure,
            "run": pair.a,
            "other": pair.b,
            "difference": pair.difference,
            "low": pair.low,
            "high": pair.high,
            "p": pair.p,
            "p_adjusted": pair.p_adjusted,
        }
        for measure, of_pairs in tests.items()
        for pair in of_pairs
    ]
    if style == "json":
        return json.dumps(rows, indent=2)
    return styled_table(table_of(rows), style) if rows else "no pair of runs has the measure"
