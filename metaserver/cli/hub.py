"""The composition root: a hub's parts, built and connected; `work` drives them.

`metaserver serve`, `run` and `demo` work the same hub. They differ in where its phases come from,
in who reads its pages, and in how long a server that is down is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from metaserver.base import files
from metaserver.base.errors import UnavailableError
from metaserver.base.states import ProcessRole
from metaserver.boards.metrics import HubProcesses, Metrics, Sources
from metaserver.cli.folder import make_folder
from metaserver.config import Settings
from metaserver.curation.parts import CurationParts, add_curation
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.credentials import Keyring
from metaserver.exchange.http.guard import AddressGuard
from metaserver.operations.context import HubContext, JobParts, NoticeParts, PhaseParts, ServerParts
from metaserver.operations.sign_ins import SignInCounts
from metaserver.operations.sign_ups import SignUpCounts
from metaserver.operations.uploads import FileReads
from metaserver.phases.alerting import AlertSender
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.callbacks import CallbackDesk
from metaserver.phases.conformance import ConformanceRunner
from metaserver.phases.curves import ScoreCurves
from metaserver.phases.job_board import JobBoard
from metaserver.phases.jobs import Jobs
from metaserver.phases.keeper import AggregateKeeper
from metaserver.phases.mail import MailServer, SignUpMailer
from metaserver.phases.membership import HubMember, Leader
from metaserver.phases.notifications import Notifier
from metaserver.phases.refresh import StoreFollower
from metaserver.phases.scheduler import Scheduler
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.publication.operations.data_packages import add_publication
from metaserver.store.place import PostgresUrl
from metaserver.store.store import open_store
from metaserver.uniprot import Release
from metaserver.web.ui.live import open_streams


@asynccontextmanager
async def open_hub(
    settings: Settings,
    guard: AddressGuard | None,
    *,
    clock: Callable[[], float] = time.time,
    patience: float | None = None,
    releases: Mapping[str, Release] = MappingProxyType({}),
    role: ProcessRole = ProcessRole.ALL,
) -> AsyncIterator[HubContext]:
    """Open a hub's store and build the rest, with no phase in memory yet.

    A process of role `WEB` shares the store with others. No `guard`: articles go to any address.
    For `patience` and `releases` see `Scheduler`.
    """
    folder = Path(settings.folder)
    make_folder(folder)
    async with (
        open_store(settings.place(), alone=role is ProcessRole.ALL) as store,
        open_client(
            settings.http_limits(),
            guard,
            calls=files.current().calls,
            keyring=Keyring(settings.key_file()),
            ca_file=settings.ca_file(),
            callbacks=(callbacks := CallbackDesk(store, clock)),
        ) as client,
    ):
        member = HubMember(store, role)
        leader = Leader(store, member)
        led = store.fenced(leader.require)
        scheduler = Scheduler(
            store, client, settings, member, clock=clock, patience=patience, releases=releases
        )
        member.lacks, member.key = scheduler.locked.reason, client.keyring.digest
        follower = StoreFollower(store, scheduler)
        metrics = Metrics(
            Sources(
                monitors=lambda: [
                    running.boards.monitor() for running in scheduler.phases.values()
                ],
                blocked=lambda: store.blocked,
                streams=open_streams,
                watchdog=client.watchdog,
                members=lambda: HubProcesses(
                    workers=member.workers,
                    webs=member.webs,
                    blocked=int(bool(store.blocked)) if member.is_alone else member.blocked,
                    unheld=member.unheld,
                    follower_lag=0.0 if member.is_alone else follower.lag,
                    since_renewal=member.seconds_since_renewal,
                    leads=leader.leads,
                    clock_offset=leader.clock_offset,
                    takeovers=member.totals.taken_over,
                    turns=member.totals.turns,
                    refused=member.totals.refused,
                    missed=member.totals.missed,
                ),
            ),
            version("biocreative-metaserver"),
        )
        scheduler.listeners.append(metrics.attempt)
        state_recorder = ServerStateRecorder(
            led, scheduler.phases.values, clock, alone=member.is_alone
        )
        jobs = Jobs(clock)
        mail = MailServer(settings.notices)
        notifier = Notifier(led, client, settings.notices, mail, clock)
        state_recorder.listeners.append(notifier.seen)
        hub = HubContext(
            store=store,
            settings=settings,
            clock=clock,
            phases=PhaseParts(scheduler=scheduler, member=member, leader=leader, follower=follower),
            servers=ServerParts(
                client=client, callbacks=callbacks, conformance=ConformanceRunner(store, client)
            ),
            jobs=JobParts(own=jobs, board=JobBoard(store, jobs, member, clock)),
            notices=NoticeParts(
                notifier=notifier,
                alerts=AlertSender(led, client, scheduler, settings, mail, clock),
                sign_ups=SignUpMailer(led, settings, mail, clock),
            ),
        )
        for part in (
            metrics,
            state_recorder,
            BoardArchiver(led, scheduler, clock),
            AggregateKeeper(scheduler.phases.values, writes=lambda: leader.leads),
            ScoreCurves(store),
            SignUpCounts(clock),
            SignInCounts(clock),
            FileReads(clock),
        ):
            hub.add(part)
        await add_curation(hub)
        add_publication(hub)
        try:
            yield hub
        finally:
            await hub.jobs.own.close()
            await hub.servers.conformance.close()


async def work(hub: HubContext, *, notices: bool = True) -> None:
    """Drive the phases, and keep the states of their servers, until cancelled.

    Without `notices` neither these nor alerts are sent: people give their addresses, so that they
    need the guard.
    """
    hub.servers.client.watchdog.begin_again()  # a start is no stall: nothing was requested yet
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(hub.phases.scheduler.run(), name="scheduler")
            group.create_task(hub.phases.member.run(), name="membership")
            group.create_task(hub.phases.leader.run(lambda: _lead(hub, notices)), name="leader")
            if not hub.phases.member.is_alone:
                group.create_task(hub.phases.follower.run(), name="follower")
                group.create_task(hub.jobs.board.run(), name="job board")
            elif isinstance(hub.store.place, PostgresUrl):
                group.create_task(hub.phases.follower.reload_after_failures(), name="follower")
            group.create_task(hub.part(AggregateKeeper).run(), name="keeper")
            group.create_task(hub.part(CurationParts).requests.run(), name="requests")
            group.create_task(hub.part(Metrics).watch_loop(), name="loop lag")
    finally:
        await hub.jobs.own.close()
        await hub.servers.conformance.close()  # who waits for a test would hold up the site
        await hub.part(AggregateKeeper).close()
        with suppress(UnavailableError):
            await hub.jobs.board.flush()
        with suppress(UnavailableError):
            await hub.phases.leader.resign()
            await hub.phases.member.leave()


async def _lead(hub: HubContext, notices: bool) -> None:
    """Do what a single process does for all."""
    hub.phases.scheduler.lead()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(hub.part(ServerStateRecorder).run(), name="states")
            group.create_task(hub.part(BoardArchiver).run(), name="archiver")
            if notices:
                group.create_task(hub.notices.sign_ups.run(), name="sign-ups")
                group.create_task(hub.notices.notifier.run(), name="notices")
                group.create_task(hub.notices.alerts.run(), name="alerts")
    finally:
        hub.phases.scheduler.follow()
