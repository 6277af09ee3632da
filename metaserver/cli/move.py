"""`metaserver move`: a hub's store carried from its file into a PostgreSQL database, or back."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.cli.backup import replace
from metaserver.cli.folder import make_folder
from metaserver.config import Settings, read_settings
from metaserver.phases.jobs import Progress, RowCounter, ignore_progress
from metaserver.store.place import STORE_FILE, PostgresUrl, read_url, read_url_file
from metaserver.store.sqlite import open_sqlite


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    file = Path(settings.folder) / STORE_FILE
    on_progress = _print_progress if sys.stderr.isatty() else ignore_progress
    counter = RowCounter(Progress(), on_progress)
    is_back = args.to is None and args.to_file is None
    if is_back and file.exists():
        raise InputError(file, "there is a store already; expected a folder without one")
    if not is_back and not file.is_file():
        raise InputError(file, "there is no store; expected one that a hub has written")
    url = _url(args, "back_from" if is_back else "to")
    source, target = (url, file) if is_back else (file, url)
    try:
        counter.begin("moving")
        rows = asyncio.run(_back(url, file, counter) if is_back else _into(file, url, counter))
    finally:
        on_progress(Progress())
    print(f"{target}: {rows:,} rows, compared with those of {source}")
    setting = "take store and store_file out of" if is_back else "set store or store_file in"
    print(f"{setting} the settings, and keep the other store until the hub has started")
    return 0


def _url(args: argparse.Namespace, option: str) -> PostgresUrl:
    flag = f"--{option.replace('_', '-')}"
    if (file := getattr(args, f"{option}_file")) is not None:
        return read_url_file(file, f"{flag}-file")
    return read_url(getattr(args, option), flag)


async def _into(file: Path, url: PostgresUrl, counter: RowCounter) -> int:
    from metaserver.store.copies import move_in

    async with open_sqlite(file):  # its lock: no hub uses it; its schema is the newest then
        return await move_in(file, url, counter.count)


async def _back(url: PostgresUrl, file: Path, counter: RowCounter) -> int:
    from metaserver.store.copies import move_out

    make_folder(file.parent)
    draft = file.with_name(f".{file.name}.new")
    try:
        rows = await move_out(url, draft, counter.count)
        replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return rows


def _print_progress(progress: Progress) -> None:
    """Show how many rows are carried, in a line that is written over."""
    text = f"{progress.step}: {progress.done:,} rows" if progress.step else ""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
