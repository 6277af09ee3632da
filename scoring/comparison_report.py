"""Comparisons of runs for people and programs: text, JSON, CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from scoring.errors import OptionError
from scoring.letters import letters
from scoring.power import POWER
from scoring.report import n_of_gold, record_table
from scoring.sign_flips import PairTests
from scoring.significance import FEW_ARTICLES, Comparison
from scoring.tables import Cell, Table, best_cells, csv_table, latex_table, text_table

TABLES = ("runs", "pairs")
"""The tables of a comparison: scores and ranks of runs, differences and tests of pairs."""


def comparison_report(
    comparisons: Sequence[Comparison], style: str, table: str | None = None
) -> str:
    """Return comparisons, one a view, in one of `report.FORMATS`.

    `table` is one of `TABLES`; without it CSV has the runs, text and LaTeX both. JSON has all; it
    is an object for one comparison and a list for several.
    """
    if style == "json":
        values = [_values(comparison) for comparison in comparisons]
        return json.dumps(values if len(values) > 1 else values[0], indent=2)
    tables = [table] if table else TABLES[:1] if style == "csv" else TABLES
    if style == "csv":
        return csv_table(_joined(comparisons, tables[0]))
    parts = _latex if style == "latex" else _text
    return "\n\n".join("\n".join(parts(comparison, tables)) for comparison in comparisons)


def _values(comparison: Comparison) -> dict[str, Any]:
    return asdict(comparison) | {
        "view": comparison.signature.view,
        "letters": letters_of(comparison) if comparison.pairs else {},
        "notes": list(notes(comparison)),
        "signature": str(comparison.signature),
    }


def _joined(comparisons: Sequence[Comparison], table: str) -> Table:
    """Return the tables of all comparisons as one, with the view where there are several."""
    rows: list[Sequence[Any]] = []
    for comparison in comparisons:
        header, *body = comparison_table(comparison, table, counted=False)
        several = len(comparisons) > 1
        rows += [] if rows else [[*["view"] * several, *header]]
        rows += [[*[comparison.signature.view] * several, *row] for row in body]
    return rows


def comparison_table(comparison: Comparison, table: str, *, counted: bool) -> Table:
    """Return one of `TABLES`; `counted` has n/N articles in one column."""
    if table == "runs":
        header, *rows = record_table(comparison.intervals, counted=counted)
        if not comparison.pairs:
            return [header, *rows]
        marks, sure = letters_of(comparison), comparison.confidences
        names = [*header, *["confidence"] * bool(sure), "letters"]
        return [
            names,
            *([*row, *[sure.get(str(row[0]))] * bool(sure), marks[str(row[0])]] for row in rows),
        ]
    if not comparison.pairs:
        raise OptionError("no pairs of runs were compared; expected two runs, and no --no-pairs")
    header, *rows = record_table(comparison.pairs, counted=counted)
    shown = [place for place, name in enumerate(header) if name != "articles_needed"]
    if comparison.power:
        shown.append(list(header).index("articles_needed"))
    return [[row[place] for place in shown] for row in (header, *rows)]


def letters_of(comparison: Comparison) -> dict[str, str]:
    """Return the letters of each run: two that share one were not found different."""
    runs = [one.run for one in comparison.intervals]
    different = [(one.a, one.b) for one in comparison.pairs if one.p_adjusted <= comparison.alpha]
    return letters(runs, different)


def _latex(comparison: Comparison, tables: Sequence[str]) -> Iterator[str]:
    yield f"% {comparison.signature}"
    yield f"% {_title(comparison)}"
    if "runs" in tables:
        table = _paper_table(comparison)
        yield latex_table(table, best_cells(table, {comparison.measure: False}))
    if "pairs" in tables and (comparison.pairs or len(tables) == 1):
        if len(tables) > 1:
            yield "\n\\bigskip\n"
        yield latex_table(comparison_table(comparison, "pairs", counted=True))


def _paper_table(comparison: Comparison) -> Table:
    """Return the runs as a paper prints them: intervals in one column each, and letters."""
    marks = letters_of(comparison) if comparison.pairs else {}
    header: list[Cell] = ["run", "articles", comparison.measure, "interval", "rank", "first"]
    rows: list[list[Cell]] = [
        [
            one.run,
            n_of_gold(one),
            one.score,
            f"[{one.low:.3f}, {one.high:.3f}]",
            f"{one.rank} [{one.best_rank}, {one.worst_rank}]",
            one.first,
            *([marks[one.run]] if marks else []),
        ]
        for one in comparison.intervals
    ]
    return [[*header, *["letters"] * bool(marks)], *rows]


def _title(comparison: Comparison) -> str:
    """Return the measure, and what its intervals are."""
    kind = f"{comparison.level:.0%} intervals ({comparison.interval})"
    return f"{comparison.measure}: {kind}, {comparison.resamples} resamples"


def _text(comparison: Comparison, tables: Sequence[str]) -> Iterator[str]:
    if "runs" in tables:
        yield _title(comparison)
        yield text_table(comparison_table(comparison, "runs", counted=True))
        yield ""
    if "pairs" in tables and (comparison.pairs or len(tables) == 1):
        table = comparison_table(comparison, "pairs", counted=True)
        assert comparison.tests is not None
        kind = "sign-flip" if comparison.tests.kind == "sign flips" else "bootstrap"
        how = f"{_flips(comparison.tests)}, step-down maxT"
        yield f"paired {kind} tests of {comparison.measure}, {how}"
        yield text_table(table)
        yield ""
    found = list(notes(comparison))
    yield from found
    yield from [""] * bool(found)
    yield str(comparison.signature)


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield what a reader of the numbers should know: too few articles, tests that find nothing."""
    few = [one for one in comparison.intervals if one.articles_scored < FEW_ARTICLES]
    if few:
        runs = f"{len(few)} of {len(comparison.intervals)} runs are scored on"
        yield (
            f"note: {runs} fewer than {FEW_ARTICLES} articles; their intervals hold the true score "
            f"less often than {comparison.level:.0%} (docs/comparing.md)"
        )
    if comparison.tests:
        yield from floor_notes(comparison.tests, comparison.alpha)
    if comparison.power:
        yield (
            f"note: articles_needed is for a power of {POWER:.0%} at {comparison.alpha:g}, "
            "one pair by itself; n/a: no difference, or too small a one"
        )


def floor_notes(tests: PairTests, alpha: float) -> Iterator[str]:
    """Yield notes on tests that could not be significant at `alpha`, whatever the differences."""
    few = sum(test.p_floor > alpha for test in tests.pairs)
    if tests.pairs and tests.p_floor > alpha:
        yield (
            f"note: with {_flips(tests)} no p_adjusted can be below {tests.p_floor:.3g}, "
            f"so that nothing can be found at {alpha:g}"
        )
    if few:
        yield (
            f"note: {few} of {len(tests.pairs)} pairs have a p_floor above {alpha:g}: "
            "they differ on too few articles, or there are too few flips"
        )


def _flips(tests: PairTests) -> str:
    if tests.kind == "bootstrap":
        return f"{tests.flips} resamples"
    if tests.flips == 1 and tests.exact:
        return "the only flip"
    return f"all {tests.flips} flips" if tests.exact else f"{tests.flips} random flips"
