"""`metaserver export`: everything that a hub holds as one zip."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from metaserver.archive.counting import OnProgress, ignore_progress
from metaserver.archive.writing import export_store
from metaserver.cli.backup import store_file
from metaserver.config import Settings, read_settings
from metaserver.phases.jobs import Progress


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `export` command."""
    parser = commands.add_parser(
        "export",
        help="write everything a hub holds into one zip",
        description="Writes runs, attempts, leaderboards, raw answers, gold, corpora, teams and the"
        " audit log into one zip, also while the hub is at work. It has no tokens, but it has the"
        " gold. `metaserver import` reads it back.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (see config.yaml)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip", help="the archive")
    parser.add_argument(
        "--phase", action="append", metavar="NAME", help="only this phase; give it once for each"
    )
    parser.set_defaults(run=main)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = read_settings(args.config) if args.config else Settings()
    told = told_here()
    try:
        manifest = export_store(store_file(args.config), args.out, settings, args.phase, told)
    finally:
        told(Progress())
    print(f"{args.out}: {manifest.entries:,} files, {args.out.stat().st_size:,} bytes")
    return 0


def told_here() -> OnProgress:
    """Return what shows how far an archive is, on a terminal alone."""
    return _tell if sys.stderr.isatty() else ignore_progress


def _tell(progress: Progress) -> None:
    """Show how far the archive is, in a line that is written over."""
    of = f": {progress.done:,} of {progress.total:,} rows" if progress.total else ""
    print(f"\r\x1b[K{progress.step}{of}", end="", file=sys.stderr, flush=True)
