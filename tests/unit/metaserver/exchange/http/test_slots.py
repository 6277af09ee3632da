"""Slots of servers: never more calls than agreed, lanes first, and nobody is forgotten."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaserver.base.records import Server, ServerName, ServerReport
from metaserver.base.states import ReportedState
from metaserver.exchange.http.slots import ServerSlots, SlotUse

LANE, TEST, REQUEST = SlotUse


class Line:
    """Calls that wait for slots, in order, and leave them when they are let go."""

    def __init__(self, concurrency: int = 1) -> None:
        self.slots = ServerSlots()
        self.server = Server(name=ServerName("a"), url="http://a/", concurrency=concurrency)
        self.begun: list[SlotUse] = []
        self.calls: list[tuple[SlotUse, asyncio.Task[None], asyncio.Event]] = []

    async def come(self, use: SlotUse) -> None:
        go = asyncio.Event()
        self.calls.append((use, asyncio.create_task(self._call(use, go)), go))
        await self.settle()

    async def _call(self, use: SlotUse, go: asyncio.Event) -> None:
        await self.slots.take(self.server, use)
        try:
            self.begun.append(use)
            await go.wait()
        finally:
            self.slots.give(self.server, use)

    async def let_go(self, place: int = 0) -> None:
        _, task, go = self.calls.pop(place)
        go.set()
        await task
        await self.settle()

    async def cancel(self, place: int = 0) -> None:
        _, task, _ = self.calls.pop(place)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


async def test_lanes_come_first_then_tests_then_requests() -> None:
    line = Line()
    for use in (LANE, REQUEST, REQUEST, TEST, LANE):
        await line.come(use)
    assert line.begun == [LANE]
    for _ in range(5):
        waiting = [number for number, call in enumerate(line.calls) if not call[2].is_set()]
        begun = len(line.begun)
        held = next(n for n in waiting if line.calls[n][0] is line.begun[begun - 1])
        await line.let_go(held)
    assert line.begun == [LANE, LANE, TEST, REQUEST, REQUEST]


async def test_one_request_is_let_in_beside_a_lane() -> None:
    line = Line(concurrency=4)
    for use in (LANE, REQUEST, REQUEST):
        await line.come(use)
    assert line.begun == [LANE, REQUEST]
    await line.let_go(0)
    assert line.begun == [LANE, REQUEST, REQUEST]


async def test_a_test_sends_two_at_once_to_a_server_that_is_sent_nothing_else() -> None:
    line = Line()
    await line.come(TEST)
    await line.come(LANE)
    await line.come(TEST)
    await line.come(TEST)
    assert line.begun == [TEST, TEST]
    await line.let_go(0)
    await line.let_go(1)
    assert line.begun == [TEST, TEST, LANE]


async def test_a_server_is_sent_no_more_than_it_reports() -> None:
    line = Line(concurrency=3)
    line.slots.report(line.server.name, ServerReport(max_concurrent=2))
    for _ in range(3):
        await line.come(LANE)
    assert line.slots.taken(line.server.name) == 2
    line.slots.report(line.server.name, ServerReport(state=ReportedState.OVERLOADED))
    await line.come(LANE)
    await line.let_go()
    assert line.slots.taken(line.server.name) == 1
    line.slots.report(line.server.name, ServerReport())
    await line.come(LANE)
    await line.let_go()
    assert line.slots.taken(line.server.name) == 3


@pytest.mark.parametrize("first", [0, 1])
async def test_calls_that_are_cancelled_together_leave_no_slot_taken(first: int) -> None:
    line = Line()
    for _ in range(3):
        await line.come(REQUEST)
    tasks = [task for _, task, _ in line.calls]
    tasks[first].cancel()  # the one that is let in, or the one that waits for it
    tasks[1 - first].cancel()
    ends = await asyncio.gather(*tasks[:2], return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
    await line.settle()
    assert line.begun == [REQUEST, REQUEST]
    assert line.slots.taken(line.server.name) == 1
    for task in tasks[2:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert line.slots._servers == {}
    await line.come(LANE)
    assert line.begun == [REQUEST, REQUEST, LANE]


async def test_all_calls_of_a_server_may_be_cancelled_at_once() -> None:
    line = Line()
    for use in (LANE, TEST, REQUEST, REQUEST):
        await line.come(use)
    tasks = [task for _, task, _ in line.calls]
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert line.slots._servers == {}


STEPS = st.lists(
    st.one_of(
        st.sampled_from(list(SlotUse)),
        st.tuples(st.sampled_from(["go", "cancel"]), st.integers(0, 9)),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 3))
def test_there_are_never_more_calls_than_slots(steps, concurrency):
    asyncio.run(_play(steps, concurrency))


async def _play(steps: list[SlotUse | tuple[str, int]], concurrency: int) -> None:
    line = Line(concurrency)
    for step in steps:
        if isinstance(step, SlotUse):
            await line.come(step)
        elif line.calls:
            # a call that was not let in yet ends as soon as it is
            kind, place = step[0], step[1] % len(line.calls)
            if kind == "cancel":
                await line.cancel(place)
            else:
                use, task, go = line.calls.pop(place)
                go.set()
                await line.settle()
                line.calls.append((use, task, go))
        line.calls = [call for call in line.calls if not call[1].done()]
        taken = line.slots._servers[ServerName("a")].taken if line.calls else [0] * len(SlotUse)
        most = max(concurrency, 2) if taken[TEST] == sum(taken) else concurrency
        assert sum(taken) <= most
        assert line.calls == [] or sum(taken) > 0
    while line.calls:
        for _, _, go in line.calls:
            go.set()
        await line.settle()
        line.calls = [call for call in line.calls if not call[1].done()]
    assert line.slots.taken(ServerName("a")) == 0
    assert line.slots._servers == {}
