"""Clients that send too much, too slowly, too often or not HTTP.

They get an error or are cut off; meanwhile others are answered, and memory stays bounded.
"""

import asyncio
import gzip
import io
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from metaserver.base.states import Role
from metaserver.web.access import throttle
from tests.integration.gated import LARGE, Site, browser, gated_site, raw
from tests.waiting import patience, until

MIB = 2**20
HEAD = b"POST /api/v1/send HTTP/1.1\r\nHost: hub\r\n"


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1."), answer[:80]
    return int(answer.split(b" ", 2)[1])


async def lives(site: Site) -> None:
    """The site still answers others."""
    async with ClientSession(site.url) as client, client.get("/healthz") as response:
        assert response.status == 200


def memory() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# -- bodies ----------------------------------------------------------------------------------------


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    async with gated_site(tmp_path, body_seconds=0.3) as site:
        answers = await asyncio.gather(
            raw(site, HEAD + b"Content-Length: 100\r\n\r\n"),
            raw(site, HEAD + b"Content-Length: 100\r\n\r\nsome"),
            raw(site, HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nsome"),
            lives(site),
        )
        assert [status(answer) for answer in answers[:3]] == [408] * 3
        assert all(b"did not come in time" in answer for answer in answers[:3])


async def test_a_body_that_drips_is_not_waited_for(tmp_path: Path) -> None:
    drops = [b"x"] * 200
    async with gated_site(tmp_path, body_seconds=0.5) as site:
        answer = await raw(site, HEAD + b"Content-Length: 1000\r\n\r\n", *drops, pause=0.05)
    assert not answer or status(answer) == 408


async def test_a_slow_handler_is_not_a_slow_body(tmp_path: Path) -> None:
    """A request that was sent in time is answered whenever it is done; streams go on too."""
    async with gated_site(tmp_path, body_seconds=0.2) as site, ClientSession(site.url) as client:
        async with client.get("/events", data=b"x" * 10) as response:
            assert await response.content.readline() == b"data: 1\n"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.6):
                    assert await response.content.read() == b"\n"
        async with client.post("/api/v1/send", data=b"x" * 1000) as response:
            assert await response.json() == {"by": "anonymous", "bytes": 1000}


