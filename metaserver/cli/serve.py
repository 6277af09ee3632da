"""`metaserver serve`: the hub as a service, for weeks; a process that works lanes alone."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import msgspec
from aiohttp import web

from metaserver.base import files
from metaserver.base.errors import InputError, UnavailableError
from metaserver.base.states import ProcessRole
from metaserver.cli import configured, logs
from metaserver.cli.catalogue import OPERATIONS
from metaserver.cli.folder import hub_settings
from metaserver.cli.hub import open_hub, work
from metaserver.cli.process import prepare_process, run_to_end, say_ready
from metaserver.config import Settings
from metaserver.curation import pages as curation
from metaserver.exchange.http import tracing
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.credentials import Keyring
from metaserver.operations import first_organiser
from metaserver.operations.context import HubContext
from metaserver.phases.callbacks import CallbackDesk
from metaserver.phases.holder import Dealer, LaneHolder, LaneSource
from metaserver.phases.membership import FencedRecorder, HubMember
from metaserver.phases.work import PhaseWorks
from metaserver.publication import pages as publication
from metaserver.store.opening import wait_for
from metaserver.store.place import PostgresUrl
from metaserver.store.store import open_store
from metaserver.web.public.open_pages import health_app
from metaserver.web.server import require_free, serve_app
from metaserver.web.service import make_service_app

# -- a process that works lanes alone: `metaserver serve --role worker` ----------------------------


def dealt_by_queue(place: PostgresUrl, holder: LaneHolder) -> Dealer:
    """Return the dealer of lanes between a hub's processes."""
    from metaserver.phases.shared_dealing import SharedDealer
    from metaserver.store.postgres import connecting

    connect = connecting(place, "dealer", seconds=10.0)
    return SharedDealer(connect, holder.take_dealt, lambda: holder.spare, lambda: holder.blocked)


async def work_lanes(
    settings: Settings,
    dealt: Callable[[PostgresUrl, LaneHolder], Dealer] = dealt_by_queue,
    *,
    health: tuple[str, int] | None = None,
) -> None:
    """Work lanes that are dealt to this process, until cancelled; then release them at once.

    At the address `health`, a host and a port, monitors ask how it is.
    """
    place = settings.place()
    assert isinstance(place, PostgresUrl)
    async with (
        open_store(place, alone=False) as store,
        open_client(
            settings.http_limits(),
            settings.address_guard(),
            calls=files.current().calls,
            keyring=Keyring(settings.key_file()),
            ca_file=settings.ca_file(),
            callbacks=CallbackDesk(store, time.time),
        ) as client,
    ):
        member = HubMember(store, ProcessRole.WORKER)
        works = PhaseWorks(store, client, settings, FencedRecorder(store, member), clock=time.time)
        member.lacks, member.key = works.lacks, client.keyring.digest
        source = LaneSource(
            may_take=works.may_take,
            make=works.make,
            ended=works.ended,
            take_reports=works.take_reports,
        )
        holder = LaneHolder(store, source, member)
        holder.dealer = dealt(place, holder)

        def is_ready() -> bool:
            return not member.is_fenced and store.blocked is None

        try:
            async with AsyncExitStack() as stack:
                said = f"working as {member.id}"
                if health is not None:
                    host, port = health
                    served = msgspec.structs.replace(settings.web, host=host, port=port)
                    app = serve_app(health_app(is_ready), served)
                    said += f", its health at {await stack.enter_async_context(app)}"
                group = await stack.enter_async_context(asyncio.TaskGroup())
                group.create_task(member.run(), name="membership")
                group.create_task(works.locked.run(), name="key")
                group.create_task(holder.run(), name="lanes")
                say_ready(said)
        finally:
            with suppress(UnavailableError):
                await member.leave()


# -- `metaserver serve` ----------------------------------------------------------------------------

log = logging.getLogger(__name__)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings, role = hub_settings(args.config), ProcessRole(args.role)
    if role is not ProcessRole.ALL and isinstance(settings.place(), Path):
        raise InputError(
            "--role",
            "several processes need a store in PostgreSQL; expected `store: postgresql://...` in"
            " config.yaml, or `metaserver serve` alone",
        )
    if args.health and role is not ProcessRole.WORKER:
        raise InputError("--health", "is for --role worker; others answer at web.host and web.port")
    return run_to_end(_serve(settings, role, _read_health(args.health)))


def _read_health(address: str) -> tuple[str, int] | None:
    """Return the host and port in `HOST:PORT`; None for an empty text."""
    if not address:
        return None
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal() or not 0 <= int(port[:6]) < 2**16:
        raise InputError("--health", f"expected HOST:PORT such as 127.0.0.1:8021, got {address!r}")
    return host.strip("[]"), int(port)


async def _serve(settings: Settings, role: ProcessRole, health: tuple[str, int] | None) -> int:
    allowed = prepare_process()
    logs.configure(form=settings.logs.format, level=settings.logs.level)
    if shortage := allowed.shortage():
        log.warning("%s", shortage)
    if role is not ProcessRole.WORKER:
        await require_free(settings.web)
    await wait_for(settings.place())
    with tracing.exporting(version("biocreative-metaserver")):
        if role is ProcessRole.WORKER:
            await work_lanes(settings, health=health)
            return 0
        async with (
            open_service(settings, role=role) as hub,
            serve_app(service_app(hub), settings.web) as address,
        ):
            way_in = await _way_in(hub, address)
            say_ready(f"serving at {address}")
            if way_in:
                print(f"metaserver: {way_in}", file=sys.stderr, flush=True)
            await work(hub)
    return 0


def service_app(hub: HubContext) -> web.Application:
    """Return the application of a running service: all operations, and all pages."""
    return make_service_app(hub, OPERATIONS, (publication.PAGES, curation.PAGES))


async def _way_in(hub: HubContext, address: str) -> str:
    """Return how the first organiser signs in; empty if an organiser can already."""
    try:
        path = await first_organiser.make_link(hub)
    except UnavailableError as error:
        return f"no link for a first organiser could be made, if there is none yet: {error}"
    if path is None:
        return ""
    site = hub.settings.web.url or address
    for every_address in ("//0.0.0.0", "//[::]"):
        site = site.replace(every_address, "//localhost")
    said = "no organiser can sign in yet; this link signs the first in, once:"
    return f"{said} {site.rstrip('/')}{path}"


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    clock: Callable[[], float] = time.time,
    role: ProcessRole = ProcessRole.ALL,
) -> AsyncIterator[HubContext]:
    """Open a hub with all phases from its store and its settings; `work` drives it.

    Among several processes the leader applies the settings.
    """
    async with open_hub(settings, settings.address_guard(), clock=clock, role=role) as hub:
        await hub.phases.follower.begin()
        await hub.phases.scheduler.load()
        if hub.phases.member.is_alone or await hub.phases.leader.take():
            await configured.apply(hub)
        # who asks first must not be told that no phase is open
        await hub.phases.scheduler.advance_all()
        yield hub
