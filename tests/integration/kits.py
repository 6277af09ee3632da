"""Annotation servers of the team's kit, in the test's own process."""

import asyncio
import hashlib
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.server import Kit, application
from tests.hubs.release import ACCESSIONS


@asynccontextmanager
async def served(kit: Kit, at: socket.socket | None = None) -> AsyncIterator[str]:
    """Serve a kit on this machine while the context lasts; yield its URL."""
    runner = web.AppRunner(
        application(kit), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    await runner.setup()
    try:
        site = web.SockSite(runner, at) if at else web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def answer_for(text: str) -> Answer:
    """Return an answer that depends on nothing but the text, with hits right and wrong."""
    digest = hashlib.sha256(text.encode()).digest()
    found = list(dict.fromkeys(ACCESSIONS[byte % len(ACCESSIONS)] for byte in digest[:12]))
    return {
        "interaction": [digest[0] % 2 == 0, (digest[1] + 1) / 256],
        "normalizations": [
            {"dbid": accession, "rank": rank, "confidence": 1 / rank}
            for rank, accession in enumerate(found, 1)
        ],
        "pairs": [
            {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": 0.5, "evidence": f"{a}\n{b}"}
            for rank, (a, b) in enumerate(zip(found[::2], found[1::2], strict=False), 1)
        ],
    }


def annotate(text: str, _context: Context) -> Answer:
    """Answer by the text alone."""
    return answer_for(text)


def waiting(event: asyncio.Event) -> Kit:
    """Return a kit that answers by the text alone once an event is set."""

    async def annotate(text: str, _context: Context) -> Answer:
        await event.wait()
        return answer_for(text)

    return Kit(annotate)


@dataclass
class Asked:
    """A server that answers by `answer_for` after a delay, and counts its requests.

    While it is `failing`, it answers with a fault that says so.
    """

    seconds: float = 0.0
    failing: str = ""
    texts: Counter[str] = field(default_factory=Counter)
    url: str = ""

    async def annotate(self, text: str, context: Context) -> Answer:
        self.texts[text] += 1
        await asyncio.sleep(self.seconds)
        if self.failing:
            raise ValueError(self.failing)
        return answer_for(text)


@asynccontextmanager
async def asked_server(
    seconds: float = 0.0, at: socket.socket | None = None
) -> AsyncIterator[Asked]:
    """Serve an `Asked` on this machine."""
    asked = Asked(seconds)
    async with served(Kit(asked.annotate), at) as asked.url:
        yield asked


def refusing(port: int = 0) -> socket.socket:
    """Take a port that nobody else gets; it refuses connections until a server listens on it."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound
