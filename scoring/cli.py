"""The `scoring` command: every subcommand is a module of `scoring.commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from scoring import commands
from scoring.errors import FormatError, ScoringError, in_short

COMMANDS = tuple(module.name.replace("_", "-") for module in iter_modules(commands.__path__))
"""The subcommands: every module of `scoring.commands` has an `add_parser(subparsers)`."""


class _Once(argparse.Action):
    """Store a value or a list of values; refuse an option that is given a second time.

    The parser of the standard library keeps the last one without a word.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault(_GIVEN, set())
        if self.option_strings and self.dest in given:
            several = " with all its values" if self.nargs in ("+", "*") else ""
            raise argparse.ArgumentError(self, f"given twice; expected it once{several}")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


_GIVEN = "_given"  # destinations of the options of this command line, kept in its namespace


class _Parser(argparse.ArgumentParser):
    """A parser, with the parsers of its subcommands, that takes each option once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in (None, "store"):
            self.register("action", name, _Once)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every subcommand."""
    parser = _Parser(
        prog="scoring",
        description="Score and compare the runs of a challenge as BioCreative does.",
        epilog="Explained in docs/scoring.md of the project, and at /docs/scoring of every hub.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"scoring.commands.{name.replace('-', '_')}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its status: 0, or 1 if some of the runs are faulty.

    2 is for bad input, which is reported on stderr line by line.
    """
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
