"""A process that works lanes alone: `metaserver serve --role worker`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from metaserver.base import files
from metaserver.base.errors import UnavailableError
from metaserver.base.states import ProcessRole
from metaserver.cli.process import say_ready
from metaserver.config import Settings
from metaserver.exchange.http.client import open_client
from metaserver.exchange.http.credentials import Keyring
from metaserver.phases.callbacks import CallbackDesk
from metaserver.phases.dealing import Dealer
from metaserver.phases.holder import LaneHolder, LaneSource
from metaserver.phases.membership import FencedRecorder, HubMember
from metaserver.phases.works import PhaseWorks
from metaserver.store.place import PostgresUrl
from metaserver.store.store import open_store


def dealt_by_queue(place: PostgresUrl, holder: LaneHolder) -> Dealer:
    """Return the dealer of lanes between the processes of a hub."""
    from metaserver.phases.shared_dealing import SharedDealer
    from metaserver.store.postgres import connecting

    connect = connecting(place, "dealer", seconds=10.0)
    return SharedDealer(connect, holder.take_dealt, lambda: holder.spare)


async def work_lanes(
    settings: Settings, dealt: Callable[[PostgresUrl, LaneHolder], Dealer] = dealt_by_queue
) -> None:
    """Work lanes that are dealt to this process, until cancelled; then release them at once."""
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
        member.is_unfit = works.is_unfit
        source = LaneSource(
            may_take=works.may_take,
            make=works.make,
            ended=works.ended,
            take_reports=works.take_reports,
        )
        holder = LaneHolder(store, source, member)
        holder.dealer = dealt(place, holder)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(member.run(), name="membership")
                group.create_task(holder.run(), name="lanes")
                say_ready(f"working as {member.id}")
        finally:
            with suppress(UnavailableError):
                await member.leave()
