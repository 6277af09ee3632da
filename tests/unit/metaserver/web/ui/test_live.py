import asyncio
import json
import re
import zlib
from contextlib import AsyncExitStack

import pytest

from metaserver.base.compression import GZIP_BEGIN
from metaserver.web.access.encodings import Encoding
from metaserver.web.ui import live
from metaserver.web.ui.live import (
    BEAT,
    KEPT_CHUNKS,
    MADE_SHARE,
    MOST_ROWS,
    REFRESH_SHARE,
    Broadcaster,
    Channel,
    Chunk,
    Chunks,
    Common,
    Figures,
    LiveParts,
    LiveRow,
    PolledParts,
    Subscription,
)

NOBODY = frozenset()


class Page:
    """A page whose parts a test sets."""

    def __init__(self, **html):
        self.html = html
        self.lists = {"rows": ["a"]}
        self.rows = {}

    def render(self):
        return LiveParts(html=dict(self.html), lists=dict(self.lists), rows=dict(self.rows))


def row(last, state="up", log=None):
    """Return a row; what is made of it is written into `log`."""

    def made(kind, value):
        if log is not None:
            log.append((last, kind))
        return value

    return LiveRow(
        {"state": state}, lambda: made("filled", {"last": last, "same": "1"}),
        lambda: made("drawn", f"<tr>{state} {last}"), lambda: made("brief", f"<tr>{state}"),
    )  # fmt: skip


def data(pieces):
    """Return the data of an event as a browser joins its lines."""
    event = b"".join(piece.plain for piece in pieces).decode()
    assert event.endswith("\n\n")
    assert "\r" not in event
    lines = event.removesuffix("\n\n").split("\n")
    assert lines[1] == "event: frame"
    return json.loads("\n".join(line.removeprefix("data: ") for line in lines[2:]))


def news(**members):
    return {"html": {}, "lists": {}, "brief": {}, "rows": {}, "drawn": {}} | members


async def test_a_viewer_gets_what_changed_since_the_last_frame_it_saw():
    page = Page(a="1", b="1", c="1")
    channel = Channel(page.render)
    page.html["b"] = "2"
    channel.refresh()
    page.html |= {"c": "2", "d": "1"}
    channel.refresh()
    frame = await channel.next(last=2)
    assert data(frame.event(2, NOBODY, first=False)) == news(html={"c": "2", "d": "1"})
    assert data(frame.event(1, NOBODY, first=False)) == news(html={"b": "2", "c": "2", "d": "1"})
    found = data(frame.event(0, NOBODY, first=True))
    assert found == news(html={"a": "1", "b": "2", "c": "2", "d": "1"}, lists={"rows": ["a"]})


async def test_a_viewer_who_comes_back_names_the_last_event_of_this_channel():
    page = Page(a="1")
    channel, other = Channel(page.render), Channel(page.render)
    page.html["a"] = "2"
    channel.refresh()
    [event] = re.findall(rb"id: (\S+)", channel.frame.event(0, NOBODY, first=True)[0].plain)
    event = event.decode()
    assert channel.seen(event) == 2
    assert data(channel.frame.event(2, NOBODY, first=True)) == news()
    assert channel.frame.event(2, NOBODY, first=False) == ()
    for unknown in ("", "x", f"{channel.epoch}-3", f"{channel.epoch}-", event + "0" * 12):
        assert channel.seen(unknown) == 0
    assert other.seen(event) == 0


async def test_all_viewers_of_the_same_rows_get_the_same_bytes():
    page = Page(a="1")
    page.rows = {"s-a": row("1"), "s-b": row("1")}
    channel = Channel(page.render)
    viewers = [asyncio.create_task(channel.next(last=1)) for _ in range(3)]
    await asyncio.sleep(0)
    page.html["a"] = "2"
    page.rows |= {"s-a": row("2"), "s-b": row("2")}
    channel.refresh()
    frames = [await viewer for viewer in viewers]
    seen = [frozenset({"s-a"}), frozenset({"s-a"}), frozenset({"s-b"})]
    one, two, other = (
        frame.event(1, ids, first=False) for frame, ids in zip(frames, seen, strict=True)
    )
    assert all(a.packed is b.packed for a, b in zip(one, two, strict=True))
    assert one[0] is other[0]
    assert data(one)["rows"] == {"s-a": {"last": "2"}}
    assert data(other)["rows"] == {"s-b": {"last": "2"}}


async def test_a_page_that_did_not_change_makes_no_frame():
    channel = Channel(Page(a="1").render)
    channel.refresh()
    assert channel.frame.number == 1


