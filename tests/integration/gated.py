"""A small site behind the gate, on a real server with a real store."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession, CookieJar, web
from yarl import URL

from metaserver.base.records import TeamName
from metaserver.base.states import Role
from metaserver.config import WebSettings
from metaserver.operations.sessions import Sessions
from metaserver.store import teams, tokens
from metaserver.store.store import Store, open_store
from metaserver.web.access import auth
from metaserver.web.access.aside import aside
from metaserver.web.access.bodies import received, upload
from metaserver.web.access.form_bodies import SentFile
from metaserver.web.access.headers import add_headers, error_pages
from metaserver.web.access.posted import fields
from metaserver.web.access.roles import reserved
from metaserver.web.access.signin import SignIn
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.assets import Assets
from metaserver.web.ui.templates import Templates
from tests.hubs.stored import place_in
from tests.waiting import patience

LARGE = 32 * 2**20


@dataclass
class Site:
    """The site's address, and the work behind it."""

    port: int
    store: Store
    gate: auth.Gate
    runner: web.AppRunner
    entered: int = 0  # requests that the gate let in
    burnt: int = 0  # times that `work` was done

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        assert self.runner.server
        return len(self.runner.server.connections)

    async def token(
        self,
        role: Role = Role.TEAM,
        team: str = "blue",
        label: str = "x",
        *,
        challenge: str | None = None,
    ) -> str:
        """Create a token, and its team if it is new."""
        async with self.store.writing() as connection:
            team_id = None
            if role is Role.TEAM:
                known = await teams.get(connection, TeamName(team))
                team_id = known.id if known else await teams.add(connection, TeamName(team), "", "")
            return (
                await tokens.issue(connection, role, label, team_id=team_id, challenge=challenge)
            )[1]


@asynccontextmanager
async def gated_site(
    folder: Path,
    *,
    clock: Callable[[], float] = lambda: 0.0,
    work: Callable[[], None] = lambda: None,
    **settings: object,
) -> AsyncIterator[Site]:
    """Serve the site with these settings of `web`; its limits go by `clock`, which stands still.

    `work` is what `/burn` does on the event loop.
    """
    known = WebSettings(**settings)
    async with open_store(place_in(folder)) as store:
        assets = Assets.of()
        templates = Templates.of(assets)
        app = web.Application(middlewares=[error_pages(templates)])
        app.on_response_prepare.append(add_headers)
        gate = auth.setup(app, Sessions(store), known, clock=clock)
        runner = web.AppRunner(
            app,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=known.idle_seconds,
            shutdown_timeout=0.1,
        )
        site = Site(port=0, store=store, gate=gate, runner=runner)
        app.add_routes(SignIn(gate=gate, templates=templates).routes())
        app.add_routes(routes(site, templates))
        app.add_routes(busy_routes(site, work))
        app.router.add_get(f"{assets.prefix}/{{name}}", assets.serve)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            site.port = runner.addresses[0][1]
            yield site
        finally:
            await runner.cleanup()


def burn(seconds: float) -> None:
    """Work for a fixed processor time, whatever the load of the machine."""
    begun = time.thread_time()
    while time.thread_time() < begun + seconds:
        pass


def routes(site: Site, templates: Templates) -> list[web.RouteDef]:
    async def page(request: web.Request) -> web.Response:
        site.entered += 1
        caller_of(request).require_role(Role.TEAM if request.path == "/own" else None)
        text = templates.page("error.html", status=200, message="A page.", help="")
        return web.Response(text=text, content_type="text/html")

    async def send(request: web.Request) -> web.Response:
        site.entered += 1
        body = await received(request)
        return web.json_response({"by": caller_of(request).name, "bytes": len(body)})

    async def form(request: web.Request) -> web.Response:
        site.entered += 1
        sent = await fields(request, request.client_max_size)
        return web.json_response(
            {
                name: [len(value.content), value.source] if isinstance(value, SentFile) else value
                for name, value in sent.items()
            }
        )

    @upload
    async def bring(request: web.Request) -> web.Response:
        return await form(request)

    @upload
    async def take(request: web.Request) -> web.Response:
        return await send(request)

    async def large(_: web.Request) -> web.Response:
        return web.Response(body=bytes(LARGE))

    async def fail(_: web.Request) -> web.Response:
        raise RuntimeError("a reason for the log alone")

    async def work(request: web.Request) -> web.Response:
        await aside(request, True, burn, 0.21)
        return web.Response()

    async def events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await asyncio.sleep(60)  # nothing new: it learns late that its viewer has gone
        return response

    return [
        web.get("/", page),
        web.get("/own", page),
        web.get("/large", large),
        web.get("/fail", fail),
        web.get("/work", work),
        web.get("/events", events),
        web.get("/healthz", page),
        web.post("/send", form),
        web.post("/bring", bring),
        *reserved(Role.ORGANISER, [web.post("/organise", bring)]),
        web.get("/api/v1/me", send),
        web.post("/api/v1/send", send),
        web.post("/api/v1/upload", take),
    ]


def busy_routes(site: Site, work: Callable[[], None]) -> list[web.RouteDef]:
    async def burn(_: web.Request) -> web.Response:
        site.burnt += 1
        work()
        return web.Response(text="done")

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        site.burnt += 1
        work()
        await response.write(b"data: 1\n\n")
        return response

    return [web.get("/burn", burn), web.get("/burn/events", stream)]


class Browser:
    """A client that keeps cookies and sends what a browser's form would."""

    def __init__(self, client: ClientSession, site: Site) -> None:
        self.client = client
        self.site = site

    async def sign_in(self, secret: str, **fields: str) -> int:
        data = fields | {"token": secret, "next": "/own"}
        async with self.client.post("/signin", data=data, allow_redirects=False) as response:
            await response.read()
            return response.status

    async def get(self, path: str) -> tuple[int, str]:
        async with self.client.get(path, allow_redirects=False) as response:
            return response.status, await response.text()

    async def csrf(self) -> str:
        _, text = await self.get("/")
        found = re.search(r'name="csrf" value="([^"]+)"', text)
        assert found
        return found[1]

    def cookie(self) -> str | None:
        kept = self.client.cookie_jar.filter_cookies(URL(self.site.url)).get("session")
        return kept.value if kept else None


@asynccontextmanager
async def browser(site: Site) -> AsyncIterator[Browser]:
    """Give a browser, its cookies empty."""
    async with ClientSession(site.url, cookie_jar=CookieJar(unsafe=True)) as client:
        yield Browser(client, site)


async def raw(site: Site, *parts: bytes, pause: float = 0.0, end: bool = False) -> bytes:
    """Send bytes on a connection of their own; return all that comes until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        if end:
            writer.write_eof()
        async with patience():
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
