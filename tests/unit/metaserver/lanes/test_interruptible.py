"""Interrupted waits: the task goes on, and no other exception is taken for an interruption."""

import asyncio

import pytest

from metaserver.lanes.lane import Interruptible, WaitInterruptedError


async def test_all_waits_under_way_are_cut_and_their_tasks_go_on() -> None:
    waits = Interruptible()
    gone_on: list[int] = []

    async def wait(number: int) -> None:
        with pytest.raises(WaitInterruptedError):
            await waits.wait(asyncio.Event().wait())
        await asyncio.sleep(0)
        gone_on.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(wait(number))
        await asyncio.sleep(0)
        waits.interrupt()
    assert sorted(gone_on) == [0, 1, 2]


async def test_a_cut_does_not_reach_later_waits() -> None:
    waits = Interruptible()
    waits.interrupt()
    assert await waits.wait(asyncio.sleep(0, "it")) == "it"


async def test_a_time_out_of_the_awaitable_is_no_interruption() -> None:
    async def slow() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await Interruptible().wait(slow())


async def test_a_task_that_is_cancelled_is_cancelled_even_if_its_wait_is_cut_too() -> None:
    waits = Interruptible()
    task = asyncio.create_task(waits.wait(asyncio.Event().wait()))
    await asyncio.sleep(0)
    waits.interrupt()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
