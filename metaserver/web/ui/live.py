"""Live pages: a frame is rendered once, encoded once, and the same bytes go to all who watch.

A watched page has one `Channel`. Its newest `Frame` is all it keeps, with the frame in which each
part changed last: a viewer who was slow, or comes back, gets what changed since.

A viewer may see only some of a page's rows. Every viewer gets a few slots per row
(`LiveRow.brief`), and the other slots only for the requested ids.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakSet

import msgspec
from aiohttp import hdrs, web

from metaserver.base.compression import GZIP_BEGIN, deflated
from metaserver.base.errors import MetaserverError
from metaserver.operations.phase_view import PhaseView
from metaserver.web.access.aside import Measured
from metaserver.web.access.encodings import Encoding, preferred
from metaserver.web.access.event_streams import HEADERS, OpenStreams, write
from metaserver.web.ui.assets import release

log = logging.getLogger(__name__)

REFRESH_SHARE = 0.1
"""Of the event loop's time: what refreshing watched pages may take, however many there are, and
asking operations for such pages too."""

MADE_SHARE = 0.25
"""Of the event loop's time: what making events for viewers who each ask for other rows may take."""

KEPT_CHUNKS = 2**24
"""Bytes of its chunks that a frame keeps for other viewers: a page may stand still for days."""

HEARTBEAT = 15.0
"""The longest silence of a stream, in seconds."""

MOST_ROWS = 200
"""Rows whose figures a stream may be asked for: more than a screen shows."""
ROW_ID = re.compile(r"[a-z]-[\w-]{1,80}", re.ASCII)
SEEN = re.compile(r"([0-9a-f]{8})-([0-9]{1,9})", re.ASCII)


class LiveRow:
    """A part that is filled again rather than drawn again: texts and attributes by slot.

    `brief` are the slots that every viewer gets. `fill` makes the others, `draw` the row's HTML,
    and `draw_brief` that of a row with `brief` alone; each when it is needed first.
    """

    def __init__(
        self,
        brief: Mapping[str, str],
        fill: Callable[[], Mapping[str, str]],
        draw: Callable[[], str],
        draw_brief: Callable[[], str],
    ) -> None:
        self.brief = brief
        self._fill = fill
        self._draw = draw
        self._draw_brief = draw_brief

    @cached_property
    def slots(self) -> Mapping[str, str]:
        """The slots beside `brief`."""
        return self._fill()

    @cached_property
    def html(self) -> str:
        """The whole row."""
        return self._draw()

    @cached_property
    def brief_html(self) -> str:
        """The row with `brief` alone."""
        return self._draw_brief()

    def since(self, before: LiveRow) -> Mapping[str, str]:
        """Return the slots beside `brief` that differ from `old`."""
        if self is before:
            return {}
        return {key: text for key, text in self.slots.items() if before.slots.get(key) != text}


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveParts:
    """A page's live parts: HTML by element id, rows by id, and the children (ids) of its lists."""

    html: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rows: Mapping[str, LiveRow] = field(default_factory=dict)


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a frame for every viewer: HTML by element id, lists' children, slots of rows."""

    html: Mapping[str, str]
    lists: Mapping[str, Sequence[str]]
    brief: Mapping[str, Mapping[str, str]]

    def __bool__(self) -> bool:
        return bool(self.html or self.lists or self.brief)


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a frame for those who see some rows: their slots by id, or their HTML."""

    rows: Mapping[str, Mapping[str, str]]
    drawn: Mapping[str, str]

    def __bool__(self) -> bool:
        return bool(self.rows or self.drawn)


class Stamps(NamedTuple):
    """Numbers of the frames in which each part changed last; of rows also when they came."""

    html: Mapping[str, int] = {}
    lists: Mapping[str, int] = {}
    rows: Mapping[str, int] = {}
    brief: Mapping[str, int] = {}
    came: Mapping[str, int] = {}

    def next(self, number: int, before: LiveParts, after: LiveParts) -> Stamps:
        """Return the stamps of frame `number`, whose parts are `new`."""
        rows = {
            key: self.rows[key] if before.rows.get(key) is row else number
            for key, row in after.rows.items()
        }
        brief = {
            key: self.brief[key]
            if rows[key] != number or (key in before.rows and before.rows[key].brief == row.brief)
            else number
            for key, row in after.rows.items()
        }
        return Stamps(
            html=_stamped(self.html, number, before.html, after.html),
            lists=_stamped(self.lists, number, before.lists, after.lists),
            rows=rows,
            brief=brief,
            came={key: self.came.get(key, number) for key in after.rows},
        )


def _stamped(
    stamps: Mapping[str, int], number: int, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Mapping[str, int]:
    return {
        key: stamps[key] if key in before and before[key] == value else number
        for key, value in after.items()
    }


class Chunk:
    """Bytes of an event stream, as they are and compressed; chunks can follow each other."""

    def __init__(self, plain: bytes) -> None:
        self.plain = plain

    @cached_property
    def packed(self) -> bytes:
        """The same as deflate blocks that refer to nothing before them."""
        return deflated(self.plain)

    def encoded(self, encoding: Encoding) -> bytes:
        """Return the bytes in an encoding."""
        return self.packed if encoding is Encoding.GZIP else self.plain


BEAT = Chunk(b"event: beat\ndata: 1\n\n")
"""Sent when there is no news, so that a browser can distinguish silence from a lost hub.

