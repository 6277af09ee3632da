"""Health of the hub: alive, ready, and its metrics."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import hdrs, web

from metaserver.base.errors import Refusal, RefusedError
from metaserver.config import MetricsReaders
from metaserver.operations.context import HubContext
from metaserver.operations.monitoring import is_ready, metrics_for
from metaserver.web.access.addresses import read_address
from metaserver.web.access.visitor import VISITOR, caller_of

NO_STORE = {"Cache-Control": "no-store"}
FORWARDED = ("Forwarded", "X-Forwarded-For", "Via")


async def alive(_: web.Request) -> web.Response:
    """Answer: the hub does."""
    return web.json_response({"status": "ok"}, headers=NO_STORE)


@dataclass(frozen=True, kw_only=True)
class HealthPages:
    """The handlers."""

    hub: HubContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/healthz", alive),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.metrics),
        ]

    async def ready(self, _: web.Request) -> web.Response:
        """Answer whether the hub can do its work; status 503 while answers cannot be stored."""
        ready = is_ready(self.hub)
        status = {"status": "ready" if ready else "blocked"}
        return web.json_response(status, status=200 if ready else 503, headers=NO_STORE)

    async def metrics(self, request: web.Request) -> web.Response:
        """Answer with the metrics, to callers who may read them (`web.metrics`).

        A team's token gives its servers' metrics, a reader's those that name no server. The pages
        of a run know no tokens.
        """
        if not self._may_read(request):
            raise _refused(by_token=VISITOR in request)
        body, kind = await metrics_for(self.hub, caller_of(request))
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: kind} | NO_STORE)

    def _may_read(self, request: web.Request) -> bool:
        readers = self.hub.settings.web.metrics
        if caller_of(request).role is not None or readers is MetricsReaders.PUBLIC:
            return True
        if readers is MetricsReaders.HOLDERS or any(name in request.headers for name in FORWARDED):
            return False  # a proxy on this machine asks for others
        current = request.get(VISITOR)
        address = read_address(request.remote if current is None else current.origin.address)
        return address is not None and address.is_loopback


def _refused(*, by_token: bool) -> RefusedError:
    if by_token:
        return RefusedError(Refusal.TOKEN, "an API token is needed to read the metrics from here")
    return RefusedError(
        Refusal.NOT_YOURS, "the setting web.metrics does not let the metrics be read from here"
    )
