"""Uploads: a few of a team at a time, one place for organisers, nothing left of lost ones."""

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from metaserver.base.states import Role
from tests.integration.gated import Site, gated_site
from tests.waiting import patience, until

MIB = 2**20
SIZE = 6 * MIB


class Sending:
    """A client in the middle of an upload."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, end: bytes = b""
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.end = end

    async def status(self) -> int:
        """Return the status of the answer."""
        async with patience():
            return int((await self.reader.readline()).split()[1])

    async def finish(self) -> int:
        """Send the rest, and return the status of the answer."""
        self.writer.write(self.end)
        return await self.status()

    def lose(self) -> None:
        """Cut the connection."""
        self.writer.transport.abort()


async def begin(site: Site, token: str, *, sized: bool = True) -> Sending:
    """Send all of a large body but its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    length = b"Content-Length: %d" % SIZE if sized else b"Transfer-Encoding: chunked"
    writer.write(
        b"POST /api/v1/upload HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer "
        + token.encode()
        + b"\r\n"
        + length
        + b"\r\n\r\n"
    )
    body = bytes(SIZE - 2)
    writer.write(body if sized else b"%x\r\n" % SIZE + body)
    return Sending(reader, writer, b"xx" if sized else b"xx\r\n0\r\n\r\n")


async def uploads(site: Site, held: int) -> None:
    """Wait until so many uploads have a place."""
    await until(lambda: len(site.gate.uploads) == held)


@asynccontextmanager
async def sending(site: Site, *tokens: str, sized: bool = True) -> AsyncIterator[list[Sending]]:
    """Begin uploads one after another, each once the one before it has its place."""
    begun = []
    try:
        for number, token in enumerate(tokens, 1):
            begun.append(await begin(site, token, sized=sized))
            await uploads(site, number)
        yield begun
    finally:
        for one in begun:
            one.lose()


@pytest.mark.parametrize("sized", [True, False])
async def test_a_team_uploads_two_at_a_time_from_wherever(tmp_path: Path, sized: bool) -> None:
    async with gated_site(tmp_path) as site:
        tokens = [await site.token(label=name) for name in "abc"]
        async with sending(site, *tokens[:2], sized=sized) as begun:
            refused = [await begin(site, token, sized=sized) for token in tokens * 4]
            assert [await one.status() for one in refused] == [429] * 12
            assert await begun[0].finish() == 200
            await uploads(site, 1)
            async with patience():
                again = await begin(site, tokens[2], sized=sized)
                await uploads(site, 2)
            again.lose()
            for one in refused:
                one.lose()


async def test_teams_leave_a_place_for_organisers(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site:
        teams = [await site.token(team=name) for name in ("blue", "green", "red", "pink")]
        organiser = await site.token(Role.ORGANISER)
        async with sending(site, *teams[:3], organiser):
            for token in (teams[3], organiser):
                refused = await begin(site, token)
                assert await refused.status() == 429
                refused.lose()
        await uploads(site, 0)


async def test_small_bodies_need_no_place(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site:
        token = await site.token()
        async with sending(site, token, token):
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(
                b"POST /api/v1/upload HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer "
                + token.encode()
                + b"\r\nContent-Length: 2\r\n\r\nxx"
            )
            assert await Sending(reader, writer).status() == 200
            writer.close()


async def entered(site: Site, before: int) -> None:
    """Wait until one more request is let in."""
    await until(lambda: site.entered != before)


@asynccontextmanager
async def uncollected() -> AsyncIterator[None]:
    """Let nothing but reference counts free memory while the context lasts."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def requests_alive() -> int:
    """Return the number of requests in memory."""
    return sum(isinstance(one, web.Request) for one in gc.get_objects())


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.mark.parametrize("sized", [True, False])
async def test_lost_uploads_leave_nothing_behind(tmp_path, caplog, sized):
    """Their memory is free at once, and a client that has gone is no error."""
    async with gated_site(tmp_path) as site, uncollected():
        token = await site.token()
        before = requests_alive()
        tracemalloc.start()
        try:
            for number in range(6):
                one = await begin(site, token, sized=sized)
                await entered(site, number)
                one.lose()
                await uploads(site, 0)
            await until(lambda: not site.connections and requests_alive() <= before)
            assert tracemalloc.get_traced_memory()[0] < SIZE
        finally:
            tracemalloc.stop()
    assert not errors(caplog)


@pytest.mark.slow
async def test_bodies_that_came_too_slowly_leave_nothing_behind(tmp_path, caplog):
    async with gated_site(tmp_path, body_seconds=0.3) as site, uncollected():
        before = requests_alive()
        for number in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            head = b"POST /api/v1/send HTTP/1.1\r\nHost: hub\r\nContent-Length: 100\r\n\r\n"
            writer.write(head + b"some")
            await entered(site, number)
            assert await Sending(reader, writer).status() == 408
            writer.close()
        await until(lambda: not site.connections and requests_alive() <= before)
    assert not errors(caplog)
