"""`metaserver serve`: the hub as a service, for weeks: phases, teams, three interfaces, pages."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from metaserver.cli import logs
from metaserver.cli.app import STORE_FILE, make_folder, prepare_process, run_to_end, serve_app
from metaserver.client import descriptors, tracing
from metaserver.client.http import open_client
from metaserver.config import Settings, read_settings
from metaserver.conformance.runner import ConformanceRunner
from metaserver.monitoring.metrics import Metrics, Sources
from metaserver.operations import configured
from metaserver.operations.context import HubContext
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.jobs import Jobs
from metaserver.phases.notifications import Notifier
from metaserver.phases.scheduler import Dispatcher
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.store.store import open_store
from metaserver.web.service import make_service_app
from metaserver.web.ui.live import open_streams

THREADS = 64

log = logging.getLogger(__name__)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    return run_to_end(_serve(settings))


async def _serve(settings: Settings) -> int:
    # Names are looked up in threads: a few that are never answered must not hold up the others.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "hub"))
    allowed = prepare_process()
    logs.configure(form=settings.logs.format, level=settings.logs.level)
    if shortage := allowed.shortage():
        log.warning("%s", shortage)
    with tracing.exporting(version("biocreative-metaserver")):
        async with open_service(settings) as service:
            app = make_service_app(service)
            web = settings.web
            async with serve_app(app, web.host, web.port, idle=web.idle_seconds) as address:
                print(f"metaserver: serving at {address}", file=sys.stderr, flush=True)
                await work(service)
    return 0


async def work(service: HubContext) -> None:
    """Drive the phases, and keep the states of their servers, until cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(service.dispatcher.run(), name="dispatcher")
            group.create_task(service.state_recorder.run(), name="states")
            group.create_task(service.archiver.run(), name="freezing")
            group.create_task(service.notifier.run(), name="notices")
            group.create_task(service.metrics.watch_loop(), name="loop lag")
    finally:
        await service.jobs.close()
        await service.conformance.close()  # who waits for a test would hold up the site


@asynccontextmanager
async def open_service(
    settings: Settings, *, clock: Callable[[], float] = time.time
) -> AsyncIterator[HubContext]:
    """Open the hub's store, bring its phases into memory, and build the rest; `work` drives it."""
    folder = Path(settings.folder)
    make_folder(folder)
    async with (
        open_store(folder / STORE_FILE) as store,
        open_client(
            settings.http_limits(),
            settings.address_guard(),
            calls=descriptors.current().calls,
        ) as client,
    ):
        dispatcher = Dispatcher(store, client, settings, clock=clock)
        await dispatcher.load()
        metrics = Metrics(
            Sources(
                monitors=lambda: [one.boards.monitor() for one in dispatcher.phases.values()],
                blocked=lambda: store.blocked,
                streams=open_streams,
                watchdog=client.watchdog,
            ),
            version("biocreative-metaserver"),
        )
        dispatcher.listeners.append(metrics.publish)
        conformance = ConformanceRunner(store, client)
        state_recorder = ServerStateRecorder(store, dispatcher.phases.values, clock)
        jobs = Jobs(clock)
        notifier = Notifier(store, client, settings.notices, clock)
        state_recorder.listeners.append(notifier.seen)
        try:
            service = HubContext(
                store=store,
                client=client,
                settings=settings,
                dispatcher=dispatcher,
                state_recorder=state_recorder,
                archiver=BoardArchiver(store, dispatcher, clock),
                notifier=notifier,
                metrics=metrics,
                conformance=conformance,
                jobs=jobs,
                clock=clock,
            )
            await configured.apply(service)
            yield service
        finally:
            await jobs.close()
            await conformance.close()
