"""The hub's processes, for organisers: which live, who leads, how many lanes each holds."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.operations import machines
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsoleContext


@dataclass(frozen=True, kw_only=True)
class MachinesPage:
    """The page's handler."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return its route."""
        return [web.get("/organise/machines", self.show)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the processes that the store knows."""
        detail = await self.console.ask(request, machines.machines, Nothing())
        return self.console.answer("organise_machines.html", found=detail)
