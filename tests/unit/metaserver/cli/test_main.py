"""The `metaserver` command: exit statuses, and one line on the standard error."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

import pytest

from metaserver.cli import main
from metaserver.model.errors import HubError, InputError

ENDS: dict[str, Exception | KeyboardInterrupt] = {
    "input": InputError(Path("gold.tsv"), "3 columns; expected 2", line=2),
    "fault": HubError("the live INT board differs"),
    "stop": KeyboardInterrupt(),
}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add a command that ends as it is told (`cli.COMMANDS` asks a module for this)."""

    def run(args: argparse.Namespace) -> int:
        if args.end in ENDS:
            raise ENDS[args.end]
        return int(args.end)

    parser = commands.add_parser("end")
    parser.add_argument("end")
    parser.set_defaults(run=run)


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
def test_how_a_command_ends_is_its_status_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    end: str,
    status: int,
    line: str,
) -> None:
    monkeypatch.setitem(main.COMMANDS, "end", __name__)
    assert main.main(["end", end]) == status
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("words", [[], ["unknown"], ["run"], ["run", "--articles"]])
def test_words_that_are_no_command_have_status_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(words)
    assert ended.value.code == 2
    assert "usage: metaserver" in capsys.readouterr().err


def test_help_knows_all_commands_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["--version"]):
        with pytest.raises(SystemExit) as ended:
            main.main(words)
        assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(command in told for command in main.COMMANDS)
    assert told.splitlines()[-1] == version("biocreative-metaserver")
