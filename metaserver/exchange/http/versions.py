"""Versions that servers report of themselves, until they are stored."""

from __future__ import annotations

from collections.abc import Mapping

from metaserver.base.records import ServerName


class ReportedVersions:
    """The newest reported version of each server that reported another one than before."""

    def __init__(self) -> None:
        self._known: dict[ServerName, str] = {}
        self._changed: dict[ServerName, str] = {}

    def report(self, name: ServerName, version: str) -> None:
        """Record the version that a server reports; an empty one says nothing."""
        if version and self._known.get(name) != version:
            self._known[name] = self._changed[name] = version

    def changed(self) -> Mapping[ServerName, str]:
        """Return the versions that were reported and not yet stored."""
        return dict(self._changed)

    def stored(self, versions: Mapping[ServerName, str]) -> None:
        """Forget what is stored now, but for what was reported meanwhile."""
        for name, version in versions.items():
            if self._changed.get(name) == version:
                del self._changed[name]
