"""Charts as pages: one HTML file without network, drawn by Plotly. Needs the extra `plots`."""

from __future__ import annotations

from html import escape
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.charts import COLOURS, GREY, Chart, Scale, Series, best_first
from scoring.errors import OptionError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot", "5px,2px", "2px,2px")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star", "x")


def save(chart: Chart, path: Path) -> int:
    """Write a chart as one interactive page, about 5 MB with the library; return its bytes.

    Title and signature are in the page's `<head>` as well as on it. Raises `OptionError` where
    Plotly is missing.
    """
    check(path)
    figure = draw(chart)
    body = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        div_id="chart",
        config={"displaylogo": False, "toImageButtonOptions": {"format": "svg"}},
    )
    title, signature = escape(chart.title), escape(chart.signature)
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<title>{title}</title>\n<meta name="description" content="{signature}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<style>body{font-family:sans-serif;margin:1rem auto;max-width:75rem}"
        "h1{font-size:1.2rem}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n{body}\n<p><code>{signature}</code></p>\n</body>\n</html>\n"
    )
    return path.write_bytes(page.encode())


def check(path: Path) -> None:
    """Raise `OptionError` unless the path is that of a page."""
    if path.suffix != ".html":
        raise OptionError(f"{path}: expected a name that ends in .html")


def draw(chart: Chart) -> Figure:
    """Return a chart as a figure of Plotly's; raises `OptionError` where it is missing."""
    try:
        from plotly.subplots import make_subplots
    except ImportError as error:
        extra = "pip install 'biocreative-metaserver[plots]'"
        raise OptionError(f"pages need plotly: {extra}") from error
    rows, columns = chart.shape
    titles = [panel.title.replace("\n", "<br>") for panel in chart.panels]
    figure = make_subplots(rows=rows, cols=columns, subplot_titles=titles)
    listed: set[str] = set()
    for number, panel in enumerate(chart.panels):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for one in best_first(panel.series):
            named = one.kind not in ("bars", "cells") and one.name not in listed
            trace = _trace(one) | {"showlegend": named}
            listed.add(one.name)
            figure.add_trace(trace, **place)
        for x, y, text in panel.notes:
            figure.add_annotation(x=x, y=y, text=text, showarrow=False, **place)
        figure.update_xaxes(_axis(panel.x), **place)
        figure.update_yaxes(_axis(panel.y), **place)
    names = max(len(panel.y.names) for panel in chart.panels)
    height = max(200 + 320 * rows, 60 + 22 * names)
    margin = {"l": 60, "r": 20, "t": 60 if any(titles) else 20, "b": 60}
    figure.update_layout(template="plotly_white", height=height, margin=margin)
    return figure


def _plain(text: str) -> str:
    """Return a text that Plotly shows as it is: it takes `<b>` and others for markup."""
    return escape(text, quote=False)


def _axis(axis: Scale) -> dict[str, Any]:
    settings: dict[str, Any] = {"title": {"text": _plain(axis.label)}}
    if axis.logarithmic:
        ticks = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5)]
        settings |= {"type": "log", "tickvals": ticks, "ticktext": [f"{one:g}" for one in ticks]}
        if axis.low and axis.high:
            settings["range"] = [log10(axis.low), log10(axis.high)]
    elif axis.low is not None and axis.high is not None:
        margin = 0.02 * (axis.high - axis.low)  # so that a point at a bound is drawn whole
        settings["range"] = [axis.low - margin, axis.high + margin]
    elif axis.low is not None:
        settings |= {"autorangeoptions": {"include": axis.low}}
    if axis.names:
        settings |= {
            "tickvals": list(range(len(axis.names))),
            "ticktext": list(map(_plain, axis.names)),
        }
    return settings


def _trace(one: Series) -> dict[str, Any]:
    style = one.style or 0
    colour = GREY if one.style is None else COLOURS[style % len(COLOURS)]
    trace: dict[str, Any] = {
        "type": "bar" if one.kind == "bars" else "scatter",
        "name": _plain(one.name),
        "x": list(one.x),
        "y": list(one.y),
        "marker": {"color": colour},
        "legendgroup": _plain(one.name),
        "legendrank": 1000 + (style if one.style is not None else 900),
    }
    if one.kind == "cells":
        alphas = [f"rgba(0, 114, 178, {0.6 * weight:.3f})" for weight in one.weights]
        look = {"symbol": "square", "size": 28, "color": alphas}
        return trace | {"mode": "markers", "marker": look, "hoverinfo": "skip"}
    if one.texts:
        trace["text"] = list(map(_plain, one.texts))
        trace["textposition"] = "none" if one.kind == "bars" else None
        trace["hovertemplate"] = "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>"
    if one.kind in ("line", "rule"):
        dash = "solid" if one.style is None else _DASHES[style % len(_DASHES)]
        width = 1 if one.style is None or one.kind == "rule" else 2
        trace |= {"mode": "lines", "line": {"color": colour, "dash": dash, "width": width}}
    elif one.kind == "points":
        symbol = "circle" if one.style is None else _SYMBOLS[style % len(_SYMBOLS)]
        trace |= {"mode": "markers", "marker": {"color": colour, "symbol": symbol, "size": 7}}
        if one.ends:
            along = one.x if one.ends_of == "x" else one.y
            trace[f"error_{one.ends_of}"] = {
                "type": "data",
                "symmetric": False,
                "array": [high - v for v, (_, high) in zip(along, one.ends, strict=True)],
                "arrayminus": [v - low for v, (low, _) in zip(along, one.ends, strict=True)],
                "thickness": 1,
            }
    return {name: value for name, value in trace.items() if value is not None}
