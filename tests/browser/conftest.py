"""A site in a thread of its own, and Debian's Chromium to visit it with."""

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from metaserver.base.usage import RunUsage
from tests.unit.metaserver.web.challenge import Challenge
from tests.unit.metaserver.web.site import make_app
from tests.waiting import PATIENCE

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
USING = ("Team 7 · S01", "Team 13 · S04", "Team 18 · S07")  # the last below the least coverage
MILLISECONDS = 1_000 * PATIENCE
expect.set_options(timeout=MILLISECONDS)


class Site:
    """The site of one `Challenge` on 127.0.0.1; it can be stopped and started on the same port."""

    def __init__(self, source: Challenge, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.source = source
        self.url = f"http://127.0.0.1:{port}"
        self._loop = loop
        self._port = port
        self._runner: web.AppRunner | None = None

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run `work` on the site's event loop and return its result."""
        done: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(timeout=PATIENCE)

    def start(self) -> None:
        self.do(self._start())

    async def _start(self) -> None:
        self._runner = web.AppRunner(make_app(self.source, interval=0.05))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

    def declare(self, runs: Sequence[str] = USING) -> None:
        """Have runs of INT declare what their answers took, each more than the one before."""
        took = {"articles": 61, "tokens_in": 4_000.0, "tokens_out": 250.0, "priced": 61}
        self.source.usages = {
            run: RunUsage(**took, cost=0.002 * 20**number, currency="USD")
            for number, run in enumerate(runs)
        }

    def stop(self) -> None:
        if self._runner:
            self.do(self._runner.cleanup())
            self._runner = None


@pytest.fixture
def make_site() -> Iterator[Callable[..., Site]]:
    """Start a site of a challenge with the given server names; ended after the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    sites: list[Site] = []

    def make(names: list[str] | None = None) -> Site:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        site = Site(Challenge(names=names), loop, port)
        sites.append(site)
        site.start()
        return site

    yield make
    for site in sites:
        site.stop()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    """Return a site with eleven servers."""
    return make_site()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium, or better its shell, which opens a profile in a fifth of the time.

    Skips if there is neither; with CI=true that is a failure.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium: apt-get install chromium")
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Visits:
    """A visitor that opens pages and records errors: console messages, failures, foreign calls."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []

    def open(self, address: str, **options: Any) -> Page:
        """Open a page in a fresh profile."""
        context = self._browser.new_context(**options)
        self._contexts.append(context)
        context.set_default_timeout(MILLISECONDS)
        page = self.again(context)
        origin = "/".join(address.split("/")[:3])
        page.on("request", lambda request: self._asked(origin, request.url))
        page.goto(address)
        return page

    def again(self, context: BrowserContext) -> Page:
        """Open another, empty page in the profile of one that is open."""
        page = context.new_page()
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def _asked(self, origin: str, url: str) -> None:
        if not url.startswith(f"{origin}/"):
            self.problems.append(f"request to {url}")

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visits(chromium: Browser) -> Iterator[Visits]:
    """Yield the pages of one test; it fails if one wrote to the console or left its origin."""
    visits = Visits(chromium)
    yield visits
    visits.close()
    assert visits.problems == []
