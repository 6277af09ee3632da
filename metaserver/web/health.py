"""How the hub is, for those who watch over it: alive, ready, and its metrics."""

from __future__ import annotations

from aiohttp import web

NO_STORE = {"Cache-Control": "no-store"}


async def alive(_: web.Request) -> web.Response:
    """Tell that the hub answers."""
    return web.json_response({"status": "ok"}, headers=NO_STORE)
