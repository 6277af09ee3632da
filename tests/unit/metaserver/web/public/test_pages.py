import asyncio
import csv
import io
import json
import logging
import re
import socket
from contextlib import asynccontextmanager
from importlib.resources import files

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from metaserver.base.states import Role, ServerState
from metaserver.operations.caller import Caller
from metaserver.web.access import event_streams
from metaserver.web.access.visitor import CALLER
from metaserver.web.public.monitor import server_id
from metaserver.web.ui import live
from metaserver.web.ui.live import MOST_ROWS
from tests.event_streams import next_event, next_frame
from tests.unit.metaserver.web.challenge import Challenge
from tests.unit.metaserver.web.site import make_app
from tests.waiting import PATIENCE, patience, until

PAGES = (
    "/monitor", "/board/INT", "/board/IPT", "/board/ACT", "/board/NER", "/board/INT?sort=-f_score",
    "/board/INT?view=both&show=best", "/board/INT/articles",
    "/board/ACT/articles?sort=-mean", "/board/NER/articles",
)  # fmt: skip
EVENTS = "/c/bc/test/events?page="
MARKUP = '<img src=x onerror="alert(1)">'


@asynccontextmanager
async def browsing(source, **options):
    async with TestClient(TestServer(make_app(source, interval=0.01, **options))) as client:
        yield client


async def text_of(client, address, status=200):
    async with client.get(address) as response:
        assert response.status == status, await response.text()
        return await response.text()


@pytest.mark.parametrize("names", [None, []], ids=["servers", "no server"])
@pytest.mark.parametrize("page", PAGES)
async def test_every_page_renders(page, names):
    async with browsing(Challenge(names=names)) as client:
        assert "<!doctype html>" in await text_of(client, page)


async def test_pages_have_no_inline_script_or_style():
    async with browsing(Challenge()) as client:
        for page in (*PAGES, "/nope"):
            text = await text_of(client, page, 404 if page == "/nope" else 200)
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", text)
            assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)


async def test_a_public_board_has_a_picture_that_other_sites_may_show():
    source = Challenge()
    source.freeze("k7Q2", "INT")
    async with browsing(source) as client:
        for board in ("/c/bc/test/board/INT", "/b/k7Q2"):
            text = await text_of(client, board)
            assert re.search(f'og:image" content="http://[^/]+{board}/picture.png"', text)
            async with client.get(f"{board}/picture.png") as response:
                assert (response.status, response.content_type) == (200, "image/png")
                assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
                assert response.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "address",
    ["/monitor", "/board/INT.csv", "/board/INT.json", "/c/bc/test", "/nope", EVENTS + "x"],
)
async def test_every_response_has_the_security_headers(address):
    async with (
        browsing(Challenge()) as client,
        client.get(address, allow_redirects=False) as response,
    ):
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Server"] == "metaserver"


async def test_a_name_made_of_markup_is_text():
    async with browsing(Challenge(names=[MARKUP, "plain"])) as client:
        for page in ("/monitor", "/board/INT"):
            text = await text_of(client, page)
            assert "<img" not in text
            assert "&lt;img src=x" in text


async def test_static_files_may_be_kept_for_ever():
    async with browsing(Challenge()) as client:
        address = re.search(r'href="([^"]+style\.css)"', await text_of(client, "/monitor")).group(1)
        async with client.get(address) as response:
            assert (response.status, response.content_type) == (200, "text/css")
            assert "immutable" in response.headers["Cache-Control"]
        await text_of(client, address.replace("style.css", "../app.py"), 404)
        await text_of(client, address.replace("style", "none"), 404)


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/nope", 404, "There is no such page."),
        ("/board/XYZ", 404, "There is no leaderboard of XYZ here"),
        ("/board/INT?sort=x", 400, "Cannot sort by x"),
        ("/board/ACT?view=mapped", 400, "There is no view mapped: use one of raw."),
        ("/board/INT?show=x", 400, "no choice of runs x"),
        ("/board/INT/articles?sort=tp", 400, "Cannot sort by tp"),
        ("/b/none", 404, "There is no frozen board under this link."),
        ("/monitor?state=dead", 400, "dead is none of waiting, up"),
        (EVENTS + "x", 404, "No page of that name"),
    ],
)
async def test_errors_are_pages_that_say_what_is_wrong(address, status, message):
    async with browsing(Challenge()) as client:
        text = await text_of(client, address, status)
        assert message in text
        assert "<h1>" in text


