"""Files that are answered: a few at a time, so that asking for many does not fill the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.web.access.auth import GATE
from metaserver.web.access.bodies import RETRY_SECONDS
from metaserver.web.access.visitor import VISITOR

R = TypeVar("R", bound=web.StreamResponse)
LARGE = 2**20  # bytes of an answer that is sent before the next may be made


async def in_turn(request: web.Request, make: Callable[[], Awaitable[R]]) -> R:
    """Answer with a file once its caller has a place; a large file holds it until sent.

    `RefusedError` if all places are taken: some are kept for signed-in callers. Without a gate
    there is no limit.
    """
    if (gate := request.config_dict.get(GATE)) is None:
        return await make()
    visitor = request[VISITOR]
    slot = gate.downloads.take(
        visitor.origin.key if visitor.payer is None else visitor.payer,
        lambda: request.transport is not None,
        favoured=visitor.payer is not None,
    )
    try:
        if slot is None:
            message = "too many files at the same time"
            raise RefusedError(Refusal.TOO_MANY, message, retry_after=RETRY_SECONDS)
        response = await make()
        if isinstance(response, _StoredFile) or (response.content_length or 0) > LARGE:
            with suppress(ConnectionError):  # its asker has gone
                await response.prepare(request)
                await response.write_eof()
        return response
    finally:
        if slot is not None:
            gate.downloads.give(slot)


def attachment(content: bytes, name: str, kind: str = "application/octet-stream") -> web.Response:
    """Return a file to be saved under a name, for its caller alone."""
    return web.Response(body=content, content_type=kind, headers=_headers(name))


def _headers(name: str, *, cacheable: bool = False) -> dict[str, str]:
    return {
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}"',
        hdrs.CACHE_CONTROL: "private, no-cache" if cacheable else "private, no-store",
    }


async def stored_zip(
    request: web.Request, path: Path, name: str, *, cacheable: bool = False
) -> web.StreamResponse:
    """Answer with a hub's zip, whole or in parts (Range), in the caller's turn.

    `cacheable`: the caller may keep a copy, and ask whether there is a newer zip.
    """

    async def make() -> web.StreamResponse:
        return zip_response(path, name, cacheable=cacheable)

    return await in_turn(request, make)


def zip_response(path: Path, name: str, *, cacheable: bool = False) -> web.StreamResponse:
    """Return the same answer, for a caller whose turn it is."""
    headers = {hdrs.CONTENT_TYPE: "application/zip"} | _headers(name, cacheable=cacheable)
    return _StoredFile(path, headers=headers)


class _StoredFile(web.FileResponse):
    """A file that is sent by its handler: aiohttp prepares a response that it returns once more."""

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        return None if self.prepared else await super().prepare(request)
