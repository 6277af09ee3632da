"""Steps that a cancellation does not interrupt."""

import asyncio
import gc
import logging

import pytest

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import UnavailableError


async def test_a_cancelled_caller_ends_after_its_step() -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def step() -> int:
        begun.set()
        await may_end.wait()
        ended.append("step")
        return 7

    async def caller() -> int:
        try:
            return await run_uncancelled(step())
        finally:
            ended.append("caller")

    cancelled = asyncio.create_task(caller())
    await begun.wait()
    cancelled.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert ended == ["step", "caller"]
    assert await caller() == 7


@pytest.mark.parametrize(
    ("error", "said"), [(UnavailableError("away"), 0), (ValueError("a fault"), 1)]
)
async def test_a_step_that_failed_for_nobody_is_reported_if_it_is_a_fault(error, said, caplog):
    caplog.set_level(logging.ERROR)
    begun = asyncio.Event()

    async def step() -> None:
        begun.set()
        await asyncio.sleep(0.01)
        raise error

    caller = asyncio.create_task(run_uncancelled(step()))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    del caller
    gc.collect()  # asyncio reports what nobody has asked for when it is gone
    assert [str(record.exc_info[1]) for record in caplog.records] == ["a fault"] * said
