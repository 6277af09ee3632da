"""The audit log: each change, its time and its author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from metaserver.operations import monitoring
from metaserver.web.ui.console import ConsoleContext
from metaserver.web.ui.form_pages import number

PAGE = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFilter:
    """The entries that are shown, as in the address."""

    actor: str = ""
    subject: str = ""
    before: str = ""

    def query(self, **changes: str) -> str:
        """Return the filter as a query, with some of it changed."""
        parameters = {name: getattr(self, name) for name in self.__slots__} | changes
        return urlencode({name: value for name, value in parameters.items() if value})


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """The handler of the audit log."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return its route."""
        return [web.get("/organise/audit", self.show)]

    async def show(self, request: web.Request) -> web.Response:
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
