"""The site of a service inside, and browsers without scripts that visit it."""

import html
import io
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import FormData
from aiohttp.test_utils import TestClient, TestServer

from metaserver.cli.serve import service_app
from tests.hubs.inside import Running

Form = Mapping[str, Any]


@dataclass
class Page:
    """A received page."""

    status: int
    text: str
    path: str
    headers: Mapping[str, str]

    @property
    def said(self) -> str:
        """Its text without tags, white space collapsed."""
        main = self.text.partition("<main")[2]
        plain = html.unescape(re.sub(r"<[^>]+>", " ", f"<main{main}"))
        return " ".join(plain.split())

    @property
    def wrong(self) -> tuple[int, set[str]]:
        """Its status, and the fields that have an error beside them."""
        found = re.findall(r'id="[a-z]+-([^"]+)-error"', self.text)
        return self.status, set(found)

    @property
    def unseen(self) -> dict[str, str]:
        """What its forms send unseen."""
        found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', self.text)
        return {html.unescape(name): html.unescape(value) for name, value in found}

    @property
    def secret(self) -> str:
        """The token, key or link that it shows once."""
        [found] = re.findall(r'id="secret"[^>]*>([^<]+)', self.text)
        return str(found)


class Visitor:
    """A browser without scripts that is signed in."""

    def __init__(self, client: TestClient[Any, Any]) -> None:
        self.client = client
        self.csrf = ""

    async def sign_in(self, token: str, path: str = "/team") -> None:
        """Sign in, open a page, and remember the value that forms must carry."""
        data = {"token": token}
        async with self.client.post("/signin", data=data, allow_redirects=False) as response:
            assert response.status == 303, await response.text()
        page = await self.get(path)
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert found, page.text
        self.csrf = found[1]

    async def get(self, path: str) -> Page:
        """Open a page."""
        async with self.client.get(path, headers={"Accept": "text/html"}) as response:
            return await _page(response)

    async def post(self, path: str, form: Form | None = None, **fields: Any) -> Page:
        """Send a form, with the session's value unless it is None."""
        given = {"csrf": self.csrf} | dict(form or {}) | fields
        return await self._sent(
            path, {name: value for name, value in given.items() if value is not None}
        )

    async def send(self, path: str, files: Mapping[str, tuple[str, bytes]], **fields: str) -> Page:
        """Send a form with files: their name and content, by field."""
        form = FormData()
        for name, value in {"csrf": self.csrf, **fields}.items():
            form.add_field(name, value)
        for field, (name, content) in files.items():
            form.add_field(field, io.BytesIO(content), filename=name)
        return await self._sent(path, form)

    async def _sent(self, path: str, sent: Any) -> Page:
        async with self.client.post(path, data=sent, headers={"Accept": "text/html"}) as response:
            return await _page(response)


async def _page(response: Any) -> Page:
    text = await response.text(errors="replace")
    return Page(response.status, text, str(response.url.relative()), response.headers)


def site_of(running: Running, port: int | None = None) -> TestServer:
    """Return a server of the service's site, to enter; on a free port if none is given."""
    return TestServer(service_app(running.service), port=port)


def client_of(running: Running) -> TestClient[Any, Any]:
    """Return a client of the service's site, to enter: the site lasts as long as it does."""
    return TestClient(site_of(running))


@asynccontextmanager
async def visiting(running: Running) -> AsyncIterator[Visitor]:
    """Serve the console, for a browser that is not signed in yet."""
    async with client_of(running) as client:
        yield Visitor(client)


@asynccontextmanager
async def signed_in(running: Running, team: str = "") -> AsyncIterator[Visitor]:
    """Serve the console, for a browser of a team, or of an organiser."""
    async with visiting(running) as visitor:
        await visitor.sign_in(await (token_of(running, team) if team else organiser_token(running)))
        yield visitor


async def token_of(running: Running, team: str, role: str = "team") -> str:
    """Create a team's token."""
    issued = await running.do("tokens.create", team=team, role=role, label="browser")
    return str(issued.token)


async def organiser_token(running: Running) -> str:
    """Create an organiser's token."""
    issued = await running.do("tokens.create", role="organiser", label="ana")
    return str(issued.token)
