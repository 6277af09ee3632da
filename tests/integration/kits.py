"""Annotation servers of the team's kit, in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from annotators.server import Kit, application


@asynccontextmanager
async def served(kit: Kit) -> AsyncIterator[str]:
    """Serve a kit while the context lasts; yield its URL."""
    runner = web.AppRunner(
        application(kit), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()
