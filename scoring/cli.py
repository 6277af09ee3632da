"""The `scoring` command: every subcommand is a module of `scoring.commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from scoring import commands
from scoring.errors import FormatError, ScoringError, in_short

COMMANDS = tuple(module.name.replace("_", "-") for module in iter_modules(commands.__path__))
"""The subcommands: every module of `scoring.commands` has an `add_parser(subparsers)`."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every subcommand."""
    parser = argparse.ArgumentParser(
        prog="scoring",
        description="Evaluate runs as the BioCreative challenges do.",
        epilog="Explained in docs/scoring.md of the project, and at /docs/scoring of every hub.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"scoring.commands.{name.replace('-', '_')}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 2 for bad input, which is reported on stderr line by line."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.command(args))
    except FormatError as error:
        print(*in_short(error.problems), sep="\n", file=sys.stderr)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ScoringError, OSError) as error:
        print(f"scoring: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
