"""Servers to start from, in eight languages: those of the starter kits (`annotators new`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from aiohttp import web

from annotators.starter import KITS, server_text
from metaserver.web.team.scope import scope_of
from metaserver.web.ui.console import ConsoleContext


@dataclass(frozen=True, kw_only=True)
class SnippetPages:
    """The handler of the page with the servers to start from."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return its route."""
        return [web.get("/team/snippets", self.show)]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the programs."""
        scope = await scope_of(self.console, request)
        return self.console.answer(
            "team_snippets.html", scope=scope, kits=KITS, server_text=_server_text
        )


_server_text = cache(server_text)
