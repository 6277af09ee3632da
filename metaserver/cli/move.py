"""`metaserver move`: a hub's store carried from its file into a PostgreSQL database."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from metaserver.archive.counting import OnProgress, RowCounter
from metaserver.cli.export import progress_here
from metaserver.config import Settings, read_settings
from metaserver.model.errors import InputError
from metaserver.phases.jobs import Progress
from metaserver.store.place import STORE_FILE, PostgresUrl, read_url, read_url_file
from metaserver.store.sqlite import open_sqlite


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    store = Path(settings.folder) / STORE_FILE
    if not store.is_file():
        raise InputError(store, "there is no store; expected one that a hub has written")
    url = _target(args)
    on_progress = progress_here()
    try:
        moved = asyncio.run(_move(store, url, on_progress))
    finally:
        on_progress(Progress())
    print(f"{url}: {moved:,} rows, compared with those of {store}")
    print("set store or store_file in the settings, and keep the file until the hub has started")
    return 0


def _target(args: argparse.Namespace) -> PostgresUrl:
    if args.to_file is not None:
        return read_url_file(args.to_file, "--to-file")
    return read_url(args.to, "--to")


async def _move(store: Path, url: PostgresUrl, on_progress: OnProgress) -> int:
    async with open_sqlite(store):  # its lock: no hub uses it; its schema is the newest then
        return await carry(store, url, on_progress)


async def carry(store: Path, url: PostgresUrl, on_progress: OnProgress) -> int:
    """Carry a store that nobody uses into an empty database; return the number of rows."""
    from metaserver.store.transfer import move_in

    counter = RowCounter(Progress(), on_progress)
    counter.begin("moving")
    return await move_in(store, url, counter.count)