async def test_errors_are_json_for_programs():
    async with browsing(Challenge()) as client:
        for address in ("/board/XYZ.json", "/api/x"):
            told = json.loads(await text_of(client, address, 404))
            assert (list(told), told["error"]["status"]) == (["error"], 404)
            assert told["error"]["message"].startswith("There is no ")


async def test_only_reading_is_allowed():
    async with browsing(Challenge()) as client, client.post("/monitor") as response:
        assert response.status == 405
        assert "GET" in response.headers["Allow"]


class Broken(Challenge):
    def monitor(self, viewer=None):
        raise RuntimeError("a secret in a traceback")


async def test_a_failure_of_ours_is_told_without_its_reason(caplog):
    async with browsing(Broken()) as client:
        text = await text_of(client, "/monitor", 500)
    assert "The hub could not make this page" in text
    assert "secret" not in text
    assert "a secret in a traceback" in caplog.text  # the log has it


async def test_csv_and_json_have_the_rows_of_the_page_in_its_order():
    async with browsing(Challenge()) as client:
        page, text, told = [
            await text_of(client, f"/board/ACT{form}?sort=-precision_at_full_recall")
            for form in ("", ".csv", ".json")
        ]
        shown = re.findall(r'<th scope="row"><a href="[^"]+/runs/[^"]+">([^<]+)<', page)
        table, runs = list(csv.DictReader(io.StringIO(text))), json.loads(told)["runs"]
    assert [row["run"] for row in table] == [run["run"] for run in runs] == shown
    values = [run["precision_at_full_recall"] for run in runs]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert values[len(known) :] == [None] * (len(values) - len(known))
    assert len(known) < len(values)


async def test_filters_work_without_scripts():
    async with browsing(Challenge()) as client:
        text = await text_of(client, "/monitor?state=down&find=team")
        rows = re.findall(r'<tr( hidden)? id="s-[^"]+"( class="brief")? data-value="(\w+)"', text)
        assert {state for hidden, _, state in rows if not hidden} == {"down"}
        assert all(bool(hidden) is bool(brief) for hidden, brief, _ in rows)
        assert len(rows) == 11


async def test_of_many_servers_a_page_has_the_figures_of_a_hundred():
    source = Challenge(names=[f"S{number:03}" for number in range(250)])
    async with browsing(source) as client:
        for rows, count, first in (("", 100, "S000"), ("201", 50, "S200"), ("9999", 50, "S200")):
            text = await text_of(client, f"/monitor?rows={rows}")
            assert text.count('<tr id="s-') == 250
            whole = re.findall(r'<tr id="s-[^"]+" data-value.*?>(S\d+)</a>', text, re.DOTALL)
            assert (len(whole), whole[0]) == (count, first)
            assert len(text) < 400_000
        text = await text_of(client, "/monitor?sort=-server&find=s2&rows=1")
        shown = re.findall(r'<tr id="s-[^"]+" data-value.*?>(S\d+)</a>', text, re.DOTALL)
        assert shown == [f"S{number:03}" for number in range(249, 199, -1)]
        assert 'href="/c/bc/test/monitor?find=s2&amp;sort=server#table"' in text
        assert "data-paged" not in text  # fifty are found


