"""What programs of curators read: the event stream of a request, the files of a curation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
from aiohttp import hdrs, web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.curation.operations import curation_exports, requests
from metaserver.curation.operations.curation_exports import (
    CurationExport,
    ExportedFile,
    FinishedExport,
)
from metaserver.curation.operations.requests import RequestDetail, RequestQuery
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.table import ask
from metaserver.web.access.downloads import in_turn
from metaserver.web.access.event_streams import HEADERS, OpenStreams, while_held, write
from metaserver.web.access.roles import reserved
from metaserver.web.access.visitor import caller_of

BEAT_SECONDS = 15.0
"""Seconds without news after which a beat is sent, so that a lost hub is noticed."""
PAUSE_SECONDS = 0.2
"""Seconds between two events: what changes meanwhile is sent together."""

VERSION = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class RequestEvents:
    """The event streams of requests.

    An event `request` has a request as `Consensus.get` returns it, and its version as id, from
    which a stream goes on (`Last-Event-ID`); `done` is the last.
    """

    hub: HubContext
    _streams: OpenStreams = field(default_factory=OpenStreams)

    def mount(self, app: web.Application) -> None:
        """Add the streams to an application; they end when it stops."""
        routes = [web.get(r"/requests/{request:[0-9a-f]{16}}/events", self.stream)]
        app.add_routes(reserved(Role.CURATOR, routes))
        app.on_shutdown.append(self._close)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Answer with a request's stream."""
        caller, key = caller_of(request), request.match_info["request"]
        detail = await ask(self.hub, caller, requests.get, RequestQuery(request=key))
        last_id = request.headers.get("Last-Event-ID", "")
        since = int(last_id) if VERSION.fullmatch(last_id) else -1
        return await while_held(request, self._answer(request, caller, detail, since))

    async def _answer(
        self, request: web.Request, caller: Caller, detail: RequestDetail, since: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=HEADERS)
        feed = self._feed(request, response, caller, detail, since)
        return await self._streams.serve(request, response, feed)

    async def _feed(
        self,
        request: web.Request,
        response: web.StreamResponse,
        caller: Caller,
        detail: RequestDetail,
        since: int,
    ) -> None:
        await response.prepare(request)
        while True:
            if detail.version > since:
                since = detail.version
                await write(
                    response,
                    b"id: %d\nevent: request\ndata: %s\n\n" % (since, msgspec.json.encode(detail)),
                )
            else:
                await write(response, b"event: beat\ndata: 1\n\n")
            if detail.settled:
                await write(response, b"event: done\ndata: 1\n\n")
                return
            await asyncio.sleep(PAUSE_SECONDS)
            query = RequestQuery(request=detail.request, since=since, wait=BEAT_SECONDS)
            try:
                detail = await ask(self.hub, caller, requests.get, query)
            except RefusedError:
                return  # deleted, or its reader had its share of the hub: who asks again is told

    async def _close(self, _: web.Application) -> None:
        await self._streams.close()


@dataclass(frozen=True, kw_only=True)
class CurationFiles:
    """The files of curations: `/curations/ID/export?format=mitab`, `/curations/export`."""

    hub: HubContext

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the files; for curators alone."""
        path = r"/curations/{curation:[0-9a-f]{16}}/export"
        every = web.get("/curations/export", self.export_all)
        return reserved(Role.CURATOR, [web.get(path, self.export), every])

    async def export(self, request: web.Request) -> web.StreamResponse:
        """Answer with the file of one."""
        if request.query.keys() - {"format"} or len(request.query) > 1:
            raise RefusedError(Refusal.INVALID, "expected one parameter", field="format")
        query = CurationExport(
            curation=request.match_info["curation"], format=request.query.get("format", "json")
        )
        return await _sent(
            request, lambda: ask(self.hub, caller_of(request), curation_exports.export, query)
        )

    async def export_all(self, request: web.Request) -> web.StreamResponse:
        """Answer with the file of all that are submitted, or of those of a day."""
        given = dict(request.query)
        if given.keys() - {"format", "day"} or len(request.query) > len(given):
            raise RefusedError(Refusal.INVALID, "expected a format and a day", field="format")
        query = FinishedExport(format=given.get("format", "json"), day=given.get("day", ""))
        return await _sent(
            request, lambda: ask(self.hub, caller_of(request), curation_exports.export_all, query)
        )


async def _sent(
    request: web.Request, export: Callable[[], Awaitable[ExportedFile]]
) -> web.StreamResponse:
    async def make() -> web.Response:
        file = await export()
        headers = {
            hdrs.CONTENT_TYPE: file.media_type,
            hdrs.CONTENT_DISPOSITION: f'attachment; filename="{file.source}"',
            hdrs.CACHE_CONTROL: "private, no-store",
        }
        return web.Response(body=file.content, headers=headers)

    return await in_turn(request, make)
