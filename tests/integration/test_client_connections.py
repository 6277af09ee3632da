"""Connections of requests: reused, lost and closed ones, and the bytes that are sent."""

import asyncio
import os
import resource
from base64 import b64encode
from collections.abc import Sequence

import pytest

from metaserver.base.errors import UnavailableError
from metaserver.base.records import ArticleId
from metaserver.base.states import Outcome
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import ArticleCaller, PhaseArticles
from metaserver.exchange.http.client import HttpLimits, open_client
from metaserver.exchange.wire.xmlrpc import decode_call
from metaserver.tasks.plugin import answered_tasks
from tests.integration.callers import (
    TEXT,
    VOCABULARY,
    article_caller,
    call,
    call_in_another_process,
    server,
)
from tests.integration.peers import (
    GOOD,
    Connection,
    answering,
    closes_on_the_next_request,
    peer,
    silent,
)
from tests.waiting import until


async def outcomes(caller: ArticleCaller, url: str, count: int) -> list[Outcome]:
    """Return how `count` articles in a row end."""
    return [(await caller.call(server(url), 0, 1))[0].outcome for _ in range(count)]


# Kept connections


async def test_an_answer_after_interim_ones_is_read() -> None:
    async def continued(connection: Connection) -> None:
        for _ in range(2):
            await connection.request()
            await connection.send(
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x"
            )
            await asyncio.sleep(0.01)
            await connection.send(b"\r\n\r\n")
            await connection.respond(GOOD)

    async with peer(continued) as there, article_caller() as caller:
        assert await outcomes(caller, there.url, 2) == [Outcome.OK] * 2
        assert there.connections == 1


async def says_that_it_closes(connection: Connection) -> None:
    await connection.request()
    await connection.respond(GOOD, connection="close")


async def closes_after_each_answer(connection: Connection) -> None:
    await connection.request()
    await connection.respond(GOOD)


async def resets_on_the_next_request(connection: Connection) -> None:
    await connection.request()
    await connection.respond(GOOD)
    await connection.reader.read(1)
    connection.reset()


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        says_that_it_closes,
        closes_after_each_answer,
        closes_on_the_next_request,
        resets_on_the_next_request,
    ],
)
@pytest.mark.parametrize("text", [TEXT, "x" * 5_000_000], ids=["short", "long"])
async def test_a_closed_connection_costs_no_attempt(script, text):
    async with peer(script) as there, article_caller(text) as caller:
        assert await outcomes(caller, there.url, 4) == [Outcome.OK] * 4
        assert there.connections == 4


async def at_once(caller: ArticleCaller, url: str, count: int) -> set[Outcome]:
    """Return how articles end that are sent at the same time."""
    asked = server(url, concurrency=count)
    ends = await asyncio.gather(*(caller.call(asked, 0, 1) for _ in range(count)))
    return {ended.outcome for ended, _ in ends}


async def test_many_kept_connections_closed_at_once_cost_no_attempt() -> None:
    close = asyncio.Event()

    async def closes_when_told(connection: Connection) -> None:
        await connection.request()
        await asyncio.sleep(0.05)  # so that the others are under way too, on their own
        await connection.respond(GOOD)
        await (close.wait() if connection.number <= 8 else connection.hung_up())

    async with peer(closes_when_told) as there, article_caller() as caller:
        assert await at_once(caller, there.url, 8) == {Outcome.OK}
        close.set()
        assert await at_once(caller, there.url, 8) == {Outcome.OK}


async def test_an_answer_begun_on_a_kept_connection_and_lost_is_an_attempt() -> None:
    async def second_is_cut(connection: Connection) -> None:
        await connection.request()
        await connection.respond(GOOD)
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
        connection.reset()

    async with peer(second_is_cut) as there, article_caller() as caller:
        assert await outcomes(caller, there.url, 2) == [Outcome.OK, Outcome.CONNECT]
        assert len(there.requests) == 2


async def test_a_lost_kept_connection_does_not_put_off_the_deadline() -> None:
    async def dies_late(connection: Connection) -> None:
        await connection.request()
        if connection.number == 1:
            await connection.respond(GOOD)
            await connection.request()
            await asyncio.sleep(1.0)
            return  # half of the time is over, but nothing has come back
        await asyncio.sleep(1.5)  # in time if the deadline began again
        await connection.respond(GOOD)

    async with peer(dies_late) as there, article_caller(time_limit=2.0) as caller:
        assert await outcomes(caller, there.url, 2) == [Outcome.OK, Outcome.TIMEOUT]


async def test_a_server_that_restarts_while_idle_costs_no_attempt() -> None:
    async with article_caller() as caller:
        async with peer(answering(GOOD)) as before:
            assert await outcomes(caller, before.url, 1) == [Outcome.OK]
        assert await outcomes(caller, before.url, 1) == [Outcome.CONNECT]


# What is sent


