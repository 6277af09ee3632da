"""The team console: a team registers, tests, starts and watches its servers."""

from metaserver.web.team.pages import TeamConsole

__all__ = ["TeamConsole"]
