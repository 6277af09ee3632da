"""Habits of clients with HTTP and XML that the specification of XML-RPC does not mention."""

import asyncio
from collections.abc import AsyncIterator
from xmlrpc.client import loads

import pytest
import pytest_asyncio

from tests.hubs.inside import at_work, settings
from tests.hubs.sites import site_of
from tests.waiting import patience

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = (
    "<methodCall><methodName>Annotations.getAnnotation</methodName><params>{}</params></methodCall>"
)
ARTICLE = "Ångström"
PARAMS = "<param><value>{}</value></param><param><value><string>s</string></value></param>"
HEAD = "POST /xmlrpc/ HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
OLD = "POST /xmlrpc/ HTTP/1.0\r\n"
TEXT = "Content-Type: text/xml\r\n"


def call(article: str = ARTICLE, declared: str = "") -> bytes:
    """Return a call in an encoding."""
    declaration = f"<?xml version='1.0' encoding='{declared}'?>" if declared else ""
    return (declaration + CALL.format(PARAMS.format(article))).encode(declared or "utf-8")


def sized(body: bytes, head: str = HEAD + TEXT) -> bytes:
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def in_chunks(body: bytes) -> bytes:
    parts = [body[start : start + 50] for start in range(0, len(body), 50)] + [b""]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return f"{HEAD}{TEXT}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks


HABITS = {
    "no content type": sized(call(), HEAD),
    "a content type of its own": sized(call(), f"{HEAD}Content-Type: application/xml\r\n"),
    "a charset in the head": sized(call(), f"{HEAD}Content-Type: text/xml; charset=UTF-8\r\n"),
    "latin-1, declared": sized(call(declared="iso-8859-1")),
    "utf-16, declared": sized(call(declared="utf-16")),
    "cp1252, declared": sized(call(declared="windows-1252")),
    "references for letters": sized(call("&#197;ngstr&#xf6;m")),
    "cdata": sized(call("<![CDATA[Ångström]]>")),
    "a text without a type": sized(call()),
    "white space around": sized(b"\r\n" + call("<string>Ångström</string>") + b"\r\n\r\n"),
    "a byte order mark": sized(b"\xef\xbb\xbf" + call(declared="utf-8")),
    "chunks": in_chunks(call()),
    "HTTP/1.0": sized(call(), OLD + TEXT),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, int]]:
    async with (
        at_work(await settings(tmp_path_factory.mktemp("hub"))) as running,
        site_of(running) as server,
    ):
        assert server.port is not None
        yield "127.0.0.1", server.port


async def answer(address: tuple[str, int], request: bytes) -> tuple[bytes, bytes]:
    """Send a request, and return headers and body of the answer, up to the connection's end."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    async with patience():
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.read()
    writer.close()
    await writer.wait_closed()
    return head, body


def fault(body: bytes) -> str:
    """Return what the hub says of an article that it does not have."""
    with pytest.raises(Exception, match="404") as caught:
        loads(body)
    return str(caught.value)


@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
async def test_a_habit_is_lived_with(address: tuple[str, int], habit: bytes) -> None:
    head, body = await answer(address, habit)
    assert b" 200 OK" in head.split(b"\r\n")[0]
    assert b"chunked" not in head.lower(), "old clients cannot read chunks"
    assert f"'{ARTICLE}'" in fault(body)


async def test_who_waits_to_be_told_to_go_on_is_told(address: tuple[str, int]) -> None:
    body = call()
    reader, writer = await asyncio.open_connection(*address)
    head = f"{HEAD}{TEXT}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    writer.write(head.encode())
    async with patience():
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        writer.write(body)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert f"'{ARTICLE}'" in fault(await reader.read())
    writer.close()
    await writer.wait_closed()


async def test_one_connection_takes_call_after_call(address: tuple[str, int]) -> None:
    kept = f"POST /xmlrpc/ HTTP/1.1\r\nHost: hub\r\n{TEXT}"
    head, body = await answer(address, sized(call(), kept) * 2 + sized(call()))
    assert (head + body).count(b"HTTP/1.1 200 OK") == 3