async def test_a_large_body_has_more_time(tmp_path: Path) -> None:
    """Half of a body came: it has a second for each 64 KiB of that, so it may go on."""
    async with gated_site(tmp_path, body_seconds=0.2) as site:
        half = b"x" * (MIB // 4)
        head = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (2 * len(half))
        answer = await raw(site, head + half, half, pause=0.6)
    assert status(answer) == 200
    assert b'"bytes": 524288' in answer


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(65_536)


async def test_an_endless_body_is_refused(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, ClientSession(site.url) as client:
        before = memory()
        try:
            async with client.post("/api/v1/send", data=endless()) as response:
                assert response.status == 413
                assert "error" in await response.json()
        except ConnectionError:
            pass  # cut off while it sent
        assert memory() - before < 32 * MIB
        await lives(site)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x-gzip", "gzip, identity"])
async def test_a_compressed_body_is_refused_and_never_opened(tmp_path: Path, encoding: str) -> None:
    bomb = gzip.compress(bytes(MIB)) * 200
    async with gated_site(tmp_path) as site, ClientSession(site.url) as client:
        before = memory()
        for path in ("/api/v1/send", "/send", "/signin"):
            headers = {
                "Content-Encoding": encoding,
                "Content-Type": "application/x-www-form-urlencoded",
            }
            async with client.post(path, data=io.BytesIO(bomb), headers=headers) as response:
                assert response.status == 415, path
        assert memory() - before < 32 * MIB
        await lives(site)


async def test_a_body_may_say_that_it_is_not_compressed(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, ClientSession(site.url) as client:
        headers = {"Content-Encoding": "Identity"}
        async with client.post("/api/v1/send", data=b"some", headers=headers) as response:
            assert (await response.json())["bytes"] == 4


async def test_only_who_may_upload_sends_large_bodies_and_only_there(tmp_path: Path) -> None:
    async with (
        gated_site(tmp_path, upload_bytes=4 * MIB) as site,
        ClientSession(site.url) as client,
    ):
        for token, path, size, expected in (
            (None, "upload", 3, 413),
            (await site.token(Role.READER), "upload", 3, 413),
            (await site.token(), "send", 3, 413),
            (await site.token(), "upload", 3, 200),
            (await site.token(), "upload", 5, 413),
        ):
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            body = io.BytesIO(bytes(size * MIB))
            async with client.post(f"/api/v1/{path}", data=body, headers=headers) as response:
                assert response.status == expected, (path, size)


# -- headers ---------------------------------------------------------------------------------------


async def test_connections_that_never_finish_a_head_are_ended(tmp_path: Path) -> None:
    async with gated_site(tmp_path, idle_seconds=0.5) as site:
        starts = (b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: hub\r\nX: ")
        answers = await asyncio.gather(*(raw(site, start) for start in starts), lives(site))
        assert all(not answer or status(answer) in (400, 408) for answer in answers[:-1])
        drips = [b"X-%d: y\r\n" % number for number in range(100)]
        assert not await raw(site, b"GET / HTTP/1.1\r\n", *drips, pause=0.05)
        assert b"200 OK" in await raw(site, b"GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /%s HTTP/1.1\r\nHost: hub\r\n\r\n" % (b"a" * 70_000),
        b"GET / HTTP/1.1\r\nHost: hub\r\nX: %s\r\n\r\n" % (b"a" * 70_000),
        b"GET / HTTP/1.1\r\nHost: hub\r\n%s: x\r\n\r\n" % (b"a" * 70_000),
        b"GET / HTTP/1.1\r\nHost: hub\r\n%s\r\n"
        % b"".join(b"X-%d: x\r\n" % n for n in range(5000)),
        b"GET / HTTP/1.1\r\nHost: hub\r\nCookie: %s\r\n\r\n" % (b"session=a; " * 6000),
    ],
    ids=["path", "value", "name", "count", "cookies"],
)
async def test_huge_heads_are_refused(tmp_path: Path, head: bytes) -> None:
    async with gated_site(tmp_path) as site:
        answer = await raw(site, head)
        assert not answer or status(answer) in (400, 431)
        assert site.entered == 0
        await lives(site)


async def test_an_endless_head_is_refused(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site:
        before = memory()
        answer = await raw(site, b"GET / HTTP/1.1\r\nX: ", *([b"a" * 65_536] * 500))
        assert not answer or status(answer) == 400
        assert memory() - before < 32 * MIB
        await lives(site)


SMUGGLED = b"GET /own HTTP/1.1\r\nHost: hub\r\nX: "


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 50\r\n\r\n",
        b"Content-Length: +5\r\n\r\nhello",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 5, 5\r\n\r\nhello",
        b"Content-Length: 0x5\r\n\r\nhello",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: identity, chunked, chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1 ; x\ny\r\na\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\na\r\n",
        b" folded: 1\r\n\r\n",
        b"X: a\0b\r\n\r\n",
        b"X: a\rContent-Length: 5\r\n\r\nhello",
        b"X\r\n\r\n",
    ],
)
async def test_a_body_of_two_lengths_is_refused_and_nothing_smuggled(tmp_path, fields):
    """A body that a proxy could read differently is refused once, and the connection ends."""
    async with gated_site(tmp_path, body_seconds=2.0, idle_seconds=2.0) as site:
        answer = await raw(site, HEAD + fields + SMUGGLED + b"\r\n\r\n", end=True)
        assert not answer or status(answer) in (400, 408)
        assert answer.count(b"HTTP/1.1 ") <= 1
        await lives(site)


@pytest.mark.parametrize(
    "rubbish",
    [b"\x16\x03\x01\x02\0\1\0\1\xfc\x03\x03" + bytes(500), b"\0" * 10_000, b"\r\n" * 50_000,
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\nHost: hub\n\n",
     b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
     b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: hub\r\n\r\n",
     b"GET /static/../../etc/passwd HTTP/1.1\r\nHost: hub\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"],
)  # fmt: skip
async def test_what_is_not_for_us_does_no_harm(tmp_path: Path, rubbish: bytes) -> None:
    async with gated_site(tmp_path, idle_seconds=1.0) as site:
        answer = await raw(site, rubbish, end=True)
        assert b"Traceback" not in answer
        assert not answer or status(answer) != 500
        await lives(site)


# -- readers ---------------------------------------------------------------------------------------


async def test_who_takes_no_answer_is_let_go(tmp_path: Path) -> None:
    """The connection ends although its client neither reads nor closes it."""
    async with gated_site(tmp_path, body_seconds=0.5) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port, limit=1024)
        writer.write(b"GET /large HTTP/1.1\r\nHost: hub\r\n\r\n")
        async with patience():
            await until(lambda: site.connections)
            await until(lambda: not site.connections)
            got = 0
            with pytest.raises(ConnectionError):  # noqa: PT012 - what was on the way may come first
                while data := await reader.read(65_536):
                    got += len(data)
                raise ConnectionResetError
        assert got < LARGE
        writer.close()
        await lives(site)


# -- too often -------------------------------------------------------------------------------------


async def test_too_many_requests_are_told_to_wait(tmp_path: Path) -> None:
    async with (
        gated_site(tmp_path, anonymous_requests_a_minute=5, requests_a_minute=7) as site,
        browser(site) as web,
    ):
        token = {"Authorization": f"Bearer {await site.token()}"}
        assert [(await web.get("/"))[0] for _ in range(7)] == [200] * 5 + [429] * 2
        async with web.client.get("/api/v1/me") as response:
            assert response.status == 429
            assert 0 < int(response.headers["Retry-After"]) <= 12
            assert (await response.json())["error"]["message"].startswith("too many requests")
        answers = []
        for _ in range(9):
            async with web.client.get("/api/v1/me", headers=token) as response:
                answers.append(response.status)
        assert answers == [200] * 7 + [429] * 2
        await lives(site)  # never counted


async def test_work_in_threads_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 0.21 s and 0.6 s are free, as the gate's clock stands still: 3 are done."""
    monkeypatch.setattr(throttle, "LOOP_BURST", 0.6)
    async with gated_site(tmp_path) as site, browser(site) as web:
        statuses = [(await web.get("/work"))[0] for _ in range(5)]
    assert (statuses[0], statuses[-2:]) == (200, [429, 429])


async def test_guessing_tokens_is_bounded_and_does_not_lock_others_out(tmp_path: Path) -> None:
    async with (
        gated_site(
            tmp_path, anonymous_requests_a_minute=5, trusted_proxies=["127.0.0.0/8"]
        ) as site,
        browser(site) as web,
    ):

        async def ask(secret: str, address: str) -> int:
            headers = {"Authorization": f"Bearer {secret}", "X-Forwarded-For": address}
            async with web.client.get("/api/v1/me", headers=headers) as response:
                return response.status

        guesses = [await ask(f"bcms_o{number:043}", "192.0.2.1") for number in range(7)]
        assert guesses == [401] * 5 + [429] * 2
        assert await ask(await site.token(), "192.0.2.2") == 200


async def test_an_address_cannot_be_made_up(tmp_path: Path) -> None:
    async with gated_site(tmp_path, anonymous_requests_a_minute=5) as site, browser(site) as web:
        answers = []
        for last in range(7):
            headers = {"X-Forwarded-For": f"192.0.2.{last}", "Forwarded": f"for=192.0.2.{last}"}
            async with web.client.get("/", headers=headers) as response:
                answers.append(response.status)
        assert answers == [200] * 5 + [429] * 2


@asynccontextmanager
async def watching(site: Site) -> AsyncIterator[int]:
    async with ClientSession(site.url) as client, client.get("/events") as response:
        yield response.status


async def test_live_pages_are_bounded_and_places_are_given_back(tmp_path: Path) -> None:
    async with gated_site(tmp_path, streams_an_address=2, streams=3) as site:
        async with watching(site) as first, watching(site) as second, watching(site) as third:
            assert [first, second, third] == [200, 200, 429]
            await lives(site)
        again = 0
        async with patience():
            while again != 200:  # as soon as the site has seen them go
                await asyncio.sleep(0.05)
                async with watching(site) as again:
                    pass


async def test_hundreds_of_idle_connections_do_not_stop_the_site(tmp_path: Path) -> None:
    async with gated_site(tmp_path, idle_seconds=30.0) as site:
        before = memory()
        opened = await asyncio.gather(
            *(asyncio.open_connection("127.0.0.1", site.port) for _ in range(300))
        )
        for _, writer in opened:
            writer.write(b"GET / HTTP/1.1\r\nHost: hub\r\n")
        await lives(site)
        assert memory() - before < 64 * MIB
        for _, writer in opened:
            writer.close()
