"""Every command and option of `annotators` must be in docs/annotators.md."""

import argparse

import pytest

from annotators.cli import SERVERS, parser
from annotators.faults import FAULTS
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "annotators.md").read_text(encoding="utf-8")


def subcommands():
    (choices,) = (
        action.choices
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return choices


@pytest.mark.parametrize("name", sorted(subcommands()))
def test_each_command_is_documented(name):
    assert f"`annotators {name}" in PAGE


@pytest.mark.parametrize(
    ("command", "option"),
    sorted(
        (name, option)
        for name, command in subcommands().items()
        for option in command._option_string_actions
        if option.startswith("--") and option != "--help"
    ),
)
def test_each_option_is_documented_with_its_command(command, option):
    section = PAGE.split(f"## `annotators {command}", 1)[1].split("\n## ", 1)[0]
    assert f"`{option}" in section


@pytest.mark.parametrize("server", SERVERS)
def test_each_server_is_documented(server):
    assert f"`{server}`" in PAGE


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_of_the_faulty_server_is_documented(fault):
    assert f"| {fault.name} | `{fault.outcome}` | {fault.heals_after or '-'} |" in PAGE
