"""Servers' callbacks: the key that a server calls with, and the answers that it sends.

Only making the key is an operation. The key identifies the caller, as tokens identify people.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from metaserver.base.communications import Callback, CallingServer, Communication
from metaserver.base.errors import CallbackError, CallbackFault, PeerError, Refusal, RefusedError
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome, Role
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.protocols.becalm import BECALM, check_callback
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.exchange.wire.values import Limits
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import OneServer
from metaserver.operations.table import operation
from metaserver.phases.callbacks import CallbackDesk
from metaserver.store import communications, servers
from metaserver.store.store import Store

PREFIX = "bccb_"
"""How callback keys begin, which are not tokens."""
PATH = "/becalm/saveAnnotations/{format}"
DOCUMENTS = "/becalm/documents/{article:.+}"
MOST_FETCHED = 100
"""Articles that a server may fetch by one request."""
SERVICE = "/{service:abstractserver|patentserver}/{format:json|tsv}"
NO_ADDRESS = (
    "the hub does not know its own address: this is the one that you came by; if your server"
    " reaches it by another, the organiser sets web.url"
)


class CallbackKey(msgspec.Struct, frozen=True, kw_only=True):
    """A new key for a server's callbacks, which cannot be shown again.

    `address` is where the server posts its answers: FORMAT is JSON, TSV or BIOC, and ID the
    request's communication id. If the hub does not know its own address, it begins with the address
    that the request came by, as `note` says.
    """

    server: str
    key: str
    address: str
    note: str


@operation("Servers.callbackKey", "POST /servers/{server}/callback-key", Role.TEAM)
async def callback_key(hub: HubContext, caller: Caller, request: OneServer) -> CallbackKey:
    """Make the key that a server calls the hub back with; the previous key is void at once.

    It is shown only once: only its digest is stored. It opens nothing else.
    """
    registered = await hub.server_in_use(caller, request.server)
    protocol = installed_protocols().get(registered.server.protocol)
    if protocol is None or not protocol.calls_back:
        message = f"servers of protocol {registered.server.protocol} do not call the hub back"
        raise RefusedError(Refusal.STATE, message, field="server")
    key = PREFIX + secrets.token_urlsafe(32)
    async with hub.store.writing() as connection:
        await communications.set_key(connection, registered.id, key)
        await audit_log(connection, caller, "servers.callback-key", request.server)
    path = PATH.format(format="FORMAT")
    return CallbackKey(
        server=request.server,
        key=key,
        address=f"{hub.address_for(caller)}{path}?apikey={key}&communicationId=ID",
        note="" if hub.settings.web.url else NO_ADDRESS,
    )


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks that a hub takes; `desk` has the communications that wait for them."""

    store: Store
    client: HttpClient
    desk: CallbackDesk

    @classmethod
    def of(cls, hub: HubContext) -> Callbacks:
        """Return a hub's callbacks."""
        return cls(hub.store, hub.servers.client, hub.servers.callbacks)

    def limits(self, communication: Communication) -> Limits:
        """Return a callback's limits: its phase's, or the hub's if nobody waits."""
        return self.desk.limits(communication) or self.client.limits.answer

    async def document(self, server: CallingServer, id_: int, article: str) -> bytes:
        """Return the article of a server's open communication; raises `CallbackError`."""
        communication = await self.desk.find(server, id_)
        if communication.about.article != article:
            raise CallbackError(CallbackFault.NO_DOCUMENT, "that is no document of this request")
        return await self.desk.document(communication)

    async def documents(self, server: CallingServer, articles: Collection[str]) -> Sequence[bytes]:
        """Return those of the articles that a server may fetch now, in their order.

        Raises `PeerError` for too many.
        """
        if len(articles) > MOST_FETCHED:
            message = f"expected at most {MOST_FETCHED} ids, got {len(articles):,}"
            raise PeerError(Outcome.TOO_LARGE, message)
        return await self.desk.documents(server, articles)

    async def checker(
        self, server: CallingServer, communication: Communication
    ) -> Callable[[Callback], Callback]:
        """Return the check of a callback's content, which raises `PeerError`.

        It returns the callback as it may be stored: without the secrets that the server is sent.
        Its time grows with the callback.
        """
        async with self.store.reading() as connection:
            registered = await servers.get(connection, ServerName(server.name))
        if registered is None or registered.server.protocol != BECALM.name:
            raise CallbackError(CallbackFault.UNKNOWN, "the server speaks another protocol now")
        limits = self.limits(communication)
        article = communication.about.article

        def check(callback: Callback) -> Callback:
            check_callback(callback, article, registered.server, limits)
            with suppress(PeerError):  # it is sent nothing now, or reads otherwise without them
                body = self.client.target(registered.server).hidden(callback.body)
                if body != callback.body:
                    read_callback = Callback(format=callback.format, body=body)
                    check_callback(read_callback, article, registered.server, limits)
                    return read_callback
            return callback

        return check
