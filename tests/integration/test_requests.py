"""Requests of curators: seven servers, each with its own behaviour, and what comes of them."""

import asyncio
import gzip
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaserver.base.curations import ENDED, RequestState
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.publications import plain_id
from metaserver.base.records import Article, ArticleId, ServerName, ServerReport, TeamName
from metaserver.base.states import ReportedState
from metaserver.config import ArticleSource, CurationSettings, SecuritySettings, ServersForCurators
from metaserver.curation.desk import RequestDesk
from metaserver.curation.parts import CurationParts
from metaserver.curation.store import requests
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.visibility import SeenNames
from metaserver.store import audit, leases, servers
from metaserver.store.leases import Process
from tests.fakes.web_peer import web_peer
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import ACCESSIONS
from tests.integration.curating import TEXT, asked_hub, curator, register, scripted, settled, states
from tests.waiting import patience

MARK = re.compile(rb"mark:[0-9a-f]{16}")
ARTICLE = DEMO / "articles" / "sample01.txt"
NAMED = {"infons": {"identifier": ACCESSIONS[0]}, "locations": [{"offset": 0, "length": 4}]}
ANNOTATED = msgspec.json.encode({"passages": [{"offset": 0, "text": TEXT, "annotations": [NAMED]}]})


async def refusal(running: Running, caller: Caller, **values: Any) -> RefusedError:
    return await running.refused("consensus.ask", caller, **values)


