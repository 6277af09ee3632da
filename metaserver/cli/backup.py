"""`metaserver backup | restore | move`: a hub's store copied, read back, or carried elsewhere."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.cli.folder import hub_settings, make_folder
from metaserver.config import Settings, read_settings
from metaserver.phases.jobs import Progress, RowCounter, ignore_progress
from metaserver.store.copies import copy_store, dump, move_in, move_out, restore
from metaserver.store.opening import is_made, opened_for_reading
from metaserver.store.place import STORE_FILE, PostgresUrl, StorePlace, read_url, read_url_file
from metaserver.store.sqlite import open_sqlite


def back_up(args: argparse.Namespace) -> int:
    """Copy a hub's store, while it is at work or not; return the exit status."""
    store, out = _store_place(args.config), args.out
    draft = out.with_name(f".{out.name}.new")
    if isinstance(store, Path) and out.exists() and out.samefile(store):
        raise InputError(out, "is the store itself; expected another file")
    try:
        if isinstance(store, Path):
            copy_store(store, draft)
        else:
            dump(store, draft)
        _replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    print(f"{out}: {out.stat().st_size:,} bytes")
    return 0


def _store_place(config: Path | None) -> StorePlace:
    """Return where the store of a hub with these settings is."""
    store = hub_settings(config).place()
    if isinstance(store, Path) and not store.is_file():
        raise InputError(store, "there is no store; expected one that a hub has written")
    return store


def _replace(draft: Path, out: Path) -> None:
    """Put a file that is whole in its place, so that it stays there after a power cut."""
    try:
        draft.replace(out)
        folder = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}") from error


def restore_backup(args: argparse.Namespace) -> int:
    """Read a backup into an empty PostgreSQL database; return the exit status."""
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


def move(args: argparse.Namespace) -> int:
    """Carry a store from its file into PostgreSQL, or back; return the exit status."""
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
    async with open_sqlite(file):  # its lock: no hub uses it; its schema is the newest then
        return await move_in(file, url, counter.count)


async def _back(url: PostgresUrl, file: Path, counter: RowCounter) -> int:
    make_folder(file.parent)
    draft = file.with_name(f".{file.name}.new")
    try:
        rows = await move_out(url, draft, counter.count)
        _replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return rows


def _print_progress(progress: Progress) -> None:
    """Show how many rows are carried, in a line that is written over."""
    text = f"{progress.step}: {progress.done:,} rows" if progress.step else ""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
