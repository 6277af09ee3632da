"""The team console's forms and pages, as a browser without scripts uses them."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from annotators.contract import Answer, Context
from annotators.server import Kit, application
from annotators.starter import KITS, server_text
from metaserver.base.plans import NoticePlan
from tests.event_streams import next_frame
from tests.hubs.command import ARTICLES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Visitor, signed_in, token_of, visiting
from tests.integration.kits import annotate, answer_for, served, waiting
from tests.waiting import patience

MARKUP = '<img src=x onerror="alert(1)">'
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, teams=["blue", "red"])
        yield running


async def register(blue: Visitor, url: str, name: str = "blue-1", **fields: str) -> None:
    page = await blue.post("/team/register", {"server": name, "url": url} | fields)
    assert (page.status, page.path) == (200, f"/team/servers/{name}"), page.said


async def test_registering_tests_the_address_at_once(running: Running, blue: Visitor) -> None:
    form = (await blue.get("/team/register")).text.partition("<details")[0]
    shown = [name for name in ("server", "url", "protocol", "auth") if f'name="{name}"' in form]
    assert shown == ["server", "url"]
    async with served(Kit(annotate)) as url:
        for address, said in (
            (url, "It answers XML-RPC: Running, version 1"),
            (NOBODY, "connect: Connection refused"),
            ("http://169.254.169.254/", "connect: the address 169.254.169.254 is a cloud"),
            ("ftp://x", "'ftp://x' is not the URL of a server"),
        ):
            seen = await blue.post("/team/register/look", url=address)
            assert seen.text.startswith(said)
    page = await blue.post("/team/register?then=test", server="blue-1", url=NOBODY)
    assert (page.status, page.path) == (200, "/team/servers/blue-1/test")
    await running.until(lambda: running.service.servers.conformance.under_way("blue-1") is None)
    status = await running.do("servers.test-status", running.team("blue"), server="blue-1")
    assert status.tested.state == "failed"


async def run_test(running: Running, blue: Visitor, name: str = "blue-1") -> None:
    page = await blue.post(f"/team/servers/{name}/test")
    assert (page.status, page.path) == (200, f"/team/servers/{name}/test?phase=test")
    await running.until(lambda: running.service.servers.conformance.under_way(name) is None)


async def test_an_empty_console_says_what_to_do(blue: Visitor) -> None:
    page = await blue.get("/team/servers")
    assert "Your team has no server yet. It takes three steps to the first article" in page.said
    assert 'href="/team/register"' in page.text
    assert page.headers["Cache-Control"] == "private, no-store"
    assert "not open yet: register and test your servers" in page.said


async def test_wrong_values_are_told_at_their_fields_and_kept(blue: Visitor) -> None:
    sent = {"server": "no spaces", "url": "ftp://x/", "tasks": "INT", "concurrency": "7"}
    page = await blue.post("/team/register", sent)
    assert page.wrong == (422, {"server"})
    assert 'aria-describedby="form-server-error form-server-help" aria-invalid="true"' in page.text
    assert 'value="no spaces"' in page.text
    assert 'name="tasks" value="INT" checked' in page.text
    assert 'value="7"' in page.text
    assert (await blue.post("/team/register", sent | {"server": "blue-1"})).wrong == (422, {"url"})
    page = await blue.post("/team/register", {"server": "b", "url": NOBODY, "concurrency": "many"})
    assert page.wrong == (422, {"concurrency"})
    await register(blue, NOBODY)
    page = await blue.post("/team/register", server="blue-1", url=NOBODY)
    assert page.wrong == (409, {"server"})


@pytest.mark.slow
async def test_a_team_has_five_servers_at_most(blue: Visitor) -> None:
    for number in range(1, 6):
        await register(blue, NOBODY, f"blue-{number}")
    page = await blue.post("/team/register", server="blue-6", url=NOBODY)
    assert page.status == 409
    assert "A team may have 5 servers (limits.servers): retire a server first." in page.said
    assert 'value="blue-6"' in page.text
    assert (await blue.post("/team/servers/blue-1/retire")).path == "/team/servers"
    await register(blue, NOBODY, "blue-6")
    assert (await blue.post("/team/servers/blue-1/retire")).status == 409


TYPED = {"title": 'The "blue" team <b>', "email": "blue@x.example"}


async def test_a_form_after_the_session_has_ended_is_shown_again_as_it_was(running, blue):
    blue.client.session.cookie_jar.clear()
    asked = await blue.post("/team/settings", TYPED | {"secret": "s3cret"})
    assert (asked.status, asked.path) == (401, "/team/settings")
    assert 'action="/signin"' in asked.text
    assert "API token" not in asked.text
    assert "s3cret" not in asked.text
    again = await blue.post("/signin", asked.unseen | {"token": "bcms_x"})
    assert again.status == 401  # and the form is kept through a wrong token
    back = await blue.post("/signin", again.unseen | {"token": await token_of(running, "blue")})
    assert back.status == 200
    assert 'action="/team/settings" data-again' in back.text
    shown = await blue.post("/team/settings", {"csrf": ""} | back.unseen, csrf=None)
    assert shown.status == 409
    assert "nothing was done yet" in shown.said
    assert 'value="The &#34;blue&#34; team &lt;b&gt;"' in shown.text
    assert (await running.do("teams.get", team="blue")).email == ""
    csrf = shown.unseen["csrf"]
    done = await blue.post("/team/settings", TYPED | {"csrf": csrf, "title": "Blue"})
    assert done.status == 200
    assert (await running.do("teams.get", team="blue")).email == TYPED["email"]


@pytest.mark.parametrize(
    ("page", "back"),
    [("/team/servers?x=1", "/team/servers?x=1"), ("//evil.example/", "/"), ("", "/")],
)
async def test_a_button_after_the_session_has_ended_leads_back_to_its_page(
    running, blue, page, back
):
    sent = {"Accept": "text/html", "Referer": str(blue.client.make_url("/")).rstrip("/") + page}
    for others in (False, True):  # another session's, and none
        async with blue.client.post(
            "/team/servers/x/retire", data={"csrf": "old"}, headers=sent
        ) as answer:
            shown = await answer.text()
        assert "too long" not in shown
        assert "press the button again" in shown
        named = 'name="next" value' if others else 'class="button first" href'
        assert f'{named}="{back}"' in shown
        blue.client.session.cookie_jar.clear()
    assert 'name="action"' not in shown


async def test_a_form_of_another_session_is_shown_again(running: Running, blue: Visitor) -> None:
    old = blue.csrf
    await blue.post("/signin", {"token": await token_of(running, "blue")})  # on another tab
    refused = await blue.post("/team/settings", TYPED | {"csrf": old})
    assert (refused.status, refused.unseen["email"]) == (403, TYPED["email"])
    shown = await blue.post("/team/settings", refused.unseen, csrf=None)
    assert f'value="{TYPED["email"]}"' in shown.text
    assert (await running.do("teams.get", team="blue")).email == ""


AGAIN = {
    "/organise/tokens": {"role": "organiser", "label": "again"},
    "/organise/teams": {"team": "again"},
    "/organise/teams/blue/retire": {},
    "/organise/challenges/bc/announcements": {"title": "again"},
    "/organise/phases/test/open": {},
    "/organise/new-challenge": {"challenge": "again"},
}


async def test_a_form_that_is_shown_again_does_nothing(running: Running) -> None:
    async with signed_in(running) as ana:
        before = await running.do("audit.list")
        for path, form in AGAIN.items():
            shown = await ana.post(path, {"csrf-again": ana.csrf} | form, csrf=None)
            assert "nothing was done yet" in shown.said, path
            assert 'value="again"' in shown.text or "again" not in form.values(), path
        assert await running.do("audit.list") == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Sec-Fetch-Site": "cross-site"}, 403), ({"Origin": "https://evil.example"}, 403), ({}, 401)],
)
async def test_a_form_of_another_site_or_a_long_one_is_not_kept(running, headers, status):
    typed = {"title": "typed-" + ("" if headers else "x" * 300_000)}
    async with (
        visiting(running) as visitor,
        visitor.client.post(
            "/team/settings", data=typed, headers={"Accept": "text/html"} | headers
        ) as answer,
    ):
        shown = await answer.text()
        assert (answer.status, "too long to be kept" in shown) == (status, status == 401)
        assert "typed-" not in shown


async def test_a_failed_test_tells_its_steps_and_start_is_refused_with_the_reason(running, blue):
    await register(blue, NOBODY)
    page = await blue.get("/team/servers/blue-1/test")
    assert (
        "The server has not been tested for phase test since it was registered or changed."
        in page.said
    )
    assert "For phase test: ACT, INT, IPT · UniProt release test · 20 s per article" in page.said
    await running.do("phases.open", phase="test")
    page = await blue.post("/team/servers/blue-1/start", phase="test")
    assert page.status == 409
    assert "test it first" in page.said
    await run_test(running, blue)
    page = await blue.get("/team/servers/blue-1/test")
    assert re.search(
        r'data-state="down"><span class="shape"></span>failed</span> <b>connect', page.text
    )
    assert "Correct what is listed below" in page.said
    page = await blue.post("/team/servers/blue-1/start", {"phase": "test", "from": "server"})
    assert page.status == 409
    assert "failed: connect" in page.said
    assert 'id="queues"' in page.text  # on the page that it was asked on


async def test_a_server_goes_through_a_phase_from_the_console(running, blue):
    async with served(Kit(annotate)) as url:
        await register(blue, NOBODY)
        sent = {"url": url, "method": "Annotator.getAnnotation", "parameters": "text+context"}
        page = await blue.post("/team/servers/blue-1/edit", sent, concurrency="1")
        assert page.path == "/team/servers/blue-1"
        await run_test(running, blue)
        assert (await blue.post("/team/servers/blue-1/start", phase="test")).status == 409
        await running.do("phases.open", phase="test")
        page = await blue.post("/team/servers/blue-1/next", phase="test")
        assert page.path.startswith("/team/servers?")
        assert "blue-1 is paused in phase test" in page.said
        await running.done(1)
        assert "31 articles waiting" in (await blue.get("/team/servers/blue-1")).said
        page = await blue.post("/team/servers/blue-1/start", {"phase": "test", "from": "server"})
        assert page.path.startswith("/team/servers/blue-1?")
        assert re.search(r"blue-1 is \w+ in phase test", page.said)
        await running.done()
        assert f"finished {ARTICLES}/{ARTICLES}" in (await blue.get("/team/servers")).said
        await attempts_lead_to_places(blue)


async def attempts_lead_to_places(blue: Visitor) -> None:
    page = await blue.get("/team/servers/blue-1/attempts")
    links = re.findall(r'href="(/team/servers/blue-1/attempts/[^"]+)"', page.text)
    assert len(links) >= ARTICLES
    page = await blue.get(links[0].replace("&amp;", "&"))
    assert "All attempts for this article" in page.said
    assert 'id="answer.normalizations[0].dbid"' in page.text
    assert "answer checked" in page.said
    raw = re.search(r'href="([^"]+/raw\?[^"]+)"', page.text)
    assert raw
    async with blue.client.get(raw[1].replace("&amp;", "&")) as response:
        assert b"<methodResponse>" in await response.read()
        assert response.content_type == "application/octet-stream"
        assert response.headers["Content-Disposition"].startswith("attachment;")


BROKEN = b"<?xml version='1.0'?>\n<methodResponse>\n<params><param></wrong>\n"


class Bad:
    """A server that passes its test and then answers as the test wants."""

    def __init__(self) -> None:
        self.bad = False

    def annotate(self, text: str, _context: Context) -> Answer:
        answer = answer_for(text)
        if self.bad:
            answer["normalizations"][1]["rank"] = 0
            answer["normalizations"][3]["confidence"] = 7.0
            answer["normalizations"][4]["dbid"] = MARKUP
        return answer


@pytest.fixture
async def partial(running: Running, blue: Visitor) -> Visitor:
    """Team blue, all of whose answers in phase test were `partial`."""
    bad = Bad()
    async with served(Kit(bad.annotate)) as url:
        await register(blue, url)
        await run_test(running, blue)
        bad.bad = True
        await running.do("phases.open", phase="test")
        await blue.post("/team/servers/blue-1/start", phase="test")
        await running.done()
    return blue


async def test_every_problem_leads_to_its_place_and_errors_are_grouped(partial: Visitor) -> None:
    page = await partial.get("/team/servers/blue-1/attempts?outcome=partial&article=sample03")
    assert page.text.count('<th scope="row">') == 1
    link = re.search(r'<th scope="row"><a href="([^"]+)"', page.text)
    assert link
    page = await partial.get(link[1].replace("&amp;", "&"))
    problems = re.findall(r'<li><a href="#([^"]+)"><code>([^<]+)</code>', page.text)
    paths = [path for _, path in problems]
    assert {"normalizations[1].rank", "normalizations[3].confidence"} <= set(paths)
    for fragment, path in problems:
        assert unquote(fragment) == f"answer.{path}"
        assert f'id="answer.{path}"' in page.text
    assert "<img" not in page.text
    assert "&lt;img src=x" in page.text
    page = await partial.get("/team/servers/blue-1")
    assert f"normalizations[…].rank: expected 1 or more, got 0 {ARTICLES} attempts" in page.said
    assert "<img" not in page.text


@pytest.mark.both_stores
async def test_attempts_are_shown_in_pages_and_filtered(running, partial, monkeypatch):
    monkeypatch.setattr("metaserver.web.team.attempts.PAGE", 10)
    base, seen = "/team/servers/blue-1/attempts", list[str]()
    path: str | None = base
    while path:
        page = await partial.get(path)
        seen += re.findall(r'<th scope="row"><a href="[^"]+">([^<]+)<', page.text)
        older = re.search(r'href="(\?[^"]+)" rel="next"', page.text)
        path = f"{base}{older[1].replace('&amp;', '&')}" if older else None
    assert len(seen) == len(set(seen)) == ARTICLES
    assert "No attempt matches." in (await partial.get(f"{base}?outcome=timeout")).said
    assert (await partial.get(f"{base}?outcome=nonsense")).status == 422
    for attempt in ("sample03/9", "none/1"):
        assert (await partial.get(f"{base}/{attempt}?phase=test")).status == 404


async def test_another_teams_server_is_on_no_page(running: Running, partial: Visitor) -> None:
    async with signed_in(running, "red") as red:
        assert "blue-1" not in (await red.get("/team")).text
        raw = "/team/servers/blue-1/attempts/sample03/1/raw?phase=test"
        for path in (raw, "/team?team=blue", "/team/tokens?team=blue", "/team/settings?team=blue"):
            assert (await red.get(path)).status == 404, path
        page = await red.post("/team/register", server="x", url=NOBODY, team="blue")
        assert page.status in (403, 404)
        async with red.client.get("/team/events?page=server&server=blue-1") as response:
            assert response.status == 404


async def test_an_organiser_looks_at_any_team(running: Running, partial: Visitor) -> None:
    async with signed_in(running) as ana:
        assert 'href="/team?team=blue"' in (await ana.get("/team")).text
        page = await ana.get("/team/servers?team=blue")
        assert "blue-1" in page.said
        assert 'href="/team/register?team=blue"' in page.text
        page = await ana.post("/team/register", server="blue-9", url=NOBODY, team="blue")
        assert page.path == "/team/servers/blue-9"
        page = await ana.post("/team/tokens", label="for ana", role="reader", team="blue")
        assert "New token for for ana" in page.said


async def test_tokens_are_shown_once_and_revoked(running: Running, blue: Visitor) -> None:
    page = await blue.post("/team/tokens", label=MARKUP, role="team", days="")
    secret = page.secret
    assert "<img" not in page.text
    page = await blue.get("/team/tokens")
    assert secret not in page.text
    assert "this session's" in page.said
    async with visiting(running) as other:
        await other.sign_in(secret)
        assert "Team blue" in (await other.get("/team")).said
        revoke = re.findall(r'action="(/team/tokens/\d+/revoke)"', page.text)
        assert len(revoke) == 2
        page = await blue.post(revoke[-1])
        assert page.path == "/team/tokens"
        assert "revoked" in page.said
        assert (await other.get("/team")).path.startswith("/signin")
        assert (await blue.post(revoke[-1])).status == 409
    assert (await blue.post("/team/tokens", label="x", role="organiser")).status == 403
    assert (await blue.post("/team/tokens", label="x", days="-1")).wrong == (422, {"days"})


async def test_settings_and_notices(running: Running, blue: Visitor) -> None:
    assert (await blue.post("/team/notices", webhook="", email="true")).status == 422
    page = await blue.post("/team/settings", title=MARKUP, email="blue@example.org")
    assert page.path == "/team/settings"
    assert "<img" not in page.text
    page = await blue.post("/team/settings", title="Blue", email="nobody")
    assert page.wrong == (422, {"email"})
    page = await blue.post("/team/notices", webhook="http://127.0.0.1:9/hook", email="true")
    assert "Notices are on" in page.said
    secret = page.secret
    page = await blue.get("/team/settings")
    assert secret not in page.text
    assert 'value="http://127.0.0.1:9/***"' in page.text
    page = await blue.post("/team/notices", webhook="http://127.0.0.1:9/***")
    assert "Notices are on" in page.said
    assert 'id="secret"' not in page.text  # webhook and secret are kept
    team = await running.service.team("blue")
    assert team.notices == NoticePlan(webhook="http://127.0.0.1:9/hook", secret=secret)
    page = await blue.post("/team/notices", webhook="http://127.0.0.2:9/***")
    assert page.wrong == (422, {"webhook"})


@pytest.mark.slow
async def test_the_parts_of_the_stream_are_those_of_the_page(partial: Visitor) -> None:
    for path in ("/team", "/team/servers", "/team/servers/blue-1", "/team/servers/blue-1/test"):
        shown = await partial.get(path)
        stream = re.search(r'data-stream="([^"]+)"', shown.text)
        assert stream
        async with partial.client.get(stream[1].replace("&amp;", "&")) as response, patience():
            frame = await next_frame(response)
        assert frame["html"]
        for key, part in frame["html"].items():
            assert re.sub(r"\s+", " ", part) in re.sub(r"\s+", " ", shown.text), key


async def test_a_test_is_watched_step_by_step(running: Running, blue: Visitor) -> None:
    gate = asyncio.Event()

    async with served(waiting(gate)) as url:
        await register(blue, url)
        async with blue.client.get("/team/events?page=test&server=blue-1") as response:
            frame = await next_frame(response)
            assert "not tested" in frame["html"]["verdict"]
            page = await blue.post("/team/servers/blue-1/test")
            assert "testing" in page.said
            assert "Reload" in page.said
            while "testing" not in frame["html"].get("verdict", ""):
                frame = await next_frame(response)
            gate.set()
            while "passed</span>" not in frame["html"].get("verdict", ""):
                frame = await next_frame(response)
        assert (await blue.get("/team/servers/blue-1/test")).text.count('<li id="step-') == 11


async def test_an_answer_that_is_no_xml_is_shown_with_the_place_of_the_error(running, blue):
    bad = False
    kit = application(Kit(annotate))

    @web.middleware
    async def breaks(request: web.Request, handler: Handler) -> web.StreamResponse:
        if bad:
            return web.Response(body=BROKEN, content_type="text/xml")
        return await handler(request)

    kit.middlewares.append(breaks)
    async with TestServer(kit) as server:
        url = str(server.make_url("/"))
        await register(blue, url)
        await run_test(running, blue)
        bad = True
        await running.do("phases.open", phase="test")
        await blue.post("/team/servers/blue-1/next", phase="test")
        await running.until(
            lambda: any(tick.outcome == "syntax" for tick in running.status().recent)
        )
        page = await blue.get("/team/servers/blue-1/attempts?outcome=syntax")
        link = re.search(r'<th scope="row"><a href="([^"]+)"', page.text)
        assert link
        page = await blue.get(link[1].replace("&amp;", "&"))
        assert 'id="error-line"' in page.text
        assert re.search(r"<mark>.</mark>", page.text)
        assert "as text, 4 of 4 lines" in page.said


async def test_servers_to_start_from_are_those_of_the_starter_kits(blue: Visitor) -> None:
    page = await blue.get("/team/snippets")
    for language, kit in KITS.items():
        assert f"<summary>{kit.title}</summary>" in page.text
        assert server_text(language) in html.unescape(page.text)
