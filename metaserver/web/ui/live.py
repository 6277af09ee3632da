"""Live pages: a frame is rendered once, encoded once, and the same bytes go to all who watch.

A page that is watched has one `Channel`. Its newest `Frame` is all it keeps: a viewer who was slow
skips frames, and then gets the whole page instead of the last change.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakSet

import msgspec
from aiohttp import web

from metaserver.model.errors import MetaserverError
from metaserver.web.access.loop_time import Measured
from metaserver.web.public.source import BoardSource

log = logging.getLogger(__name__)

BEAT = b"event: beat\ndata: 1\n\n"
"""Sent when there is no news, so that a browser can distinguish silence from a lost hub.

An event, not a comment: comments reach no script.
"""
ASKED_SHARE = 0.1
"""Of the event loop's time: what the pages that are asked for may take, however many there are."""

STALLED = 30.0
"""Seconds after which a viewer who takes no bytes is let go; its browser connects again."""


class LiveRow:
    """A part that is filled again rather than drawn again: texts and attributes by slot.

    `draw` makes its HTML: for viewers who have none of it yet.
    """

    def __init__(self, slots: Mapping[str, str], draw: Callable[[], str]) -> None:
        self.slots = slots
        self._draw = draw

    @cached_property
    def html(self) -> str:
        """The whole row."""
        return self._draw()

    def since(self, old: LiveRow) -> Mapping[str, str]:
        """Return the slots that differ from `old`."""
        if self is old:
            return {}
        return {key: text for key, text in self.slots.items() if old.slots.get(key) != text}


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an event: HTML by element id, the children of lists, and slots of rows by id."""

    html: Mapping[str, str]
    lists: Mapping[str, Sequence[str]]
    rows: Mapping[str, Mapping[str, str]] = {}

    def __bool__(self) -> bool:
        return bool(self.html or self.lists or self.rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveParts:
    """A page's live parts: HTML by element id, rows by id, and the children (ids) of its lists."""

    html: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rows: Mapping[str, LiveRow] = field(default_factory=dict)

    def whole(self) -> News:
        """Return all there is."""
        drawn = {key: row.html for key, row in self.rows.items()}
        return News(html={**self.html, **drawn}, lists=self.lists)

    def since(self, old: LiveParts) -> News:
        """Return what differs from `old`; rows that it did not have are drawn."""
        html = {key: text for key, text in self.html.items() if old.html.get(key) != text}
        rows = {}
        for key, row in self.rows.items():
            if (before := old.rows.get(key)) is None:
                html[key] = row.html
            elif filled := row.since(before):
                rows[key] = filled
        lists = {key: ids for key, ids in self.lists.items() if old.lists.get(key) != ids}
        return News(html=html, lists=lists, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One state of a page: all its parts, and what the frame before did not have."""

    number: int
    parts: LiveParts
    news: News

    @cached_property
    def whole(self) -> bytes:
        """The event with every part."""
        return _event(self.parts.whole())

    @cached_property
    def change(self) -> bytes:
        """The event with the parts that changed."""
        return _event(self.news)

    def after(self, seen: int) -> bytes:
        """Return the event that brings a viewer of frame `seen` up to date."""
        return self.change if seen == self.number - 1 and seen else self.whole


def _event(news: News) -> bytes:
    return b"event: frame\ndata: " + msgspec.json.encode(news) + b"\n\n"


class Channel:
    """The newest frame of one page, for all who watch it."""

    def __init__(self, render: Callable[[], LiveParts]) -> None:
        self.render = render
        self._news = asyncio.Event()
        self.frame = Frame(number=1, parts=render(), news=News(html={}, lists={}))
        self.viewers = 0

    def refresh(self) -> None:
        """Render the page; where it differs, make a frame and wake the viewers."""
        parts = self.render()
        if news := parts.since(self.frame.parts):
            self.frame = Frame(number=self.frame.number + 1, parts=parts, news=news)
            self._news.set()
            self._news = asyncio.Event()

    async def next(self, seen: int) -> Frame:
        """Wait for a frame other than `seen`; return the newest."""
        while self.frame.number == seen:
            await self._news.wait()
        return self.frame


class Asked:
    """The newest parts of a page that is made by asking operations, which takes awaiting.

    Called, it gives the parts; between `begin` and `end` it asks again after each `pause` (which
    returns seconds). Where `ask` is refused or fails, the page stands still. `seconds` is what the
    last answer took of the event loop.
    """

    def __init__(self, ask: Callable[[], Awaitable[LiveParts]], parts: LiveParts) -> None:
        self._ask = ask
        self._parts = parts
        self.seconds = 0.0
        self._task: asyncio.Task[None] | None = None

    def __call__(self) -> LiveParts:
        """Return what the last answer was."""
        return self._parts

    def begin(self, refresh: Callable[[], None], pause: Callable[[], float]) -> None:
        """Begin to ask; `refresh` is called after each answer."""
        self._task = asyncio.create_task(self._keep(refresh, pause), name="asked page")

    def end(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()

    async def _keep(self, refresh: Callable[[], None], pause: Callable[[], float]) -> None:
        while True:
            await asyncio.sleep(pause())
            work = Measured(self._ask(), time.perf_counter)
            try:
                self._parts = await work
                refresh()
            except MetaserverError as error:
                log.debug("a page stands still: %s", error)
            except Exception:
                log.exception("cannot render a page")
            finally:
                self.seconds = work.seconds


_broadcasters: WeakSet[Broadcaster] = WeakSet()


def open_streams() -> int:
    """Return how many event streams are open in this process."""
    return sum(broadcaster.streams for broadcaster in list(_broadcasters))


class Broadcaster:
    """Keeps the channels that are watched, and refreshes them when the source has changed.

    `interval` is the shortest time between two frames, `heartbeat` the longest silence, in seconds.
    Without a source pages can only be followed.
    """

    def __init__(self, source: BoardSource | None, *, interval: float, heartbeat: float) -> None:
        self._source = source
        self._interval = interval
        self._heartbeat = heartbeat
        self._channels: dict[str, Channel] = {}
        self._streams: set[asyncio.Task[None]] = set()
        _broadcasters.add(self)

    @property
    def streams(self) -> int:
        """The number of event streams that are open."""
        return len(self._streams)

    async def run(self) -> None:
        """Refresh the watched channels after each change, for ever."""
        assert self._source is not None
        version = -1
        while True:
            version = await self._source.changed(version)
            for key, channel in list(self._channels.items()):
                try:
                    channel.refresh()
                except Exception:  # one broken page must not stop the others
                    log.exception("cannot render %s", key)
            await asyncio.sleep(self._interval)

    async def follow(
        self, request: web.Request, key: str, ask: Callable[[], Awaitable[LiveParts]]
    ) -> web.StreamResponse:
        """Serve parts that need an `await`, as `serve` does: each `interval`, once for all viewers.

        Whoever may see the page `key` must see the same of it.
        """
        asked = Asked(ask, await ask())
        return await self.serve(request, key, asked)

    def _pause(self) -> float:
        """Return how long an asked page stands: longer where all together would take too much."""
        pages = (channel.render for channel in self._channels.values())
        taken = sum(page.seconds for page in pages if isinstance(page, Asked))
        return max(self._interval, taken / ASKED_SHARE)

    @asynccontextmanager
    async def _watch(self, key: str, render: Callable[[], LiveParts]) -> AsyncIterator[Channel]:
        channel = self._channels.get(key) or self._channels.setdefault(key, Channel(render))
        channel.viewers += 1
        if channel.viewers == 1 and isinstance(channel.render, Asked):
            channel.render.begin(channel.refresh, self._pause)
        try:
            yield channel
        finally:
            channel.viewers -= 1
            if not channel.viewers:
                del self._channels[key]
                if isinstance(channel.render, Asked):
                    channel.render.end()

    async def serve(
        self, request: web.Request, key: str, render: Callable[[], LiveParts]
    ) -> web.StreamResponse:
        """Answer `request` with the event stream of the page `key`; never returns by itself."""
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",  # nginx would hold events back
            }
        )
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            async with self._watch(key, render) as channel:
                await response.prepare(request)
                await self._feed(response, channel)
        except (ConnectionError, TimeoutError):
            pass  # the viewer has gone, or takes nothing
        finally:
            self._streams.discard(task)
        return response

    async def _feed(self, response: web.StreamResponse, channel: Channel) -> None:
        seen = 0
        while True:
            try:
                async with asyncio.timeout(self._heartbeat):
                    frame = await channel.next(seen)
            except TimeoutError:
                event = BEAT
            else:
                event, seen = frame.after(seen), frame.number
            async with asyncio.timeout(STALLED):
                await response.write(event)

    async def close(self) -> None:
        """End every stream: a shutdown does not wait for viewers."""
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