async def test_what_is_not_scored_is_shown_to_curators(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a", "b"]) as (running, servers):
        hit = {"dbid": ACCESSIONS[0], "rank": 1, "confidence": 0.9}
        place = TEXT.index("EGFR", 20)
        mention = {"offset": place, "mention": "EGFR", "dbid": ACCESSIONS[0]}
        servers["a"].answer = {
            "normalizations": [{**hit, "evidence": "EGFR binds GRB2", "taxid": 9606}],
            "mentions": [mention, {**mention, "offset": place + 1}],
        }
        servers["b"].answer = {"normalizations": [hit, {**hit, "dbid": ACCESSIONS[1], "rank": 2}]}
        ana = await curator(running)
        asked = await running.do(
            "consensus.ask", ana, text=TEXT, tasks=("INT",), cutoff=1, weights={"a": 2.0}, wait=20.0
        )
        assert asked.state is RequestState.ANSWERED
        [candidate] = asked.candidates
        assert (candidate.item, candidate.score) == ((ACCESSIONS[0],), pytest.approx(1.5))
        by_server = {vote.server: vote for vote in candidate.votes}
        assert (by_server["a"].evidence, by_server["a"].taxid) == ("EGFR binds GRB2", 9606)
        assert (by_server["b"].evidence, by_server["b"].taxid) == ("", None)
        [span] = candidate.mentions
        assert (TEXT[span.start : span.end], span.start, span.servers) == ("EGFR", place, ("a",))
        other = await running.do(
            "consensus.explain", ana, request=asked.request, item=ACCESSIONS[1]
        )
        assert (other.rank, other.agreement) == (2, 0.5)
        caught = await running.refused(
            "consensus.explain", ana, request=asked.request, item="P99999"
        )
        assert caught.refusal is Refusal.UNKNOWN


async def test_articles_of_open_phases_are_refused(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"]) as (running, servers):
        ana = await curator(running)
        text = ARTICLE.read_text()
        blanks = text.replace(" ", " \t", 40).replace("\n", "\r\n")
        for values in (
            {"article": "sample01"},
            {"text": text},
            {"text": blanks.upper()},
            {"text": text.partition("\n")[2]},
            {"content": ARTICLE.read_bytes(), "source": "other.txt"},
            {"content": gzip.compress(ARTICLE.read_bytes()), "source": "other.txt.gz"},
        ):
            refused = await refusal(running, ana, **values)
            if "article" in values:  # as one that is nowhere: ids of test articles are not told
                unknown = await refusal(running, ana, article="nowhere")
                assert refused.message.replace("sample01", "nowhere") == unknown.message
                continue
            assert refused.refusal is Refusal.STATE, values
            assert refused.message == "the article is in a phase that is not closed yet"
        await running.do("phases.open", phase="test")
        await running.do("phases.freeze", phase="test")
        assert (await refusal(running, ana, text=text)).refusal is Refusal.STATE
        await running.do("phases.close", phase="test")
        asked = await running.do("consensus.ask", ana, article="PMID:sample01", wait=20.0)
        assert (asked.state, asked.length) == (RequestState.ANSWERED, len(servers["a"].texts[0]))
        assert servers["a"].contexts[0]["article_id"] == "sample01"
        assert (await refusal(running, ana, article="nowhere")).refusal is Refusal.UNKNOWN


async def test_guesses_at_test_articles_count_as_requests(tmp_path: Path) -> None:
    given = await settings(tmp_path, curation=CurationSettings(requests_a_day=6))
    async with at_work(given) as running:
        await plan_phase(running)
        ana = await curator(running)
        guesses = [{"article": "sample01"}, {"article": "nowhere"}, {"text": ARTICLE.read_text()}]
        ended = await asyncio.gather(
            *(running.do("consensus.ask", ana, **one) for one in guesses * 4),
            return_exceptions=True,
        )
        refused = [one.refusal for one in ended if isinstance(one, RefusedError)]
        assert len(refused) == 12
        assert refused.count(Refusal.TOO_MANY) == 6
        assert (await refusal(running, ana, article="sample02")).refusal is Refusal.TOO_MANY
        assert await running.do("consensus.list", ana) == []


async def test_an_article_that_came_into_a_phase_is_not_sent(tmp_path: Path) -> None:
    one_at_a_time = CurationSettings(in_flight=1)
    async with (
        scripted(["a", "b"]) as servers,
        at_work(await settings(tmp_path, curation=one_at_a_time)) as running,
    ):
        await running.do("challenges.set", challenge="other")
        await register(running, servers)
        ana = await curator(running)
        servers["a"].open.clear()
        first = await running.do("consensus.ask", ana, text=TEXT, deadline=20.0)
        second = await running.do(
            "consensus.ask", ana, text=ARTICLE.read_text(), servers=("b",), deadline=20.0
        )
        await plan_phase(running)
        servers["a"].open.set()
        assert (await settled(running, ana, first)).state is RequestState.ANSWERED
        found = await settled(running, ana, second)
        assert found.state is RequestState.FAILED
        assert found.message == "the article is in a phase that is not closed yet"
        assert states(found) == {"b": "not asked"}
        assert servers["b"].texts == [TEXT]


async def test_curators_see_anonymous_names_while_a_phase_hides_them(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["green-1", "blue-1"]) as (running, servers):
        hit = {"dbid": ACCESSIONS[0], "rank": 1, "confidence": 0.9}
        place = {"offset": TEXT.index("EGFR", 20), "mention": "EGFR", "dbid": ACCESSIONS[0]}
        for one in servers.values():
            one.answer = {"normalizations": [hit], "mentions": [place]}
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, text=TEXT, wait=20.0)
        key = asked.request
        assert {one.server for one in asked.servers} == set(servers)
        await running.do("phases.update", phase="test", team_names="hidden")
        await running.do("teams.create", team="late")  # after the phase was loaded
        hidden = await running.do("consensus.get", ana, request=key)
        explained = await running.do("consensus.explain", ana, request=key, item=ACCESSIONS[0])
        aliases = [one.server for one in hidden.servers]
        for told in (hidden, explained):
            text = msgspec.json.encode(told)
            assert re.search(rb"green|blue", text) is None, text
        board = SeenNames(running.service.phase("test"))
        assert not {board.run(one, TeamName(one), ana.viewer) for one in servers} & {*aliases}
        assert aliases == sorted(aliases)
        assert all(re.fullmatch(r"Team \d+ [a-z2-7]{4}", one) for one in aliases)
        assert [one.server.rpartition(" ")[0] for one in hidden.servers] == [
            one.team for one in hidden.servers
        ]
        [candidate] = hidden.candidates
        assert [vote.server for vote in candidate.votes] == aliases
        assert candidate.mentions[0].servers == tuple(aliases)
        seen = await running.do("consensus.get", request=key)
        assert {one.server for one in seen.servers} == set(servers)

        one = await running.do(
            "consensus.ask", ana, text=TEXT, servers=aliases[:1], weights={aliases[0]: 3}, wait=20.0
        )
        assert [each.server for each in one.servers] == aliases[:1]
        assert one.candidates[0].score == pytest.approx(1.5)
        for field, value in (("servers", ("green-1",)), ("weights", {"green-1": 1})):
            known = await refusal(running, ana, text=TEXT, **{field: value})
            nobody = {"nobody": 1} if field == "weights" else ("nobody",)
            guessed = await refusal(running, ana, text=TEXT, **{field: nobody})
            assert known.message.replace("green-1", "nobody") == guessed.message

        for action in ("open", "freeze"):
            await running.do(f"phases.{action}", phase="test")
        again = await running.do("consensus.get", ana, request=key)
        assert {one.server for one in again.servers} == set(servers)


@asynccontextmanager
async def library(asked: list[str]) -> AsyncIterator[str]:
    """Serve articles by their paths: a good one, and what a source must not be believed."""

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        match request.match_info["id"]:
            case "1":
                return web.Response(text=TEXT, content_type="text/plain")
            case "2":
                return web.Response(text="x" * 2_000, content_type="text/plain")
            case "3":
                return web.Response(status=302, headers={"Location": "/1"})
            case "4":
                return web.Response(text="<html>", content_type="text/html")
            case "6":
                return web.Response(text=ARTICLE.read_text(), content_type="text/plain")
        return web.Response(status=404, text="secret words")

    app = web.Application()
    app.add_routes([web.get("/{id}", answer)])
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/"))


async def test_articles_come_from_sources_within_bounds(tmp_path, caplog):
    caplog.set_level(logging.INFO, "metaserver.curation.texts")
    asked: list[str] = []
    async with library(asked) as address, scripted(["a"]) as servers:
        sources = [
            ArticleSource(name="dois", url=f"{address}{{doi}}"),
            ArticleSource(name="abstracts", url=f"{address}{{pmid}}?key=hush"),
        ]
        curation = CurationSettings(sources=sources, text_bytes=200)
        given = await settings(tmp_path, curation=curation)
        async with at_work(given) as running:
            await register(running, servers)
            ana = await curator(running)
            found = await running.do("consensus.ask", ana, article="PMID: 1", wait=20.0)
            assert (found.state, found.article) == (RequestState.ANSWERED, "1")
            assert (servers["a"].texts, servers["a"].contexts[0]["article_id"]) == ([TEXT], "1")
            for article, word in (
                ("2", "abstracts: too_large"), ("3", "abstracts: http"), ("4", "expected XML"),
                ("5", "abstracts: http"), ("10.1000/x", "dois: http"), ("../1", ""), ("PMC5", ""),
            ):  # fmt: skip
                caplog.clear()
                refused = await refusal(running, ana, article=article)
                assert refused.refusal is Refusal.UNKNOWN, article
                assert refused.message == (
                    f"there is no article {article!r} in a closed phase: send its text"
                )
                assert word in caplog.text
                assert not {"hush", "secret", address} & set(caplog.text.split())
            assert asked == ["/1", "/2", "/3", "/4", "/5", "/10.1000/x"]
        closed = msgspec.structs.replace(given, security=SecuritySettings())
        async with at_work(closed) as running:  # where no server of this machine may be asked
            ana = await curator(running, "bob")
            caplog.clear()
            assert (await refusal(running, ana, article="1")).refusal is Refusal.UNKNOWN
            assert "abstracts: " in caplog.text
            assert len(asked) == 6
        wide = await settings(tmp_path / "wide", curation=CurationSettings(sources=sources))
        async with at_work(wide) as running:
            await plan_phase(running)
            ana = await curator(running)
            assert (await refusal(running, ana, article="6")).refusal is Refusal.STATE
            assert (await refusal(running, ana, article="sample01")).refusal is Refusal.UNKNOWN
            named = [Article(id=ArticleId(one), text=one) for one in ("7", "10.1000/ABC")]
            await running.add_corpus("ids", named)
            await running.add_phase("ids", "ids")
            unknown = await refusal(running, ana, article="5")
            for article in ("7", "007", "10.1000/abc", "doi:10.1000/Abc"):  # each is a test article
                refused = await refusal(running, ana, article=article)
                assert refused.refusal is Refusal.UNKNOWN, article
                alike = refused.message.replace(plain_id(article), "5")
                assert alike == unknown.message
            assert asked[6:] == ["/6", "/5"]


def test_a_source_has_one_place_for_an_identifier() -> None:
    for url in ("https://x.org/", "ftp://x.org/{pmid}", "https://x.org/{pmid}/{doi}"):
        with pytest.raises(ValueError, match="sources: x"):
            ArticleSource(name="x", url=url)


@pytest.mark.slow
async def test_what_cannot_be_asked_is_refused_before_it_is_read(tmp_path: Path) -> None:
    small = CurationSettings(text_bytes=100, requests_a_day=2)
    async with asked_hub(tmp_path, ["a"], curation=small) as (running, servers):
        ana = await curator(running)
        for values, expected in (
            ({}, Refusal.INVALID),
            ({"text": "a", "article": "b"}, Refusal.INVALID),
            ({"text": "é" * 51}, Refusal.TOO_LARGE),
            ({"content": b"x" * 801}, Refusal.INVALID),
            ({"content": gzip.compress(b"x" * 10**6), "source": "a.txt.gz"}, Refusal.INVALID),
            ({"content": b"<article>", "source": "a.xml"}, Refusal.INVALID),
            ({"content": b"x", "source": "a\n.txt"}, Refusal.INVALID),
            ({"content": b"x", "source": "a/.."}, Refusal.INVALID),
            ({"content": b"x", "source": "é" * 150}, Refusal.INVALID),
            ({"text": "a", "servers": ("nobody",)}, Refusal.UNKNOWN),
            ({"text": "a", "method": "magic"}, Refusal.INVALID),
            ({"text": "a", "method": "stacked"}, Refusal.STATE),
            ({"text": "a", "method": "votes", "threshold": 0.5}, Refusal.INVALID),
            ({"text": "a", "tasks": ("PPI",)}, Refusal.INVALID),
            ({"text": "a", "deadline": 600.0}, Refusal.INVALID),
        ):
            assert (await refusal(running, ana, **values)).refusal is expected, values
        assert servers["a"].texts == []
        for _ in range(2):
            await running.do("consensus.ask", ana, text="some text", wait=20.0)
        assert (await refusal(running, ana, text="more")).refusal is Refusal.TOO_MANY
        listed = await running.do("consensus.list", ana)
        await running.do("consensus.forget", ana, request=listed[0].request)
        assert (await refusal(running, ana, text="more")).refusal is Refusal.TOO_MANY
        bob = await curator(running, "bob")
        asked = await running.do("consensus.ask", bob, text="some text", wait=20.0)
        assert asked.state is RequestState.ANSWERED


async def test_memory_keeps_no_more_than_the_store(tmp_path: Path) -> None:
    now = time.time()
    async with asked_hub(tmp_path, ["a"], clock=lambda: now) as (running, _):
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, text=TEXT, keep_days=1, wait=20.0)
        desk = running.service.part(CurationParts).requests
        live = await desk.get(asked.request)
        assert [(one.accepted, one.raw) for one in live.answers] == [(True, None)]
        await running.until(lambda: not desk._asking)
        now += 86_400.0
        await desk.sweep()
        caught = await running.refused("consensus.get", ana, request=asked.request)
        assert caught.refusal is Refusal.UNKNOWN


