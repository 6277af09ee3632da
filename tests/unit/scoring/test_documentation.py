"""Documentation of every command, option and measure of `scoring`."""

import argparse
import re
from pathlib import Path

import pytest

from scoring.cli import COMMANDS, build_parser
from scoring.measures import MEASURES

PAGES = ("scoring.md", "comparing.md", "judging.md", "evaluations.md", "consensus.md")
DOCS = Path(__file__).parents[3] / "docs"
TEXT = "\n".join((DOCS / page).read_text() for page in PAGES)


def subcommands(parser, words="scoring"):
    """Yield the commands below a parser, and those below them, by all their words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield f"{words} {name}", below
                yield from subcommands(below, f"{words} {name}")


SUBCOMMANDS = dict(subcommands(build_parser()))


def test_every_module_adds_its_command() -> None:
    assert {f"scoring {name}" for name in COMMANDS} <= SUBCOMMANDS.keys()


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_a_command_and_its_options_are_documented(command: str) -> None:
    assert command in TEXT
    for action in SUBCOMMANDS[command]._actions:
        for option in action.option_strings:
            if option not in ("-h", "--help"):
                assert re.search(rf"{option}(?![\w-])", TEXT), f"{command} {option}"


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_is_documented(measure: str) -> None:
    assert f"`{measure}`" in TEXT
