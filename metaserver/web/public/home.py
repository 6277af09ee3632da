"""The first page: challenges, their phases, and how to take part."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.operations.challenges import list_challenges
from metaserver.operations.context import HubContext
from metaserver.operations.table import Nothing, ask
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.boards import page, viewer_of
from metaserver.web.public.phases import PhaseSites
from metaserver.web.public.sites import may_know
from metaserver.web.ui.templates import Templates


@dataclass(frozen=True, kw_only=True)
class Home:
    """The handler, and what it draws with."""

    hub: HubContext
    sites: PhaseSites
    templates: Templates

    async def home(self, request: web.Request) -> web.Response:
        """Answer with the challenges and their phases."""
        caller, viewer = caller_of(request), viewer_of(request)
        challenges = await ask(self.hub, caller, list_challenges, Nothing())
        return page(
            self.templates.page(
                "home.html",
                challenges=challenges,
                summaries=[
                    summary for summary in self.sites.summaries() if may_know(summary, viewer)
                ],
                organiser=caller.organiser,
            )
        )
