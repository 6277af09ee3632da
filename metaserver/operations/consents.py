"""Teams' consent: whether curators' requests are sent to a server."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OneServer
from metaserver.operations.servers import ServerDetail, detail
from metaserver.operations.table import operation
from metaserver.store import servers


class Consent(OneServer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server, and whether it serves curators."""

    serve: Annotated[bool, Meta(description="Whether curators' requests are sent to it")]


@operation("Servers.serveCurators", "PUT /servers/{server}/curators", Role.TEAM)
async def serve_curators(hub: HubContext, caller: Caller, request: Consent) -> ServerDetail:
    """Agree that curators' requests are sent to a server, or withdraw that at any time.

    Once it is withdrawn, requests under way to it are dropped; the answers that it gave stay.
    """
    registered = await hub.server_in_use(caller, request.server)
    async with hub.store.writing() as connection:
        await servers.serve_curators(connection, registered.id, request.serve)
        await audit_log(
            connection, caller, "servers.serve-curators", request.server, serve=request.serve
        )
    if not request.serve:
        for hook in hub.servers.withdrawn:
            hook(registered.server.name)
    return detail(hub, await hub.server(caller, request.server))
