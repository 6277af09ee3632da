"""Freshness of what is shown: a request sees what other processes of the hub have acknowledged."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from metaserver.operations.context import HubContext
from metaserver.web.access.auth import UNCOUNTED


def freshened(hub: HubContext) -> Middleware:
    """Return the middleware that takes in what was changed elsewhere before a request is served.

    It comes after the gate: who asks too much makes no process read the store.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(UNCOUNTED):
            await hub.reload_changes()
        return await handler(request)

    return middleware
