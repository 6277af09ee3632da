"""The pieces that charts are drawn with.

Colours, dashes and fonts come from the style sheet by class: the strict Content-Security-Policy
allows no inline style.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from markupsafe import Markup

Anchor = Literal["start", "middle", "end"]
"""The part of a text that is if it is anchored."""


def number(value: float) -> str:
    """Write a coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def drawing(
    body: Iterable[Markup], width: float, height: float, kind: str, label: str | None = None
) -> Markup:
    """Return a chart of the class `kind`; without a label screen readers do not hear of it."""
    role = (
        Markup('role="img" aria-label="{}"').format(label)
        if label
        else Markup('aria-hidden="true"')
    )
    # The small charts without text stretch with their box.
    fit = Markup(' preserveAspectRatio="none"') if kind in ("bar", "spark") else ""
    return Markup('<svg class="{}" viewBox="0 0 {} {}"{} {}>{}</svg>').format(
        kind, number(width), number(height), fit, role, Markup("").join(body)
    )


def shape(kind: str, d: str, title: str = "", at: tuple[float, float] = (0, 0)) -> Markup:
    """Return a path, moved to `at`; browsers show `title` on hovering."""
    move = Markup(' transform="translate({} {})"').format(*map(number, at)) if any(at) else ""
    name = Markup("<title>{}</title>").format(title) if title else ""
    return Markup('<path class="{}" d="{}"{}>{}</path>').format(kind, d, move, name)


def box(kind: str, x: float, y: float, width: float, height: float, radius: int = 0) -> Markup:
    """Return a rectangle."""
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="{}"/>').format(
        kind, *map(number, (x, y, width, height, radius))
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a straight line."""
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        kind, number(x1), number(y1), number(x2), number(y2)
    )


def label(x: float, y: float, text: str, anchor: Anchor = "middle", kind: str = "tick") -> Markup:
    """Return a line of text."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, number(x), number(y), anchor, text
    )
