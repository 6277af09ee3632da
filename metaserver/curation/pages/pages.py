"""The addresses of the curators' pages."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.states import Role
from metaserver.curation.pages.asking import AskingPages
from metaserver.curation.pages.desk import DeskPages
from metaserver.curation.pages.sets import SetPages
from metaserver.web.access.roles import reserved
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
