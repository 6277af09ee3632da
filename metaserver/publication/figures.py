"""Figures for a package: SVG and PDF by matplotlib if it is installed, else only SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import NamedTuple

from metaserver.publication.folder import PackageFolder
from metaserver.publication.source import PhaseSource
from metaserver.publication.tables import BoardTables
from scoring import ActGold, ActScorecard, ItemGold, ItemScorecard, drawings, figures, plots
from scoring.analysis import article_difficulty, article_ranks
from scoring.charts import Chart
from scoring.corpora import count_items
from scoring.usefulness import AUTHOR_MINUTES, Usefulness


class Figure(NamedTuple):
    """A chart with its files' name and a line on it."""

    name: str
    chart: Chart
    about: str


def has_matplotlib() -> bool:
    """Return whether figures can be drawn for print."""
    return find_spec("matplotlib") is not None


def board_figures(tables: BoardTables, *, gold: bool) -> Iterator[Figure]:
    """Yield a board's figures, for ranked-list runs.

    ACT's curves are for packages with the gold: a step is a relevant article's rank.
    """
    task, view = tables.frozen.name, tables.view
    if not tables.cards:
        return
    if gold or not isinstance(tables.cards[0], ActScorecard):
        curves = figures.curves(tables.cards)
        yield Figure(f"{task}/{view}-curves", curves, f"{task}: precision and recall, {view} hits")
    scatter = figures.scatter(tables.cards)
    yield Figure(f"{task}/{view}-scatter", scatter, f"{task}: ranking against finding, {view} hits")
    if tables.comparison is not None:
        intervals = figures.intervals(tables.comparison)
        yield Figure(f"{task}/{view}-intervals", intervals, f"{task}: intervals, {view} hits")


def task_figures(
    source: PhaseSource, tables: BoardTables, useful: Sequence[Usefulness], *, gold: bool
) -> Iterator[Figure]:
    """Yield the figures of a task's articles; those that reveal the gold only with it."""
    task = tables.frozen.name
    ranked = source.ranked_gold(task)
    if ranked is None or not tables.cards:
        return
    signature = str(tables.cards[0].signature)
    if gold and isinstance(ranked, ItemGold):
        items = [card for card in tables.cards if isinstance(card, ItemScorecard)]
        levels = article_difficulty(ranked, items)
        chart = figures.difficulty(levels, positives=0, signature=signature)
        yield Figure(f"{task}/articles", chart, f"{task}: how hard the articles were")
        counts = figures.corpus(count_items(ranked), [], [], signature)
        yield Figure(f"{task}/corpus", counts, f"{task}: what the articles have")
    elif gold and isinstance(ranked, ActGold):
        lists = [card for card in tables.cards if isinstance(card, ActScorecard)]
        ranks = article_ranks(ranked, lists)
        chart = figures.difficulty(ranks, positives=ranked.positives, signature=signature)
        yield Figure(f"{task}/articles", chart, f"{task}: how hard the articles were")
    if useful:
        chart = figures.usefulness(useful, [], AUTHOR_MINUTES, signature)
        yield Figure(f"{task}/usefulness", chart, f"{task}: what a curator finds by screening")


def write_figure(folder: PackageFolder, figure: Figure, *, printed: bool) -> None:
    """Write a figure; `printed` as SVG and PDF by matplotlib."""
    name = f"figures/{figure.name}"
    if not printed:
        folder.write(f"{name}.svg", drawings.svg(figure.chart), figure.about)
        return
    names = [name + suffix for suffix in (".svg", ".pdf")]
    plots.save(figure.chart, *(folder.new(name, figure.about) for name in names))
    for written_name in names:
        folder.written(written_name)


def on_page(chart: Chart) -> str:
    """Return a chart for the report."""
    return drawings.svg(replace(chart, signature=""), standalone=False)
