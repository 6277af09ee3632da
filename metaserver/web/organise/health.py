"""How the hub itself is: whether it can store, how late its loop is, what is left of its disk."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from aiohttp import web

from metaserver.client.watchdog import Stall
from metaserver.monitoring.metrics import Metrics
from metaserver.operations.monitoring import HubDetail
from metaserver.web.ui.console import ConsoleContext

LAG = "metaserver_event_loop_lag_seconds"
LATE = 0.5  # seconds: pages and lanes wait as long
SCARCE = 0.05  # of the disk
RECENT = 3_600.0  # seconds for which a stall is shown


@dataclass(frozen=True, kw_only=True, slots=True)
class HubHealth:
    """How the hub is now; `lag` is in seconds, `free` and `size` (of its disk) in bytes.

    `stalls` are those of the last hour.
    """

    hub: HubDetail
    version: str
    lag: float
    free: int
    size: int
    streams: int
    stalls: Sequence[Stall]

    @property
    def worries(self) -> Sequence[str]:
        """What is wrong with it, in sentences."""
        found = []
        if self.hub.blocked:
            told = "answers wait, changes are refused"
            found.append(f"Nothing can be stored: {self.hub.blocked}; {told}.")
        if self.free < SCARCE * self.size:
            found.append(f"Little is left of its disk: {gigabytes(self.free)}.")
        if self.lag > LATE:
            found.append(f"It is overloaded: its loop comes back {self.lag:.1f} s late.")
        if self.stalls:
            times, longest = len(self.stalls), max(one.seconds for one in self.stalls)
            found.append(
                f"It stood still {times} time{'s' * (times > 1)} in the last hour, for up to"
                f" {longest:.1f} s: what failed meanwhile is asked again, not charged."
            )
        return found


def gigabytes(size: int) -> str:
    """Write a number of bytes: 12.3 GB."""
    return f"{size / 1e9:.1f} GB"


async def health(console: ConsoleContext, request: web.Request) -> HubHealth:
    """Ask how the hub is."""
    hub: HubDetail = await console.ask(request, "hub.status")
    disk = shutil.disk_usage(console.hub.settings.folder)
    return HubHealth(
        hub=hub,
        version=version("biocreative-metaserver"),
        lag=_lag(console.hub.metrics),
        free=disk.free,
        size=disk.total,
        streams=console.broadcaster.streams,
        stalls=[
            one
            for one in console.hub.client.watchdog.stalls
            if one.at > console.hub.clock() - RECENT
        ],
    )


def _lag(metrics: Metrics) -> float:
    """Return how late the event loop last was; of the metrics, this one alone is collected."""
    restricted = metrics.registry.restricted_registry([LAG])
    return max((one.value for metric in restricted.collect() for one in metric.samples), default=0)
