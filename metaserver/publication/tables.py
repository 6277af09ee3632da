"""Tables of a package: boards as frozen, pairwise tests, articles, usefulness, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import msgspec

from metaserver.base.boards import (
    HEADINGS,
    Answers,
    FrozenBoard,
    MethodDescription,
    RunIntervals,
    View,
    counted_answers,
)
from metaserver.base.usage import DECLARED, RunUsage
from metaserver.publication.folder import PackageFolder
from metaserver.publication.source import PhaseSource
from scoring import ActGold, ActScorecard, Gold, ItemGold, ItemScorecard, Scorecard
from scoring.analysis import article_difficulty, article_ranks
from scoring.article_rows import rows_of
from scoring.comparison_report import comparison_table, letters_of
from scoring.errors import OptionError
from scoring.overview import overview_latex, task_table, views_table
from scoring.report import record_table
from scoring.resampling import ACT_MEASURES, ITEM_MEASURES
from scoring.significance import MOST_PAIRED, Comparison, Interval, compare
from scoring.tables import Cell, Table, best_cells, csv_table
from scoring.tasks import Task
from scoring.usefulness import Usefulness, usefulness, usefulness_table

GOLD_COLUMNS = frozenset({"relevant", "correct", "doubtful", "high"})
"""The columns for ACT articles that reveal the gold."""


@dataclass(frozen=True, kw_only=True)
class BoardTables:
    """A board with what was found out about its runs; `printed` is for papers and the report.

    `cards` belong to the runs that have a place, `below` to runs below the least coverage.
    `comparison` is None if the task's runs cannot be compared; `measure` is what it compares, and
    `note` says why it is not the ranking's.
    """

    frozen: FrozenBoard
    view: View
    table: Table
    printed: Table
    bold: set[tuple[int, int]]
    cards: Sequence[Scorecard]
    below: Sequence[Scorecard]
    comparison: Comparison | None
    note: str = ""

    @property
    def signature(self) -> str:
        """The board's signature."""
        return self.frozen.views[self.view].signature

    @property
    def name(self) -> str:
        """How its files' names begin."""
        return f"{self.frozen.name}/{self.view}"


def board_tables(source: PhaseSource, frozen: FrozenBoard, view: View) -> BoardTables:
    """Return a board's tables: as frozen, and its runs compared."""
    gold, runs = source.ranked_gold(frozen.name, view), source.cards(frozen.name, view)
    cards = [run.card for run in runs if not run.below]
    comparison, note = None, ""
    if gold is not None and cards:
        measure = _compared_measure(gold, frozen.order)
        comparison = compare(gold, cards, measure=measure, pairs=1 < len(cards) <= MOST_PAIRED)
        note = _why_other(frozen, measure)
    printed = _printed(frozen, view, comparison)
    placed = 1 + sum(row.place is not None for row in frozen.views[view].rows)
    best = {column.heading: column.rising for column in frozen.columns if not column.count}
    return BoardTables(
        frozen=frozen,
        view=view,
        table=_board(frozen, view, comparison),
        printed=printed,
        bold=best_cells(printed[:placed], best),
        cards=cards,
        below=[run.card for run in runs if run.below],
        comparison=comparison,
        note=note,
    )


def _compared_measure(gold: Gold, order: Sequence[str]) -> str:
    """Return the board's first measure with a value on resamples."""
    measures = ACT_MEASURES if isinstance(gold, ActGold) else ITEM_MEASURES
    return next((key for key in order if key in measures), measures[0])


def _why_other(frozen: FrozenBoard, measure: str) -> str:
    """Return why another measure than the ranking's compares the runs; empty if none does."""
    if measure == frozen.order[0]:
        return ""
    headings = {column.key: column.heading for column in frozen.columns}
    first, measured = headings[frozen.order[0]], headings[measure]
    return (
        f"note: places are by {first}, which is not resampled: intervals, tests and"
        f" letters are of {measured}"
    )


