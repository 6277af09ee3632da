"""Everything that the hub holds as one archive: asked for, watched, fetched."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import hdrs, web

from metaserver.model.errors import Refusal, RefusedError, UnavailableError
from metaserver.model.states import JobState
from metaserver.operations.context import audit_log
from metaserver.phases.jobs import Job, Jobs
from metaserver.web.access.visitor import caller_of
from metaserver.web.organise.export_job import FOLDER, KIND, Exporting
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.live import LiveParts

PARTS = "organise_parts.html"


@dataclass(kw_only=True)
class ExportPages:
    """The handlers of the export; `last` is the job that began last."""

    console: ConsoleContext
    exporting: Exporting
    last: Job | None = None

    @classmethod
    def of(cls, console: ConsoleContext) -> ExportPages:
        """Return the pages of a service's export."""
        hub = console.hub
        folder = Path(hub.settings.folder) / FOLDER
        exporting = Exporting(hub.store.place, folder, hub.settings)
        return cls(console=console, exporting=exporting)

    @property
    def _jobs(self) -> Jobs:
        return self.console.hub.jobs

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/export", self.show),
            web.post("/organise/export", self.begin),
            web.get("/organise/export/archive", self.fetch),
        ]

    async def while_serving(self, _: web.Application) -> AsyncIterator[None]:
        """Keep archives for as long as an application serves."""
        self.exporting.clear()
        yield
        if self.last is not None and self.last.ended_at is None:
            self._jobs.cancel(self.last)
            await self.last.ended()
        self.exporting.clear()

    async def show(self, _: web.Request) -> web.Response:
        """Answer with how the export stands."""
        return self._show()

    def _show(self, refused: str = "", status: int = 200) -> web.Response:
        return self.console.answer(
            "organise_export.html",
            status=status,
            job=self.last,
            size=self._size(),
            now=time.time(),
            refused=refused,
        )

    def _size(self) -> int:
        return self.exporting.archive.stat().st_size if self._there() else 0

    def _there(self) -> bool:
        done = self.last is not None and self.last.state is JobState.DONE
        return done and self.exporting.archive.is_file()

    async def begin(self, request: web.Request) -> web.Response:
        """Begin an export, or join the one under way."""
        if self._jobs.at_work(KIND) is None:
            caller = caller_of(request)
            try:
                async with self.console.hub.store.writing() as connection:
                    await audit_log(connection, caller, "export", "hub")
                if self._jobs.at_work(KIND) is None:  # nobody else has begun one meanwhile
                    self.last = self._jobs.begin(KIND, "hub", caller.name, self.exporting.write)
            except UnavailableError as error:
                refused = f"Not begun, the hub can store nothing now: {error.reason}. Try again."
                return self._show(refused, Refusal.STATE)
            except RefusedError as error:
                return self._show(f"Not begun: {error.message}.", Refusal.STATE)
        raise web.HTTPSeeOther("/organise/export")

    async def fetch(self, _: web.Request) -> web.StreamResponse:
        """Answer with the archive."""
        if not self._there() or self.last is None or self.last.ended_at is None:
            raise web.HTTPNotFound(text="There is no archive: make one first.")
        made = f"{datetime.fromtimestamp(self.last.ended_at, UTC):%Y-%m-%d-%H%M}"
        return web.FileResponse(
            self.exporting.archive,
            headers={
                hdrs.CONTENT_TYPE: "application/zip",
                hdrs.CONTENT_DISPOSITION: f'attachment; filename="metaserver-{made}.zip"',
                hdrs.CACHE_CONTROL: "private, no-store",
            },
        )

    async def parts(self) -> LiveParts:
        """Return the live part of the page."""
        part = self.console.templates.part(PARTS, "export", self.last, self._size(), time.time())
        return LiveParts(html={"export": part})