def test_an_event_keeps_line_ends_in_its_data():
    frame = Channel(Page(a="one\ntwo\r\nthree").render).frame
    assert data(frame.event(0, NOBODY, first=True))["html"]["a"] == "one\ntwo\r\nthree"


def test_compressed_events_are_one_stream_that_is_read_as_it_comes():
    page = Page(a="1")
    channel = Channel(page.render)
    first = channel.frame.event(0, NOBODY, first=True)
    page.html["a"] = "2"
    channel.refresh()
    reader, sent = zlib.decompressobj(31), GZIP_BEGIN
    for pieces in (first, (BEAT,), channel.frame.event(1, NOBODY, first=False)):
        sent += b"".join(piece.encoded(Encoding.GZIP) for piece in pieces)
        plain = b"".join(piece.encoded(Encoding.IDENTITY) for piece in pieces)
        assert reader.decompress(sent) == plain
        sent = b""


def test_figures_go_to_those_who_see_the_row_and_the_brief_slots_to_all():
    page, made = Page(), []
    page.rows = {"s-a": row("1", log=made), "s-b": row("1", log=made)}
    channel = Channel(page.render)
    first = data(channel.frame.event(0, frozenset({"s-a", "s-none"}), first=True))
    brief = {"s-a": {"state": "up"}, "s-b": {"state": "up"}}
    assert first == news(lists={"rows": ["a"]}, brief=brief, drawn={"s-a": "<tr>up 1"})
    assert made == [("1", "drawn")]
    page.rows |= {"s-a": row("2", log=made), "s-b": row("2", "down", log=made)}
    channel.refresh()
    found = data(channel.frame.event(1, frozenset({"s-a"}), first=False))
    assert found == news(brief={"s-b": {"state": "down"}}, rows={"s-a": {"last": "2"}})
    assert ("2", "drawn") not in made  # nor is anything of a row that nobody sees
    assert made.count(("2", "filled")) == 1


def test_a_row_out_of_sight_makes_no_event_when_its_figures_change():
    page = Page()
    page.rows = {"s-a": row("1"), "s-b": row("1")}
    channel = Channel(page.render)
    page.rows["s-b"] = row("2")
    channel.refresh()
    assert channel.frame.number == 2
    assert channel.frame.event(1, frozenset({"s-a"}), first=False) == ()
    assert data(channel.frame.event(1, frozenset({"s-b"}), first=False))["rows"]


def test_rows_that_a_slow_viewer_missed_are_drawn_again_and_new_ones_come_without_figures():
    page = Page()
    page.rows = {"s-a": row("1"), "s-b": row("1")}
    channel = Channel(page.render)
    page.rows["s-a"] = row("2")
    channel.refresh()
    page.rows["s-c"] = row("1")
    page.lists["rows"] = ["a", "c"]
    channel.refresh()
    ids = frozenset({"s-a", "s-b"})
    assert data(channel.frame.event(1, ids, first=False)) == news(
        html={"s-c": "<tr>up"}, lists={"rows": ["a", "c"]}, drawn={"s-a": "<tr>up 2"}
    )
    del page.rows["s-c"]
    channel.refresh()
    assert channel.frame.common(3) == Common(html={}, lists={}, brief={})
    assert channel.frame.figures(None, frozenset({"s-c"})) == Figures(rows={}, drawn={})


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, set()), ({"rows": ""}, set()), ({"rows": "s-a,s-b,,s-a"}, {"s-a", "s-b"}),
        ({"rows": ",".join(f"s-{n}" for n in range(MOST_ROWS))},
         {f"s-{n}" for n in range(MOST_ROWS)}),
    ],
)  # fmt: skip
def test_a_subscription_is_read_from_the_address(query, ids):
    assert Subscription.parse(query | {"seen": "e-1"}) == Subscription(frozenset(ids), "e-1")


@pytest.mark.parametrize(
    "rows",
    [
        "a", "s-", "s-a b", "s-<b>", "S-a", "s-é", "s-a\n", "s-" + "a" * 100,
        ",".join(f"s-{n}" for n in range(MOST_ROWS + 1)),
    ],
)  # fmt: skip
def test_a_subscription_to_what_cannot_be_is_refused(rows):
    with pytest.raises(ValueError, match="rows"):
        Subscription.parse({"rows": rows})


async def test_pages_that_are_asked_for_stand_longer_the_more_they_take():
    broadcaster = Broadcaster(None, interval=1.0, heartbeat=1.0)
    async with AsyncExitStack() as stack:
        pages = [PolledParts(_no_parts, LiveParts()) for _ in range(3)]
        for number, page in enumerate(pages):
            await stack.enter_async_context(broadcaster._watch(str(number), page))
        assert broadcaster._pause() == 1.0
        for page in pages:
            page.seconds = 0.2
        assert broadcaster._pause() == pytest.approx(6.0)
    assert broadcaster._pause() == 1.0


