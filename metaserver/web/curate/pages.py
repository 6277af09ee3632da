"""The addresses of the curators' pages."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.model.states import Role
from metaserver.web.access.roles import reserved
from metaserver.web.curate.asking import AskingPages
from metaserver.web.curate.desk import DeskPages
from metaserver.web.curate.sets import SetPages
from metaserver.web.ui.console import ConsoleContext


@dataclass(frozen=True, kw_only=True)
class CuratorPages:
    """The curators' pages of a service."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes: all of them are for curators, and for organisers."""
        console = self.console
        pages = (
            AskingPages(console=console),
            SetPages(console=console),
            DeskPages(console=console),
        )
        return reserved(Role.CURATOR, [route for page in pages for route in page.routes()])
