"""Health of the hub: whether it can store, how late its loop is, how full its disk is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from metaserver.operations import monitoring
from metaserver.operations.monitoring import HubDetail
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsoleContext

LATE = 0.5  # seconds: pages and lanes wait as long
SCARCE = 0.05  # of the disk


@dataclass(frozen=True, kw_only=True, slots=True)
class HubHealth:
    """State of the hub now, and how many event streams it serves."""

    hub: HubDetail
    streams: int

    @property
    def worries(self) -> Sequence[str]:
        """The problems that it has, in sentences."""
        worries, hub = [], self.hub
        if hub.blocked:
            effect = "answers wait, changes are refused"
            worries.append(f"Nothing can be stored: {hub.blocked}; {effect}.")
        if hub.lanes_behind:
            worries.append(f"It was started again: {hub.lanes_behind} lanes are catching up.")
        if hub.disk_free < SCARCE * hub.disk_size:
            worries.append(f"Little is left of its disk: {gigabytes(hub.disk_free)}.")
        if hub.lag > LATE:
            worries.append(f"It is overloaded: its loop comes back {hub.lag:.1f} s late.")
        if hub.stalls:
            times, longest = len(hub.stalls), max(stall.seconds for stall in hub.stalls)
            worries.append(
                f"It stood still {times} time{'s' * (times > 1)} in the last hour, for up to"
                f" {longest:.1f} s: what failed meanwhile is asked again, not charged."
            )
        return worries


def gigabytes(size: int) -> str:
    """Write a number of bytes: 12.3 GB."""
    return f"{size / 1e9:.1f} GB"


async def health(console: ConsoleContext, request: web.Request) -> HubHealth:
    """Ask how the hub is."""
    hub = await console.ask(request, monitoring.status, Nothing())
    return HubHealth(hub=hub, streams=console.broadcaster.streams)
