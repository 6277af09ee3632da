import asyncio
import json
import re
import zlib
from contextlib import AsyncExitStack

import pytest

from metaserver.files.compression import GZIP_BEGIN
from metaserver.web.access.encodings import Encoding
from metaserver.web.ui.live import (
    BEAT,
    MOST_ROWS,
    WATCHED_SHARE,
    Asked,
    Broadcaster,
    Channel,
    Common,
    Figures,
    LiveParts,
    LiveRow,
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
        {"state": state},
        lambda: made("filled", {"last": last, "same": "1"}),
        lambda: made("drawn", f"<tr>{state} {last}"),
        lambda: made("brief", f"<tr>{state}"),
    )


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
    frame = await channel.next(seen=2)
    assert data(frame.event(2, NOBODY, first=False)) == news(html={"c": "2", "d": "1"})
    assert data(frame.event(1, NOBODY, first=False)) == news(html={"b": "2", "c": "2", "d": "1"})
    assert data(frame.event(0, NOBODY, first=True)) == news(
        html={"a": "1", "b": "2", "c": "2", "d": "1"}, lists={"rows": ["a"]}
    )


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
    viewers = [asyncio.create_task(channel.next(seen=1)) for _ in range(3)]
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
    assert first == news(
        lists={"rows": ["a"]},
        brief={"s-a": {"state": "up"}, "s-b": {"state": "up"}},
        drawn={"s-a": "<tr>up 1"},
    )
    assert made == [("1", "drawn")]
    page.rows |= {"s-a": row("2", log=made), "s-b": row("2", "down", log=made)}
    channel.refresh()
    assert data(channel.frame.event(1, frozenset({"s-a"}), first=False)) == news(
        brief={"s-b": {"state": "down"}}, rows={"s-a": {"last": "2"}}
    )
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
        pages = [Asked(_no_parts, LiveParts()) for _ in range(3)]
        for number, page in enumerate(pages):
            await stack.enter_async_context(broadcaster._watch(str(number), page))
        assert broadcaster._pause() == 1.0
        for page in pages:
            page.seconds = 0.2
        assert broadcaster._pause() == pytest.approx(6.0)
    assert broadcaster._pause() == 1.0


async def test_other_work_comes_between_two_pages_and_much_drawing_is_done_less_often(monkeypatch):
    log, now = [], [0.0]

    class Source:
        async def changed(self, since):
            log.append("changed")
            return since + 1

    def drawn(name):
        def render():
            now[0] += 2.0
            log.append(name)
            return LiveParts()

        return render

    async def pause(seconds):
        log.append(seconds)
        if len(log) > 12:
            raise asyncio.CancelledError

    monkeypatch.setattr("metaserver.web.ui.live.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("metaserver.web.ui.live.asyncio.sleep", pause)
    broadcaster = Broadcaster(Source(), interval=1.0, heartbeat=1.0)
    async with AsyncExitStack() as stack:
        for name in "ab":
            await stack.enter_async_context(broadcaster._watch(name, drawn(name)))
        log.clear()
        with pytest.raises(asyncio.CancelledError):
            await broadcaster.run()
    assert log[:6] == ["changed", "a", 0, "b", 0, 4.0 / WATCHED_SHARE]


async def _no_parts():
    return LiveParts()
