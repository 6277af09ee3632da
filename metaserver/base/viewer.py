"""The viewer of a page or an operation's result, on whom its content depends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """The person a board is shown to: a team, an organiser, or (the default) anybody."""

    team: str = ""
    organiser: bool = False

    def owns(self, team: str | None) -> bool:
        """Return whether the viewer sees all that is this team's, as its member or an organiser."""
        return self.organiser or (bool(self.team) and self.team == team)


ANYBODY = Viewer()