async def test_a_board_of_many_runs_comes_in_pages_and_its_stream_has_the_page():
    source = Challenge(names=[f"S{number:03}" for number in range(250)])
    async with browsing(source) as client:
        page = await text_of(client, "/board/INT?sort=run&rows=101")
        shown = re.findall(r'<th scope="row"><a [^>]+>(S\d+)', page)
        assert shown == [f"S{number:03}" for number in range(100, 200)]
        assert 'href="/c/bc/test/board/INT?sort=run&amp;rows=201#table"' in page
        assert page.count('id="table"') == 1
        assert 'href="/c/bc/test/board/INT?sort=run" ' not in page.partition("data-stream")[0]
        assert len((await text_of(client, "/board/INT.csv?sort=run&rows=101")).splitlines()) == 251
        async with client.get(EVENTS + "board/INT&sort=run&rows=101") as response:
            first = await next_frame(response)
        assert first["lists"]["runs"] == [f"r-{name}" for name in shown]
        assert page.count('class="dot"') + page.count("point") < 250
        assert "the first 200" in page


async def test_a_stream_begins_with_the_page_and_goes_on_with_changes():
    source = Challenge()
    row = server_id("Team 7 · S01")
    address = EVENTS + f"monitor&rows={row}"
    async with browsing(source) as client, client.get(address) as response:
        assert response.content_type == "text/event-stream"
        first = await next_frame(response)
        assert len(first["lists"]["servers"]) == 11
        assert set(first["lists"]["servers"]) == set(first["brief"])
        assert set(first["lists"]["errors"]) < set(first["html"])
        assert set(first["drawn"]) == {row}
        assert first["rows"] == {}
        await source.set_state("Team 7 · S01", ServerState.DOWN)
        second = await next_frame(response)
        assert set(second["html"]) == {"servers-up", "count-up", "count-down"}
        assert set(second["brief"]) == {row}
        assert second["brief"][row].items() >= {
            "@data-value": "down", "@data-announce": "Team 7 · S01 is down",
            "pill@data-state": "down", "state": "down",
        }.items()  # fmt: skip
        assert (second["lists"], second["rows"], second["drawn"]) == ({}, {}, {})
        await source.step()
        third = await next_frame(response)
        assert set(third["rows"]) == {row}
        assert "@data-value" not in third["rows"][row]
        assert {"last", "done", "line@d"} <= set(third["rows"][row])


@pytest.mark.parametrize("accepted", ["identity", "gzip, deflate, br, zstd"])
async def test_a_stream_is_compressed_for_who_takes_it_and_each_event_comes_at_once(accepted):
    source, headers = Challenge(), {"Accept-Encoding": accepted}
    async with (
        browsing(source) as client,
        client.get(EVENTS + "monitor", headers=headers) as response,
    ):
        compressed = accepted != "identity"
        found = response.headers.get("Content-Encoding", "identity")
        assert found == ("gzip" if compressed else "identity")
        assert response.headers["Vary"] == "Accept-Encoding"
        first = await next_frame(response)
        await source.set_state("Team 7 · S01", ServerState.DOWN)
        assert (await next_frame(response))["html"].keys() < first["html"].keys()


async def test_a_stream_that_goes_on_from_an_event_has_what_changed_since():
    source = Challenge()
    row = server_id("Team 7 · S01")
    async with browsing(source) as client, client.get(EVENTS + "monitor") as response:
        event = await response.content.readuntil(b"\n\n")
        seen = re.search(rb"^id: (\S+)$", event, re.MULTILINE)[1].decode()
        address = EVENTS + f"monitor&rows={row}&seen={seen}"
        async with client.get(address) as other:
            frame = await next_frame(other)
            assert (frame["html"], frame["brief"], frame["lists"]) == ({}, {}, {})
            assert set(frame["drawn"]) == {row}
        async with client.get(address.replace(seen, "0" * 8 + "-1")) as other:
            assert "servers-up" in (await next_frame(other))["html"]


