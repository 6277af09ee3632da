"""Curators' requests in a hub of several processes: what one is asked, the one at work carries out.

The servers here never answer: a call ends because it is dropped, or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from metaserver.curation.asking import LiveRequest
from metaserver.model.errors import RefusedError
from metaserver.model.settings import LimitSettings
from metaserver.operations.caller import Caller
from tests.hubs.inside import Running, plan_phase
from tests.hubs.several import two
from tests.integration.curating import TEXT, curator, register, scripted, states
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


@asynccontextmanager
async def asking(folder: Path) -> AsyncIterator[tuple[LiveRequest, Running, Caller]]:
    """Have one process ask two servers; give the request, the other process and its curator."""
    long = LimitSettings(timeout=600.0, connect=2.0)
    async with scripted(["a", "b"]) as servers, two(folder, limits=long) as (one, other):
        await plan_phase(one)
        await register(one, servers)
        for server in servers.values():
            server.open.clear()
        ana = await curator(one)
        asked = await one.do("consensus.ask", ana, text=TEXT, deadline=600.0)
        live = await one.service.requests.get(asked.request)
        assert live is not None
        await until(lambda: all(server.texts for server in servers.values()))
        assert not any(task.done() for task in live.tasks.values())
        try:
            yield live, other, ana
        finally:
            for server in servers.values():
                server.open.set()


def ended(live: LiveRequest) -> bool:
    return all(task.done() for task in live.tasks.values())


async def test_to_cancel_at_another_process_drops_the_calls(tmp_path: Path) -> None:
    async with asking(tmp_path) as (live, other, ana):
        found = await other.do("consensus.cancel", ana, request=live.key)
        assert found.state == "cancelled"
        await until(lambda: ended(live))
        assert live.state == "cancelled"
        assert live.answers == []
        await until(lambda: _unasked(other, ana, live))


async def test_to_forget_at_another_process_drops_the_calls(tmp_path: Path) -> None:
    async with asking(tmp_path) as (live, other, ana):
        await other.do("consensus.forget", ana, request=live.key)
        await until(lambda: ended(live))
        with pytest.raises(RefusedError):
            await other.do("consensus.get", ana, request=live.key)


async def test_to_withdraw_at_another_process_drops_the_calls(tmp_path: Path) -> None:
    async with asking(tmp_path) as (live, other, ana):
        a = other.team("a")
        await other.do("servers.serve-curators", a, server="a", serve=False)
        await until(lambda: live.tasks["a"].done())
        assert not live.tasks["b"].done()
        await other.do("consensus.cancel", ana, request=live.key)
        await until(lambda: ended(live))
        await until(lambda: _unasked(other, ana, live))


async def _unasked(running: Running, caller: Caller, live: LiveRequest) -> bool:
    """Return whether a process shows that neither server was asked to the end."""
    found = await running.do("consensus.get", caller, request=live.key)
    return states(found) == {"a": "not asked", "b": "not asked"}
