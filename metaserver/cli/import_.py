"""`metaserver import`: an archive read back into an empty hub."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from metaserver.archive.counting import OnProgress
from metaserver.archive.reading import import_archive
from metaserver.archive.writing import Manifest
from metaserver.cli.export import progress_here
from metaserver.cli.folder import hub_settings, make_folder
from metaserver.cli.move import carry
from metaserver.phases.jobs import Progress
from metaserver.store.place import STORE_FILE, PostgresUrl


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = hub_settings(args.config)
    folder, place = Path(settings.folder), settings.place()
    make_folder(folder)
    on_progress = progress_here()
    try:
        if isinstance(place, Path):
            manifest = import_archive(args.archive, place, on_progress)
        else:
            manifest = _into_database(args.archive, place, folder, on_progress)
    finally:
        on_progress(Progress())
    print(f"{place}: phases {', '.join(manifest.phases) or 'none'}")
    return 0


def _into_database(
    archive: Path, url: PostgresUrl, folder: Path, on_progress: OnProgress
) -> Manifest:
    """Read an archive into a file first, where it is checked, and carry that into the database."""
    with TemporaryDirectory(prefix=".import-", dir=folder) as between:
        store = Path(between) / STORE_FILE
        manifest = import_archive(archive, store, on_progress)
        asyncio.run(carry(store, url, on_progress))
    return manifest
