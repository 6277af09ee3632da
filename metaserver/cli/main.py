"""The `metaserver` command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from metaserver.model.errors import InputError, MetaserverError

COMMANDS = {
    "run": "metaserver.cli.run",
    "attempts": "metaserver.cli.attempts",
    "probe": "metaserver.cli.probe",
    "serve": "metaserver.cli.serve",
    "doctor": "metaserver.cli.doctor",
    "backup": "metaserver.cli.backup",
    "export": "metaserver.cli.export",
    "import": "metaserver.cli.import_",
    "demo": "metaserver.cli.demo",
    "token": "metaserver.cli.token",
    "uniprot": "metaserver.cli.uniprot",
}
NOUNS = (
    "annotations",
    "audit",
    "boards",
    "challenges",
    "corpora",
    "gold",
    "hub",
    "jobs",
    "phases",
    "resources",
    "runs",
    "servers",
    "teams",
    "tokens",
)
"""The nouns of the operations: `metaserver servers start NAME` asks a running hub."""
COMMANDS |= dict.fromkeys(NOUNS, "metaserver.cli.remote.commands")
"""The module of each command; its `add_parser` adds it, and what else the module has."""

BAD_INPUT, FAULT, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141  # as shells and sysexits.h count


def build_parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of the wanted one alone.

    What a hub is made of takes a second to load; looking an accession up should not.
    """
    parser = argparse.ArgumentParser(
        prog="metaserver", description="The hub that text-mining challenges run on."
    )
    parser.add_argument("--version", action="version", version=version("biocreative-metaserver"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    modules = [COMMANDS[wanted]] if wanted in COMMANDS else dict.fromkeys(COMMANDS.values())
    for module in modules:
        import_module(module).add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    args = build_parser(words[0] if words else None).parse_args(words)
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
