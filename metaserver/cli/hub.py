"""The composition root: a hub's parts, built and connected; `work` drives them.

`metaserver serve`, `run` and `demo` work the same hub. They differ in where its phases come from,
in who reads its pages, and in how long a server that is down is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from metaserver.cli.folder import STORE_FILE, make_folder
from metaserver.client.credentials import Keyring
from metaserver.client.guard import AddressGuard
from metaserver.client.http import open_client
from metaserver.config import Settings
from metaserver.conformance.runner import ConformanceRunner
from metaserver.curation.candidates import read_models
from metaserver.curation.desk import RequestDesk
from metaserver.curation.texts import GuardedArticles
from metaserver.files import descriptors
from metaserver.monitoring.metrics import Metrics, Sources
from metaserver.operations.context import HubContext
from metaserver.operations.curation_rules import ChallengeRules
from metaserver.operations.recent import RecentCounts
from metaserver.operations.sign_ups import OF_ORIGIN, ORIGIN_SECONDS
from metaserver.operations.uploads import READS, READS_SECONDS
from metaserver.phases.alerting import AlertSender
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.curves import ScoreCurves
from metaserver.phases.jobs import Jobs
from metaserver.phases.keeper import AggregateKeeper
from metaserver.phases.notifications import Notifier
from metaserver.phases.scheduler import Scheduler
from metaserver.phases.sign_up_mail import SignUpMailer
from metaserver.phases.state_log import ServerStateRecorder
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
) -> AsyncIterator[HubContext]:
    """Open a hub's store and build the rest, with no phase in memory yet.

    No `guard`: articles go to any address. For `patience` and `releases` see `Scheduler`.
    """
    folder = Path(settings.folder)
    make_folder(folder)
    async with (
        open_store(folder / STORE_FILE) as store,
        open_client(
            settings.http_limits(),
            guard,
            calls=descriptors.current().calls,
            keyring=Keyring(settings.key_file()),
            ca_file=settings.ca_file(),
        ) as client,
    ):
        scheduler = Scheduler(
            store, client, settings, clock=clock, patience=patience, releases=releases
        )
        metrics = Metrics(
            Sources(
                monitors=lambda: [one.boards.monitor() for one in scheduler.phases.values()],
                blocked=lambda: store.blocked,
                streams=open_streams,
                watchdog=client.watchdog,
            ),
            version("biocreative-metaserver"),
        )
        scheduler.listeners.append(metrics.publish)
        state_recorder = ServerStateRecorder(store, scheduler.phases.values, clock)
        rules = ChallengeRules(scheduler, settings, clock)
        desk = RequestDesk(store, client, rules, settings, clock)
        notifier = Notifier(store, client, settings.notices, clock)
        state_recorder.listeners.append(notifier.seen)
        hub = HubContext(
            store=store,
            client=client,
            settings=settings,
            scheduler=scheduler,
            state_recorder=state_recorder,
            archiver=BoardArchiver(store, scheduler, clock),
            keeper=AggregateKeeper(scheduler.phases.values),
            notifier=notifier,
            alerts=AlertSender(store, client, scheduler, settings, clock),
            metrics=metrics,
            conformance=ConformanceRunner(store, client),
            jobs=Jobs(clock),
            sign_up_mailer=SignUpMailer(store, settings, clock),
            sign_ups=RecentCounts(OF_ORIGIN, ORIGIN_SECONDS, clock),
            file_reads=RecentCounts(READS, READS_SECONDS, clock),
            curves=ScoreCurves(store),
            rules=rules,
            requests=desk,
            guarded=GuardedArticles(store, rules),
            models=read_models(settings.curation.models),
            clock=clock,
        )
        try:
            yield hub
        finally:
            await hub.jobs.close()
            await hub.conformance.close()


async def work(hub: HubContext, *, notices: bool = True) -> None:
    """Drive the phases, and keep the states of their servers, until cancelled.

    Without `notices` neither these nor alerts are sent: people give their addresses, so that they
    need the guard.
    """
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(hub.scheduler.run(), name="scheduler")
            group.create_task(hub.state_recorder.run(), name="states")
            group.create_task(hub.archiver.run(), name="archiver")
            group.create_task(hub.keeper.run(), name="keeper")
            group.create_task(hub.requests.run(), name="requests")
            if notices:
                group.create_task(hub.sign_up_mailer.run(), name="sign-ups")
                group.create_task(hub.notifier.run(), name="notices")
                group.create_task(hub.alerts.run(), name="alerts")
            group.create_task(hub.metrics.watch_loop(), name="loop lag")
    finally:
        await hub.jobs.close()
        await hub.conformance.close()  # who waits for a test would hold up the site
        await hub.keeper.close()
