"""One client asks for expensive pages as fast as it can: its share of the loop stays small."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from metaserver.web.access import throttle
from metaserver.web.access.throttle import LOOP_BURST, LOOP_SHARE
from tests.integration.gated import Site, gated_site

EACH = 0.05  # seconds of processor time that a page takes
AT_ONCE = 4


def burn() -> None:
    """Keep the event loop busy."""
    end = time.thread_time() + EACH
    while time.thread_time() < end:
        pass


async def insist(site: Site, headers: dict[str, str], path: str, seconds: float) -> float:
    """Ask on some connections, never waiting; return the seconds from first to last.

    On a busy machine it asks for longer, until the first answers of the bound are used up.
    """
    begin = time.monotonic()

    async def ask(client: aiohttp.ClientSession) -> None:
        while time.monotonic() < begin + seconds or site.burnt * EACH < LOOP_BURST - EACH:
            with suppress(aiohttp.ClientError):
                async with client.get(path, headers=headers) as response:
                    await response.read()
                    if response.status == 429:
                        await asyncio.sleep(0.02)

    async with aiohttp.ClientSession(site.url) as client:
        await asyncio.gather(*(ask(client) for _ in range(AT_ONCE)))
    return time.monotonic() - begin


@pytest.mark.slow
@pytest.mark.one_store("it measures the event loop, and asks the store for a token alone")
@pytest.mark.parametrize("path", ["/burn", "/burn/events"])
@pytest.mark.parametrize("signed", [True, False])
async def test_a_client_takes_a_tenth_of_the_loop(tmp_path: Path, signed: bool, path: str) -> None:
    """The bound holds with and without a token, for short and for long requests."""
    async with gated_site(tmp_path, clock=time.monotonic, work=burn) as site:
        headers = {"Authorization": f"Bearer {await site.token()}"} if signed else {}
        lasted = await insist(site, headers, path, 20.0)
    allowed = LOOP_BURST + LOOP_SHARE * lasted + AT_ONCE * EACH
    assert LOOP_BURST - EACH <= site.burnt * EACH <= allowed


async def test_who_took_too_much_is_told_when_to_come_again(tmp_path, monkeypatch):
    """Others are answered, and so is the same client once it has waited."""
    monkeypatch.setattr(throttle, "LOOP_BURST", 10 * EACH)
    clock = [0.0]
    async with (
        gated_site(tmp_path, clock=lambda: clock[0], work=burn) as site,
        aiohttp.ClientSession(site.url) as client,
    ):
        statuses = []
        for _ in range(14):
            async with client.get("/burn") as response:
                statuses.append(response.status)
                wait = response.headers.get("Retry-After")
        assert (statuses[0], statuses[-1]) == (200, 429)
        assert wait is not None
        head = {"Authorization": f"Bearer {await site.token()}"}
        async with client.get("/burn", headers=head) as response:
            assert response.status == 200
        clock[0] += float(wait)
        async with client.get("/burn") as response:
            assert response.status == 200
