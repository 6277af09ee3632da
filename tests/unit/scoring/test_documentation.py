"""Documentation of every command, option and measure of `scoring`."""

import argparse
import re
from pathlib import Path
from pkgutil import iter_modules

import pytest

import scoring
from scoring.cli import COMMANDS, build_parser
from scoring.measures import MEASURES

DOCS = Path(__file__).parents[3] / "docs"
TEXT = "\n".join((DOCS / page).read_text() for page in ("scoring.md", "evaluations.md"))


def subcommands() -> dict[str, argparse.ArgumentParser]:
    (action,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(action.choices)


def test_every_module_adds_its_command() -> None:
    assert set(COMMANDS) == set(subcommands())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_options_are_documented(command: str) -> None:
    assert f"scoring {command}" in TEXT
    for action in subcommands()[command]._actions:
        for option in action.option_strings:
            if option not in ("-h", "--help"):
                assert re.search(rf"{option}(?![\w-])", TEXT), f"scoring {command} {option}"


def test_every_module_is_on_the_map() -> None:
    modules = {module.name for module in iter_modules(scoring.__path__)}
    rows = re.findall(r"^\| [^|]*\| `(\w+)` \|", TEXT.partition("## Modules")[2], re.MULTILINE)
    assert modules - set(rows) == {"__main__", "commands"}


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_is_documented(measure: str) -> None:
    assert f"`{measure}`" in TEXT


@pytest.mark.parametrize("name", scoring.__all__)
def test_the_public_api_has_docstrings(name: str) -> None:
    value = getattr(scoring, name)
    if callable(value) and hasattr(value, "__qualname__"):
        assert value.__doc__