@pytest.mark.parametrize("rows", ["x y", "s-" + "a" * 100, ",".join(f"s-{n}" for n in range(201))])
async def test_a_stream_of_too_many_rows_or_of_none_is_refused(rows):
    async with browsing(Challenge()) as client:
        assert "rows" in await text_of(client, EVENTS + f"monitor&rows={rows}", 400)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_page_of_a_thousand_servers_is_small_as_it_is_sent_with_all_it_needs(encoding):
    app = make_app(Challenge(names=[f"Team {n // 2} · S{n:04}" for n in range(1_000)]))
    sizes, static = [], [item.name for item in (files("metaserver.web") / "static").iterdir()]
    async with TestClient(TestServer(app), auto_decompress=False) as client:
        async with client.get("/monitor", headers={"Accept-Encoding": "identity"}) as response:
            folder = re.search(r'"(/static/\w+/)', await response.text())[1]
        for address in ("/monitor", *(folder + name for name in static)):
            headers = {"Accept-Encoding": encoding}
            async with client.get(address, headers=headers) as response:
                assert response.headers["Content-Encoding"] == encoding
                assert response.headers["Vary"] == "Accept-Encoding"
                sizes.append(len(await response.read()))
    assert sum(sizes) < 150_000
    assert sum(sizes[1:]) < 40_000  # of the files that pages share


async def test_the_parts_of_the_stream_are_those_of_the_page():
    """Whatever the stream would replace is on the page, and equal."""
    source = Challenge()
    async with browsing(source) as client:
        await source.upload("Team 7 · R01", skill=0.5)
        for page, stream in (
            ("/monitor", "monitor"),
            ("/board/ACT?sort=run", "board/ACT&sort=run"),
            ("/board/INT?view=mapped&show=best", "board/INT&view=mapped&show=best"),
            ("/board/NER", "board/NER"),
        ):
            shown = re.sub(r"\s+", " ", await text_of(client, page))
            rows = ",".join(server_id(lane.name) for lane in source.lanes)
            given = f"{stream}&rows={rows}" if stream == "monitor" else stream
            async with client.get(EVENTS + given) as response:
                frame = await next_frame(response)
            for key, html in (frame["html"] | frame["drawn"]).items():
                assert re.sub(r"\s+", " ", html) in shown, key


async def test_silence_is_filled_with_beats():
    async with (
        browsing(Challenge(), heartbeat=0.01) as client,
        client.get(EVENTS + "monitor") as response,
    ):
        await next_frame(response)
        assert await next_event(response) == ("beat", "1")


async def test_shutdown_ends_the_streams():
    client = TestClient(TestServer(make_app(Challenge())))
    await client.server.start_server(shutdown_timeout=10 * PATIENCE)  # of aiohttp, for a handler
    await client.start_server()
    response = await client.get(EVENTS + "monitor")
    await next_frame(response)
    async with patience():
        await client.server.close()
    await client.close()


class Flaky(Challenge):
    broken = False

    def monitor(self, viewer=None):
        if self.broken:
            raise RuntimeError("for now")
        return super().monitor()


async def test_a_page_that_fails_once_goes_on_later(caplog):
    caplog.set_level(logging.ERROR)
    source = Flaky()
    async with browsing(source) as client, client.get(EVENTS + "monitor") as response:
        await next_frame(response)
        source.broken = True
        await source.step()
        await until(lambda: "cannot render monitor" in caplog.text)
        source.broken = False
        await source.set_state("Team 7 · S01", ServerState.DOWN)
        assert "servers-up" in (await next_frame(response))["html"]


async def test_a_frozen_board_stays_as_it_was():
    source = Challenge()
    async with browsing(source) as client:
        before = await text_of(client, "/board/INT.csv?view=both&sort=run")
        source.freeze("k7Q2", "INT")
        await source.add_run("Team 0", skill=0.9)
        source.lanes[0].answered = 3
        assert await text_of(client, "/board/INT.csv?view=both&sort=run") != before
        assert await text_of(client, "/b/k7Q2.csv?view=both&sort=run") == before
        told = json.loads(await text_of(client, "/b/k7Q2.json"))
        assert told["frozen"] == {
            "phase": "Test phase", "at": "2026-09-21T14:13:20Z", "reason": "gold version 1",
        }  # fmt: skip
        page = await text_of(client, "/b/k7Q2?show=best")
        assert "data-stream" not in page
        assert "Team 0" not in page
        assert 'href="/b/k7Q2.csv?show=best"' in page
        assert 'href="/b/k7Q2"' in await text_of(client, "/board/INT")


