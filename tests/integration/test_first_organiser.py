"""The first organiser's link: how long it holds, for whom, and that no other site uses it."""

import asyncio
from pathlib import Path

import pytest

from metaserver.base.errors import Refusal
from metaserver.base.phases import DAY
from metaserver.operations import first_organiser
from tests.fakes.clock import FakeClock
from tests.hubs.inside import Running, at_work, settings
from tests.hubs.several import two
from tests.hubs.sites import token_of, visiting


async def link_of(running: Running) -> str:
    link = await first_organiser.make_link(running.service)
    assert link is not None
    return link


async def test_link_ends_with_a_day_a_later_start_or_another_organiser(tmp_path: Path) -> None:
    clock = FakeClock()
    given = await settings(tmp_path)
    async with at_work(given, clock=clock) as running, visiting(running) as web:
        old = await link_of(running)
        clock.now += DAY
        assert (await web.get(old)).status == Refusal.UNKNOWN
        replaced = await link_of(running)
        link = await link_of(running)
        for ended in (old, replaced, f"{first_organiser.PATH}{'0' * 64}"):
            assert (await web.post(ended)).status == Refusal.UNKNOWN
        assert (await web.get(link)).status == 200
        await running.do("tokens.create", role="organiser")
        assert await first_organiser.make_link(running.service) is None
        assert (await web.get(link)).status == (await web.post(link)).status == Refusal.UNKNOWN


async def test_link_signs_in_once_and_from_this_site_alone(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await running.do("teams.create", team="blue")
        link = await link_of(running)
        async with visiting(running) as web:
            head = {"Sec-Fetch-Site": "cross-site"}
            async with web.client.post(link, headers=head) as response:
                assert response.status == Refusal.NOT_YOURS
            await web.sign_in(await token_of(running, "blue"))  # this session ends
            page = await web.post(link)
            assert "To the organiser console" in page.said
            assert page.headers["Cache-Control"] in ("no-store", "private, no-store")
            assert (await web.get("/organise")).status == 200
        async with visiting(running) as other:
            assert (await other.post(link)).status == Refusal.UNKNOWN
        entries = await running.do("audit.list")
        [entry] = [entry for entry in entries if entry.action == "tokens.first"]
        assert (entry.actor, entry.detail) == ("team blue", {"label": "first"})


@pytest.mark.slow
@pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")
async def test_one_link_holds_of_those_of_several_processes(tmp_path: Path) -> None:
    async with two(tmp_path) as processes:
        links = await asyncio.gather(*map(link_of, processes))
        secrets = [link.removeprefix(first_organiser.PATH) for link in links]
        one, other = processes
        for each in (one, other):
            open_ = [await first_organiser.is_open(each.service, secret) for secret in secrets]
            assert sorted(open_) == [False, True]
