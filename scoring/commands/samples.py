"""`scoring samples`: small data of every evaluation, to try the commands on."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.samples import write_samples


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "samples", help="write small made-up data for every kind of evaluation"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    parser.set_defaults(command=samples)


def samples(args: argparse.Namespace) -> int:
    """Write the files and print their paths."""
    print(*write_samples(args.folder), sep="\n")
    return 0
