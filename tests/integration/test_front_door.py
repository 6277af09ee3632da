"""The front door: a challenge's page, its embargo, sign-ups from the form to the first token."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from metaserver.base.errors import RefusedError
from metaserver.base.phases import DAY
from metaserver.config import NoticeSettings, Settings, WebSettings
from metaserver.operations.caller import Caller
from metaserver.operations.sign_ups import OF_ADDRESS, OF_ORIGIN
from tests.fakes.clock import FakeClock
from tests.fakes.mailbox import HOST, Mailbox, mailbox
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, Visitor, organiser_token, visiting
from tests.waiting import until

URL = "https://hub.example.org"
ASKED = {
    "team": "green", "people": "Ada\nBob", "email": "ada@green.example", "affiliation": "Green U",
}  # fmt: skip


@dataclass
class Door:
    """A hub with a challenge, its mailbox, and a browser that is not signed in."""

    running: Running
    visitor: Visitor
    mail: Mailbox
    clock: FakeClock
    given: Settings

    async def sign_up(self, **changes: Any) -> Page:
        return await self.visitor.post("/sign-up/bc", ASKED | changes)

    async def mailed(self, count: int = 1) -> str:
        """Wait for so many messages; return the path of the link in the last."""
        await until(lambda: len(self.mail.messages) >= count)
        return self.mail.link()

    async def states(self) -> list[str]:
        known = await self.running.do("sign-ups.list", challenge="bc")
        return [str(one.state.value) for one in known]


async def sent_to(folder: Path, mail: Mailbox, **web: Any) -> Settings:
    notices = NoticeSettings(smtp_host=HOST, smtp_port=mail.port, smtp_starttls=False)
    return await settings(folder, notices=notices, web=WebSettings(url=URL, **web))


@asynccontextmanager
async def opened(folder: Path, **edit: Any) -> AsyncIterator[Door]:
    clock = FakeClock(1_800_000_000.0)
    async with mailbox() as mail:
        given = await sent_to(folder, mail)
        async with at_work(given, clock=clock) as running, visiting(running) as visitor:
            await plan_phase(running)
            await running.do("challenges.edit", challenge="bc", **edit)
            yield Door(running, visitor, mail, clock, given)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path, sign_up="approve") as door:
        yield door


# -- the page --------------------------------------------------------------------------------------


async def test_the_page_of_a_challenge_has_its_texts_and_its_timeline(door: Door) -> None:
    running = door.running
    await running.do(
        "challenges.set", challenge="bc", title="A challenge", timezone="Europe/Madrid"
    )
    await running.do("phases.update", phase="test", opens="2027-01-18T10:00")
    await running.do(
        "challenges.edit", challenge="bc", description="# Why\n\n<script>alert(1)</script> *so*",
        contact="<ana@example.org>", kits="[kit](https://kit.example)",
    )  # fmt: skip
    shown = await door.visitor.get("/c/bc")
    assert '<h3 id="description-why">Why</h3>' in shown.text
    assert "<script>alert" not in shown.text
    assert 'og:title" content="A challenge"' in shown.text
    assert 'og:description" content="Why &lt;script&gt;alert(1)&lt;/script&gt; so"' in shown.text
    assert f'og:url" content="{URL}/c/bc"' in shown.text
    assert 'href="https://kit.example" rel="nofollow noopener"' in shown.text
    assert 'title="2027-01-18 10:00 Europe/Madrid">2027-01-18 10:00 Europe/Madrid<' in shown.text
    assert re.search(r'data-countdown="2027-01-18T09:00:00Z">in 3 days 1 h<', shown.text)
    assert 'href="/c/bc/test/monitor"' in shown.text
    assert 'href="/sign-up/bc"' in shown.text
    home = (await door.visitor.get("/")).text
    assert 'href="/c/bc"' in home
    assert "<p>&lt;script&gt;alert(1)&lt;/script&gt; so</p>" in home
    assert "0 teams · 32 articles · 0 servers" in home
    assert home.count('href="/sign-up/bc"') == 1  # take part
    assert (await door.visitor.get("/c/none")).status == 404


async def test_an_organiser_edits_the_page_with_a_preview(door: Door) -> None:
    visitor = door.visitor
    await visitor.sign_in(await organiser_token(door.running))
    path = "/organise/challenges/bc/page"
    form = {"description": "A **bold** plan", "sign_up": "code", "code": "", "announced": ""}
    preview = await visitor.post(path, form, preview="1")
    assert "<strong>bold</strong>" in preview.text
    assert (await door.running.do("challenges.get", challenge="bc")).description == ""
    refused = await visitor.post(path, form)
    assert refused.wrong == (422, {"code"})
    assert "A **bold** plan" in refused.text
    done = await visitor.post(path, form, code="open sesame".replace(" ", "-"))
    assert done.path == "/c/bc"
    assert "<strong>bold</strong>" in done.text
    assert (await visitor.post(path, form, terms="Be fair")).status == 422  # without a version
    assert (await visitor.post(path, form, announced="2027-13-01")).status == 422


async def test_before_it_is_announced_a_challenge_is_known_to_organisers_alone(door: Door) -> None:
    running, visitor, nobody = door.running, door.visitor, Caller()
    blue = running.team("blue")
    await running.do("teams.create", team="blue")
    token = (await running.do("tokens.create", team="blue")).token
    await running.do("phases.update", phase="test", visibility="public")
    await running.do("phases.freeze", phase="test")
    frozen: Any = ()
    async with visitor.client.get("/c/bc/test/monitor") as answer:
        assert answer.status == 200

    async def kept() -> bool:
        nonlocal frozen
        frozen = await running.do("boards.frozen", phase="test")
        return bool(frozen)

    await until(kept)
    await running.do("challenges.edit", challenge="bc", announced="2027-02-01T00:00")
    pages = ("/c/bc", "/c/bc/test/monitor", "/c/bc/test/board/INT.json", "/sign-up/bc",
             "/c/bc/test/events?page=monitor", "/b/" + frozen[0].board, "/monitor",
             "/api/v1/challenges/bc", "/api/v1/phases/test", "/team/servers?phase=test",
             "/api/v1/challenges/bc/announcements")  # fmt: skip
    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        for page in pages:
            async with visitor.client.get(page, headers=headers, allow_redirects=True) as answer:
                if page.startswith("/team") and not headers:
                    continue
                assert answer.status == 404, page
                assert "A challenge" not in await answer.text()
        for page in ("/", "/api/v1/challenges", "/api/v1/phases"):
            async with visitor.client.get(page, headers=headers) as answer:
                text = await answer.text()
                assert "A challenge" not in text
                assert '"test"' not in text
    for caller in (nobody, blue):
        for name, values in (("boards.get", {"phase": "test", "task": "INT"}),
                             ("phases.get", {"phase": "test"}),
                             ("challenges.announcements", {"challenge": "bc"})):  # fmt: skip
            with pytest.raises(RefusedError, match="there is no"):
                await running.do(name, caller, **values)
    await visitor.sign_in(await organiser_token(running))
    door_page = await visitor.get("/c/bc")
    assert "Not announced yet" in door_page.said
    assert "og:" not in door_page.text
    assert (await visitor.get("/c/bc/test/monitor")).status == 200
    door.clock.now += 40 * DAY
    async with visitor.client.get("/api/v1/challenges/bc", headers={"Cookie": ""}) as answer:
        assert answer.status == 200


async def test_an_announcement_is_on_the_page_and_is_sent_to_teams(door: Door) -> None:
    running = door.running
    await running.do("teams.create", team="blue", email="blue@x.example")
    await running.do("teams.notices", team="blue", email=True)
    await running.do("challenges.announce", challenge="bc", title="Two days more", text="*Good*")
    assert "<em>Good</em>" in (await door.visitor.get("/c/bc")).text
    await running.service.notices.notifier.send()
    assert "A challenge: Two days more" in door.mail.text()
    assert door.mail.to == ["blue@x.example"]
    await door.visitor.sign_in((await running.do("tokens.create", team="blue")).token)
    assert "Two days more" in (await door.visitor.get("/team")).said


# -- signing up ------------------------------------------------------------------------------------


async def test_a_team_signs_up_is_approved_and_gets_its_token_once(door: Door) -> None:
    running, visitor = door.running, door.visitor
    assert "A link is on its way" in (await door.sign_up()).said
    link = await door.mailed()
    assert door.mail.to == ["ada@green.example"]
    assert door.mail.subject() == "A challenge: confirm team green"
    assert "bcms_" not in door.mail.messages[0]
    for _ in range(2):  # scanners of mail open links
        assert "Confirm your team" in (await visitor.get(link)).said
    assert "waits for approval" in (await visitor.post(link, ASKED)).said
    assert (await visitor.get(link)).status == 404
    assert (await visitor.post(link, ASKED)).status == 404
    [one] = await running.do("sign-ups.list", challenge="bc")
    await running.do("sign-ups.approve", id=one.id)
    link = await door.mailed(2)
    assert "Sign in and show the token" in (await visitor.get(link)).said
    token = (await visitor.post(link)).secret
    assert await door.states() == ["joined"]
    page = await visitor.get("/team")
    assert "Team green" in page.said  # the link signed its browser in
    assert (await visitor.post(link)).status == 403  # as any form of another session
    visitor.csrf = re.findall(r'name="csrf" value="([^"]+)"', page.text)[0]
    assert (await visitor.post(link)).status == 404  # once
    audit = json.dumps([str(entry) for entry in await running.do("audit.list")])
    assert token not in audit
    assert link.rpartition("/")[2] not in audit


@pytest.mark.parametrize("mode", ["automatic", "code"])
async def test_who_confirms_is_in_where_that_is_the_way(tmp_path: Path, mode: str) -> None:
    async with opened(
        tmp_path, sign_up=mode, code="abcdefgh", terms="Be *fair*", terms_version="1"
    ) as door:
        assert "<em>fair</em>" in (await door.visitor.get("/sign-up/bc")).text
        wrong = await door.sign_up(code="abcdefgX" if mode == "code" else "abcdefgh")
        assert wrong.wrong == (422, {"code" if mode == "code" else "terms"})
        assert "Green U" in wrong.text  # what was written stays
        assert (await door.sign_up(code="abcdefgh", terms="1")).status == 200
        shown = await door.visitor.post(await door.mailed(), ASKED)
        assert shown.secret.startswith("bcms_t")
        assert "Team green" in (await door.visitor.get("/team")).said


async def test_a_program_confirms_without_correcting_anything(door: Door) -> None:
    await door.sign_up()
    secret = (await door.mailed()).rpartition("/")[2]
    done = await door.running.do("sign-ups.confirm", Caller(), secret=secret)
    assert (str(done.state.value), done.team) == ("waiting", "green")


async def test_a_link_is_over_after_a_day_and_a_newer_one_replaces_it(door: Door) -> None:
    await door.sign_up()
    first = await door.mailed()
    [one] = await door.running.do("sign-ups.list", challenge="bc")
    made = await door.running.do("sign-ups.link", id=one.id)
    assert made.link.startswith(URL + "/sign-up/link/")
    assert (await door.visitor.get(first)).status == 404
    second = made.link.removeprefix(URL)
    assert (await door.visitor.get(second)).status == 200
    door.clock.now += DAY + 1
    assert (await door.visitor.get(second)).status == 404
    assert (await door.visitor.post(second, ASKED)).status == 404
    for secret in ("x", "x" * 500, "%00", "..%2F..%2F"):
        assert (await door.visitor.get(f"/sign-up/link/{secret}")).status == 404


async def test_a_team_of_that_name_is_told_of_to_who_has_confirmed_alone(door: Door) -> None:
    await door.running.do("teams.create", team="green")
    assert (await door.sign_up()).status == 200
    link = await door.mailed()
    taken = await door.visitor.post(link, ASKED)
    assert (taken.status, "'green'" in taken.said) == (409, True)
    assert "waits for approval" in (await door.visitor.post(link, ASKED, team="teal")).said


async def test_everybody_is_told_the_same_and_floods_are_bounded(door: Door) -> None:
    told = {(await door.sign_up()).said for _ in range(OF_ADDRESS + 2)}
    assert len(told) == 1
    assert len(await door.states()) == OF_ADDRESS
    for _ in range(OF_ORIGIN - OF_ADDRESS - 2):
        assert (await door.sign_up(email="bob@green.example")).status == 200
    refused = await door.sign_up(email="eve@green.example")
    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 60
    door.clock.now += 3601
    assert (await door.sign_up(email="eve@green.example")).status == 200


async def test_what_could_stand_in_a_header_is_refused(door, monkeypatch):
    monkeypatch.setattr("metaserver.operations.sign_ups.OF_ORIGIN", 100)
    for field, value in (
        ("email", "ada@green.example\r\nBcc: all@x.example"), ("email", "a@b, c@d"),
        ("email", "<a@b>"), ("email", ""), ("team", "../x"), ("team", "a\r\nSubject: x"),
        ("people", "x" * 2001), ("affiliation", "a\r\nb"), ("people", ""),
    ):  # fmt: skip
        assert (await door.sign_up(**{field: value})).wrong == (422, {field})
    assert await door.states() == []


async def test_who_is_invited_names_a_team_and_is_in(door: Door) -> None:
    visitor = door.visitor
    await door.running.do("challenges.edit", challenge="bc", sign_up="closed")
    assert "cannot sign up" in (await visitor.get("/sign-up/bc")).said
    assert (await door.sign_up()).status == 409
    await visitor.sign_in(await organiser_token(door.running))
    path = "/organise/challenges/bc/sign-ups"
    assert (await visitor.post(f"{path}/invite", emails="ada@x.example no-address")).status == 422
    assert "ada@x.example" in (await visitor.post(f"{path}/invite", emails="ada@x.example")).said
    link = await door.mailed()
    assert (await visitor.post(link, {"team": "", "people": ""})).status == 422
    shown = await visitor.post(link, ASKED)
    assert shown.secret.startswith("bcms_t")
    assert await door.states() == ["joined"]
    assert "Signed in as organiser" in (await visitor.get("/organise")).text.replace("<b>", "")


async def test_without_mail_the_organiser_hands_links_out_from_the_page(running: Running) -> None:
    async with visiting(running) as visitor:
        await running.do("challenges.edit", challenge="bc", sign_up="approve")
        told = await visitor.post("/sign-up/bc", ASKED)
        assert "An organiser will send you a link" in told.said.replace("an org", "An org")
        await visitor.sign_in(await organiser_token(running))
        path = "/organise/challenges/bc/sign-ups"
        assert "this hub sends no mail" in (await visitor.get(path)).said
        link = (await visitor.post(f"{path}/1/link")).secret
        assert link.startswith(f"{visitor.client.make_url('/')}sign-up/link/")
        link = urlsplit(link).path
        assert "waits for approval" in (await visitor.post(link, ASKED)).said
        assert (await visitor.post(f"{path}/1/link")).status == 409  # it waits for approval
        assert "in, no token yet" in (await visitor.post(f"{path}/1/approve", team="lime")).said
        link = urlsplit((await visitor.post(f"{path}/1/link")).secret).path
        assert (await visitor.post(link)).secret.startswith("bcms_t")
        assert (await visitor.post(f"{path}/1/decline")).status == 409
        assert (await visitor.post(f"{path}/7/decline")).status == 404


async def test_without_mail_one_link_confirms_and_signs_in(running: Running) -> None:
    await running.do("challenges.edit", challenge="bc", sign_up="approve")
    async with visiting(running) as ana, visiting(running) as ada:
        for name in ("green", "lime"):
            await ada.post("/sign-up/bc", ASKED, team=name, email=f"ada@{name}.example")
        await ana.sign_in(await organiser_token(running))
        path = "/organise/challenges/bc/sign-ups"
        assert "in, no token yet" in (await ana.post(f"{path}/1/approve")).said
        page = await ana.post(f"{path}/links")
        found = re.findall(r"<code>(\S+/sign-up/link/\S+)</code>", page.text)
        assert [link.startswith("http://127.0.0.1") for link in found] == [True, True]
        assert ("2 links" in page.said, "signing in" in page.said) == (True, True)
        assert (await ada.post(urlsplit(found[1]).path)).secret.startswith("bcms_t")
        assert "Team green" in (await ada.get("/team")).said
        assert "2 links" not in (await ana.get(path)).said  # shown once


async def test_sign_ups_survive_a_restart(tmp_path: Path) -> None:
    async with mailbox() as mail:
        closed = await sent_to(tmp_path, Mailbox(port=9))  # nobody listens there
        async with at_work(closed) as running, visiting(running) as visitor:
            await plan_phase(running)
            await running.do("challenges.edit", challenge="bc", sign_up="code", code="abcdefgh")
            await running.do("challenges.announce", challenge="bc", title="News")
            assert (await visitor.post("/sign-up/bc", ASKED, code="abcdefgh")).status == 200

            async def failed() -> bool:
                [one] = await running.do("sign-ups.list", challenge="bc")
                return bool(one.failures)

            await until(failed)
        given = await sent_to(tmp_path, mail)
        async with at_work(given) as running, visiting(running) as visitor:
            await until(lambda: bool(mail.messages))
            assert (await visitor.post(mail.link(), ASKED)).secret.startswith("bcms_t")
