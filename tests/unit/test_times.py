"""What tests take: memory."""

import gc
from pathlib import Path

from metaserver.operations.context import HubContext
from tests.hubs.inside import at_work, settings
from tests.hubs.sites import visiting
from tests.times import let_go


async def test_a_hub_that_has_ended_is_let_go(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, visiting(running) as visitor:
        assert (await visitor.get("/")).status == 200
    del running, visitor
    let_go()
    assert not [one for one in gc.get_objects() if isinstance(one, HubContext)]
