"""A page whose web process is lost: another process keeps it live, and no number jumps back."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.integration.fleet import TEAMS, Fleet, begin, fleet
from tests.waiting import PATIENCE, until_true

pytestmark = pytest.mark.nightly

WEBS = ("web-1", "web-2")
RECORD = """
    window.seen = [];
    const note = () => seen.push({
      at: performance.now(),
      state: document.getElementById("live-word").textContent,
      done: Number(/(\\d+) of/.exec(document.getElementById("queue").textContent)[1]),
    });
    note();
    new MutationObserver(note).observe(
      document.body, {childList: true, subtree: true, characterData: true});
"""


class Alternating:
    """A proxy that gives each connection to the next process, passing over those that are gone."""

    def __init__(self, hub: Fleet) -> None:
        self.url = ""
        self._hub = hub
        self._turns = itertools.cycle(WEBS)
        self.streams = ""  # the process that was asked for a stream last

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on."""
        for name in itertools.islice(self._turns, len(WEBS)):
            if (process := self._hub.processes.get(name)) is None:
                continue
            target = urlsplit(process.address)
            with suppress(ConnectionError):
                inner, outer = await asyncio.open_connection(target.hostname, target.port)
                await asyncio.gather(self._pump(reader, outer, name), self._pump(inner, writer))
                return
        writer.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, asked: str = ""
    ) -> None:
        with suppress(ConnectionError):
            while data := await source.read(2**16):
                if asked and b"/events" in data.partition(b"\r\n")[0]:
                    self.streams = asked
                sink.write(data)
                await sink.drain()
        sink.close()


@asynccontextmanager
async def behind_a_proxy(folder: Path) -> AsyncIterator[tuple[Fleet, Alternating]]:
    async with fleet(folder, 0.2, TEAMS[:2]) as hub:
        await hub.start(*WEBS, "worker-1")
        await begin(hub, "web-1")
        proxy = Alternating(hub)
        server = await asyncio.start_server(proxy.take, "127.0.0.1", 0)
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield hub, proxy
        server.close()


class Elsewhere:
    """An event loop in a thread: the browser's calls wait in the test's own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something there to its end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE)

    def end(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """Give a loop in a thread."""
    made = Elsewhere()
    yield made
    made.end()


def test_a_live_page_survives_the_loss_of_its_process(tmp_path, elsewhere, visits):
    context = behind_a_proxy(tmp_path)
    hub, proxy = elsewhere.do(context.__aenter__())
    try:
        page = visits.open(f"{proxy.url}/signin?next=/organise")
        page.get_by_label("Token").fill(hub.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{proxy.url}/organise")  # any of them knows who it is
        page.goto(f"{proxy.url}/c/bc/test/monitor")
        expect(page.locator("#live-word")).to_have_text("live")
        page.evaluate(RECORD)
        until_true(lambda: page.evaluate("seen.at(-1).done > seen[0].done"))
        before = page.evaluate("seen.length")
        elsewhere.do(hub.kill(proxy.streams))
        told = f"seen.slice({before}).some(one => one.state === 'lost')"
        until_true(lambda: page.evaluate(told))
        expect(page.locator("#live-word")).to_have_text("live")
        at = page.evaluate("seen.at(-1).done")
        until_true(lambda: page.evaluate(f"seen.at(-1).done > {at}"))
        seen = page.evaluate("seen")
        page.goto(f"{proxy.url}/organise")
        expect(page).to_have_url(f"{proxy.url}/organise")  # still signed in
        page.close()
    finally:
        elsewhere.do(context.__aexit__(None, None, None))
    gone = next(one["at"] for one in seen if one["state"] == "lost")
    back = next(one["at"] for one in seen if one["at"] > gone and one["state"] == "live")
    print(f"live again after {back - gone:.0f} ms")
    done = [one["done"] for one in seen]
    assert done == sorted(done)
    visits.problems = [told for told in visits.problems if "net::ERR_" not in told]
