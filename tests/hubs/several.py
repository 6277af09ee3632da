"""Processes of a hub in several, each as on a machine of its own, in the test's own process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.states import ProcessRole
from metaserver.cli.hub import work
from metaserver.cli.serve import open_service
from tests import stores
from tests.hubs.inside import Running, settings


@asynccontextmanager
async def process(
    folder: Path,
    *,
    role: ProcessRole = ProcessRole.WEB,
    machine: str | None = None,
    **changes: Any,
) -> AsyncIterator[Running]:
    """Run a process of the hub that `folder` belongs to, on a new machine unless one is named."""
    url = stores.database_of(folder / "hub").secret
    place = folder / (machine or f"machine-{len(list(folder.glob('machine-*')))}")
    given = msgspec.structs.replace(await settings(folder, store=url, **changes), folder=str(place))
    place.mkdir(exist_ok=machine is not None)
    async with open_service(given, role=role) as hub:
        task = asyncio.create_task(work(hub))
        try:
            yield Running(hub)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def two(folder: Path, **changes: Any) -> AsyncIterator[tuple[Running, Running]]:
    """Run two processes with pages."""
    async with process(folder, **changes) as one, process(folder, **changes) as other:
        yield one, other
