"""`metaserver import`: an archive read back into an empty hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from metaserver.archive.reading import import_archive
from metaserver.cli.export import progress_here
from metaserver.cli.folder import STORE_FILE, make_folder
from metaserver.config import Settings, read_settings
from metaserver.phases.jobs import Progress


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    folder = Path(settings.folder)
    make_folder(folder)
    on_progress = progress_here()
    try:
        manifest = import_archive(args.archive, folder / STORE_FILE, on_progress)
    finally:
        on_progress(Progress())
    print(f"{folder / STORE_FILE}: phases {', '.join(manifest.phases) or 'none'}")
    return 0
