"""A package's report: a page that needs nothing else, for any screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metaserver.base.boards import HEADINGS
from metaserver.publication.figures import Figure, on_page
from metaserver.publication.tables import BoardTables, DescribedRun
from scoring.charts import Chart
from scoring.comparison_report import comparison_table, notes
from scoring.tables import Table, shown

MOST_PAIRS = 120
"""The maximum number of run pairs on the page; for more there is the file."""
MOST_FIGURES = 40
"""Figures on the page; all are among the files."""


@dataclass(frozen=True, kw_only=True)
class ViewPart:
    """A board in one view on the page; `pairs` is None without pairs, or with too many."""

    view: str
    signature: str
    table: Table
    bold: set[tuple[int, int]]
    notes: Sequence[str]
    pairs: Table | None
    pairs_file: str
    figures: Sequence[Figure]


@dataclass(frozen=True, kw_only=True)
class TaskPart:
    """A task on the page: its views, the raw view first, and its figures."""

    name: str
    title: str
    gold_version: int
    views: Sequence[ViewPart]
    figures: Sequence[Figure]


def view_part(tables: BoardTables, figures: Sequence[Figure]) -> ViewPart:
    """Return a board as the page shows it."""
    comparison = tables.comparison
    pairs = list(comparison.pairs) if comparison else []
    assert comparison is not None or not pairs
    return ViewPart(
        view=tables.view,
        signature=tables.signature,
        table=tables.printed,
        bold=tables.bold,
        notes=[*([tables.note] if tables.note else []), *(notes(comparison) if comparison else [])],
        pairs=(
            comparison_table(comparison, "pairs", counted=True)
            if comparison is not None and 0 < len(pairs) <= MOST_PAIRS
            else None
        ),
        pairs_file=f"tables/{tables.name}-pairs.csv" if pairs else "",
        figures=figures,
    )


def report_page(
    *,
    title: str,
    facts: Mapping[str, str],
    tasks: Sequence[TaskPart],
    responses: Table,
    responses_chart: Chart | None,
    methods: Sequence[DescribedRun],
    files: Mapping[str, str],
    commands: Sequence[str],
    gold: bool,
    printed: bool,
) -> str:
    """Return the page as HTML."""
    return (
        _environment()
        .get_template("report.html")
        .render(
            title=title,
            facts=facts,
            tasks=tasks,
            responses=responses,
            responses_chart=responses_chart,
            methods=[run for run in methods if run.method],
            undescribed=[run.run for run in methods if not run.method],
            headings=HEADINGS,
            files=files,
            commands=commands,
            gold=gold,
            printed=printed,
            drawn=_Drawn(),
            shown=shown,
        )
    )


class _Drawn:
    """Draws charts on the page, the first `MOST_FIGURES`."""

    def __init__(self) -> None:
        self._left = MOST_FIGURES

    def __call__(self, chart: Chart) -> Markup:
        """Return a chart, empty once there are enough."""
        self._left -= 1
        return Markup(on_page(chart)) if self._left >= 0 else Markup()  # noqa: S704 (our own SVG)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("metaserver.publication"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
