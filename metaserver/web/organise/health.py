"""The hub itself, for organisers: its health, its processes, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from metaserver.operations import monitoring
from metaserver.operations.monitoring import HubDetail
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsoleContext, ConsolePages
from metaserver.web.ui.form_pages import number
from metaserver.web.ui.paging import Chosen

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
            worries.append(f"It was started again: {hub.lanes_behind} servers are catching up.")
        if hub.disk_free < SCARCE * hub.disk_size:
            worries.append(f"The disk is nearly full: {gigabytes(hub.disk_free)} are left.")
        if hub.lag > LATE:
            worries.append(f"It is overloaded: everything is {hub.lag:.1f} s late.")
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


PAGE = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFilter(Chosen):
    """The entries that are shown, as in the address."""

    actor: str = ""
    subject: str = ""
    before: str = ""


class HubPages(ConsolePages):
    """The handlers of the hub's processes and of the audit log."""

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/machines", self.machines),
            web.get("/organise/audit", self.audit),
        ]

    async def machines(self, request: web.Request) -> web.Response:
        """Answer with the processes that the store knows."""
        detail = await self.console.ask(request, monitoring.machines, Nothing())
        return self.console.answer("organise_machines.html", found=detail)

    async def audit(self, request: web.Request) -> web.Response:
        """Answer with the entries that the address filters; newest first, in pages."""
        query = request.query
        chosen = AuditFilter(
            actor=query.get("actor", "").strip(),
            subject=query.get("subject", "").strip(),
            before=query.get("before", "") if number(query.get("before", "")) else "",
        )
        chosen_values = {name: getattr(chosen, name) for name in chosen.__slots__}
        criteria = {name: value for name, value in chosen_values.items() if value}
        entries = await self.console.submit(
            request, monitoring.list_audit, {**criteria, "limit": PAGE + 1}
        )
        return self.console.answer(
            "organise_audit.html",
            chosen=chosen,
            entries=entries[:PAGE],
            older=str(entries[PAGE - 1].id) if len(entries) > PAGE else "",
            written=written,
        )


def written(detail: Mapping[str, Any]) -> str:
    """Write an entry's detail in a line."""
    return ", ".join(f"{name}: {_plain(value)}" for name, value in detail.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
