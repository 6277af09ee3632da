"""Exports of curations as files, with their own media types and names."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import hdrs, web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation.operations import curation_exports
from metaserver.curation.operations.curation_exports import CurationExport
from metaserver.operations.context import HubContext
from metaserver.operations.table import ask
from metaserver.web.access.downloads import in_turn
from metaserver.web.access.roles import reserved
from metaserver.web.access.visitor import caller_of


@dataclass(frozen=True, kw_only=True)
class CurationFiles:
    """The curation files: `/curations/ID/export?format=mitab`."""

    hub: HubContext

    def routes(self) -> list[web.RouteDef]:
        """Return the route of the files; for curators alone."""
        path = r"/curations/{curation:[0-9a-f]{16}}/export"
        return reserved(Role.CURATOR, [web.get(path, self.export)])

    async def export(self, request: web.Request) -> web.StreamResponse:
        """Answer with a file."""
        if request.query.keys() - {"format"} or len(request.query) > 1:
            raise RefusedError(Refusal.INVALID, "expected one parameter", field="format")
        query = CurationExport(
            curation=request.match_info["curation"], format=request.query.get("format", "json")
        )

        async def make() -> web.Response:
            file = await ask(self.hub, caller_of(request), curation_exports.export, query)
            headers = {
                hdrs.CONTENT_TYPE: file.media_type,
                hdrs.CONTENT_DISPOSITION: f'attachment; filename="{file.source}"',
                hdrs.CACHE_CONTROL: "private, no-store",
            }
            return web.Response(body=file.content, headers=headers)

        return await in_turn(request, make)