async def test_who_may_not_see_the_scores_is_told_why_and_an_organiser_sees_them():
    source = Challenge()
    source.hidden = "The scores are shown when the phase ends."

    @web.middleware
    async def sign_in(request, handler):
        if "X-Organiser" in request.headers:
            request[CALLER] = Caller(role=Role.ORGANISER)
        return await handler(request)

    app = make_app(source)
    app.middlewares.append(sign_in)
    async with TestClient(TestServer(app)) as client:
        for page in ("/board/INT", "/board/INT/articles"):
            text = await text_of(client, page)
            assert source.hidden in text
            assert "<tbody" not in text
            assert '<svg class="plot"' not in text
            assert "data-stream" not in text
            async with client.get(page, headers={"X-Organiser": "yes"}) as response:
                assert "<tbody" in await response.text()
        assert json.loads(await text_of(client, "/board/INT.json"))["runs"] == []
        assert len((await text_of(client, "/board/INT/articles.csv")).splitlines()) == 1
        async with client.get(EVENTS + "board/INT") as response:
            assert (await next_frame(response))["lists"] == {"runs": []}


async def test_articles_are_ordered_as_asked_and_the_same_in_csv():
    async with browsing(Challenge()) as client:
        page = await text_of(client, "/board/ACT/articles?sort=-deviation")
        shown = re.findall(r'<th scope="row">(\d+)<', page)
        text = await text_of(client, "/board/ACT/articles.csv?sort=-deviation")
    table = list(csv.DictReader(io.StringIO(text)))
    deviations = [float(row["deviation"]) for row in table]
    assert deviations == sorted(deviations, reverse=True)
    assert [row["article"] for row in table] == shown
    assert len(shown) == 59
    expected = "2 more articles are not shown: fewer than three teams have a run of coverage 90% or"
    assert expected in page


async def test_a_task_without_ranked_answers_says_so():
    async with browsing(Challenge()) as client:
        text = await text_of(client, "/board/NER")
        assert "This task has no curve" in text
        assert "/board/NER/articles" not in text
        assert "no levels of difficulty" in await text_of(client, "/board/NER/articles")
        assert "auc_ipr_low" in await text_of(client, "/board/INT.csv")
        assert "interval" not in await text_of(client, "/board/NER.csv")


@pytest.mark.slow
async def test_the_connection_of_a_viewer_who_takes_nothing_is_ended(monkeypatch):
    monkeypatch.setattr(event_streams, "STALLED_SECONDS", 0.2)
    source = Challenge(names=[f"S{number:03}" for number in range(MOST_ROWS)])
    rows = ",".join(server_id(lane.name) for lane in source.lanes)
    async with browsing(source) as client:
        with socket.socket() as viewer:
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            viewer.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(viewer, (client.host, client.port))
            ask = f"GET {EVENTS}monitor&rows={rows} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            await loop.sock_sendall(viewer, ask.encode())
            await until(live.open_streams)

            async def is_ended():
                await source.step()
                return not client.server.runner.server.connections

            await until(is_ended)
        assert not live.open_streams()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("/monitor?state=up&find=a%26b", "/c/bc/test/monitor?state=up&find=a%26b"),
        ("/t/INT.csv?view=both", "/c/bc/test/board/INT.csv?view=both"),
        ("/board/INT/articles", "/c/bc/test/board/INT/articles"),
        ("/servers/Team%207%20%C2%B7%20S01", "/c/bc/test/servers/Team%207%20%C2%B7%20S01"),
        ("/t//evil.example", "/c/bc/test/board//evil.example"),
    ],
)
async def test_a_short_address_leads_to_the_page_of_the_only_phase(short, long):
    async with (
        browsing(Challenge()) as client,
        client.get(URL(short, encoded=True), allow_redirects=False) as response,
    ):
        assert (response.status, response.headers["Location"]) == (302, long)
