"""Article texts in requests."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from metaserver.exchange.http.articles import ArticleTexts, RequestBody, block_of
from metaserver.exchange.protocols.plugin import RenderedBody, Request
from metaserver.exchange.wire.xmlrpc import call_template, decode_call, escape_text
from tests.waiting import until


class Corpus:
    """Forty articles that count how often they were loaded."""

    def __init__(self) -> None:
        self.loads: list[range] = []
        self.broken = False

    async def load(self, positions: range) -> Sequence[str]:
        self.loads.append(positions)
        await asyncio.sleep(0)
        if self.broken:
            raise OSError("the disk is gone")
        return [f"<{position}>" for position in positions if position < 40]


@pytest.mark.parametrize("block", [None, 7])
async def test_every_article_is_escaped_and_is_the_right_one(block: int | None) -> None:
    texts = ArticleTexts(Corpus().load, **({"block": block} if block else {}))
    for position in (39, *range(40)):
        assert await texts.escaped(position) == f"&lt;{position}&gt;".encode()


async def test_lanes_at_the_same_article_load_it_once() -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load)
    await asyncio.gather(*(texts.escaped(3) for _ in range(100)))
    await texts.escaped(3)
    assert len(corpus.loads) == 1


@pytest.mark.parametrize(("cache_bytes", "loads"), [(0, 4), (50, 4), (100, 2)])
async def test_texts_beyond_the_cache_are_loaded_again(cache_bytes: int, loads: int) -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load, cache_bytes=cache_bytes)
    for _ in range(2):
        assert await texts.escaped(0) == b"&lt;0&gt;"
        assert await texts.escaped(39) == b"&lt;39&gt;"
    assert len(corpus.loads) == loads


async def test_the_next_block_is_loaded_before_a_lane_that_goes_through_them_needs_it() -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load)
    for position in range(5):
        await texts.escaped(position)
    await until(lambda: len(corpus.loads) == 3)
    assert corpus.loads == [range(4), range(4, 8), range(8, 12)]
    for position in range(5, 12):
        assert await texts.escaped(position) == f"&lt;{position}&gt;".encode()
    await until(lambda: len(corpus.loads) == 4)  # each once, and one more ahead


@pytest.mark.parametrize(
    ("sizes", "block"),
    [([], 4), ([0], 32), ([2_000] * 9, 32), ([8_192] * 100, 8), ([54_000], 4), ([10**7], 4)],
)
def test_short_articles_are_loaded_more_at_once(sizes: list[int], block: int) -> None:
    assert block_of(sizes) == block


async def test_nothing_is_loaded_ahead_where_lanes_displace_each_others_blocks() -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load, cache_bytes=50)
    for position in range(5):
        await texts.escaped(position)
        await texts.escaped(position + 20)
    await asyncio.sleep(0.05)
    assert len(corpus.loads) == 10


async def test_a_failure_to_load_ahead_concerns_nobody_yet() -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load)
    for position in range(4):
        await texts.escaped(position)
    loading = asyncio.create_task(texts.escaped(4))
    await until(lambda: len(corpus.loads) == 3)
    corpus.broken = True
    with suppress(OSError):
        await loading
    corpus.broken = False
    assert await texts.escaped(8) == b"&lt;8&gt;"


async def test_a_load_that_failed_is_tried_again() -> None:
    corpus = Corpus()
    texts = ArticleTexts(corpus.load)
    corpus.broken = True
    with pytest.raises(OSError, match="the disk is gone"):
        await texts.escaped(1)
    corpus.broken = False
    assert await texts.escaped(1) == b"&lt;1&gt;"


async def test_a_cancelled_wait_does_not_cancel_others() -> None:
    texts = ArticleTexts(Corpus().load)
    first, second = (asyncio.create_task(texts.escaped(5)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"&lt;5&gt;"
    assert first.cancelled()


class Writer:
    """A writer that keeps the bytes of a body."""

    def __init__(self) -> None:
        self.written = b""

    async def write(self, data: bytes) -> None:
        self.written += data


@pytest.mark.parametrize("context", [None, {"article_id": "a & b", "attempt": 1}])
async def test_a_body_is_as_long_as_it_says(context: dict[str, str | int] | None) -> None:
    text = escape_text("<Ångström> 𝔸\r\x00")

    template = call_template("m", context)

    async def load() -> bytes:
        return template.body(text)

    size = len(template.body(text))
    body, writer = RequestBody(Request(RenderedBody(size, load), "text/xml")), Writer()
    await body.write(writer)  # type: ignore[arg-type]
    assert body.size == len(writer.written)
    assert decode_call(writer.written).params[0] == "<Ångström> 𝔸\r\ufffd"
    assert decode_call(writer.written).params[1:] == ([context] if context else [])


def test_a_body_is_not_there_to_be_read() -> None:
    async def never() -> bytes:
        raise AssertionError

    with pytest.raises(TypeError, match="rendered when it is sent"):
        RequestBody(Request(RenderedBody(0, never), "text/xml")).decode()
