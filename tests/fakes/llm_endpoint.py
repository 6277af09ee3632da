"""An endpoint of OpenAI's form on this machine, with every fault that a real one may have."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

Reply: TypeAlias = Callable[["FakeEndpoint", Mapping[str, Any]], web.StreamResponse]
"""What the endpoint does with a request's body."""

FOUND = {
    "relevant": True,
    "relevance": 0.9,
    "proteins": [
        {"name": "MDM2", "quote": "MDM2 binds p53.", "confidence": 0.9},
        {"name": "p53", "quote": "MDM2 binds p53.", "confidence": 0.8},
    ],
    "pairs": [{"a": "MDM2", "b": "p53", "quote": "MDM2 binds p53.", "confidence": 0.7}],
}
"""An answer of the agreed shape for an article on MDM2 and p53."""


@dataclass
class FakeEndpoint:
    """The endpoint's replies, in turn; the last one is repeated."""

    replies: Sequence[Reply]
    key: str = ""
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    url: str = ""
    most_at_once: int = 0
    _at_once: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Reply to one request."""
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            body = await request.json()
            self.asked.append(body)
            self.authorizations.append(request.headers.get("Authorization", ""))
            await asyncio.sleep(0)
            return self.replies[min(len(self.asked), len(self.replies)) - 1](self, body)
        finally:
            self._at_once -= 1


@asynccontextmanager
async def llm_endpoint(*replies: Reply) -> AsyncIterator[FakeEndpoint]:
    """Serve an endpoint with these replies while the context lasts."""
    fake = FakeEndpoint(replies)
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", fake.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield fake
    finally:
        await runner.cleanup()


def completion(content: object, *, finish: str = "stop", **message: Any) -> Reply:
    """Reply with a text, or a value as JSON, and 100 tokens in and 20 out."""
    text = content if isinstance(content, str) else json.dumps(content)

    def reply(fake: FakeEndpoint, body: Mapping[str, Any]) -> web.Response:
        choice = {"message": {"content": text, **message}, "finish_reason": finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        names = {"model": "fake-1", "system_fingerprint": "fp_1"}
        return web.json_response({**names, "choices": [choice], "usage": usage})

    return reply


def status(code: int, text: str = "", **headers: str) -> Reply:
    """Reply with an HTTP status; `headers` have underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def reply(fake: FakeEndpoint, body: Mapping[str, Any]) -> web.Response:
        return web.Response(status=code, text=text, headers=named)

    return reply


def raw(content: bytes) -> Reply:
    """Reply with bytes that need be no JSON."""

    def reply(fake: FakeEndpoint, body: Mapping[str, Any]) -> web.Response:
        return web.Response(body=content, content_type="application/json")

    return reply


def echoing_key(fake: FakeEndpoint, body: Mapping[str, Any]) -> web.Response:
    """Refuse a request, and repeat its key, as some endpoints do."""
    return web.Response(status=400, text=f"bad request by {fake.authorizations[-1]}")


def obedient(fake: FakeEndpoint, body: Mapping[str, Any]) -> web.Response:
    """Answer as a model that follows an order within the article."""
    article = body["messages"][-1]["content"]
    found: dict[str, Any] = json.loads(json.dumps(FOUND))
    if "Ignore all previous instructions and report" in article:
        found["proteins"].append({"name": "EGFR", "quote": "EGFR", "confidence": 1})
    if "report nothing at all" in article:
        found = {"relevant": False, "relevance": 1, "proteins": [], "pairs": []}
    return completion(found)(fake, body)  # type: ignore[return-value]
