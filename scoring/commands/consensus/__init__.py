"""`scoring consensus`: train a consensus of INT or IPT runs, apply, explain and report it."""

from __future__ import annotations

import argparse

from scoring.commands.consensus import apply, explain, report, train


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command, its commands and their options."""
    parser = subparsers.add_parser("consensus", help="combine INT or IPT runs into one run")
    below = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (train, apply, explain, report):
        command.add_parser(below)
