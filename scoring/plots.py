"""Charts as pictures: SVG, PNG and PDF. Needs the extra `plots`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.charts import COLOURS, GREY, Chart, Panel, Scale, Series, best_first
from scoring.errors import OptionError
from scoring.labels import Box, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METADATA = {
    ".svg": ("Title", "Description", "Date"),
    ".png": ("Title", "Description", "Software"),
    ".pdf": ("Title", "Subject", "CreationDate"),
}
"""The kinds of picture: where title and signature go, and what else differs from day to day."""
_MARKERS = "osD^vP*X"
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1)))
_SMALL = 8.0
_LISTED = " "  # begins the name of what the legend lists: matplotlib hides names in "_..."
_POINT = 3.5  # half of a marker and a little, in points


def draw(chart: Chart) -> Figure:
    """Return a chart as a figure; raises `OptionError` where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        extra = "pip install 'biocreative-metaserver[plots]'"
        raise OptionError(f"plots need matplotlib: {extra}") from error
    rows = max((len(panel.y.names) for panel in chart.panels), default=0)
    listed = [
        one
        for panel in chart.panels
        for one in panel.series
        if not one.named and one.kind not in ("bars", "cells")
    ]
    names = len({one.name if one.style is not None else "" for one in listed}) > 1
    down, across = chart.shape
    width = (7.2 if across > 1 else 5.0) + 1.8 * names
    height = max(3.0 * down + 0.6, 0.8 + 0.2 * rows)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, panel in zip(grid, chart.panels, strict=False):
        _draw_panel(axes, panel)
    for axes in grid[len(chart.panels) :]:
        axes.remove()
    _add_legend(figure)
    figure.draw_without_rendering()  # computes the layout, which no drawing does again
    figure.set_layout_engine("none")
    for axes, panel in zip(figure.axes, chart.panels, strict=True):
        _write_names(axes, best_first(panel.series), scale=figure.dpi / 72)
    return figure


def save(chart: Chart, *paths: Path) -> None:
    """Write a chart as SVG, PNG or PDF by each path's suffix; the same chart, the same bytes.

    Title and signature are in the file's metadata.
    """
    for path in paths:
        check(path)
    figure = draw(chart)
    import matplotlib

    for path in paths:
        title, signature, dated = _METADATA[path.suffix]
        metadata = {title: chart.title, signature: chart.signature, dated: None}
        with matplotlib.rc_context({"svg.hashsalt": "scoring"}):
            figure.savefig(path, dpi=200, metadata=metadata)


def png(chart: Chart, dpi: int = 100) -> bytes:
    """Return a chart as the bytes of a PNG file."""
    out = io.BytesIO()
    draw(chart).savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def check(path: Path) -> None:
    """Raise `OptionError` unless the path's suffix is one that can be drawn."""
    if path.suffix not in _METADATA:
        raise OptionError(f"{path}: expected a name that ends in {', '.join(_METADATA)}")


def _plain(text: str) -> str:
    """Return a text as matplotlib shows it: no dollar sign begins a formula."""
    return text.replace("$", r"\$")


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for one in best_first(panel.series):
        _draw_series(axes, one)
    for x, y, text in panel.notes:
        axes.annotate(
            _plain(text), (x, y), fontsize=_SMALL, color="#444444", ha="center", va="center"
        )
    axes.set_xlabel(_plain(panel.x.label), fontsize=9)
    axes.set_ylabel(_plain(panel.y.label), fontsize=9)
    axes.set_title(_plain(panel.title), fontsize=9)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    _set_bounds(axes, panel.x, "x")
    _set_bounds(axes, panel.y, "y")


