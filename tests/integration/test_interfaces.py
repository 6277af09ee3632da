"""The gate before the interfaces, and the pages about them, on a hub at work."""

from __future__ import annotations

import xmlrpc.client
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from metaserver.operations.catalogue import OPERATIONS
from tests.hubs.inside import at_work, settings
from tests.hubs.sites import site_of


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[str]:
    async with (
        at_work(await settings(tmp_path)) as running,
        site_of(running) as server,
    ):
        yield str(server.make_url("/")).rstrip("/")


@pytest.mark.parametrize("path", ["/api/", "/xmlrpc/", "/xmlrpc"])
async def test_the_pages_list_every_operation(hub: str, path: str) -> None:
    async with ClientSession() as client, client.get(f"{hub}{path}") as response:
        assert response.status == 200
        text = await response.text()
    assert not [one.rpc for one in OPERATIONS.values() if one.rpc not in text]


async def test_a_wrong_token_in_a_call_is_throttled(hub: str) -> None:
    """As in a header: a client that guesses has to wait, and gets a fault that says so."""
    codes = set()
    for _ in range(7):
        guesses = [{"methodName": "Tokens.whoami", "params": ["bcms_t" + "A" * 43]}] * 100
        body = xmlrpc.client.dumps((guesses,), "system.multicall").encode()
        async with (
            ClientSession() as client,
            client.post(f"{hub}/xmlrpc/", data=body) as response,
        ):
            answer = await response.read()
        try:
            (told,), _ = xmlrpc.client.loads(answer)
        except xmlrpc.client.Fault as fault:  # each guess counts: no more calls at all
            told = [{"faultCode": fault.faultCode}]
        codes |= {one["faultCode"] for one in told}
    assert codes == {401, 429}
