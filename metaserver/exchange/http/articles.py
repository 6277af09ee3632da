"""Request bodies. Article texts are rendered when needed, and cached only briefly."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.protocols.plugin import RenderedBody, Request
from metaserver.exchange.wire.xmlrpc import escape_text, unescape_text

CACHE_BYTES = 4 * 2**20
BLOCK_BYTES = 64 * 2**10  # of articles that are loaded at once: lanes go through them in order
LEAST, MOST = 4, 32  # articles loaded at once


class ArticleTexts:
    """A cache for escaped texts by position: lanes often send the same articles at the same time.

    While lanes go through the articles in order, the next block is loaded before it is needed: as
    long as the block before is still in the cache. It is not loaded if many lanes are at different
    places, whose blocks would displace each other.

    `load` returns the texts for a range of positions, as far as they exist, `block` at once;
    `cache_bytes` bounds the cache's size.
    """

    def __init__(
        self,
        load: Callable[[range], Awaitable[Sequence[str]]],
        *,
        cache_bytes: int = CACHE_BYTES,
        block: int = LEAST,
    ) -> None:
        self._read = load
        self._blocks: OrderedDict[int, Sequence[bytes]] = OrderedDict()
        self._loading: dict[int, asyncio.Task[Sequence[bytes]]] = {}
        self._free_bytes = cache_bytes
        self._block = block

    async def escaped(self, position: int) -> bytes:
        """Return the article's text as bytes ready to be sent in a request."""
        number, place = divmod(position, self._block)
        block = self._blocks.get(number)
        if block is not None:
            self._blocks.move_to_end(number)
            self._load_ahead(number, place)
            return block[place]
        loading = self._load(number)
        self._load_ahead(number, place)
        return (await asyncio.shield(loading))[place]

    def _load_ahead(self, number: int, place: int) -> None:
        if place == 0 and number - 1 in self._blocks and number + 1 not in self._blocks:
            self._load(number + 1)

    def _load(self, number: int) -> asyncio.Task[Sequence[bytes]]:
        """Load a block, once however many lanes wait for it."""
        task = self._loading.get(number)
        if task is None:
            task = self._loading[number] = asyncio.create_task(self._load_block(number))
            task.add_done_callback(partial(self._loaded, number))
        return task

    def _loaded(self, number: int, task: asyncio.Task[Sequence[bytes]]) -> None:
        del self._loading[number]
        if not task.cancelled():
            task.exception()  # marks it as seen: of a block that no lane waits for yet

    async def _load_block(self, number: int) -> Sequence[bytes]:
        positions = range(number * self._block, (number + 1) * self._block)
        block = [escape_text(text) for text in await self._read(positions)]
        self._blocks[number] = block
        self._free_bytes -= sum(map(len, block))
        while self._free_bytes < 0:
            _, dropped = self._blocks.popitem(last=False)
            self._free_bytes += sum(map(len, dropped))
        return block


def block_of(sizes: Sequence[int]) -> int:
    """Return how many articles to load at once, given their sizes in bytes."""
    return min(MOST, max(LEAST, BLOCK_BYTES * len(sizes) // max(1, sum(sizes))))


class RequestBody(Payload):
    """A body that marks when it is sent, in the `exchange` set for each request.

    A body rendered only while it is written has a size known beforehand, so that it can be sent
    with a Content-Length (many XML-RPC servers read no chunked requests) although thousands of
    bodies wait for their turn. `failure` is the error that prevented rendering: aiohttp would
    report it as a lost connection.

    A body cannot be read: aiohttp would do so to send it again after a redirect, or to log it.
    """

    exchange: Exchange | None = None

    def __init__(self, request: Request) -> None:
        super().__init__(None, content_type=request.content_type)
        self._body = request.body or b""
        self._size = self._body.size if isinstance(self._body, RenderedBody) else len(self._body)
        self.failure: Exception | None = None

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Raise `TypeError`: the body cannot be read, it exists only while it is sent."""
        raise TypeError("a call's body is rendered when it is sent")

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Render the body and write it."""
        body = self._body
        if isinstance(body, RenderedBody):
            try:
                body = await body.render()
            except Exception as error:
                self.failure = error
                raise
        if self.exchange is not None:
            self.exchange.mark("sent")
        if body:
            await writer.write(body)


class PhaseText:
    """The text of a phase's article; implements `protocols.plugin.ArticleText`."""

    def __init__(self, texts: ArticleTexts, position: int, wire_bytes: int) -> None:
        self._texts = texts
        self._position = position
        self.wire_bytes = wire_bytes

    async def escaped(self) -> bytes:
        """Return the text escaped for XML, in UTF-8."""
        return await self._texts.escaped(self._position)

    async def plain(self) -> str:
        """Return the text: the same characters that an XML-RPC server is sent."""
        return unescape_text(await self.escaped())