def _board(frozen: FrozenBoard, view: View, comparison: Comparison | None) -> Table:
    """Return a board with every digit."""
    intervals, letters = _found(frozen, view, comparison)
    header: list[Cell] = ["place", "run", "team", "offline", "articles_scored", "articles_in_gold"]
    header += [column.key for column in frozen.columns]
    header += ["low", "high", "best_rank", "worst_rank"] * bool(intervals)
    header += ["letters"] * bool(letters)
    declared = any(row.usage for row in frozen.views[view].rows)
    header += DECLARED if declared else ()
    rows: list[Sequence[Cell]] = [header]
    for row in frozen.views[view].rows:
        interval = intervals.get(row.run)
        ends = (
            (interval.low, interval.high, interval.best_rank, interval.worst_rank)
            if interval
            else (None,) * 4
        )
        rows.append(
            [
                row.place, row.run, row.team, int(row.offline), row.articles_scored,
                row.articles_in_gold,
                *(row.values.get(column.key) for column in frozen.columns),
                *(ends if intervals else ()),
                *([letters.get(row.run, "")] if letters else ()),
                *((row.usage or RunUsage(articles=0)).declared if declared else ()),
            ]
        )  # fmt: skip
    return rows


def _printed(frozen: FrozenBoard, view: View, comparison: Comparison | None) -> Table:
    """Return a board as a paper prints it: n/N and intervals in a column each."""
    intervals, letters = _found(frozen, view, comparison)
    header: list[Cell] = ["run", "place", "team", "answered"]
    header += [column.heading for column in frozen.columns]
    header += ["95 % interval"] * bool(intervals)
    header += ["letters"] * bool(letters)
    rows: list[Sequence[Cell]] = [header]
    for row in frozen.views[view].rows:
        interval = intervals.get(row.run)
        rows.append(
            [
                row.run,
                "" if row.place is None else row.place,
                row.team,
                f"{row.articles_scored}/{row.articles_in_gold}",
                *(row.values.get(column.key) for column in frozen.columns),
                *(
                    [f"[{interval.low:.3f}, {interval.high:.3f}]" if interval else ""]
                    if intervals
                    else ()
                ),
                *([letters.get(row.run, "")] if letters else ()),
            ]
        )
    return rows


def _found(
    frozen: FrozenBoard, view: View, comparison: Comparison | None
) -> tuple[Mapping[str, Interval | RunIntervals], Mapping[str, str]]:
    """Return intervals and letters by run; of tasks that are not compared, the frozen intervals."""
    if comparison is None:
        rows = frozen.views[view].rows
        return {row.run: row.interval for row in rows if row.interval is not None}, {}
    letters = letters_of(comparison) if comparison.pairs else {}
    return {interval.run: interval for interval in comparison.intervals}, letters


def write_board(folder: PackageFolder, tables: BoardTables, *, gold: bool) -> None:
    """Write a board's tables: the board, its pairwise tests, and each article's scores."""
    name, what = f"tables/{tables.name}", f"{tables.frozen.title}, {tables.view} hits"
    folder.table(
        name,
        tables.table,
        f"{tables.frozen.name}: {what}",
        printed=tables.printed,
        bold=tables.bold,
        comments=[tables.signature],
    )
    if tables.comparison is not None and tables.comparison.pairs:
        pairs = comparison_table(tables.comparison, "pairs", counted=False)
        folder.table(
            f"{name}-pairs",
            pairs,
            f"{tables.frozen.name}: paired tests of the runs' {tables.comparison.measure}",
            printed=comparison_table(tables.comparison, "pairs", counted=True),
            comments=[str(tables.comparison.signature)],
        )
    cards = [*tables.cards, *tables.below]
    if cards and (gold or isinstance(cards[0], ActScorecard)):
        folder.write(
            f"{name}-articles.csv",
            _article_lines(cards, gold=gold),
            f"{tables.frozen.name}: each run's scores of each article, {tables.view} hits",
        )


def _article_lines(cards: Sequence[Scorecard], *, gold: bool) -> chain[str]:
    """Return an article table's lines, run by run; no ACT labels without gold.

    INT's and IPT's are for packages with the gold: beside the run, an article's score says which
    hits are right.
    """

    def lines(card: Scorecard, *, first: bool) -> str:
        act = isinstance(card, ActScorecard)
        rows = [
            {k: v for k, v in row.items() if gold or not act or k not in GOLD_COLUMNS}
            for row in rows_of(card, ())
        ]
        if not rows:
            return ""
        table: list[Sequence[Cell]] = [
            *([list(rows[0])] if first else []),
            *(list(row.values()) for row in rows),
        ]
        return csv_table(table) + "\n"

    return chain.from_iterable([lines(card, first=place == 0)] for place, card in enumerate(cards))