An event, not a comment: comments reach no script.
"""


OUTDATED = Chunk(b"event: outdated\ndata: 1\n\n")
"""Sent to a page that another release of the hub has drawn: it loads itself again."""


class Chunks:
    """Chunks of a frame by what they are for, each with whether it has news; bounded in bytes.

    Viewers choose what a chunk is for, so that there may be any number: the oldest are forgotten.
    """

    def __init__(self, limit: int = KEPT_CHUNKS) -> None:
        self._most = limit
        self._size = 0
        self._kept: dict[Hashable, tuple[bool, Chunk]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def get(self, key: Hashable, make: Callable[[], tuple[bool, Chunk]]) -> tuple[bool, Chunk]:
        """Return a key's chunk; it is made when it is not kept."""
        chunk = self._kept.get(key)
        if chunk is None:
            chunk = self._kept[key] = make()
            self._size += len(chunk[1].plain)
            while self._size > self._most and len(self._kept) > 1:
                _, forgotten = self._kept.pop(next(iter(self._kept)))
                self._size -= len(forgotten.plain)
        return chunk


class Frame:
    """A page's state, and what viewers of earlier frames are sent.

    An event is two chunks: what is for every viewer, and the rows that the viewer sees. Each is
    encoded and compressed once for all who saw the same frame before, and see the same rows.
    """

    def __init__(
        self, *, number: int, epoch: str, parts: LiveParts, stamps: Stamps, before: LiveParts
    ) -> None:
        self.number = number
        self.parts = parts
        self.stamps = stamps
        self._before = before
        self._id = f"{epoch}-{number}"
        self._chunks = Chunks()

    def event(self, last: int, ids: frozenset[str], *, first: bool) -> Sequence[Chunk]:
        """Return the event for a viewer of frame `seen` (0: of none) who sees the rows `ids`.

        Empty if it has no news. The rows of a stream's first event are drawn whole.
        """
        since = None if first else last
        any_common, common = self._chunks.get(last, lambda: self._common_chunk(last))
        any_figures, figures = self._chunks.get(
            (since, ids), lambda: self._figures_chunk(since, ids)
        )
        return (common, figures) if first or any_common or any_figures else ()

    def has_made(self, last: int, ids: frozenset[str], *, first: bool) -> bool:
        """Return whether another viewer was sent the same event, so that it costs nothing."""
        return last in self._chunks and (None if first else last, ids) in self._chunks

    def _common_chunk(self, last: int) -> tuple[bool, Chunk]:
        news = self.common(last)
        begin = f"id: {self._id}\nevent: frame\ndata: ".encode()
        # The event goes on in the other chunk: lines of data are one text for the browser.
        return bool(news), Chunk(begin + msgspec.json.encode(news)[:-1] + b",\n")

    def _figures_chunk(self, last: int | None, ids: frozenset[str]) -> tuple[bool, Chunk]:
        news = self.figures(last, ids)
        return bool(news), Chunk(b"data: " + msgspec.json.encode(news)[1:] + b"\n\n")

    def common(self, last: int) -> Common:
        """Return what changed since frame `seen` for every viewer."""
        parts, stamps = self.parts, self.stamps
        html = {key: text for key, text in parts.html.items() if stamps.html[key] > last}
        brief = {}
        for key in _later(stamps.brief, last):
            if last and stamps.came[key] > last:
                html[key] = parts.rows[key].brief_html
            else:
                brief[key] = parts.rows[key].brief
        lists = {key: parts.lists[key] for key in _later(stamps.lists, last)}
        return Common(html=html, lists=lists, brief=brief)

    def figures(self, last: int | None, ids: frozenset[str]) -> Figures:
        """Return what changed of the rows `ids` since frame `seen`; None: all there is."""
        rows, drawn = {}, {}
        for key in sorted(ids & self.parts.rows.keys()):
            row, before = self.parts.rows[key], self._before.rows.get(key)
            if last is None:
                drawn[key] = row.html
            elif self.stamps.rows[key] > last:
                if before is None or last != self.number - 1:
                    drawn[key] = row.html
                elif filled := row.since(before):
                    rows[key] = filled
        return Figures(rows=rows, drawn=drawn)