async def _no_parts():
    return LiveParts()


def test_a_frame_keeps_a_bounded_number_of_bytes_for_viewers_who_each_ask_for_other_rows():
    page, names = Page(), [f"s-{number}" for number in range(60)]
    page.rows = {name: row("x" * (KEPT_CHUNKS // 20)) for name in names}
    frame = Channel(page.render).frame
    common = frame.event(0, frozenset(names[:1]), first=True)[0]
    for name in names:
        frame.event(0, frozenset({name}), first=True)
    kept = [piece for _, piece in frame._chunks._kept.values()]
    assert 10 * KEPT_CHUNKS // 20 < sum(len(piece.plain) for piece in kept) <= KEPT_CHUNKS
    assert frame.event(0, frozenset(names[-1:]), first=True)[1] in kept
    again = frame.event(0, frozenset(names[:1]), first=True)
    assert data(again)["drawn"] == {names[0]: page.rows[names[0]].html}
    assert again[0].plain == common.plain


def test_a_piece_that_is_larger_than_all_that_is_kept_is_kept_alone():
    pieces, made = Chunks(10), []

    def make(size):
        made.append(size)
        return True, Chunk(b"x" * size)

    for key, size in (("a", 4), ("b", 4), ("c", 50), ("c", 50), ("d", 4), ("d", 4), ("c", 50)):
        assert len(pieces.get(key, lambda size=size: make(size))[1].plain) == size
    assert made == [4, 4, 50, 4, 50]


class Once:
    """A source that changes once."""

    async def changed(self, since):
        if since >= 0:
            await asyncio.get_running_loop().create_future()
        return 1


async def test_others_have_their_turn_between_two_pages_that_are_refreshed():
    log = []
    broadcaster = Broadcaster(Once(), interval=1.0, heartbeat=1.0)

    def page(name):
        def render():
            log.append(name)
            asyncio.get_running_loop().call_soon(log.append, "others")
            return LiveParts()

        return render

    async with AsyncExitStack() as stack:
        for name in ("a", "b"):
            await stack.enter_async_context(broadcaster._watch(name, page(name)))
        await asyncio.sleep(0)
        log.clear()
        assert await broadcaster._refresh() > 0
    assert log == ["a", "others", "b", "others"]


async def test_pages_are_refreshed_less_often_the_more_they_take(monkeypatch):
    rests = asyncio.Queue()
    clock = iter([0.0, 0.05, 7.0, 7.55])
    monkeypatch.setattr(live.time, "thread_time", lambda: next(clock))
    broadcaster = Broadcaster(Once(), interval=1.0, heartbeat=1.0)
    sleep = asyncio.sleep

    async def rest(seconds):
        if seconds:
            rests.put_nowait(seconds)
        await sleep(0)

    async with AsyncExitStack() as stack:
        for name in ("a", "b"):
            await stack.enter_async_context(broadcaster._watch(name, LiveParts))
        monkeypatch.setattr(live.asyncio, "sleep", rest)
        task = asyncio.create_task(broadcaster.run())
        assert await rests.get() == pytest.approx(0.6 / REFRESH_SHARE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_events_for_viewers_who_each_ask_for_other_rows_have_a_share_of_the_loop(monkeypatch):
    page, rests = Page(), []
    page.rows = {name: row(name) for name in ("s-a", "s-b", "s-c")}
    channel = Channel(page.render)
    broadcaster = Broadcaster(None, interval=1.0, heartbeat=1.0)
    took = iter([0.0, 0.5] * 3)
    sleep = asyncio.sleep

    async def rest(seconds):
        rests.append(seconds)
        await sleep(0)

    monkeypatch.setattr(live.time, "thread_time", lambda: next(took))
    monkeypatch.setattr(live.asyncio, "sleep", rest)

    async def drawn(*ids):
        frame, pieces = await broadcaster._event(
            channel, 0, frozenset(ids), Encoding.GZIP, first=True
        )
        assert frame is channel.frame
        return sorted(data(pieces)["drawn"])

    assert await asyncio.gather(drawn("s-a"), drawn("s-b")) == [["s-a"], ["s-b"]]
    assert rests[0] <= 0
    assert rests[1] == pytest.approx(0.5 / MADE_SHARE, abs=0.2)
    assert await drawn("s-a") == ["s-a"]  # made already: it waits for nobody
    assert len(rests) == 2
    page.html["note"] = "news"
    waiting = asyncio.create_task(drawn("s-c"))
    channel.refresh()
    assert await waiting == ["s-c"]  # the newest frame, which came while it waited
