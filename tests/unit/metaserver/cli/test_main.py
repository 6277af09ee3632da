"""The `metaserver` command: exit statuses, and one line on the standard error."""

import argparse
import re
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from annotators.cli import parser as annotators_parser
from metaserver.base.errors import HubError, InputError
from metaserver.cli import main as command
from metaserver.cli.remote.outlines import outlines
from metaserver.tasks.plugin import answered_tasks
from scoring.cli import build_parser as scoring_parser
from tests.shared import ROOT

ENDS: dict[str, Exception | KeyboardInterrupt] = {
    "input": InputError(Path("gold.tsv"), "3 columns; expected 2", line=2),
    "fault": HubError("the live INT board differs"),
    "stop": KeyboardInterrupt(),
}


def add_end(parser: argparse.ArgumentParser) -> None:
    """Add what the command `end` is given."""
    parser.add_argument("end")


def main(args: argparse.Namespace) -> int:
    """End as the command's argument says (`command.COMMANDS` asks a module for this)."""
    if args.end in ENDS:
        raise ENDS[args.end]
    return int(args.end)


@pytest.mark.parametrize(
    ("end", "status", "line"),
    [
        ("0", 0, ""),
        ("1", 1, ""),
        ("input", 2, "metaserver: gold.tsv:2: 3 columns; expected 2\n"),
        ("fault", 70, "metaserver: the live INT board differs\n"),
        ("stop", 130, "metaserver: stopped\n"),
    ],
)
def test_how_a_command_ends_is_its_status_and_one_line(monkeypatch, capsys, end, status, line):
    monkeypatch.setitem(command.COMMANDS, "end", command.Command("end", add_end, __name__))
    assert command.main(["end", end]) == status
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("words", [[], ["unknown"], ["run"], ["run", "--articles"]])
def test_words_that_are_no_command_have_status_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2
    assert "usage: metaserver" in capsys.readouterr().err


def test_help_knows_all_commands_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["--version"]):
        with pytest.raises(SystemExit) as ended:
            command.main(words)
        assert ended.value.code == 0
    told = capsys.readouterr().out
    names = {*command.COMMANDS, *(outline.noun for outline in outlines())}
    assert names <= set(re.findall(r"^    ([a-z-]+)\b", told, re.MULTILINE))
    assert told.splitlines()[-1] == version("biocreative-metaserver")


@pytest.mark.parametrize("name", command.COMMANDS)
def test_every_command_has_its_function(name: str) -> None:
    row = command.COMMANDS[name]
    assert callable(getattr(import_module(row.module), row.function))


def test_run_takes_the_gold_of_every_task_that_is_installed() -> None:
    parser = argparse.ArgumentParser()
    command.COMMANDS["run"].add(parser)
    given = {option for action in parser._actions for option in action.option_strings}
    assert {f"--gold-{name.lower()}" for name in answered_tasks()} <= given


@pytest.mark.parametrize(
    ("help_of", "page"),
    [
        (command.build_parser, "README"),
        (scoring_parser, "scoring"),
        (annotators_parser, "annotators"),
    ],
)
def test_help_says_where_the_documentation_is(help_of, page):
    said = " ".join(help_of().format_help().split())
    assert f"docs/{page}.md" in said
    assert "/docs" in said.replace(f"docs/{page}.md", "")
    assert (ROOT / "docs" / f"{page}.md").is_file()
