"""`metaserver uniprot ...`: build a release, look accessions up."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from metaserver.uniprot.build import Opened, build_release
from metaserver.uniprot.release import Release
from metaserver.uniprot.sources.records import Advance

_LINES = 10_000
_CONTROL = str.maketrans({"\t": "\\t", "\r": "\\r", "\n": "\\n"})


def add_parser(subparsers: Any) -> None:
    """Add the `uniprot` command; each of its commands sets `run(args) -> exit status`."""
    parser = subparsers.add_parser("uniprot", help="build and ask UniProt releases")
    commands = parser.add_subparsers(dest="uniprot_command", required=True, metavar="COMMAND")
    _add_build(commands)
    _add_lookup(commands)


def _add_build(commands: Any) -> None:
    parser = commands.add_parser("build", help="build a release directory from UniProt's files")
    parser.add_argument(
        "--from",
        dest="sources",
        nargs="+",
        required=True,
        type=Path,
        metavar="FILE",
        help="flat files, TSV, lists of accessions and more, plain or gzip, in any order",
    )
    parser.add_argument("--release", required=True, metavar="NAME", help="such as 2025_04")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="the new release directory"
    )
    parser.set_defaults(run=_build)


def _build(args: argparse.Namespace) -> int:
    with _progress(args.sources) as opened:
        release = build_release(args.sources, name=args.release, out=args.out, opened=opened)
    counts = release.meta.counts
    shown = ", ".join(f"{counts[key]:,} {key}" for key in ("primary", "secondary", "deleted"))
    print(f"UniProt {release.name}: {shown}; {args.out}")
    return 0


@contextmanager
def _progress(sources: Sequence[Path]) -> Iterator[Opened]:
    """Yield what `build` reports to: a bar on a terminal's standard error, or nothing."""
    total = sum(path.stat().st_size for path in sources if path.is_file())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=total)

        def opened(path: Path) -> Advance:
            progress.update(task, description=path.name)
            return lambda size: progress.update(task, advance=size)

        yield opened


def _add_lookup(commands: Any) -> None:
    parser = commands.add_parser(
        "lookup", help="judge accessions: a line each of accession, verdict and reason"
    )
    _add_release(parser)
    parser.add_argument(
        "accessions", nargs="*", metavar="ACC", help="none: one a line from standard input"
    )
    parser.set_defaults(run=_lookup)


def _lookup(args: argparse.Namespace) -> int:
    release = Release.open(args.release)
    accessions = args.accessions or (line.rstrip("\r\n") for line in sys.stdin)
    for batch in _batched(accessions):
        sys.stdout.writelines(
            f"{text.translate(_CONTROL)}\t{status.label}\t{reason}\n"
            for text, status, reason, _ in release.lookup(batch)
        )
    return 0


def _batched(lines: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(lines)
    while batch := list(islice(iterator, _LINES)):
        yield batch


def _add_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release", required=True, type=Path, metavar="DIR", help="a release directory"
    )
