"""The first page of a service: its challenges, their phases, and how to take part."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.operations.context import HubContext
from metaserver.store import phases
from metaserver.web.public.boards import page, reader_of
from metaserver.web.public.phases import PhaseSites
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class Home:
    """The handler, and what it draws with."""

    hub: HubContext
    sites: PhaseSites
    templates: Templates

    async def home(self, request: web.Request) -> web.Response:
        """Answer with the challenges and their phases."""
        async with self.hub.store.reading() as connection:
            challenges = await phases.list_challenges(connection)
        return page(
            self.templates.page(
                "home.html",
                challenges=challenges,
                heads=self.sites.heads(),
                organiser=reader_of(request).organiser,
            )
        )
