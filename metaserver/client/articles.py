"""Article texts as they stand in a request: rendered when they are sent, kept only briefly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from metaserver.wire.xmlrpc import CallTemplate, escape_text

CACHE_BYTES = 64 * 2**20


class ArticleTexts:
    """Escaped texts by position; lanes are often at the same article, so the last are kept."""

    def __init__(
        self, load: Callable[[int], Awaitable[str]], *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._load = load
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._room = cache_bytes

    async def escaped(self, position: int) -> bytes:
        """Return the article's text as bytes ready to stand in a request."""
        kept = self._cache.get(position)
        if kept is not None:
            self._cache.move_to_end(position)
            return kept
        text = escape_text(await self._load(position))
        if position not in self._cache:
            self._cache[position] = text
            self._room -= len(text)
        while self._room < 0 and self._cache:
            self._room += len(self._cache.popitem(last=False)[1])
        return text


class CallBody(Payload):
    """A request's body that exists only while it is being written.

    Its size is known beforehand, so that it can be sent with a Content-Length (many XML-RPC
    servers read no chunked requests) although thousands of them wait for their turn.
    """

    def __init__(
        self, template: CallTemplate, text: Callable[[], Awaitable[bytes]], text_size: int
    ) -> None:
        super().__init__(None, content_type="text/xml; charset=utf-8")
        self._template = template
        self._text = text
        self._size = len(template.prefix) + text_size + len(template.suffix)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Not there to be read: the body exists only while it is sent."""
        raise TypeError("a call's body is rendered when it is sent")

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Render the body and write it."""
        await writer.write(self._template.body(await self._text()))