async def test_a_request_that_was_read_before_it_was_taken_up_is_followed(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"]) as (running, servers):
        servers["a"].open.clear()
        asked = await running.do("consensus.ask", await curator(running), text=TEXT)
        desk = running.service.part(CurationParts).requests
        taken_up = desk._live.pop(asked.request)
        read = await desk.get(asked.request)
        desk._live[asked.request] = taken_up
        assert read not in (None, taken_up)
        servers["a"].open.set()
        async with patience():
            assert await desk.news(read, taken_up.version) is taken_up


async def test_requests_belong_to_their_token(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"]) as (running, _):
        ana, bob = await curator(running), await curator(running, "bob")
        file = {"content": ANNOTATED, "source": "a.json"}
        asked = await running.do("consensus.ask", ana, **file, title="Mine", wait=20.0)
        assert asked.uploaded.hits == 1
        assert [one.title for one in await running.do("consensus.list", ana)] == ["Mine"]
        assert await running.do("consensus.list", bob) == []
        for name in ("get", "cancel", "forget"):
            caught = await running.refused(f"consensus.{name}", bob, request=asked.request)
            assert caught.refusal is Refusal.UNKNOWN
        await running.do("consensus.forget", ana, request=asked.request)
        with pytest.raises(RefusedError):
            await running.do("consensus.get", ana, request=asked.request)
        async with running.service.store.reading() as connection:
            kept = "requests WHERE text IS NOT NULL OR title != '' OR uploaded IS NOT NULL"
            for table in ("request_answers", kept):
                rows = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
                assert rows.scalar() == 0


async def test_a_server_that_refuses_the_hub_is_asked_once(tmp_path: Path) -> None:
    """More requests with wrong credentials could lock an account, also after a restart."""
    refused: list[int] = []
    refusing = asyncio.Event()
    given = await settings(tmp_path)
    async with scripted(["a", "b"]) as servers, aiohttp.ClientSession() as session:
        kit = servers["a"].url

        async def proxy(request: web.Request) -> web.Response:
            if refusing.is_set():
                refused.append(403)
                return web.Response(status=403)
            async with session.post(kit, data=await request.read()) as answer:
                return web.Response(body=await answer.read(), content_type="text/xml")

        async with web_peer(proxy) as url:
            servers["a"].url = url
            async with at_work(given) as running:
                await plan_phase(running)
                await register(running, servers)
                refusing.set()
                servers["b"].open.clear()
                ana = await curator(running)
                asked = await running.do("consensus.ask", ana, text=TEXT, deadline=20.0)
                await running.until(lambda: bool(refused) and bool(servers["b"].texts))
                live = await running.service.part(CurationParts).requests.get(asked.request)
                await running.until(lambda: live.servers["a"].state in ENDED)
            async with at_work(given) as running:
                servers["b"].open.set()
                found = await settled(running, ana, asked)
                assert states(found) == {"a": "failed", "b": "answered"}
    assert refused == [403]


async def test_a_team_withdraws_at_any_time(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a", "b"]) as (running, servers):
        servers["a"].open.clear()
        ana = await curator(running)
        asked = await running.do("consensus.ask", ana, text=TEXT)
        await running.until(lambda: bool(servers["a"].texts))
        a, b = running.team("a"), running.team("b")
        detail = await running.do("servers.serve-curators", a, server="a", serve=False)
        assert not detail.serves_curators
        found = await settled(running, ana, asked)
        assert states(found) == {"a": "not asked", "b": "answered"}
        assert found.state is RequestState.ANSWERED
        await running.do("servers.serve-curators", b, server="b", serve=False)
        found = await running.do("consensus.ask", ana, text=TEXT, wait=20.0)
        assert (found.state, found.message) == (RequestState.FAILED, "no server serves curators")


async def test_a_request_that_is_cancelled_as_it_begins_leaves_its_place(tmp_path: Path) -> None:
    curation = CurationSettings(in_flight=1)
    async with asked_hub(tmp_path, ["a"], curation=curation) as (running, _):
        ana, desk = await curator(running), running.service.part(CurationParts).requests
        first = await settled(running, ana, await running.do("consensus.ask", ana, text=TEXT))
        known = await desk.get(first.request)
        assert known is not None
        begun = await desk.begin(replace(known.stored, id="0" * len(known.key)))
        await desk.cancel(begun)  # before its task has made a step
        last = await running.do("consensus.ask", ana, text=f"{TEXT} again")
        assert states(await settled(running, ana, last)) == {"a": "answered"}


@pytest.mark.slow
async def test_what_another_process_was_told_ends_calls_under_way(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a", "b"]) as (running, served_):
        for one in served_.values():
            one.open.clear()
        ana, hub = await curator(running), running.service
        cancelled, forgotten, withdrawn = [
            await running.do("consensus.ask", ana, text=f"{TEXT} {number}") for number in range(3)
        ]
        await running.until(lambda: bool(served_["a"].texts and served_["b"].texts))
        async with hub.store.writing() as connection:  # as another process does
            state = RequestState.CANCELLED.value
            await requests.change(connection, cancelled.request, state=state)
            await requests.forget(connection, forgotten.request, time.time() + 60)
            known = await servers.get(connection, ServerName("a"))
            await servers.serve_curators(connection, known.id, False)
            await audit.add(connection, actor="x", action="x", subject="x", detail={})
        await hub.phases.follower.reload_changes()
        found = await running.do("consensus.get", ana, request=cancelled.request)
        assert (found.state, found.settled) == (RequestState.CANCELLED, True)
        caught = await running.refused("consensus.get", ana, request=forgotten.request)
        assert caught.refusal is Refusal.UNKNOWN
        for one in served_.values():
            one.open.set()
        last = await settled(running, ana, withdrawn)
        assert states(last) == {"a": "not asked", "b": "answered"}
        async with hub.store.reading() as connection:
            for gone in (cancelled, forgotten):
                assert not await requests.answers(connection, gone.request)


@pytest.mark.slow
@pytest.mark.both_stores
async def test_a_hub_that_was_stopped_goes_on(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with scripted(["a", "b"]) as servers:
        servers["b"].open.set()
        async with at_work(given) as running:
            await plan_phase(running)
            await register(running, servers)
            servers["a"].open.clear()
            ana = await curator(running)
            asked = await running.do("consensus.ask", ana, text=TEXT, deadline=20.0)
            live = await running.service.part(CurationParts).requests.get(asked.request)
            await running.until(lambda: len(live.answers) == 1 and bool(servers["a"].texts))
            before = live.version
            async with running.service.store.reading() as connection:  # also where it is killed
                assert len(await requests.answers(connection, asked.request)) == 1
        async with at_work(given) as running:
            await running.until(lambda: len(servers["a"].texts) == 2)
            servers["a"].open.set()
            found = await settled(running, ana, asked)
            assert found.version > before
            assert states(found) == {"a": "answered", "b": "answered"}
            assert found.state is RequestState.ANSWERED
            assert servers["b"].texts == [TEXT]  # its answer was kept
        async with at_work(given) as running:
            again = await running.do("consensus.get", ana, request=asked.request, wait=20.0)
            assert (again.state, again.candidates) == (found.state, found.candidates)
            assert states(again) == states(found)


def _with(hub: HubContext, desk: RequestDesk) -> HubContext:
    """Return the context of a hub whose curators have another desk."""
    parts = replace(hub.part(CurationParts), requests=desk)
    return replace(hub, _parts=hub._parts | {CurationParts: parts})


@dataclass
class Aside:
    """A process of a hub in several processes."""

    id: str
    is_alone: bool = False


async def test_a_process_leaves_the_requests_of_a_living_one_alone(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"]) as (running, servers):
        ana = await curator(running)
        hub, parts = running.service, running.service.part(CurationParts)
        one, two = (
            RequestDesk(hub.store, hub.servers.client, parts.rules, parts.guarded, parts.models,
                        hub.settings, hub.clock, Aside(name))
            for name in ("one", "two")
        )  # fmt: skip
        async with hub.store.writing() as connection:
            await leases.enter(
                connection, Process(id="one", host="", role="web", version="", capacity=0),
                alone=False,
            )  # fmt: skip
        servers["a"].open.clear()
        by_one, by_two = (Running(_with(hub, desk)) for desk in (one, two))
        first = asyncio.create_task(one.run())
        asked = await by_one.do("consensus.ask", ana, text=TEXT, deadline=20.0)
        await running.until(lambda: len(servers["a"].texts) == 1)

        await two._resume()
        seen = await two.get(asked.request)
        assert seen.state is RequestState.ASKING
        assert await two._left() == []
        watched = asyncio.create_task(
            by_two.do("consensus.get", ana, request=asked.request, since=seen.version, wait=30.0)
        )
        servers["a"].open.set()
        assert states(await watched) == {"a": "answered"}
        assert servers["a"].texts == [TEXT]

        servers["a"].open.clear()
        left = await by_one.do("consensus.ask", ana, text=f"{TEXT} 2", deadline=20.0)
        await running.until(lambda: len(servers["a"].texts) == 2)
        first.cancel()
        await asyncio.wait([first])
        async with hub.store.writing() as connection:
            await leases.leave(connection, "one")
        second = asyncio.create_task(two.run())
        await running.until(lambda: len(servers["a"].texts) == 3)
        servers["a"].open.set()
        assert states(await settled(by_two, ana, left)) == {"a": "answered"}
        second.cancel()
        await asyncio.wait([second])


async def test_requests_take_turns(tmp_path: Path) -> None:
    few = CurationSettings(in_flight=1, at_once=2, queue=6)
    async with asked_hub(tmp_path, ["a"], concurrency=4, curation=few) as (running, servers):
        servers["a"].open.clear()
        ana, bob, eve = [await curator(running, name) for name in ("ana", "bob", "eve")]
        asked = [
            await running.do("consensus.ask", caller, text=f"{TEXT} {number}", deadline=20.0)
            for number, caller in enumerate((ana, ana, ana, bob, eve, eve))
        ]
        assert (await refusal(running, eve, text=TEXT)).refusal is Refusal.TOO_MANY
        await running.until(lambda: len(servers["a"].texts) == 2)
        assert {text[-1] for text in servers["a"].texts} == {"0", "3"}
        cancelled = await running.do("consensus.cancel", ana, request=asked[1].request)
        assert cancelled.state is RequestState.CANCELLED
        servers["a"].open.set()
        for place, caller in ((0, ana), (2, ana), (3, bob), (4, eve), (5, eve)):
            assert (await settled(running, caller, asked[place])).state is RequestState.ANSWERED
        assert sorted(text[-1] for text in servers["a"].texts) == ["0", "2", "3", "4", "5"]
        caught = await running.refused("consensus.cancel", ana, request=asked[0].request)
        assert caught.refusal is Refusal.STATE


@pytest.mark.slow
@pytest.mark.parametrize("policy", ServersForCurators)
async def test_challenges_come_first(tmp_path: Path, policy: ServersForCurators) -> None:
    curation = CurationSettings(servers=policy)
    async with asked_hub(tmp_path, ["a"], curation=curation) as (running, servers):
        await running.do("phases.open", phase="test")
        servers["a"].open.clear()
        ana = await curator(running)
        await running.do("servers.start", running.team("a"), server="a", phase="test")
        await running.until(lambda: len(servers["a"].texts) == 1)
        asked = await running.do("consensus.ask", ana, text=TEXT, deadline=20.0)
        live = await running.service.part(CurationParts).requests.get(asked.request)
        if policy is not ServersForCurators.SHARE:
            expected = "busy" if policy is ServersForCurators.IDLE else "not asked"
            await running.until(lambda: {one.state for one in live.servers.values()} == {expected})
        assert servers["a"].texts.count(TEXT) == 0
        servers["a"].open.set()
        found = await settled(running, ana, asked)
        never = policy is ServersForCurators.NEVER
        assert states(found) == {"a": "not asked" if never else "answered"}
        assert found.state is (RequestState.FAILED if never else RequestState.ANSWERED)
        await running.until(lambda: running.status("a").state == "finished")


async def test_a_report_is_forgotten_when_no_lane_asks_for_it(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"], concurrency=2) as (running, servers):
        await running.do("phases.open", phase="test")
        servers["a"].open.clear()
        await running.do("servers.start", running.team("a"), server="a", phase="test")
        await running.until(lambda: len(servers["a"].texts) == 2)
        slots, name = running.service.servers.client.slots, ServerName("a")
        slots.report(name, ServerReport(state=ReportedState.OVERLOADED))
        servers["a"].open.set()
        await running.until(lambda: running.status(name).state == "finished")
        servers["a"].open.clear()
        servers["a"].texts.clear()
        ana = await curator(running)
        asked = [await running.do("consensus.ask", ana, text=f"{TEXT} {n}") for n in range(2)]
        await running.until(lambda: len(servers["a"].texts) == 2)
        servers["a"].open.set()
        for one in asked:
            assert (await settled(running, ana, one)).state is RequestState.ANSWERED


async def _boards(folder: Path, count: int) -> list[bytes]:
    """Return what a challenge's boards are, with so many requests in between."""
    curation = CurationSettings(servers=ServersForCurators.SHARE, requests_a_day=1_000)
    given = {"visibility": "public", "concurrency": 2, "curation": curation}
    async with asked_hub(folder, ["a", "b"], **given) as (running, servers):
        await running.do("phases.open", phase="test")
        ana = await curator(running)
        for name in servers:
            await running.do("servers.start", running.team(name), server=name, phase="test")
        for number in range(count):
            await running.do("consensus.ask", ana, text=f"{TEXT} {number}", wait=20.0)
        await running.until(
            lambda: all(running.status(name).state == "finished" for name in ("a", "b"))
        )
        found = []
        for task in ("ACT", "INT", "IPT"):
            board = await running.do("boards.get", phase="test", task=task)
            found.append(MARK.sub(b"", msgspec.json.encode(board)))  # each store has its own key
        async with running.service.store.reading() as connection:
            for query in (
                "SELECT server_id, position, number, payloads FROM answers ORDER BY 1,2",
                "SELECT server_id, position, number, outcome FROM attempts ORDER BY 1,2,3",
                "SELECT server_id, cursor, serial FROM lanes ORDER BY 1",
            ):
                rows = (await connection.exec_driver_sql(query)).all()
                found.append(repr(rows).encode())
            made = await connection.exec_driver_sql("SELECT count(*) FROM request_answers")
            assert made.scalar() == count * 2
        return found


@pytest.mark.slow
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
async def test_boards_are_the_same_with_requests_and_without(tmp_path: Path, count: int) -> None:
    without = await _boards(tmp_path / "without", 0)
    assert await _boards(tmp_path / "with", count) == without
