"""Notices to teams that a server is down, up again or finished."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from annotators.server import Kit
from metaserver.config import CircuitSettings, NoticeSettings
from metaserver.model.errors import RefusedError
from metaserver.model.records import TeamName
from metaserver.store import notices, teams
from metaserver.store.notices import Notice
from tests.fakes.mailbox import mailbox
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.integration.kits import served
from tests.integration.test_service_lanes import annotate, registered


@dataclass
class Posted:
    """Requests received by a webhook: headers and bodies; `status` is its answer."""

    url: str = ""
    status: int = 204
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def events(self) -> list[str]:
        return [n["event"] for body in self.bodies for n in msgspec.json.decode(body)["notices"]]


@asynccontextmanager
async def webhook() -> AsyncIterator[Posted]:
    posted = Posted()

    async def take(request: web.Request) -> web.Response:
        posted.headers.append(dict(request.headers))
        posted.bodies.append(await request.read())
        return web.Response(status=posted.status)

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    posted.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield posted
    finally:
        await runner.cleanup()


@asynccontextmanager
async def running_with(folder: Path, **smtp: object) -> AsyncIterator[Running]:
    given = await settings(
        folder,
        notices=NoticeSettings(batch=0.1, **smtp),
        circuit=CircuitSettings(failures=1, probe_base=0.05, probe_cap=0.1),
    )
    async with at_work(given) as running:
        await plan_phase(running)
        await running.do("teams.create", team="blue", email="blue@example.org")
        await running.do("phases.open", phase="test")
        yield running


async def test_a_webhook_is_told_and_can_tell_who_it_was(tmp_path: Path) -> None:
    async with running_with(tmp_path) as running, webhook() as posted:
        blue = running.team("blue")
        asked = await running.do("teams.notices", blue, team="blue", webhook=posted.url)
        async with served(Kit(annotate)) as url:
            await registered(running, url)
            await running.do("servers.next", blue, server="blue-1")
            await running.until(lambda: not running.service.scheduler.lanes.holder.engine.count)
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: "down" in posted.events())
    headers, body = posted.headers[0], posted.bodies[0]
    signed = headers["X-Metaserver-Timestamp"].encode() + b"." + body
    expected = hmac.new(asked.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Metaserver-Signature"] == f"sha256={expected}"
    sent = msgspec.json.decode(body)
    assert sent["team"] == "blue"
    assert sent["notices"][0]["server"] == "blue-1"
    assert sent["notices"][0]["id"] > 0
    assert len(headers["Idempotency-Key"]) == 32
    assert sent["notices"][0]["message"].startswith("blue-1 is down in phase test: connect: ")


async def test_a_webhook_that_fails_is_told_again(tmp_path: Path) -> None:
    async with running_with(tmp_path) as running, webhook() as posted:
        posted.status = 500
        blue = running.team("blue")
        await running.do("teams.notices", blue, team="blue", webhook=posted.url)
        async with served(Kit(annotate)) as url:
            await registered(running, url)
            await running.do("servers.start", blue, server="blue-1")
            await running.until(lambda: len(posted.bodies) >= 2)
            posted.status = 204
            await running.until(lambda: len(posted.bodies) >= 3)
            keys = [one["Idempotency-Key"] for one in posted.headers]
            assert len(set(keys)) == len(set(posted.bodies))  # the same of the same message
            count = len(posted.bodies)
            await asyncio.sleep(0.5)
    assert posted.events() == ["finished"] * count
    assert len(posted.bodies) == count


@pytest.mark.slow
async def test_a_hub_that_is_started_again_tells_no_old_news(tmp_path: Path) -> None:
    async with webhook() as posted:
        async with running_with(tmp_path) as running:
            given, blue = running.service.settings, running.team("blue")
            await running.do("teams.notices", blue, team="blue", webhook=posted.url)
            async with served(Kit(annotate)) as url:
                await registered(running, url)
                await running.do("servers.start", blue, server="blue-1")
                await running.until(lambda: "finished" in posted.events())
                await registered(running, url, "blue-2")
            await running.do("servers.start", blue, server="blue-2")
            await running.until(lambda: "down" in posted.events())
            await asyncio.sleep(2)  # until it is stored that it was delivered: else it comes again
            told = posted.events()
        async with at_work(given) as running:
            watch = running.service.phase("test").boards.server_monitor
            tried = watch.status("blue-2").outcomes
            await asyncio.sleep(2.5)
            assert watch.state("blue-2")[0] == "down"
            assert watch.status("blue-2").outcomes == tried  # probed, sent no article
    assert posted.events() == told == ["finished", "down"]


async def test_mail_is_sent_where_there_is_a_host(tmp_path: Path) -> None:
    async with mailbox() as mail:
        smtp = {"smtp_host": "127.0.0.1", "smtp_port": mail.port, "smtp_starttls": False}
        async with running_with(tmp_path, **smtp) as running, served(Kit(annotate)) as url:
            blue = running.team("blue")
            await running.do("teams.notices", blue, team="blue", email=True)
            await registered(running, url)
            await running.do("servers.start", blue, server="blue-1")
            await running.until(lambda: bool(mail.messages))
    assert mail.to == ["blue@example.org"]
    assert "blue-1 has finished phase test" in mail.text()


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with running_with(tmp_path) as running:
        await running.do("teams.create", team="red")
        with pytest.raises(RefusedError, match="is not the URL"):
            await running.do("teams.notices", team="red", webhook="ftp://example.org")
        with pytest.raises(RefusedError, match="email: the team has no address"):
            await running.do("teams.notices", team="red", email=True)


async def test_a_team_that_cannot_be_told_keeps_no_other_from_it(tmp_path: Path) -> None:
    async with mailbox() as mail:
        smtp = {"smtp_host": "127.0.0.1", "smtp_port": mail.port, "smtp_starttls": False}
        async with running_with(tmp_path, **smtp) as running:
            await running.do("teams.create", team="a", email="a@example.org")
            for team in ("a", "blue"):
                await running.do("teams.notices", team=team, email=True)
            async with running.service.store.writing() as connection:  # from before it was refused
                await teams.change(connection, TeamName("a"), email="a@[b")
                for team in ("a", "blue"):
                    notice = Notice(
                        team=TeamName(team), at=1.0, subject="x", event="down",
                        message=f"{team} is down:\nBcc: red@example.org",
                    )  # fmt: skip
                    await notices.add(connection, notice)
            await running.until(lambda: bool(mail.messages))
    assert mail.to == ["blue@example.org"]
    assert mail.subject() == "Meta-Server: blue is down: Bcc: red@example.org"


@pytest.mark.parametrize("email", ["a@b,c@d", "a@[b", "<a@b>", "a@b;c", "a@b\n", "a b@c", "a@"])
async def test_an_address_is_one_address(tmp_path: Path, email: str) -> None:
    async with running_with(tmp_path) as running:
        with pytest.raises(RefusedError, match="email"):
            await running.do("teams.update", team="blue", email=email)