def _later(stamps: Mapping[str, int], last: int) -> Iterable[str]:
    return [key for key, number in stamps.items() if number > last]


class Channel:
    """The newest frame of a page, for all who watch it."""

    def __init__(self, render: Callable[[], LiveParts]) -> None:
        self.render = render
        self.epoch = secrets.token_hex(4)  # frames of another channel have other numbers
        self.viewers = 0
        self._news = asyncio.Event()
        nothing, parts = LiveParts(), render()
        self.frame = Frame(
            number=1,
            epoch=self.epoch,
            parts=parts,
            stamps=Stamps().next(1, nothing, parts),
            before=nothing,
        )

    def refresh(self) -> None:
        """Render the page; if it differs, make a frame and wake the viewers."""
        before, parts = self.frame, self.render()
        stamps = before.stamps.next(before.number + 1, before.parts, parts)
        if stamps != before.stamps:
            self.frame = Frame(
                number=before.number + 1,
                epoch=self.epoch,
                parts=parts,
                stamps=stamps,
                before=before.parts,
            )
            self._news.set()
            self._news = asyncio.Event()

    def seen(self, event_id: str) -> int:
        """Return the number of the frame of an event's id; 0 if it is not of this channel."""
        match = SEEN.fullmatch(event_id)
        if match is None or match[1] != self.epoch or int(match[2]) > self.frame.number:
            return 0
        return int(match[2])

    async def next(self, last: int) -> Frame:
        """Wait for a frame other than `seen`; return the newest."""
        while self.frame.number == last:
            await self._news.wait()
        return self.frame


