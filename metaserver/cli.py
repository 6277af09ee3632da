"""The `metaserver` command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from metaserver import demo, run
from metaserver.errors import InputError, MetaserverError
from metaserver.uniprot.commands import add_parser as add_uniprot_parser

BAD_INPUT, FAULT, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141  # as shells and sysexits.h count


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="metaserver", description="The hub that text-mining challenges run on."
    )
    parser.add_argument("--version", action="version", version=version("biocreative-metaserver"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run.add_parser(commands)
    demo.add_parser(commands)
    add_uniprot_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    args = build_parser().parse_args(argv)
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
