"""`metaserver backup`: a copy of a hub's store, while it is at work or not."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from metaserver.base.errors import InputError
from metaserver.cli.folder import hub_settings
from metaserver.store.copies import copy_store, dump
from metaserver.store.place import StorePlace


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    store, out = store_place(args.config), args.out
    draft = out.with_name(f".{out.name}.new")
    if isinstance(store, Path) and out.exists() and out.samefile(store):
        raise InputError(out, "is the store itself; expected another file")
    try:
        if isinstance(store, Path):
            copy_store(store, draft)
        else:
            dump(store, draft)
        replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    print(f"{out}: {out.stat().st_size:,} bytes")
    return 0


def store_place(config: Path | None) -> StorePlace:
    """Return where the store of a hub with these settings is."""
    store = hub_settings(config).place()
    if isinstance(store, Path) and not store.is_file():
        raise InputError(store, "there is no store; expected one that a hub has written")
    return store


def replace(draft: Path, out: Path) -> None:
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
