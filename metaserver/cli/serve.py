"""`metaserver serve`: the hub as a service, for weeks: phases, teams, three interfaces, pages."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from metaserver.cli import logs
from metaserver.cli.hub import open_hub, work
from metaserver.cli.process import prepare_process, run_to_end
from metaserver.client import tracing
from metaserver.config import Settings, read_settings
from metaserver.operations import configured
from metaserver.operations.context import HubContext
from metaserver.web.server import serve_app
from metaserver.web.service import make_service_app

log = logging.getLogger(__name__)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    return run_to_end(_serve(settings))


async def _serve(settings: Settings) -> int:
    allowed = prepare_process()
    logs.configure(form=settings.logs.format, level=settings.logs.level)
    if shortage := allowed.shortage():
        log.warning("%s", shortage)
    with tracing.exporting(version("biocreative-metaserver")):
        async with (
            open_service(settings) as hub,
            serve_app(make_service_app(hub), settings.web) as address,
        ):
            print(f"metaserver: serving at {address}", file=sys.stderr, flush=True)
            await work(hub)
    return 0


@asynccontextmanager
async def open_service(
    settings: Settings, *, clock: Callable[[], float] = time.time
) -> AsyncIterator[HubContext]:
    """Open a hub with all phases of its store and those of its settings; `work` drives it."""
    async with open_hub(settings, settings.address_guard(), clock=clock) as hub:
        await hub.scheduler.load()
        await configured.apply(hub)
        yield hub
