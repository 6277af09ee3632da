"""What something takes of the event loop, under a clock of our own."""

import asyncio
import gc
import weakref
from typing import TypeVar

import pytest

from metaserver.web.access.aside import Measured

T = TypeVar("T")


class Work:
    """A clock that stands still but for what is worked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def twice(self, seconds: float) -> str:
        self.now += seconds
        await asyncio.sleep(0)
        self.now += seconds
        return "done"


async def test_work_counts_and_waiting_does_not() -> None:
    work = Work()
    measured = Measured(work.twice(2.0), work)

    async def other() -> None:
        work.now += 100.0  # while the first one waits

    async with asyncio.TaskGroup() as group:
        first = group.create_task(_of(measured))
        group.create_task(other())
    assert first.result() == "done"
    assert (measured.seconds, work.now) == (4.0, 104.0)


async def _of(measured: Measured[T]) -> T:
    return await measured


async def test_each_step_is_charged_as_it_ends() -> None:
    work, steps = Work(), []
    await Measured(work.twice(2.0), work, steps.append)
    assert steps == [2.0, 2.0]


async def test_what_was_cancelled_leaves_nothing_behind() -> None:
    class Held:
        pass

    async def hold(held: Held) -> None:
        await asyncio.Event().wait()

    held = Held()
    watched = weakref.ref(held)
    task = asyncio.create_task(_of(Measured(hold(held), Work())))
    del held
    await asyncio.sleep(0)
    gc.disable()
    try:
        task.cancel()
        await asyncio.wait([task])
        del task
        assert watched() is None
    finally:
        gc.enable()


async def test_errors_and_cancellation_go_through() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await Measured(fail(), Work())

    ended: list[str] = []

    async def last() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Measured(last(), Work())
    assert ended == ["cleaned up"]
