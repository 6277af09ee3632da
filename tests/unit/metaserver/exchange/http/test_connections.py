"""Connections to a small server of our own: what is read, what is refused, which are kept."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network

import aiohttp
import pytest

from metaserver.exchange.http.connections import Connector, OneAnswer
from metaserver.exchange.http.guard import AddressGuard, RefusedAddressError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OTHER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
LENGTHS = b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
BOTH = b"HTTP/1.1 200 OK\r\n" + LENGTHS + b"2\r\nok\r\n0\r\n\r\n"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class ScriptedPeer:
    """A server whose connections go on as a script says; `open` are those not closed yet."""

    port: int = 0
    connections: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def left(self) -> None:
        """Wait until no connection is open any more."""
        async with asyncio.timeout(10):
            while self.open:
                await asyncio.sleep(0.005)


@asynccontextmanager
async def served(script: Script) -> AsyncIterator[ScriptedPeer]:
    peer = ScriptedPeer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.connections += 1
        peer.open.add(writer)
        try:
            await script(reader, writer)
            await reader.read()  # until the client closes
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            peer.open.discard(writer)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        yield peer


@asynccontextmanager
async def session(guard=None, most=None):
    connector = Connector(guard, None, most)
    async with aiohttp.ClientSession(connector=connector) as made:
        yield made, connector


async def get(client: aiohttp.ClientSession, url: str) -> bytes:
    async with asyncio.timeout(10), client.get(url) as response:
        return await response.read()


def answering(*answers: bytes) -> Script:
    """Send one of these for each request of a connection."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)

    return script


@asynccontextmanager
async def one_end(counted: list[int]) -> AsyncIterator[tuple[OneAnswer, socket.socket]]:
    """Give a connection, and the socket at its other end."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    transport, protocol = await loop.create_connection(
        lambda: OneAnswer(counted.append, loop), sock=ours
    )
    try:
        yield protocol, theirs
    finally:
        transport.close()
        theirs.close()
        await asyncio.sleep(0)


async def closed(end: socket.socket) -> bool:
    """Wait for the other end to close."""
    async with asyncio.timeout(10):
        return await asyncio.get_running_loop().sock_recv(end, 1) == b""


async def test_a_connection_is_counted_while_it_is_open() -> None:
    counted: list[int] = []
    async with one_end(counted):
        assert counted == [1]
    assert counted == [1, -1]


@pytest.mark.parametrize("sent", [OTHER, b"x", b"HTTP/1.1 200 OK\r\n"])
async def test_an_idle_connection_is_closed_when_something_comes_unasked(sent: bytes) -> None:
    async with one_end([]) as (protocol, theirs):
        theirs.send(sent)
        assert await closed(theirs)
        assert protocol.should_close  # aiohttp does not take it for another request


async def test_nothing_unasked_is_read_as_the_answer_to_the_next_request() -> None:
    after = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(OK)(reader, writer)
        if not after.is_set():
            await after.wait()
            writer.write(OTHER)

    async with served(script) as peer, session() as (client, _):
        assert await get(client, peer.url) == b"ok"
        after.set()
        await peer.left()
        assert await get(client, peer.url) == b"ok"
        assert peer.connections == 2


@pytest.mark.parametrize("second", [OTHER, b"HTTP/1.1 404 Not Found\r\n\r\n"])
async def test_a_second_answer_is_not_read_and_the_connection_is_closed(second: bytes) -> None:
    async with served(answering(OK + second, OTHER)) as peer, session() as (client, _):
        assert [await get(client, peer.url) for _ in range(3)] == [b"ok"] * 3
        assert peer.connections == 3


@pytest.mark.parametrize("parts", [[OK + OTHER], [OK[:-1], OK[-1:] + OTHER], [OK, OTHER]])
async def test_a_connection_is_closed_at_once_when_a_second_answer_begins(parts):
    """Not when the first one has been read: until then a server could send for ever."""
    async with one_end([]) as (protocol, theirs):
        protocol.set_response_params()
        for part in parts:
            theirs.send(part)
            await asyncio.sleep(0)
        assert await closed(theirs)
        message, payload = await protocol.read()
        assert (message.code, await payload.read()) == (200, b"ok")
        assert not protocol._buffer  # nothing of the second one is kept


@pytest.mark.parametrize("size", [1, 7, 1_000])
async def test_an_answer_in_pieces_is_read_and_its_connection_kept(size: int) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 2

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            await reader.readuntil(b"\r\n\r\n")
            for start in range(0, len(interim + OK), size):
                writer.write((interim + OK)[start : start + size])
                await writer.drain()
                await asyncio.sleep(0)

    async with served(script) as peer, session() as (client, connector):
        assert [await get(client, peer.url) for _ in range(3)] == [b"ok"] * 3
        assert (peer.connections, connector._open) == (1, 1)
    assert connector._open == 0


async def test_chunks_override_a_length_and_the_connection_is_not_kept() -> None:
    async with served(answering(BOTH, OTHER)) as peer, session() as (client, _):
        assert [await get(client, peer.url) for _ in range(2)] == [b"ok"] * 2
        assert peer.connections == 2


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nX: y"])
async def test_a_head_that_breaks_off_is_no_answer(sent: bytes) -> None:
    """The error has what there was of it: the parser got it."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(sent)(reader, writer)
        writer.close()

    async with served(script) as peer, session() as (client, connector):
        with pytest.raises(aiohttp.ServerDisconnectedError) as failed:
            await get(client, peer.url)
        assert getattr(failed.value.message, "code", None) == (200 if sent else None)
        assert connector._open == 0


async def test_a_body_that_ends_with_the_connection_is_read() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(b"HTTP/1.1 200 OK\r\n\r\nto the ")(reader, writer)
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(b"end")
        writer.close()

    async with served(script) as peer, session() as (client, _):
        assert await get(client, peer.url) == b"to the end"


@pytest.mark.parametrize(("most", "kept"), [(None, 3), (3, 3), (2, 2), (0, 0)])
async def test_no_more_connections_are_kept_than_are_allowed(most: int | None, kept: int) -> None:
    together = asyncio.Barrier(3)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await together.wait()
        writer.write(OK)

    async with served(script) as peer, session(most=most) as (client, connector):
        await asyncio.gather(*(get(client, peer.url) for _ in range(3)))
        async with asyncio.timeout(10):
            while len(peer.open) > kept:
                await asyncio.sleep(0.005)
        assert (peer.connections, connector._open, len(peer.open)) == (3, kept, kept)


async def test_the_guard_is_asked_for_the_address_of_each_socket() -> None:
    async with served(answering(OK)) as peer:
        async with session(AddressGuard()) as (client, _):
            for host in ("127.0.0.1", "localhost"):
                with pytest.raises(aiohttp.ClientConnectorError) as refused:
                    await get(client, f"http://{host}:{peer.port}/")
                assert isinstance(refused.value.os_error, RefusedAddressError)
                assert "is loopback" in str(refused.value.os_error)
        assert peer.connections == 0
        async with session(AddressGuard([ip_network("127.0.0.0/8")])) as (client, _):
            assert await get(client, peer.url) == b"ok"


async def test_a_socket_notices_a_peer_that_is_gone() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    async with (
        served(answering(head)) as peer,
        session() as (client, _),
        client.get(peer.url) as response,
    ):
        made = response.connection.transport.get_extra_info("socket")
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        expected = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
        for option, value in expected.items():
            if hasattr(socket, option):
                assert made.getsockopt(socket.IPPROTO_TCP, getattr(socket, option)) == value
