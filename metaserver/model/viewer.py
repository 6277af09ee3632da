"""Who looks: what a page or an operation may show depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """For whom a board is: a team, an organiser, or (the default) anybody."""

    team: str = ""
    organiser: bool = False


ANYBODY = Viewer()
