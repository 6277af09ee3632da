"""Everything that the hub holds as one archive: asked for, watched, fetched."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import hdrs, web

from metaserver.errors import Refusal, UnavailableError
from metaserver.operations.service import noted
from metaserver.web.desk import Desk
from metaserver.web.organise.export_job import FOLDER, ExportJob
from metaserver.web.stream import Parts
from metaserver.web.visitor import caller_of

PARTS = "organise_parts.html"


@dataclass(frozen=True, kw_only=True)
class ExportPages:
    """The handlers of the export."""

    desk: Desk
    job: ExportJob

    @classmethod
    def of(cls, desk: Desk) -> ExportPages:
        """Return the pages of a service's export."""
        service = desk.service
        folder = Path(service.settings.folder) / FOLDER
        return cls(desk=desk, job=ExportJob(service.store.place, folder, service.settings))

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/export", self.show),
            web.post("/organise/export", self.begin),
            web.get("/organise/export/archive", self.fetch),
        ]

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep archives for as long as an application serves."""
        self.job.clear()
        yield
        await self.job.close()

    async def show(self, _: web.Request) -> web.Response:
        """Answer with how the export stands."""
        return self._show()

    def _show(self, refused: str = "", status: int = 200) -> web.Response:
        return self.desk.answer(
            "organise_export.html",
            status=status,
            job=self.job,
            now=time.time(),
            refused=refused,
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Begin an export, or join the one under way."""
        if not self.job.under_way:
            try:
                async with self.desk.service.store.writing() as connection:
                    await noted(connection, caller_of(request), "export", "hub")
            except UnavailableError as error:
                refused = f"Not begun, the hub can store nothing now: {error.reason}. Try again."
                return self._show(refused, Refusal.STATE)
            self.job.begin()
        raise web.HTTPSeeOther("/organise/export")

    async def fetch(self, _: web.Request) -> web.StreamResponse:
        """Answer with the archive."""
        path, ended_at = self.job.archive, self.job.ended_at
        if path is None or ended_at is None:
            raise web.HTTPNotFound(text="There is no archive: make one first.")
        made = f"{datetime.fromtimestamp(ended_at, UTC):%Y-%m-%d-%H%M}"
        return web.FileResponse(
            path,
            headers={
                hdrs.CONTENT_TYPE: "application/zip",
                hdrs.CONTENT_DISPOSITION: f'attachment; filename="metaserver-{made}.zip"',
                hdrs.CACHE_CONTROL: "private, no-store",
            },
        )

    async def parts(self) -> Parts:
        """Return the live part of the page."""
        part = self.desk.templates.part
        return Parts(html={"export": part(PARTS, "export", self.job, time.time())})
