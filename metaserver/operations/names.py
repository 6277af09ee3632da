"""The names of teams, servers and runs as a phase's viewers see them: anonymous until the freeze.

Every interface asks here, and only here, so that addresses, ids, orders and pictures have the
anonymous names too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from metaserver.base.boards import BoardRow
from metaserver.base.plans import TeamNames
from metaserver.base.records import ServerName, TeamName
from metaserver.base.viewer import Aliases, Viewer
from metaserver.phases.archiver import OVER
from metaserver.phases.runtime import RunningPhase


class SeenNames:
    """A phase's names, for its viewers; `aliases` are its own unless others are given."""

    def __init__(self, running: RunningPhase, aliases: Aliases | None = None) -> None:
        self._running = running
        self._aliases = aliases or running.aliases

    @property
    def hidden(self) -> bool:
        """True while a team's name is shown to itself and to organisers alone."""
        plan = self._running.phase.plan
        return plan.team_names is TeamNames.HIDDEN and self._running.state not in OVER

    def hidden_from(self, team: str | None, viewer: Viewer) -> bool:
        """Return whether a viewer is shown an anonymous name for a team, and for its runs."""
        return self.hidden and not viewer.owns(team)

    def team(self, team: TeamName | None, viewer: Viewer) -> str:
        """Return a team's name; empty for none."""
        if not team or not self.hidden_from(team, viewer):
            return team or ""
        owner = self._running.teams.get(team)
        return "" if owner is None else self._aliases.team(owner.id)

    def run(self, run: str, team: TeamName | None, viewer: Viewer) -> str:
        """Return a run's or server's name."""
        if not self.hidden_from(team, viewer):
            return run
        return self._aliases.run(self.team(team, viewer), run)

    def rows(self, rows: Sequence[BoardRow], viewer: Viewer) -> Sequence[BoardRow]:
        """Return a board's rows; ties are ordered by shown name."""
        if not self.hidden or viewer.organiser:
            return rows
        rows_seen = [self._row(row, viewer) for row in rows]
        return [
            row
            for _, equal in groupby(rows_seen, key=lambda row: (row.place, row.values))
            for row in sorted(equal, key=lambda row: row.run)
        ]

    def _row(self, row: BoardRow, viewer: Viewer) -> BoardRow:
        team = TeamName(row.team) if row.team else None
        if not self.hidden_from(team, viewer):
            return row
        return row.anonymous(self.run(row.run, team, viewer), self.team(team, viewer))

    def server(self, name_shown: str, viewer: Viewer) -> ServerName | None:
        """Return the server of the phase that is shown by this name; None for the viewer's eyes.

        A server's anonymous name leads to it after the freeze too.
        """
        server = self._running.servers.get(ServerName(name_shown))
        if server is not None:
            return None if self.hidden_from(server.team, viewer) else server.server.name
        if " " not in name_shown or self._running.phase.plan.team_names is not TeamNames.HIDDEN:
            return None
        aliases, teams = self._aliases, self._running.teams
        for name, registered in self._running.servers.items():
            team = teams.get(registered.team) if registered.team else None
            if aliases.run(aliases.team(team.id) if team else "", name) == name_shown:
                return name
        return None