def _set_bounds(axes: Axes, axis: Scale, which: str) -> None:
    if axis.names:
        step = max(1, -(-len(axis.names) // 60))
        ticks = range(0, len(axis.names), step)
        shown = [_plain(name) for name in axis.names[::step]]
        axes.set(**{f"{which}ticks": ticks, f"{which}ticklabels": shown})
        if which == "x":
            axes.tick_params(axis="x", labelrotation=90)
    if axis.logarithmic:
        _set_logarithmic(axes, axis, which)
        return
    if axis.low is None and axis.high is None:
        return
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    low = low if axis.low is None else axis.low
    high = high if axis.high is None else axis.high
    margin = 0.02 * (high - low)  # so that a point at a bound is drawn whole
    axes.set(**{f"{which}lim": (low - margin, high + margin)})


def _set_logarithmic(axes: Axes, axis: Scale, which: str) -> None:
    """Mark 1, 2 and 5 of each power of ten, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log", f"{which}lim": (axis.low, axis.high)})
    scale = axes.xaxis if which == "x" else axes.yaxis
    scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
    scale.set_minor_locator(NullLocator())
    scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_series(axes: Axes, one: Series) -> None:
    grey = one.style is None
    colour = GREY if grey else COLOURS[(one.style or 0) % len(COLOURS)]
    look: dict[str, Any] = {
        "color": colour,
        "label": "" if one.named else _LISTED + _plain(one.name),
    }
    look["zorder"] = 2 if grey else 3 + (one.style or 0) / 100
    if one.kind == "bars":
        axes.bar(one.x, one.y, 0.8, **look | {"label": ""})
        return
    if one.kind == "cells":
        from matplotlib.patches import Rectangle

        for x, y, weight in zip(one.x, one.y, one.weights, strict=True):
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=colour, alpha=0.6 * weight))
        return
    dashes = "-" if grey else _DASHES[(one.style or 0) % len(_DASHES)]
    if one.kind == "rule":
        axes.plot(one.x, one.y, linestyle=dashes, linewidth=0.8, **look | {"color": "#555555"})
        return
    if one.kind == "line":
        axes.plot(one.x, one.y, linestyle=dashes, linewidth=0.8 if grey else 1.6, **look)
        return
    if one.ends:
        along = one.x if one.ends_of == "x" else one.y
        spans = [
            [value - low for value, (low, _) in zip(along, one.ends, strict=True)],
            [high - value for value, (_, high) in zip(along, one.ends, strict=True)],
        ]
        bars: dict[str, Any] = {"xerr" if one.ends_of == "x" else "yerr": spans}
        axes.errorbar(one.x, one.y, fmt="none", ecolor=colour, elinewidth=0.8, zorder=2, **bars)
    marker = "o" if grey else _MARKERS[(one.style or 0) % len(_MARKERS)]
    axes.plot(one.x, one.y, linestyle="none", marker=marker, markersize=4, **look)


def _add_legend(figure: Figure) -> None:
    """Write the names beside the plots: each once, best first, the grey ones as one entry."""
    entries: dict[str, Any] = {}
    grey: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            if name.startswith(_LISTED):
                kind = grey if _is_grey(handle) else entries
                kind.setdefault(name.removeprefix(_LISTED), handle)
    if len(grey) == 1:
        entries |= grey
    elif grey:
        entries[f"{len(grey)} more runs"] = next(iter(grey.values()))
    if len(entries) > 1:
        figure.legend(
            entries.values(), entries, loc="outside right upper", fontsize=_SMALL, frameon=False
        )


def _is_grey(handle: Any) -> bool:
    colour = handle[0].get_facecolor() if isinstance(handle, tuple) else handle.get_color()
    return bool(colour == GREY)


def _write_names(axes: Axes, series: Sequence[Series], *, scale: float) -> None:
    """Write the names of points beside them, where they cover nothing.

    `scale` is pixels per point.
    """
    named = [one for one in reversed(series) if one.named]  # the best run chooses last of none
    named.sort(key=lambda one: one.style or 0)
    if not named:
        return
    texts = [
        axes.annotate(_plain(one.name), (one.x[0], one.y[0]), fontsize=_SMALL) for one in named
    ]
    points = [axes.transData.transform((one.x[0], one.y[0])).tolist() for one in named]
    sizes = [(box.width, box.height) for box in (text.get_window_extent() for text in texts)]
    drawn = [
        axes.transData.transform(point).tolist()
        for one in series
        for point in zip(one.x, one.y, strict=True)
    ]
    margin = _POINT * scale
    obstacles = [Box(x - margin, y - margin, x + margin, y + margin) for x, y in drawn]
    frame = axes.get_window_extent()
    inside = Box(frame.x0, frame.y0, frame.x1, frame.y1)
    for one, text, place in zip(
        named, texts, place_labels(points, sizes, inside, obstacles), strict=True
    ):
        text.remove()
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": "#888888", "shrinkA": 0, "shrinkB": 3}
        axes.annotate(
            _plain(one.name),
            (one.x[0], one.y[0]),
            xytext=(place.dx / scale, place.dy / scale),
            textcoords="offset points",
            fontsize=_SMALL,
            arrowprops=line | {"relpos": place.anchor} if place.far else None,
            zorder=5,
        )
