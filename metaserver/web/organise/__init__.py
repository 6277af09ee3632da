"""The organiser console: a challenge from its first corpus to its last board."""

from metaserver.web.organise.pages import OrganiserPages

__all__ = ["OrganiserPages"]
