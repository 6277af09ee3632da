"""The yardstick for the dealing of lanes: a worker that takes free lanes itself, without a queue.

Once a second it looks which lanes are free, and takes as many of them as it may hold, at most
`RAMP` at a time. Lanes, leases, writer and client are those of `metaserver serve --role worker`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from metaserver.base.errors import UnavailableError
from metaserver.base.lanes import Ticket
from metaserver.cli.folder import hub_settings
from metaserver.cli.process import prepare_process, run_to_end
from metaserver.cli.serve import work_lanes
from metaserver.config import Settings
from metaserver.phases.holder import LaneHolder
from metaserver.store.place import PostgresUrl

RAMP = 200


class BareDealer:
    """The dealer that takes what is free, as far as it may hold more."""

    def __init__(self, holder: LaneHolder) -> None:
        self._holder = holder
        self._free: Sequence[Ticket] = ()
        self._wake = asyncio.Event()

    async def offer(self, tickets: Sequence[Ticket]) -> None:
        """Note which lanes are free."""
        self._free = tickets
        self._wake.set()

    async def run(self) -> None:
        """Take lanes whenever it was noted which are free."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            some = self._free[: max(0, min(RAMP, self._holder.spare))]
            with suppress(UnavailableError):  # they are noted again
                await self._holder.take_dealt(some)


def _bare(_place: PostgresUrl, holder: LaneHolder) -> BareDealer:
    return BareDealer(holder)


async def _work(settings: Settings) -> int:
    prepare_process()
    logging.basicConfig(level=logging.ERROR)
    await work_lanes(settings, _bare)
    return 0


def main() -> int:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser(prog="benchmarks.machines.bare")
    parser.add_argument("--config", type=Path, required=True)
    return run_to_end(_work(hub_settings(parser.parse_args().config)))


if __name__ == "__main__":
    raise SystemExit(main())