TEXTS = {
    "empty": "",
    "space": "  white\tspace \n kept ",
    "markup": "5 < 6 & 7 > 3 ]]> <value>",
    "letters": "Ångström, 中文, 𝔸𝕓",
    "CR": "a\rb",
    "long": "é<" * 150_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_an_article_is_sent_as_it_is_in_a_request_that_any_server_reads(text: str) -> None:
    async with peer(answering(GOOD)) as there, article_caller(text) as caller:
        ended, _ = await caller.call(server(there.url), 0, 1)
    assert ended.outcome is Outcome.OK
    (request,) = there.requests
    assert request.line == "POST /RPC2 HTTP/1.1"
    assert {name: request.headers[name] for name in request.headers if name != "host"} == {
        "content-type": "text/xml; charset=utf-8",
        "content-length": str(len(request.body)),
        "user-agent": "biocreative-metaserver",
        "accept": "*/*",
        "accept-encoding": "gzip",
    }
    asked = decode_call(request.body)
    assert (asked.method, asked.params) == ("Annotator.getAnnotation", [text])
    assert ended.bytes_out == len(request.body)


async def test_the_context_is_sent_to_those_who_want_it() -> None:
    async with peer(answering(GOOD)) as there, article_caller("zero", "one") as caller:
        with_context = server(there.url, parameters="text+context", method="x.annotate")
        await caller.call(with_context, 1, 3)
        await caller.call(server(there.url, parameters="text+context", tasks=("INT",)), 0, 1)
    calls = [decode_call(request.body) for request in there.requests]
    assert calls[0].method == "x.annotate"
    assert calls[0].params == [
        "one",
        {"article_id": "a1", "tasks": list(answered_tasks()), "timeout": 60.0, "attempt": 3},
    ]
    assert calls[1].params[1]["tasks"] == ["INT"]


async def test_cookies_are_neither_kept_nor_sent() -> None:
    async with (
        peer(answering(GOOD, set_cookie="session=1; Path=/")) as there,
        article_caller() as caller,
    ):
        assert await outcomes(caller, there.url, 2) == [Outcome.OK] * 2
    assert all("cookie" not in request.headers for request in there.requests)


@pytest.mark.parametrize(
    ("login", "header"),
    [
        ("team:secret", b"team:secret"),
        ("team:s%C3%A9cr%D0%BFt", "team:sécrпt".encode()),
        ("a%20b:c%3A%40%2F", b"a b:c:@/"),
        ("team", b"team:"),
        (":secret", b":secret"),
    ],
)
async def test_user_and_password_of_a_url_are_sent_as_the_header(login: str, header: bytes) -> None:
    async with peer(answering(GOOD)) as there:
        ended, _ = await call(there.url.replace("http://", f"http://{login}@"))
    assert ended.outcome is Outcome.OK
    (request,) = there.requests
    assert request.headers["authorization"] == f"Basic {b64encode(header).decode()}"
    assert request.line == "POST /RPC2 HTTP/1.1"


@pytest.mark.slow
async def test_proxies_of_the_environment_are_not_used() -> None:
    async with peer(answering(b"proxied")) as proxy, peer(answering(GOOD)) as there:
        said = await call_in_another_process(there.url, HTTP_PROXY=proxy.url, http_proxy=proxy.url)
    assert said == "ok"
    assert proxy.connections == 0


# How answers come


async def test_an_answer_before_the_request_is_read_is_taken() -> None:
    async def hasty(connection: Connection) -> None:
        await connection.request(with_body=False)
        await connection.respond(b"go away", status="413 Content Too Large", connection="close")
        await connection.hung_up()

    async with peer(hasty) as there, article_caller("x" * 20_000_000) as caller:
        ended, _ = await caller.call(server(there.url), 0, 1)
    assert ended.outcome is Outcome.HTTP
    assert ended.message == "HTTP status 413 Content Too Large; expected 200"


# What is left open


async def test_a_cancelled_call_leaves_nothing_open() -> None:
    async with peer(silent) as there, article_caller() as caller:
        calls = [
            asyncio.create_task(caller.call(server(there.url, concurrency=5), 0, 1))
            for _ in range(5)
        ]
        await until(lambda: len(there.requests) >= 5, pause=0)
        before = asyncio.all_tasks() - set(calls)
        for one in calls:
            one.cancel()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        await until(lambda: not there.open, pause=0)
        assert asyncio.all_tasks() <= before


async def test_an_answer_that_was_refused_leaves_nothing_open() -> None:
    async def endless(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"not XML at all" * 10_000)
        await connection.hung_up()

    async with peer(endless) as there, article_caller() as caller:
        assert await outcomes(caller, there.url, 1) == [Outcome.SYNTAX]
        await until(lambda: not there.open, pause=0)


async def test_more_requests_than_a_connector_would_allow_are_in_flight() -> None:
    together = asyncio.Event()

    async def answers_all_at_once(connection: Connection) -> None:
        await connection.request()
        if len(there.requests) == 150:  # aiohttp's own limit is 100
            together.set()
        await together.wait()
        await connection.respond(GOOD)

    async with peer(answers_all_at_once) as there, article_caller() as caller:
        assert await at_once(caller, there.url, 150) == {Outcome.OK}


# Faults of the hub


async def test_a_text_that_cannot_be_loaded_is_the_hubs_fault() -> None:
    async def broken(positions: range) -> Sequence[str]:
        raise UnavailableError("the store is locked")

    articles = PhaseArticles(ids=[ArticleId("a0")], wire_bytes=[9], texts=ArticleTexts(broken))
    async with peer(answering(GOOD)) as there, open_client() as client:
        caller = ArticleCaller(client, articles, [], VOCABULARY, time_limit=9)
        with pytest.raises(UnavailableError, match="the store is locked"):
            await caller.call(server(there.url), 0, 1)


async def test_a_hub_out_of_descriptors_charges_nobody() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with peer(answering(GOOD)) as there, article_caller() as caller:
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            ended, _ = await caller.call(server(there.url), 0, 1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await caller.call(server(there.url), 0, 1))[0].outcome is Outcome.OK
    assert (ended.outcome, ended.message) == (Outcome.CANCELLED, "the hub: Too many open files")


async def test_limits_are_for_each_request() -> None:
    async with peer(silent) as there, article_caller(limits=HttpLimits(connect=1.0)) as caller:
        task = asyncio.create_task(caller.call(server(there.url), 0, 1))
        done, _ = await asyncio.wait([task], timeout=1.5)  # connected: no limit but the deadline
        assert not done
        task.cancel()
        await asyncio.wait([task])
