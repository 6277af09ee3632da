"""`metaserver restore`: a backup read back into an empty PostgreSQL database."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.cli.folder import hub_settings
from metaserver.store.copies import restore
from metaserver.store.opening import is_made, opened_for_reading
from metaserver.store.place import StorePlace


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    place = hub_settings(args.config).place()
    if isinstance(place, Path):
        raise InputError(
            place, "is a file: to go back to a backup, stop the hub and put it in this place"
        )
    if asyncio.run(is_made(place)):
        raise InputError(str(place), "there is a store already; expected an empty database")
    restore(args.backup, place)
    asyncio.run(_look(place))
    print(f"{place}: restored from {args.backup}")
    return 0


async def _look(place: StorePlace) -> None:
    """Check that what was restored is a store that this hub can read."""
    async with opened_for_reading(place) as engine, engine.connect():
        pass
