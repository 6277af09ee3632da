"""The part of a hub that takes callbacks, with a real store, gate and socket, for BeCalm peers."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import (
    NO_ACCESS,
    Access,
    ArticleId,
    Attempt,
    AuthKind,
    Server,
    ServerName,
    TeamName,
)
from metaserver.config import WebSettings
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import ArticleCaller, PhaseArticles
from metaserver.exchange.http.client import HttpClient, HttpLimits, open_client
from metaserver.exchange.http.credentials import Keyring
from metaserver.exchange.wire.xmlrpc import escape_text
from metaserver.operations.callbacks import Callbacks
from metaserver.operations.sessions import Sessions
from metaserver.phases.callbacks import CallbackDesk
from metaserver.store import communications, servers, teams
from metaserver.store.store import Store, open_store
from metaserver.tasks.plugin import answered_tasks
from metaserver.web.access import auth
from metaserver.web.api.callbacks_api import CallbackApi, callback_errors
from metaserver.web.server import serve_app
from tests.fakes.becalm import BecalmPeer
from tests.hubs.stored import place_in
from tests.integration.callers import SECONDS, VOCABULARY

ACKNOWLEDGED = "SELECT article FROM communications WHERE acknowledged_at > 0"
TEXT = "𝛼 of TP53.\nIt interacts with BRCA1."
TASKS = ("ACT", "INT", "IPT", "NER")
KEY = "bccb_key-of-{}"


@dataclass(frozen=True, kw_only=True)
class CallingHub:
    """A hub that takes callbacks at `address`."""

    address: str
    store: Store
    client: HttpClient
    desk: CallbackDesk

    async def register(self, peer: BecalmPeer, name: str = "peer", **options: Any) -> Server:
        """Register a peer, and tell it where to call back, and with which key."""
        access = NO_ACCESS
        if peer.becalm_key:
            sealed = self.client.keyring.seal(peer.becalm_key)
            access = Access(auth=AuthKind.BODY, name="becalm_key", sealed=sealed)
        given = {"protocol": "becalm", "tasks": TASKS, "access": access, **options}
        server = Server(name=ServerName(name), url=peer.url, **given)
        async with self.store.writing() as connection:
            team = await teams.add(connection, TeamName(f"team-{name}"), "", "")
            server_id = await servers.add(connection, server, team)
            await communications.set_key(connection, server_id, KEY.format(name))
        peer.hub, peer.key = self.address, KEY.format(name)
        return server

    def caller(self, time_limit: float = SECONDS, scope: str = "") -> ArticleCaller:
        """Return a caller for a phase of one article, "a0"."""

        async def load(_positions: range) -> Sequence[str]:
            return [TEXT]

        articles = PhaseArticles(
            ids=[ArticleId("a0")], wire_bytes=[len(escape_text(TEXT))], texts=ArticleTexts(load)
        )
        tasks = list(answered_tasks().values())
        return ArticleCaller(
            self.client, articles, tasks, VOCABULARY, time_limit=time_limit, scope=scope
        )

    async def send(
        self, peer: BecalmPeer, *, time_limit: float = SECONDS, **options: Any
    ) -> tuple[Attempt, CheckedAnswer | None]:
        """Register a peer and send it the article."""
        server = await self.register(peer, **options)
        return await self.caller(time_limit).call(server, 0, 1)


@asynccontextmanager
async def calling_hub(
    folder: Path,
    *,
    limits: HttpLimits | None = None,
    clock: Callable[[], float] = time.time,
    settings: WebSettings | None = None,
) -> AsyncIterator[CallingHub]:
    """Open a hub on a store that is kept in a folder."""
    async with open_store(place_in(folder)) as store:
        desk = CallbackDesk(store, clock)
        async with open_client(limits, keyring=Keyring(), callbacks=desk) as client:
            web_settings = settings or WebSettings(port=0)
            app = web.Application(middlewares=[callback_errors])
            auth.setup(app, Sessions(store), web_settings)
            callbacks = Callbacks(store, client, desk)
            app.add_routes(CallbackApi(callbacks=callbacks).routes())
            async with serve_app(app, web_settings) as address:
                yield CallingHub(address=address, store=store, client=client, desk=desk)
