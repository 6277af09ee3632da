"""Small real annotation servers on 127.0.0.1 that do exactly what a test's script does.

A server is a script: a coroutine that is given each connection in turn and reads and writes bytes
on it. Nothing is decided for it, so it can break every rule of HTTP and XML-RPC.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from xmlrpc.client import Fault, dumps

ANSWER = {
    "interaction": [True, 0.75],
    "normalizations": [
        {"dbid": "P04637", "rank": 1, "confidence": 0.9},
        {"dbid": "P38398", "rank": 2, "confidence": 0.25},
    ],
    "pairs": [{"dbid_a": "P04637", "dbid_b": "P38398", "rank": 1, "confidence": 0.5}],
}
PAYLOADS = {
    "ACT": [True, 0.75],
    "INT": [["P04637", 1, 0.9], ["P38398", 2, 0.25]],
    "IPT": [["P04637", "P38398", 1, 0.5]],
}
"""What the hub keeps of `ANSWER`."""


def response(value: object) -> bytes:
    """Return a methodResponse, or a fault, as the standard library marshals it."""
    whole = value if isinstance(value, Fault) else (value,)
    return dumps(whole, methodresponse=True).encode()


GOOD = response(ANSWER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One received HTTP request; header names in lower case."""

    line: str
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """The server's end of one connection; `number` counts the connections from 1."""

    def __init__(
        self,
        number: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        requests: list[Request],
    ) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer
        self._requests = requests

    async def request(self, *, with_body: bool = True) -> Request:
        """Read one request; `IncompleteReadError` where the client has hung up."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").rstrip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", 0)) if with_body else 0
        body = await self.reader.readexactly(length)
        request = Request(line=line, headers=headers, body=body)
        self._requests.append(request)
        return request

    async def send(self, data: bytes) -> None:
        """Write raw bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def respond(self, body: bytes, *, status: str = "200 OK", **headers: str) -> None:
        """Write a whole HTTP response with its length; `content_type="text/html"` and so on."""
        fields = {"content_type": "text/xml", "content_length": str(len(body))} | headers
        lines = "".join(f"{name.replace('_', '-')}: {fields[name]}\r\n" for name in fields)
        await self.send(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body)

    async def hung_up(self) -> None:
        """Return when the client has closed the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(65_536):
                pass

    def reset(self) -> None:
        """Reset the connection at once (RST instead of FIN)."""
        self.writer.transport.abort()


Script = Callable[[Connection], Awaitable[None]]


@dataclass(kw_only=True)
class Peer:
    """A running server: its address, and the requests it has seen."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    open: int = 0


@asynccontextmanager
async def peer(script: Script, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    """Serve connections by `script` while the context lasts; one that returns closes its own."""
    seen = Peer()
    at_work: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        at_work.add(task)
        seen.connections += 1
        seen.open += 1
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                await script(Connection(seen.connections, reader, writer, seen.requests))
        except asyncio.CancelledError:
            pass  # the test has ended; asyncio's stream server would log it
        finally:
            seen.open -= 1
            at_work.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**20)
    scheme = "https" if tls else "http"
    seen.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/RPC2"
    try:
        yield seen
    finally:
        server.close()
        for task in list(at_work):
            task.cancel()
        if at_work:
            await asyncio.wait(at_work)


def answering(*bodies: bytes, **headers: str) -> Script:
    """Return a script that keeps connections alive and answers with `bodies`, the last for ever."""
    left = list(bodies)

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.respond(left.pop(0) if len(left) > 1 else left[0], **headers)

    return script


def sending(data: bytes) -> Script:
    """Return a script that reads a request, writes `data` as it is, and closes."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(data)

    return script


async def silent(connection: Connection) -> None:
    """Read a request, and answer nothing."""
    await connection.request()
    await connection.hung_up()


async def closes_on_the_next_request(connection: Connection) -> None:
    """Close a kept connection only when the next request is on its way: the client cannot know."""
    await connection.request()
    await connection.respond(GOOD)
    await connection.reader.read(1)
