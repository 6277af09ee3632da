"""Exports: everything that the hub holds as one archive, asked for, watched, fetched."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

from metaserver.model.errors import Refusal, RefusedError, UnavailableError
from metaserver.operations import exports
from metaserver.operations.exports import ExportDetail, KeptExports, archive_of
from metaserver.operations.table import Nothing
from metaserver.web.access.downloads import stored_zip
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"


@dataclass(frozen=True, kw_only=True)
class ExportPages:
    """The handlers of the export."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/export", self.show),
            web.post("/organise/export", self.begin),
            web.get("/organise/export/archive", self.fetch),
        ]

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep archives for as long as an application serves."""
        async with KeptExports(self.console.hub):
            yield

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the state of the export."""
        return await self._show(request)

    async def _last(self, request: web.Request) -> ExportDetail:
        return await self.console.ask(request, exports.last_export, Nothing())

    async def _show(
        self, request: web.Request, refused: str = "", status: int = 200
    ) -> web.Response:
        return self.console.answer(
            "organise_export.html",
            status=status,
            last=await self._last(request),
            now=time.time(),
            refused=refused,
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin an export, or join the one under way."""
        try:
            await self.console.ask(request, exports.export, Nothing())
        except UnavailableError as error:
            refused = f"Not begun, the hub can store nothing now: {error.reason}. Try again."
            return await self._show(request, refused, Refusal.STATE)
        except RefusedError as error:
            return await self._show(request, f"Not begun: {error.message}.", Refusal.STATE)
        raise web.HTTPSeeOther("/organise/export")

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Answer with the archive."""
        archive = await archive_of(self.console.hub, caller_of(request))
        if archive is None:
            raise web.HTTPNotFound(text="There is no archive: make one first.")
        made = f"{datetime.fromtimestamp(archive.stat().st_mtime, UTC):%Y-%m-%d-%H%M}"
        return await stored_zip(request, archive, f"metaserver-{made}.zip")

    async def parts(self, request: web.Request) -> LiveParts:
        """Return the live part of the page."""
        last = await self._last(request)
        part = self.console.templates.part(PARTS, "export", last.job, last.size, time.time())
        return LiveParts(html={"export": part})
