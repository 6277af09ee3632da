"""Notices to teams, alerts to organisers: whom they reach, and that they give nothing away."""

import asyncio
import hashlib
import hmac
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import msgspec
import pytest
import trustme
from aiohttp import web

from annotators.server import Kit
from metaserver.base.errors import PeerError, RefusedError
from metaserver.base.findings import FindingKind
from metaserver.base.phases import AUTOMATIC_A_DAY
from metaserver.base.records import ServerName, TaskName, TeamName
from metaserver.base.states import ServerState
from metaserver.boards.forecast import MeasuredPace
from metaserver.config import CircuitSettings, NoticeSettings, SecuritySettings
from metaserver.exchange.http.client import open_client
from metaserver.phases import alerting, notifications
from metaserver.phases.alerting import ALERTED, DISK, SIGN_UPS
from metaserver.phases.mail import signature
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.phases.watching import BURST
from metaserver.store import alerts, teams
from metaserver.store.alerts import Notice
from metaserver.store.uploads import Upload
from tests.fakes.mailbox import HOST, mailbox
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import signed_in
from tests.integration.kits import annotate, served
from tests.integration.test_mail import proving
from tests.waiting import until


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
            await running.register(url)
            await running.do("servers.next", blue, server="blue-1")
            await running.until(
                lambda: not running.service.phases.scheduler.lanes.holder.engine.count
            )
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: "down" in posted.events())
    headers, body = posted.headers[0], posted.bodies[0]
    signed = headers["X-Metaserver-Timestamp"].encode() + b"." + body
    expected = hmac.new(asked.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Metaserver-Signature"] == f"sha256={expected}"
    sent = msgspec.json.decode(body)
    assert (sent["team"], sent["notices"][0]["server"]) == ("blue", "blue-1")
    assert sent["notices"][0]["id"] > 0
    assert len(headers["Idempotency-Key"]) == 32
    assert sent["notices"][0]["message"].startswith(
        "Server blue-1 is down in phase test: connect: "
    )


async def none_waits(running: Running) -> bool:
    """Return whether all notices are stored as sent."""
    async with running.service.store.reading() as connection:
        return not await alerts.waiting_notices(connection)


async def test_a_webhook_that_fails_is_told_again(tmp_path, caplog):
    async with running_with(tmp_path) as running, webhook() as posted:
        posted.status = 500
        blue = running.team("blue")
        await running.do("teams.notices", blue, team="blue", webhook=posted.url)
        async with served(Kit(annotate)) as url:
            await running.register(url)
            await running.do("servers.start", blue, server="blue-1")
            await running.until(lambda: len(posted.bodies) >= 2)
            posted.status = 204
            await running.until(lambda: len(posted.bodies) >= 3)
            keys = [one["Idempotency-Key"] for one in posted.headers]
            assert len(set(keys)) == len(set(posted.bodies))  # the same of the same message
            await until(lambda: none_waits(running))
            count = len(posted.bodies)
            await running.service.notices.notifier.send()
    assert posted.events() == ["finished"] * count
    assert len(posted.bodies) == count
    lines = [one.message for one in caplog.records if one.name == notifications.__name__]
    assert lines == [
        "team blue could not be notified: http: HTTP status 500; expected 2xx",
        "team blue is notified again",
    ]


@pytest.mark.slow
async def test_a_hub_that_is_started_again_tells_no_old_news(tmp_path: Path) -> None:
    async with webhook() as posted:
        async with running_with(tmp_path) as running:
            given, blue = running.service.settings, running.team("blue")
            await running.do("teams.notices", blue, team="blue", webhook=posted.url)
            async with served(Kit(annotate)) as url:
                await running.register(url)
                await running.do("servers.start", blue, server="blue-1")
                await running.until(lambda: "finished" in posted.events())
                await running.register(url, "blue-2")
            await running.do("servers.start", blue, server="blue-2")
            await running.until(lambda: "down" in posted.events())
            await until(lambda: none_waits(running))  # else it comes again
            told = posted.events()
        async with at_work(given) as running:
            tried = running.status("blue-2").outcomes
            await running.until(lambda: running.status("blue-2").state == "down")
            await running.service.part(ServerStateRecorder).record()
            await running.service.notices.notifier.send()
            assert running.status("blue-2").outcomes == tried  # probed, sent no article
    assert posted.events() == told == ["finished", "down"]


async def test_mail_is_sent_where_there_is_a_host(tmp_path: Path) -> None:
    async with mailbox() as mail:
        smtp = {"smtp_host": "127.0.0.1", "smtp_port": mail.port, "smtp_starttls": False}
        async with running_with(tmp_path, **smtp) as running, served(Kit(annotate)) as url:
            blue = running.team("blue")
            await running.do("teams.notices", blue, team="blue", email=True)
            await running.register(url)
            await running.do("servers.start", blue, server="blue-1")
            await running.until(lambda: bool(mail.messages))
    assert mail.to == ["blue@example.org"]
    assert "blue-1 has finished phase test" in mail.text()


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with running_with(tmp_path) as running:
        await running.do("teams.create", team="red")
        for values in ({"webhook": "ftp://example.org"}, {"email": True}):
            refused = await running.refused("teams.notices", team="red", **values)
            assert refused.field in values
        for email in ("a@b,c@d", "a@[b", "<a@b>", "a@b;c", "a@b\n", "a b@c", "a@"):
            refused = await running.refused("teams.update", team="red", email=email)
            assert refused.field == "email", email


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
                    await alerts.add_notice(connection, notice)
            await running.until(lambda: bool(mail.messages))
    assert mail.to == ["blue@example.org"]
    assert mail.subject() == "Meta-Server: blue is down: Bcc: red@example.org"


@asynccontextmanager
async def watched(folder: Path, **smtp: Any) -> AsyncIterator[Running]:
    """Run a hub with an open phase that tells at once what it finds."""
    given = await settings(
        folder,
        notices=NoticeSettings(batch=0.1, alerts=0.1, **smtp),
        circuit=CircuitSettings(failures=1, probe_base=0.05, probe_cap=0.1),
    )
    async with at_work(given) as running:
        running.service.notices.alerts.hold = {}
        if "test" not in running.service.phases.scheduler.phases:
            await plan_phase(running, teams=["blue"], is_open=True)
        yield running


def said(posted: Posted) -> list[str]:
    return [msgspec.json.decode(body)["text"] for body in posted.bodies]


async def add_and_test(running: Running, kind: str, address: str) -> None:
    made = await running.do("channels.add", kind=kind, address=address)
    await running.do("channels.test", channel=made.channel)


async def go_down(running: Running) -> None:
    """Let blue-1 take part, and answer no more."""
    async with served(Kit(annotate)) as url:
        await running.register(url)
    await running.do("servers.start", running.team("blue"), server="blue-1")


async def test_a_webhook_is_told_in_plain_text_and_signed(tmp_path: Path) -> None:
    async with watched(tmp_path) as running, webhook() as posted:
        made = await running.do("channels.add", kind="webhook", address=posted.url)
        assert made.address.endswith("/***")
        await go_down(running)
        await running.until(lambda: bool(posted.bodies))
        [channel] = await running.do("channels.list")
        assert (channel.secret, channel.error) == ("", "")
        [alert] = await running.do("alerts.list")
    text = said(posted)[0]
    assert text.startswith("blue-1 is down: ")
    assert text.endswith(" in phase test")
    sent = msgspec.json.decode(posted.bodies[0])["alerts"][0]
    assert (sent["kind"], sent["phase"], sent["subject"]) == ("down", "test", "blue-1")
    assert alert.message == sent["message"]
    headers = posted.headers[0]
    at = headers["X-Metaserver-Timestamp"]
    expected = f"sha256={signature(made.secret, at, posted.bodies[0])}"
    assert headers["X-Metaserver-Signature"] == expected


@pytest.mark.both_stores
async def test_a_restart_repeats_nothing_and_the_end_is_told(tmp_path: Path) -> None:
    async with webhook() as posted:
        async with watched(tmp_path) as running:
            await running.do("channels.add", kind="webhook", address=posted.url)
            await go_down(running)
            await running.until(lambda: bool(posted.bodies))
        async with watched(tmp_path) as running:
            await running.do("servers.pause", running.team("blue"), server="blue-1")
            await running.until(lambda: len(posted.bodies) > 1)
            assert [one.over for one in await running.do("alerts.list")] == [True, False]
    assert len(posted.bodies) == 2
    assert said(posted)[1].startswith("Over: blue-1 is down")


async def test_no_alert_is_found_again_by_the_next_look(tmp_path, monkeypatch):
    given = await settings(tmp_path, circuit=CircuitSettings(failures=1, probe_base=60.0))
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue"])
        await running.add_phase("later")
        for phase in ("test", "later"):  # `later` stays in setup
            article = running.service.phase(phase).corpus.ids[0]
            gold = f"{article}\t1\nnowhere\t1\n".encode()
            await running.do("gold.set", phase=phase, task="ACT", source="g.tsv", content=gold)
        freezes = datetime.fromtimestamp(time.time() + 3_600, UTC).isoformat()
        await running.do("phases.update", phase="test", tasks=["ACT", "NER"], freezes=freezes)
        await running.do("phases.open", phase="test")
        await go_down(running)
        phase, alerts = running.service.phase("test"), running.service.notices.alerts
        state = phase.boards.server_monitor.status
        await running.until(lambda: state(ServerName("blue-1")).state is ServerState.DOWN)
        slow = MeasuredPace(articles=10, seconds=1e6)
        monkeypatch.setattr(phase.paces, "measured", lambda _name: slow)
        full = SimpleNamespace(free=1, total=10**9)
        monkeypatch.setattr(alerting.shutil, "disk_usage", lambda _folder: full)
        entered = AsyncMock(return_value={"bc": AUTOMATIC_A_DAY})
        monkeypatch.setattr(alerting.sign_ups, "count_automatic", entered)
        alerts.hold = {}
        for number in range(2 * BURST):  # an upload before each look: a burst from the fifth on
            uploaded = {"team": TeamName("blue"), "task": TaskName("ACT"), "at": float(number)}
            scored = {"articles": 9, "changed": 9, "score": 0.5}
            run = ServerName(f"r{number}")
            phase.uploads.append(Upload(id=number, run=run, **uploaded, **scored))
            await alerts.look()
        found = Counter((one.kind, one.phase) for one in await running.do("alerts.list"))
    of_test = [(kind, "test") for kind in ALERTED]
    others = [(FindingKind.GOLD_OUTSIDE, "later"), (DISK, ""), (SIGN_UPS, "")]
    assert found == Counter([*of_test, *others])


async def test_mail_goes_over_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with mailbox(proving(authority.issue_cert(HOST)), starttls=True) as mail:
        smtp = {"smtp_host": HOST, "smtp_port": mail.port, "smtp_ca": str(tmp_path / "ca.pem")}
        async with watched(tmp_path, **smtp) as running:
            made = await running.do("channels.add", kind="email", address="ana@example.org")
            await running.do("channels.test", channel=made.channel)
            assert "A test message, asked for by organiser ana" in mail.messages[0]
            await running.do("phases.update", phase="test", tasks=["INT", "NER"])
            await running.until(lambda: len(mail.messages) > 1)
    assert "\r\n\r\nNER has no gold, so it is not scored" in mail.messages[1]
    assert mail.plain == []


@pytest.mark.parametrize(
    ("kind", "address", "told"),
    [
        ("email", "ana@example.org", "sends no mail"),
        ("webhook", "ftp://example.org/", "is not the URL"),
        ("webhook", "http://127.0.0.1:9/hook", "it was not sent"),
    ],
    ids=["no SMTP server", "no URL", "guarded address"],
)
async def test_an_address_that_nothing_can_be_sent_to(tmp_path, kind, address, told):
    async with at_work(await settings(tmp_path, security=SecuritySettings())) as running:
        with pytest.raises(RefusedError, match=told):
            await add_and_test(running, kind, address)
        with pytest.raises(RefusedError, match="there is no channel 7"):
            await running.do("channels.delete", channel=7)


async def test_organisers_add_test_and_remove_channels_in_their_console(tmp_path: Path) -> None:
    async with watched(tmp_path) as running, webhook() as posted, signed_in(running) as ana:
        page = await ana.post("/organise/alerts", kind="webhook", address="nowhere")
        assert page.wrong == (422, {"address"})
        assert 'value="nowhere"' in page.text
        mail = {"kind": "email", "address": "ana@example.org"}
        assert (await ana.post("/organise/alerts", mail)).status == 409
        page = await ana.post("/organise/alerts", kind="webhook", address=posted.url)
        assert "Copy it now" in page.said
        assert posted.url not in page.text
        assert "The test message was sent." in (await ana.post("/organise/alerts/1/test")).said
        assert said(posted) == ["A test message, asked for by organiser ana"]
        posted.status = 500
        assert (await ana.post("/organise/alerts/1/test")).status == 409
        assert "Nobody yet" in (await ana.post("/organise/alerts/1/delete")).said
        actions = [one.action for one in await running.do("audit.list", limit=5)]
    assert actions[:2] == ["channels.delete", "channels.add"]


SECRET = "T0000-B0000-XyZ"


@asynccontextmanager
async def answering(answer: str) -> AsyncIterator[str]:
    """Run a server that gives every request this answer; yield its webhook's URL."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer.encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/services/{SECRET}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (f"HTTP/1.1 301 Moved\r\nLocation: https://x.example/services/{SECRET}\r\n\r\n",
         "HTTP status 301; expected 2xx"),
        (f"HTTP/1.1 302 Found\r\nLocation: /services/{SECRET}\r\n\r\n",
         "HTTP status 302; expected 2xx"),
        (f"HTTP/1.1 404 no /services/{SECRET}\r\n\r\n", "HTTP status 404; expected 2xx"),
        (f"POST /services/{SECRET} HTTP/1.1\r\n\r\n", "the answer is not HTTP"),  # an echo
        ("", "closed the connection"),
    ],
    ids=["elsewhere", "here", "reason", "echo", "nothing"],
)  # fmt: skip
async def test_no_error_repeats_the_path(answer: str, said: str) -> None:
    async with open_client() as client, answering(answer) as url:
        with pytest.raises(PeerError, match=said) as failed:
            await client.deliver(url, b"{}", {}, 5.0)
    assert SECRET not in str(failed.value)


async def test_no_error_repeats_a_url_that_cannot_be_used() -> None:
    async with open_client() as client:
        for url in (f"http:///services/{SECRET}", f"http://{'a' * 70}.example/{SECRET}"):
            with pytest.raises(PeerError) as failed:
                await client.deliver(url, b"{}", {}, 5.0)
            assert SECRET not in str(failed.value)
