"""The pieces that charts are drawn with.

Colours, dashes and fonts come from the style sheet by class: the strict Content-Security-Policy
allows no inline style.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from markupsafe import Markup

Anchor = Literal["start", "middle", "end"]
"""The part of a text that stands at its place."""


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


LONGEST = 18
"""The characters of a name that are drawn; its mark's title has all of it."""
PLACES: Sequence[tuple[Anchor, float, float]] = (
    ("start", 10, 4), ("end", -10, 4), ("start", 10, 16), ("end", -10, 16),
    ("start", 10, -8), ("end", -10, -8), ("middle", 0, 20), ("middle", 0, -12),
)  # fmt: skip
"""Places of a name from its point, as a text is anchored: beside it, then below and above."""
ROWS = 3
"""The rows of labels above a histogram."""


class Area(NamedTuple):
    """A rectangle, in units of the chart."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        """Return whether the two overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, frame: Area) -> bool:
        """Return whether a frame holds all of it."""
        return (
            self.left >= frame.left
            and self.top >= frame.top
            and self.right <= frame.right
            and self.bottom <= frame.bottom
        )


class Label(NamedTuple):
    """A label: its text, where it is anchored, and its box."""

    text: str
    x: float
    y: float
    anchor: Anchor
    box: Area


def name_label(name: str, x: float, y: float, areas: Sequence[Area], frame: Area) -> Label | None:
    """Return a label beside the mark at a point, or above or below it; None without space."""
    text = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    wide = sum(9.5 if character.isupper() or character in "mw…" else 7.0 for character in text)
    for anchor, dx, dy in PLACES:
        at = x + dx
        left_edge = {"start": at, "middle": at - wide / 2, "end": at - wide}[anchor]
        box = Area(left_edge, y + dy - 10, left_edge + wide, y + dy + 2)
        if box.within(frame) and not any(box.meets(area) for area in areas):
            return Label(text, at, y + dy, anchor, box)
    return None


class Flag(NamedTuple):
    """A labelled vertical line: the line is below the label's top."""

    line: Area
    label: Label | None


def flags(lines: Iterable[tuple[str, float]], width: float, floor: float) -> Sequence[Flag]:
    """Place the labels of vertical lines in rows above a chart; labels without space are left out.

    Placing begins at the right or at the left, whichever leaves out fewer. `lines` are (text, x);
    the frame goes from 0 to `width`.
    """
    rising = sorted(lines, key=lambda line: line[1])
    both_ways = (_placed(order, width, floor) for order in (rising[::-1], rising))
    return max(both_ways, key=lambda flags: sum(flag.label is not None for flag in flags))


def _placed(lines: Sequence[tuple[str, float]], width: float, floor: float) -> Sequence[Flag]:
    placed: list[Flag] = []
    without = [line for line in lines if not _place(line, placed, width, floor)]
    return [*placed, *(Flag(Area(x, 2 + 14 * ROWS, x, floor), None) for _, x in without)]


def _place(line: tuple[str, float], placed: list[Flag], width: float, floor: float) -> bool:
    text, x = line
    wide = 8.5 * len(text) + 6
    for row in range(ROWS):
        top = 2 + 14 * row
        mine = Area(x, top, x, floor)
        for anchor, left_edge, at in _sides(x, wide):
            box = Area(left_edge, top, left_edge + wide, top + 13)
            free = box.left >= 0 and box.right <= width
            if free and not any(_crosses(box, mine, flag) for flag in placed):
                placed.append(Flag(mine, Label(text, at, top + 10, anchor, box)))
                return True
    return False


def _sides(x: float, wide: float) -> Iterable[tuple[Anchor, float, float]]:
    return (("start", x, x + 4), ("end", x - wide, x - 4))


def _crosses(box: Area, line: Area, flag: Flag) -> bool:
    """Return whether a label would meet another or its line, or a line would meet the other."""
    if box.meets(flag.line):
        return True
    return flag.label is not None and (box.meets(flag.label.box) or line.meets(flag.label.box))
