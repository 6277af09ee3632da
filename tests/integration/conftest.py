"""What many tests of hubs begin with; a module may have a fixture of its own by the same name."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.hubs.command import DEMO, GOLD_FILES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.process import challenge, write_config
from tests.hubs.sites import Visitor, signed_in


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with a phase, and team blue without a server."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, teams=["blue"])
        yield running


@pytest.fixture
async def blue(running: Running) -> AsyncIterator[Visitor]:
    """A browser of team blue."""
    async with signed_in(running, "blue") as visitor:
        yield visitor


@pytest.fixture
async def config(tmp_path: Path) -> Path:
    """The settings of a hub as a process, with the demo's articles and gold."""
    return await write_config(tmp_path, challenges=[challenge(DEMO / "articles", GOLD_FILES)])


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """A client of hubs."""
    async with aiohttp.ClientSession() as session:
        yield session
