import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from metaserver.web.ui.live import Asked, Broadcaster, Channel, LiveParts, LiveRow, News


class Page:
    """A page whose parts a test sets."""

    def __init__(self, **html):
        self.html = html
        self.lists = {"rows": ["a"]}

    def render(self):
        return LiveParts(html=dict(self.html), lists=dict(self.lists))


def data(event):
    return json.loads(event.split(b"data: ")[1])


def test_parts_since_are_those_that_differ():
    old = LiveParts(html={"a": "1", "b": "1"}, lists={"rows": ["a", "b"]})
    new = LiveParts(html={"a": "1", "b": "2", "c": "1"}, lists={"rows": ["a", "b"]})
    assert new.since(old) == News(html={"b": "2", "c": "1"}, lists={})
    assert not new.since(new)


async def test_a_reader_who_is_up_to_date_gets_the_change_and_a_slow_one_the_page():
    page = Page(a="1", b="1")
    channel = Channel(page.render)
    page.html["b"] = "2"
    channel.refresh()
    page.html["b"] = "3"
    channel.refresh()
    frame = await channel.next(seen=2)
    assert data(frame.after(2)) == {"html": {"b": "3"}, "lists": {}, "rows": {}}
    assert data(frame.after(1)) == {
        "html": {"a": "1", "b": "3"},
        "lists": {"rows": ["a"]},
        "rows": {},
    }
    assert data(frame.after(0)) == data(frame.after(1))


async def test_all_readers_get_the_same_bytes():
    page = Page(a="1")
    channel = Channel(page.render)
    viewers = [asyncio.create_task(channel.next(seen=1)) for _ in range(3)]
    await asyncio.sleep(0)
    page.html["a"] = "2"
    channel.refresh()
    events = [(await viewer).after(1) for viewer in viewers]
    assert events[0] is events[1] is events[2]


async def test_a_page_that_did_not_change_makes_no_frame():
    channel = Channel(Page(a="1").render)
    channel.refresh()
    assert channel.frame.number == 1


def test_an_event_is_one_line_of_data():
    event = Channel(Page(a="one\ntwo\r\nthree").render).frame.whole
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 3
    assert b"\r" not in event
    assert data(event)["html"]["a"] == "one\ntwo\r\nthree"


def test_of_a_row_only_the_slots_that_differ_are_told_and_a_new_row_is_drawn():
    one, two = (
        LiveRow({"last": "1", "state": "up"}, lambda: "<tr>1"),
        LiveRow({"x": "1"}, lambda: "<tr>2"),
    )
    old = LiveParts(rows={"a": one})
    new = LiveParts(rows={"a": LiveRow({"last": "2", "state": "up"}, lambda: "<tr>3"), "b": two})
    assert new.since(old) == News(html={"b": "<tr>2"}, lists={}, rows={"a": {"last": "2"}})
    assert not LiveParts(rows={"a": one}).since(old)
    assert new.whole() == News(html={"a": "<tr>3", "b": "<tr>2"}, lists={})


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


async def _no_parts():
    return LiveParts()