class PolledParts:
    """The newest parts of a page that is made by asking operations, which takes awaiting.

    Called, it gives the parts; between `begin` and `end` it asks again after each `pause` (which
    returns seconds). If `ask` is refused or fails, the page stands still. `seconds` is what the
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


class Subscription(NamedTuple):
    """The part of a page that a stream was asked for: its rows, and the last event before it."""

    ids: frozenset[str] = frozenset()
    event_id: str = ""

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Subscription:
        """Read an address: `rows=s-a,s-b&seen=EVENT`; raises ValueError for what cannot be."""
        ids = frozenset(filter(None, query.get("rows", "").split(",")))
        if len(ids) > MOST_ROWS:
            raise ValueError(f"A stream has the figures of at most {MOST_ROWS} rows.")
        if not all(map(ROW_ID.fullmatch, ids)):
            raise ValueError("rows is a list of rows' ids with commas between them.")
        return cls(ids=ids, event_id=query.get("seen", ""))


_broadcasters: WeakSet[Broadcaster] = WeakSet()


def open_streams() -> int:
    """Return how many event streams are open in this process."""
    return sum(broadcaster.streams for broadcaster in list(_broadcasters))


class Broadcaster:
    """Keeps the channels that are watched, and refreshes them when the source has changed.

    `interval` is the shortest time between two frames, `heartbeat` the longest silence, in seconds.
    Without a source pages can only be followed.
    """

    def __init__(
        self, source: PhaseView | None, *, interval: float, heartbeat: float = HEARTBEAT
    ) -> None:
        self._source = source
        self._interval = interval
        self._heartbeat = heartbeat
        self._channels: dict[str, Channel] = {}
        self._streams = OpenStreams()
        self._making = asyncio.Lock()  # of events, one at a time in the order of asking
        self._make_at = 0.0  # by the loop's clock
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
            elapsed = await self._refresh()
            await asyncio.sleep(max(self._interval, elapsed / REFRESH_SHARE))

    async def _refresh(self) -> float:
        """Refresh the watched channels; return the seconds that it took of the event loop.

        Others have their turn between two channels: each viewer may watch a page of its own.
        """
        elapsed = 0.0
        for key, channel in list(self._channels.items()):
            if self._channels.get(key) is not channel:
                continue  # nobody watches it by now
            start = time.thread_time()
            try:
                channel.refresh()
            except Exception:  # one broken page must not stop the others
                log.exception("cannot render %s", key)
            elapsed += time.thread_time() - start
            await asyncio.sleep(0)
        return elapsed

    async def follow(
        self, request: web.Request, key: str, ask: Callable[[], Awaitable[LiveParts]]
    ) -> web.StreamResponse:
        """Serve parts that need an `await`, as `serve` does: each `interval`, once for all viewers.

        Whoever may see the page `key` must see the same of it.
        """
        query = PolledParts(ask, await ask())
        return await self.serve(request, key, query)

    def _pause(self) -> float:
        """Return how long an asked page stands: longer if all together would take too much."""
        pages = (channel.render for channel in self._channels.values())
        elapsed = sum(page.seconds for page in pages if isinstance(page, PolledParts))
        return max(self._interval, elapsed / REFRESH_SHARE)

    @asynccontextmanager
    async def _watch(self, key: str, render: Callable[[], LiveParts]) -> AsyncIterator[Channel]:
        channel = self._channels.get(key) or self._channels.setdefault(key, Channel(render))
        channel.viewers += 1
        if channel.viewers == 1 and isinstance(channel.render, PolledParts):
            channel.render.begin(channel.refresh, self._pause)
        try:
            yield channel
        finally:
            channel.viewers -= 1
            if not channel.viewers:
                del self._channels[key]
                if isinstance(channel.render, PolledParts):
                    channel.render.end()

    async def serve(
        self,
        request: web.Request,
        key: str,
        render: Callable[[], LiveParts],
        subscription: Subscription = Subscription(),  # noqa: B008 (immutable)
    ) -> web.StreamResponse:
        """Answer `request` with the event stream of the page `key`; it has no end.

        Only a page of another release gets one event alone, `OUTDATED`.
        """
        encoding = preferred(request, (Encoding.GZIP,))
        headers = {**HEADERS, hdrs.VARY: hdrs.ACCEPT_ENCODING}
        if encoding is Encoding.GZIP:
            headers[hdrs.CONTENT_ENCODING] = encoding
        response = web.StreamResponse(headers=headers)

        async def feed() -> None:
            async with self._watch(key, render) as channel:
                await response.prepare(request)
                if request.query.get("release", release()) != release():
                    begin = GZIP_BEGIN if encoding is Encoding.GZIP else b""
                    await response.write(begin + OUTDATED.encoded(encoding))
                else:
                    await self._feed(response, channel, subscription, encoding)

        return await self._streams.serve(request, response, feed())

    async def _feed(
        self,
        response: web.StreamResponse,
        channel: Channel,
        subscription: Subscription,
        encoding: Encoding,
    ) -> None:
        data = GZIP_BEGIN if encoding is Encoding.GZIP else b""
        last, ids = channel.seen(subscription.event_id), subscription.ids
        frame, chunks = await self._event(channel, last, ids, encoding, first=True)
        while True:
            if chunks:
                data += b"".join(chunk.encoded(encoding) for chunk in chunks)
                await write(response, data)
                data = b""
                silent_until = asyncio.get_running_loop().time() + self._heartbeat
            last = frame.number
            try:
                async with asyncio.timeout_at(silent_until):
                    await channel.next(last)
            except TimeoutError:
                chunks = (BEAT,)
            else:
                frame, chunks = await self._event(channel, last, ids, encoding, first=False)

    async def _event(
        self,
        channel: Channel,
        last: int,
        ids: frozenset[str],
        encoding: Encoding,
        *,
        first: bool,
    ) -> tuple[Frame, Sequence[Chunk]]:
        """Return a viewer's next event, of the newest frame.

        A frame that nobody was sent yet waits until those before it have had their share of the
        event loop: each viewer may ask for rows of its own.
        """
        if channel.frame.has_made(last, ids, first=first):
            return channel.frame, channel.frame.event(last, ids, first=first)
        clock = asyncio.get_running_loop().time
        async with self._making:
            await asyncio.sleep(self._make_at - clock())
            start, frame = time.thread_time(), channel.frame
            chunks = frame.event(last, ids, first=first)
            for chunk in chunks:
                chunk.encoded(encoding)
            self._make_at = clock() + (time.thread_time() - start) / MADE_SHARE
        return frame, chunks

    async def close(self) -> None:
        """End every stream: a shutdown does not wait for viewers."""
        await self._streams.close()
