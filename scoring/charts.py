"""Charts as values: panels, axes and series, which `plots` and `pages` draw.

At most `MOST_NAMED` series of a chart have a name, a colour and a line style of their own; the
others are grey and share one entry of the legend.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MOST_NAMED = 8
"""Of more lines than this, colours are too much alike."""
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#8a6d00",
)
"""The palette of Okabe & Ito 2008, which the colour-blind can read; its yellow is darkened."""
GREY = "#b5b5b5"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scale of an axis: its label, its bounds (None: the data's), the names at 0, 1, 2, ..."""

    label: str
    low: float | None = None
    high: float | None = None
    names: Sequence[str] = ()
    logarithmic: bool = False


def unit_scale(label: str) -> Scale:
    """Return the axis of a measure in [0, 1]."""
    return Scale(label=label, low=0.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points or a line of one name.

    `style` is its place among the named series, None for grey. `ends` are the two ends of each
    point's error bar on the axis `ends_of`. `texts` name the points one by one; `named` says
    whether the name is written at the point instead of in the legend. `weights`, in [0, 1], are how
    full the colour of each cell is.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Literal["line", "points", "bars", "cells", "rule"] = "line"  # a rule is thin, not data
    style: int | None = None
    ends: Sequence[tuple[float, float]] = ()
    ends_of: Literal["x", "y"] = "y"
    texts: Sequence[str] = ()
    named: bool = False
    weights: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot of a chart; `notes` are texts at places of it."""

    x: Scale
    y: Scale
    series: Sequence[Series]
    title: str = ""
    notes: Sequence[tuple[float, float, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels, two in a row; title and signature are kept in the file's metadata."""

    title: str
    signature: str
    panels: Sequence[Panel]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        columns = min(2, len(self.panels))
        return -(-len(self.panels) // columns), columns

    def _repr_png_(self) -> bytes:
        """Return the chart as a notebook shows it."""
        from scoring.plots import png  # which draws charts, and loads matplotlib

        return png(self)


def best_named(scores: Sequence[float], most: int = MOST_NAMED) -> list[int | None]:
    """Return the style of each of several series: the best are named, the others grey.

    Styles count from the best score; of equal scores the first comes first.
    """
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    styles: list[int | None] = [None] * len(scores)
    for style, place in enumerate(order[:most]):
        styles[place] = style
    return styles


def best_first(series: Iterable[Series]) -> list[Series]:
    """Return the grey series, which the others are drawn over, then the named ones, best first."""
    return sorted(series, key=lambda one: (one.style is not None, one.style or 0))
