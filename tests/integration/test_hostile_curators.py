"""Who asks for expensive work in threads without pause: others have their share of the hub."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation import texts
from metaserver.curation.operations import requests
from metaserver.web.access import throttle
from metaserver.web.access.aside import PLACES
from metaserver.web.manual.pages import Search
from tests.event_streams import next_event
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import client_of
from tests.integration.curating import TEXT, asked_hub
from tests.integration.gated import burn

EACH = 0.1  # seconds of processor time that it takes to find candidates
BURST = 10 * EACH


async def heads_of(running: Running, *names: str) -> list[dict[str, str]]:
    """Return the headers of curators with tokens."""
    made = [await running.do("tokens.create", role="curator", label=name) for name in names]
    return [{"Authorization": f"Bearer {one.token}"} for one in made]


async def asked_by(client: Any, head: dict[str, str]) -> str:
    """Return a request of a curator that has been answered."""
    given = {"text": TEXT, "wait": 20}
    async with client.post("/api/v1/requests", json=given, headers=head) as response:
        return str((await response.json())["request"])


@pytest.mark.slow
async def test_a_curator_takes_a_share_of_the_threads_and_others_theirs(tmp_path, monkeypatch):
    find, found = requests.find, []

    def slow(*args: Any, **given: Any) -> Any:
        found.append(1)
        burn(EACH)
        return find(*args, **given)

    monkeypatch.setattr(throttle, "LOOP_SHARE", 1e-4)
    async with asked_hub(tmp_path, ["a"]) as (running, _servers):
        ana, bob = await heads_of(running, "ana", "bob")
        async with client_of(running) as client:
            keys = {head["Authorization"]: await asked_by(client, head) for head in (ana, bob)}
        monkeypatch.setattr(throttle, "LOOP_BURST", BURST)
        monkeypatch.setattr(requests, "find", slow)
        async with client_of(running) as client:

            async def get(head: dict[str, str]) -> int:
                path = f"/api/v1/requests/{keys[head['Authorization']]}"
                async with client.get(path, headers=head) as response:
                    await response.read()
                    return int(response.status)

            assert await get(ana) == 200
            statuses = Counter(await asyncio.gather(*(get(ana) for _ in range(60))))
            assert statuses.keys() <= {200, 429}
            assert len(found) <= BURST / EACH + PLACES
            assert await get(ana) == 429
            assert await get(bob) == 200


@pytest.mark.slow
async def test_the_reading_of_files_that_are_refused_is_charged(tmp_path, monkeypatch):
    read: list[int] = []

    def slow(*_: Any) -> None:
        read.append(1)
        burn(EACH)
        raise RefusedError(Refusal.INVALID, "no article", field="content")

    monkeypatch.setattr(throttle, "LOOP_SHARE", 1e-4)
    monkeypatch.setattr(throttle, "LOOP_BURST", BURST)
    monkeypatch.setattr(texts, "read_file", slow)
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        await plan_phase(running)
        [ana] = await heads_of(running, "ana")

        async def send() -> int:
            given = {"content": "eA==", "source": "a.xml"}
            async with client.post("/api/v1/requests", json=given, headers=ana) as response:
                return int(response.status)

        assert await send() == 422
        statuses = Counter(await asyncio.gather(*(send() for _ in range(40))))
        assert statuses.keys() <= {422, 429}
        assert await send() == 429
    assert len(read) <= BURST / EACH + PLACES


@pytest.mark.slow
async def test_searches_of_the_documentation_are_charged_to_their_address(tmp_path, monkeypatch):
    searched: list[str] = []

    def slow(_: Search, words: str) -> list[Any]:
        searched.append(words)
        burn(EACH)
        return []

    monkeypatch.setattr(throttle, "LOOP_SHARE", 1e-4)
    monkeypatch.setattr(throttle, "LOOP_BURST", BURST)
    monkeypatch.setattr(Search, "find", slow)
    async with at_work(await settings(tmp_path)) as running, client_of(running) as client:
        [ana] = await heads_of(running, "ana")

        async def search(head: dict[str, str] | None = None) -> int:
            async with client.get("/docs", params={"q": "rank"}, headers=head) as response:
                await response.read()
                return int(response.status)

        assert await search() == 200
        statuses = Counter(await asyncio.gather(*(search() for _ in range(40))))
        assert statuses.keys() == {200, 429}
        assert len(searched) <= BURST / EACH + PLACES
        assert await search() == 429
        assert await search(ana) == 200


async def test_the_stream_of_a_request_ends_with_it(tmp_path: Path) -> None:
    async with (
        asked_hub(tmp_path, ["a"]) as (running, servers),
        client_of(running) as client,
    ):
        servers["a"].open.clear()
        [ana] = await heads_of(running, "ana")
        async with client.post("/api/v1/requests", json={"text": TEXT}, headers=ana) as response:
            key = (await response.json())["request"]
        async with client.get(f"/requests/{key}/events", headers=ana) as response:
            assert (await next_event(response))[0] == "request"
            async with client.delete(f"/api/v1/requests/{key}", headers=ana) as deleted:
                assert deleted.status == 204
            assert b"HTTP/1.1" not in await response.read()
