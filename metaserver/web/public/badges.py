"""A server's state as a small picture for other pages: word, shape and colour."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from metaserver.base.states import ServerState

GREEN, RED, AMBER, GREY, BLUE = "#11693a", "#b3211b", "#7a4a00", "#545d6b", "#2a5bd0"
LETTER = 6.8  # px, of the width of text

# The shapes of the pills in style.css, in a box of 8 by 8.
SHAPES: Mapping[ServerState, tuple[str, Markup]] = {
    ServerState.UP: (GREEN, Markup('<circle cx="4" cy="4" r="4"/>')),
    ServerState.SLOW: (AMBER, Markup('<path d="M4 0l4 8H0z"/>')),
    ServerState.DOWN: (RED, Markup('<path d="M0 0h8v8H0z"/>')),
    ServerState.PAUSED: (GREY, Markup('<path d="M0 0h3v8H0zM5 0h3v8H5z"/>')),
    ServerState.SUSPENDED: (GREY, Markup('<path d="M4 0l4 4-4 4-4-4z"/>')),
    ServerState.WAITING: (GREY, Markup('<path d="M4 0a4 4 0 1 0 .01 0zm0 2a2 2 0 1 1-.01 0z"/>')),
    ServerState.FINISHED: (BLUE, Markup('<path d="M0 4l1.5-1.5L3 4l3.5-3.5L8 2 3 7z"/>')),
}


def badge(name: str, state: ServerState) -> str:
    """Return the picture, SVG without style sheet or script."""
    colour, shape = SHAPES[state]
    left_width, right = 14 + LETTER * len(name), 28 + LETTER * len(state)
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="20" role="img"'
        ' aria-label="{name}: {state}"><title>{name}: {state}</title>'
        '<rect width="{width:.0f}" height="20" rx="4" fill="#2a3039"/>'
        '<path d="M{left:.0f} 0h{flat:.0f}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-{flat:.0f}z"'
        ' fill="{colour}"/>'
        '<g transform="translate({shape_at:.0f} 6)" fill="#fff">{shape}</g>'
        '<g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff">'
        '<text x="7" y="14" textLength="{name_width:.0f}">{name}</text>'
        '<text x="{state_at:.0f}" y="14" textLength="{state_width:.0f}">{state}</text></g></svg>'
    ).format(
        width=left_width + right,
        left=left_width,
        flat=right - 4,
        colour=colour,
        shape=shape,
        shape_at=left_width + 7,
        state_at=left_width + 21,
        name=name,
        state=state.value,
        name_width=LETTER * len(name),
        state_width=LETTER * len(state),
    )