def write_difficulty(
    folder: PackageFolder, source: PhaseSource, tables: BoardTables, *, gold: bool
) -> None:
    """Write how hard a task's articles are, over its runs.

    Without the gold that is only ACT's mean rank, which comes from the runs.
    """
    ranked = source.ranked_gold(tables.frozen.name)
    assert ranked is not None
    if isinstance(ranked, ItemGold):
        if not gold:
            return
        items = [card for card in tables.cards if isinstance(card, ItemScorecard)]
        table = record_table(article_difficulty(ranked, items))
    else:
        lists = [card for card in tables.cards if isinstance(card, ActScorecard)]
        table = record_table(article_ranks(ranked, lists))
        if not gold:
            columns = [n for n, name in enumerate(table[0]) if name not in GOLD_COLUMNS]
            table = [[row[n] for n in columns] for row in table]
    folder.write(
        f"tables/{tables.frozen.name}/difficulty.csv",
        csv_table(table) + "\n",
        f"{tables.frozen.name}: how hard each article was over all runs",
    )


def write_usefulness(
    folder: PackageFolder, gold: ItemGold, tables: BoardTables
) -> Sequence[Usefulness]:
    """Write what a curator finds by screening; nothing if a run is named like the ideal run."""
    items = [card for card in tables.cards if isinstance(card, ItemScorecard)]
    try:
        useful = usefulness(gold, items)
    except OptionError:
        return []
    folder.table(
        f"tables/{tables.frozen.name}/usefulness",
        usefulness_table(useful),
        f"{tables.frozen.name}: what a curator finds who screens the first candidates",
        comments=[tables.signature],
    )
    return useful


def write_overview(folder: PackageFolder, all_tables: Sequence[BoardTables]) -> None:
    """Write an overview paper's tables: one per task, and the best run in each view."""
    by_task: dict[str, list[Scorecard]] = {}
    for board in all_tables:
        by_task.setdefault(board.frozen.name, []).extend(board.cards)
    tables = [task_table(Task(task), cards) for task, cards in by_task.items() if cards]
    items = [
        card for board in all_tables for card in board.cards if isinstance(card, ItemScorecard)
    ]
    for part in [*tables, *([views_table(items)] if items else [])]:
        name = f"tables/overview/{part.name}"
        folder.write(f"{name}.csv", csv_table(part.table) + "\n", part.caption)
        folder.write(f"{name}.tex", overview_latex(part, "tab:overview") + "\n", part.caption)


class DescribedRun(NamedTuple):
    """A run, its team and its method; what its team did not say is empty."""

    run: str
    team: str
    method: MethodDescription


def run_methods(source: PhaseSource) -> Sequence[DescribedRun]:
    """Return the boards' runs with their methods, ordered by team and name."""
    views = (view for frozen in source.frozen.values() for view in frozen.views.values())
    teams = {row.run: row.title or row.team for view in views for row in view.rows}
    described = {str(run): method for run, method in source.methods.items()}
    return [
        DescribedRun(run, team, described.get(run, MethodDescription()))
        for run, team in sorted(teams.items(), key=lambda run_and_team: run_and_team[::-1])
    ]


def methods_table(runs: Sequence[DescribedRun]) -> Table:
    """Return the methods, a row a run."""
    header: list[Cell] = ["run", "team", *HEADINGS]
    return [
        header,
        *([run.run, run.team, *map(_cell, msgspec.structs.astuple(run.method))] for run in runs),
    ]


def answers_table(runs: Sequence[DescribedRun]) -> Table:
    """Return the questionnaire, a row an answer that any run has ticked."""
    counted = counted_answers((run.team, run.method) for run in runs)
    rows: list[list[Cell]] = [list(answers) for answers in counted]
    return [[*Answers._fields], *rows]


def _cell(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "; ".join(value)
