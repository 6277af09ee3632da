"""What of a phase's monitor is for everybody: names, states and outcomes, but no messages.

Messages may quote answers and addresses: only a server's team and organisers see them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metaserver.model.records import ServerName
from metaserver.model.states import ServerState
from metaserver.model.viewer import Viewer
from metaserver.monitoring.snapshots import ErrorEntry, Monitor, ServerStatus

TOLD = frozenset({ServerState.WAITING, ServerState.UP, ServerState.SLOW, ServerState.FINISHED})
"""States whose notes are the hub's own words; others quote errors, or what a team was told."""


class PublicMonitor:
    """Leaves out of a monitor what a reader may not see; `team` tells whose a server is."""

    def __init__(self, team: Callable[[ServerName], str]) -> None:
        self._team = team
        self._public: dict[ServerName, tuple[ServerStatus, ServerStatus]] = {}

    def __call__(self, monitor: Monitor, reader: Viewer) -> Monitor:
        """Return the monitor as the reader may see it."""
        if reader.organiser:
            return monitor

        def own(server: ServerName) -> bool:
            return bool(reader.team) and self._team(server) == reader.team

        return replace(
            monitor,
            servers=[
                status if own(status.name) else self._status(status) for status in monitor.servers
            ],
            errors=[
                error if own(error.server) else _without_message(error) for error in monitor.errors
            ],
            blocked="its store does not take them" if monitor.blocked else "",
        )

    def _status(self, status: ServerStatus) -> ServerStatus:
        """Return a row for everybody; the same one while nothing has changed."""
        known = self._public.get(status.name)
        if known is None or known[0] is not status:
            note = status.note if status.state in TOLD else ""
            public = replace(status, note=note, address="")
            known = self._public[status.name] = (status, public)
        return known[1]


def _without_message(error: ErrorEntry) -> ErrorEntry:
    return replace(error, message="")
