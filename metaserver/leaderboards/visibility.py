"""Visibility of a phase's scores to a reader: nothing, its team's runs, or all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from metaserver.leaderboards.boards import Board, BoardRow, marked
from metaserver.leaderboards.frozen import FrozenBoard, FrozenRow, FrozenView
from metaserver.model.states import Visibility
from metaserver.model.viewer import Viewer

HIDDEN = "The scores of this phase are not shown yet. Its organisers see them."
SIGN_IN = "Each team sees the scores of its own runs: sign in with its token."


def why_hidden(visibility: Visibility, reader: Viewer) -> str:
    """Return why a reader may see no score, in full sentences; empty where it may see some."""
    if reader.organiser or visibility is Visibility.PUBLIC:
        return ""
    if visibility is Visibility.HIDDEN:
        return HIDDEN
    return "" if reader.team else SIGN_IN


def seen(board: Board, visibility: Visibility, reader: Viewer) -> Board:
    """Return the part of a board that the reader may see.

    A team that sees only its own runs sees them ranked among themselves, without intervals: those
    of ranks would reveal the results of others. Organisers alone see the gold's keyed digest.
    """
    if reader.organiser:
        return replace(board, signature=marked(board.signature, board.gold))
    board = replace(board, gold="")
    if hidden := why_hidden(visibility, reader):
        return replace(board, rows=(), hidden=hidden)
    if visibility is Visibility.PUBLIC:
        return board
    own = [row for row in board.rows if row.team == reader.team]
    places = _places([row.place for row in own])
    rows: Sequence[BoardRow] = [
        replace(row, place=place, interval=None) for row, place in zip(own, places, strict=True)
    ]
    return replace(board, rows=rows, resampling="")


def seen_frozen(frozen: FrozenBoard, visibility: Visibility, reader: Viewer) -> FrozenBoard | None:
    """Return the part of a frozen board that the reader may see, None where it may see nothing."""
    if why_hidden(visibility, reader):
        return None
    views = {name: _seen_view(view, visibility, reader) for name, view in frozen.views.items()}
    return msgspec.structs.replace(frozen, views=views)


def _seen_view(view: FrozenView, visibility: Visibility, reader: Viewer) -> FrozenView:
    if reader.organiser:
        return msgspec.structs.replace(view, signature=marked(view.signature, view.gold))
    view = msgspec.structs.replace(view, gold="")
    if visibility is Visibility.PUBLIC:
        return view
    return msgspec.structs.replace(view, rows=_own(view.rows, reader.team), resampling="")


def _own(rows: Sequence[FrozenRow], team: str) -> tuple[FrozenRow, ...]:
    own = [row for row in rows if row.team == team]
    places = _places([row.place for row in own])
    return tuple(
        msgspec.structs.replace(row, place=place, interval=None)
        for row, place in zip(own, places, strict=True)
    )


def _places(places: Sequence[int | None]) -> Sequence[int | None]:
    """Return rising places counted again from 1; equal ones stay equal, None stays None."""
    return [None if place is None else places.index(place) + 1 for place in places]
