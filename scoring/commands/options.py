"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from scoring.tasks import Task


def add_task_and_gold(parser: argparse.ArgumentParser) -> None:
    """Add `--task` and `--gold`."""
    parser.add_argument("--task", required=True, choices=[str(task) for task in Task])
    parser.add_argument("--gold", required=True, type=Path, metavar="FILE", help="gold standard")


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which articles and ranks count."""
    parser.add_argument(
        "--articles",
        choices=["answered", "all"],
        default="answered",
        help="gold articles that count: those the run has hits for (default), or all",
    )
    parser.add_argument(
        "--cutoff", type=positive, metavar="N", help="score only the N best ranks of each article"
    )
    parser.add_argument(
        "--lenient-ranks", action="store_true", help="accept gaps in the ranks, such as 1, 3"
    )
    parser.add_argument(
        "--beta", type=float, default=1.0, help="weight of recall in F_beta (default 1)"
    )


def positive(text: str) -> int:
    """Return an option's integer, at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value
