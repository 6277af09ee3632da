"""Article texts as they stand in a request: rendered when they are sent, kept only briefly."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from metaserver.wire.xmlrpc import CallTemplate, escape_text

CACHE_BYTES = 4 * 2**20
BLOCK = 4  # articles loaded at once: lanes go through them in order


class ArticleTexts:
    """Escaped texts by position; lanes are often at the same articles, so the last are kept.

    `load` returns the texts of a range of positions, as far as there are any.
    """

    def __init__(
        self,
        load: Callable[[range], Awaitable[Sequence[str]]],
        *,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._load = load
        self._blocks: OrderedDict[int, Sequence[bytes]] = OrderedDict()
        self._loading: dict[int, asyncio.Task[Sequence[bytes]]] = {}
        self._room = cache_bytes

    async def escaped(self, position: int) -> bytes:
        """Return the article's text as bytes ready to stand in a request."""
        number, place = divmod(position, BLOCK)
        block = self._blocks.get(number)
        if block is None:
            block = await self._loaded(number)
        else:
            self._blocks.move_to_end(number)
        return block[place]

    async def _loaded(self, number: int) -> Sequence[bytes]:
        """Load a block once, however many lanes wait for it."""
        task = self._loading.get(number)
        if task is None:
            task = self._loading[number] = asyncio.create_task(self._keep(number))
            task.add_done_callback(lambda _: self._loading.pop(number))
        return await asyncio.shield(task)

    async def _keep(self, number: int) -> Sequence[bytes]:
        positions = range(number * BLOCK, (number + 1) * BLOCK)
        block = [escape_text(text) for text in await self._load(positions)]
        self._blocks[number] = block
        self._room -= sum(map(len, block))
        while self._room < 0:
            _, dropped = self._blocks.popitem(last=False)
            self._room += sum(map(len, dropped))
        return block


class CallBody(Payload):
    """A request's body that exists only while it is being written.

    Its size is known beforehand, so that it can be sent with a Content-Length (many XML-RPC
    servers read no chunked requests) although thousands of them wait for their turn. `failure` is
    why it could not be rendered: aiohttp would tell it as a lost connection.
    """

    def __init__(
        self, template: CallTemplate, text: Callable[[], Awaitable[bytes]], text_size: int
    ) -> None:
        super().__init__(None, content_type="text/xml; charset=utf-8")
        self._template = template
        self._text = text
        self._size = len(template.prefix) + text_size + len(template.suffix)
        self.failure: Exception | None = None

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Not there to be read: the body exists only while it is sent."""
        raise TypeError("a call's body is rendered when it is sent")

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Render the body and write it."""
        try:
            text = await self._text()
        except Exception as error:
            self.failure = error
            raise
        await writer.write(self._template.body(text))
