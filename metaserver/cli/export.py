"""`metaserver export`: everything that a hub holds as one zip."""

from __future__ import annotations

import argparse
import sys

from metaserver.archive.counting import OnProgress, ignore_progress
from metaserver.archive.writing import export_store
from metaserver.cli.backup import store_place
from metaserver.cli.folder import hub_settings
from metaserver.phases.jobs import Progress


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = hub_settings(args.config)
    on_progress = progress_here()
    try:
        manifest = export_store(
            store_place(args.config), args.out, settings, args.phase, on_progress
        )
    finally:
        on_progress(Progress())
    print(f"{args.out}: {manifest.entries:,} files, {args.out.stat().st_size:,} bytes")
    return 0


def progress_here() -> OnProgress:
    """Return what shows how far an archive is, on a terminal alone."""
    return _print_progress if sys.stderr.isatty() else ignore_progress


def _print_progress(progress: Progress) -> None:
    """Show how far the archive is, in a line that is written over."""
    of = f": {progress.done:,} of {progress.total:,} rows" if progress.total else ""
    print(f"\r\x1b[K{progress.step}{of}", end="", file=sys.stderr, flush=True)
