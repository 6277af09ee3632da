"""The viewer of a page or an operation's result, on whom its content depends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """The person a board is shown to: a team, an organiser, or (the default) anybody."""

    team: str = ""
    organiser: bool = False


ANYBODY = Viewer()
