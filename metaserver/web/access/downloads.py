"""Files that are answered: a few at a time, so that asking for many does not fill the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiohttp import web

from metaserver.model.errors import Refusal, RefusedError
from metaserver.web.access.auth import GATE
from metaserver.web.access.bodies import RETRY_SECONDS
from metaserver.web.access.visitor import VISITOR

LARGE = 2**20  # bytes of an answer that is sent before the next may be made


async def in_turn(
    request: web.Request, make: Callable[[], Awaitable[web.Response]]
) -> web.Response:
    """Answer with a file once its asker has a place; it is held until a large one is sent.

    `RefusedError` where all places are taken. Without a gate there are as many as are asked for.
    """
    if (gate := request.config_dict.get(GATE)) is None:
        return await make()
    visitor = request[VISITOR]
    slot = gate.downloads.take(
        visitor.origin.key if visitor.payer is None else visitor.payer,
        lambda: request.transport is not None,
    )
    try:
        if slot is None:
            message = "too many files at the same time"
            raise RefusedError(Refusal.TOO_MANY, message, retry_after=RETRY_SECONDS)
        response = await make()
        if (response.content_length or 0) > LARGE:
            with suppress(ConnectionError):  # its asker has gone
                await response.prepare(request)
                await response.write_eof()
        return response
    finally:
        if slot is not None:
            gate.downloads.give(slot)
