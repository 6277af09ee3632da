"""Work in threads for one client: a few at a time, charged, and refused once its share is spent."""

import asyncio
import threading

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.web.access.aside import PLACES, ClientWorkbench
from tests.integration.gated import burn
from tests.waiting import until


def free() -> None:
    """Refuse nobody."""


async def test_no_more_threads_than_its_places_work_for_a_client() -> None:
    bench, go = ClientWorkbench(free, lambda _: None), threading.Event()
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        assert go.wait(60)
        return number

    asked = [asyncio.create_task(bench.run(work, number)) for number in range(PLACES + 3)]
    await until(lambda: len(begun) == PLACES)
    await asyncio.sleep(0.05)
    assert len(begun) == PLACES
    go.set()
    assert await asyncio.gather(*asked) == list(range(PLACES + 3))


async def test_who_leaves_keeps_the_place_until_the_thread_has_ended() -> None:
    bench, go = ClientWorkbench(free, lambda _: None), threading.Event()
    left = [asyncio.create_task(bench.run(go.wait, 60)) for _ in range(PLACES)]
    await asyncio.sleep(0.05)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    waiting = asyncio.create_task(bench.run(lambda: "done"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    go.set()
    assert await waiting == "done"


async def test_what_waits_is_refused_once_the_share_is_spent() -> None:
    spent: list[float] = []

    def require_share() -> None:
        if sum(spent) >= 0.02:
            raise RefusedError(Refusal.TOO_MANY, "too much")

    def fail() -> None:
        burn(0.02)
        raise KeyError("x")

    bench = ClientWorkbench(require_share, spent.append)
    made = await asyncio.gather(*(bench.run(fail) for _ in range(20)), return_exceptions=True)
    assert {type(one) for one in made} == {KeyError, RefusedError}
    assert len(spent) <= 2 * PLACES, "work that fails is charged too"
    with pytest.raises(RefusedError):
        await bench.run(fail)
