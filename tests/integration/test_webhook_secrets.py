"""The path of a webhook is often its secret: no error repeats it, whatever the webhook answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from metaserver.client.http import open_client
from metaserver.model.errors import PeerError

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
