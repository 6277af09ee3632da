"""The `metaserver` command: its table of commands, and how they are run.

A command's module is imported when the command is run, not when its help is asked for.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from metaserver.base.errors import InputError, MetaserverError
from metaserver.cli import arguments


class Command(NamedTuple):
    """A command: its line of help, what adds its arguments, and the function that runs it.

    The function takes the parsed arguments and returns the exit status.
    """

    help: str
    add: Callable[[argparse.ArgumentParser], None]
    module: str
    function: str = "main"


COMMANDS: dict[str, Command] = {
    "run": Command(
        "send articles to servers, and check and score their answers",
        arguments.add_run,
        "metaserver.cli.run",
    ),
    "attempts": Command(
        "show what became of each request of a run, and why answers were refused",
        arguments.add_attempts,
        "metaserver.cli.attempts",
    ),
    "probe": Command(
        "test an annotation server as a hub does before its first article counts",
        arguments.add_probe,
        "metaserver.cli.probe",
    ),
    "serve": Command(
        "run a hub as a service, with challenges, teams, their servers and pages",
        arguments.add_serve,
        "metaserver.cli.serve",
    ),
    "doctor": Command(
        "check a hub's configuration, and say what is wrong and where",
        arguments.add_doctor,
        "metaserver.cli.doctor",
    ),
    "backup": Command(
        "copy a hub's store, also while the hub runs",
        arguments.add_backup,
        "metaserver.cli.backup",
        "back_up",
    ),
    "restore": Command(
        "restore a PostgreSQL store from a backup",
        arguments.add_restore,
        "metaserver.cli.backup",
        "restore_backup",
    ),
    "move": Command(
        "move a hub's store from its file into PostgreSQL, or back",
        arguments.add_move,
        "metaserver.cli.backup",
        "move",
    ),
    "results": Command(
        "have a running hub make the results package of a phase",
        arguments.add_results,
        "metaserver.cli.package",
    ),
    "demo": Command(
        "run a small challenge with five servers on this machine",
        arguments.add_demo,
        "metaserver.cli.demo",
    ),
    "rehearse": Command(
        "play a whole challenge against simulated teams, in minutes",
        arguments.add_rehearse,
        "metaserver.cli.rehearse",
    ),
    "token": Command(
        "create, list and revoke tokens in a hub's store",
        arguments.add_token,
        "metaserver.cli.token",
    ),
    "uniprot": Command(
        "build, inspect and compare UniProt releases",
        arguments.add_uniprot,
        "metaserver.cli.uniprot",
    ),
}
"""This machine's commands; commands that ask a running hub are made from its operations."""

DOCUMENTATION = (
    "`metaserver demo` shows what it does. The documentation is at /docs of every running hub"
    " (`metaserver serve`), also without the internet, and in docs/README.md of the project."
)
BAD_INPUT, FAULT, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141  # as shells and sysexits.h count


class Version(argparse.Action):
    """The option that prints the version; nothing else has to find it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it and end."""
        from importlib.metadata import version

        print(version("biocreative-metaserver"))
        parser.exit()


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Return the parser for all commands; if one is chosen, only that has its arguments."""
    parser = argparse.ArgumentParser(
        prog="metaserver",
        description="The hub that text-mining challenges run on: it sends articles to the teams'"
        " servers and scores their answers.",
        epilog=DOCUMENTATION,
    )
    parser.add_argument(
        "--version", action=Version, nargs=0, help="show program's version number and exit"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        below = commands.add_parser(name, help=command.help)
        if chosen in (None, name):
            command.add(below)
            below.set_defaults(run=partial(_run, command))
    if chosen not in COMMANDS:
        from metaserver.cli.remote.commands import add_nouns
        from metaserver.cli.remote.outlines import outlines

        add_nouns(commands, outlines())
    return parser


def _run(command: Command, args: argparse.Namespace) -> int:
    """Run a command on this machine; return its exit status."""
    status: int = getattr(import_module(command.module), command.function)(args)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    args = build_parser(words[0] if words else "").parse_args(words)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        status: int = args.run(args)
    except InputError as error:
        print(f"metaserver: {error}", file=sys.stderr)
        return BAD_INPUT
    except MetaserverError as error:
        print(f"metaserver: {error}", file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        print("metaserver: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `metaserver ... | head` has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


if __name__ == "__main__":
    sys.exit(main())
