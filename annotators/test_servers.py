"""Servers that test a hub: a slow one, and a faulty one that fails differently on each article.

The faulty server plays the faults of `annotators.faults` in turn: the first article it sees gets
the first fault, the next one the second, and so on, so a run over as many articles shows every
outcome a server can cause. An article keeps its fault; some heal, so that a retry is answered.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aiohttp import web

from annotators.contract import Answer, Context
from annotators.errors import RequestError
from annotators.faults import FAULTS, FaultyAnswer
from annotators.protocol import decode_call
from annotators.server import GET_ANNOTATION, Kit, article_of


def slow(
    annotate: Callable[[str, Context], Answer], delay: tuple[float, float]
) -> Callable[[str, Context], Awaitable[Answer]]:
    """Return `annotate` behind a wait of between `delay[0]` and `delay[1]` seconds.

    An article always waits equally long.
    """

    async def wait_then_annotate(text: str, context: Context) -> Answer:
        await asyncio.sleep(random.Random(text).uniform(*delay))
        return await asyncio.to_thread(annotate, text, context)

    return wait_then_annotate


@dataclass(slots=True)
class Turn:
    """The fault of an article, and the number of requests for it so far."""

    fault: FaultyAnswer
    asked: int = 0


@dataclass(slots=True)
class Turns:
    """Faults dealt to articles in the order in which these are first seen."""

    faults: tuple[FaultyAnswer, ...]
    _of_article: dict[bytes, Turn] = field(default_factory=dict)

    def take(self, text: str) -> FaultyAnswer | None:
        """Return the fault for this request, or None where the article has healed."""
        key = sha256(text.encode("utf-8", "surrogatepass")).digest()
        turn = self._of_article.setdefault(
            key, Turn(self.faults[len(self._of_article) % len(self.faults)])
        )
        turn.asked += 1
        healed = 0 < turn.fault.heals_after < turn.asked
        return None if healed else turn.fault


class FaultyKit(Kit):
    """A kit that replaces the answers of `annotate` by faulty ones."""

    def __init__(self, annotate: Callable[[str, Context], Answer], **options: Any) -> None:
        super().__init__(annotate, **options)
        self._honest = annotate
        self._turns = Turns(FAULTS)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one HTTP request with its article's fault."""
        article = asked_article(await request.read())
        fault = self._turns.take(article[0]) if article else None
        if article is None or fault is None:
            return await super().handle(request)
        answer = await asyncio.to_thread(self._honest, *article)
        try:
            return await fault.play(request, dict(answer))
        except ConnectionError:  # the hub hung up, as it may on an answer like this
            return web.Response()


def asked_article(body: bytes) -> tuple[str, Context] | None:
    """Return the article of a getAnnotation request, or None for any other request."""
    try:
        call = decode_call(body)
        return article_of(call) if call.method == GET_ANNOTATION else None
    except RequestError:
        return None
