"""Commands in the blocks of documents exist, with these options: their parsers take them."""

import argparse
import re
import shlex
from collections.abc import Iterator
from functools import cache

import pytest

from annotators.cli import parser as annotators_parser
from metaserver.cli.main import build_parser
from scoring.cli import build_parser as scoring_parser
from tests.docs.test_docs import TEXTS
from tests.shared import ROOT

PARSERS = {"metaserver": build_parser, "annotators": annotators_parser, "scoring": scoring_parser}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = {"", "sh", "console", "text"}
BEFORE = re.compile(r"^((\w*\$|>) +|(do|then) |[A-Z_]+=\S+ )*")
"""What stands before a command in its line."""
SHELL = [(re.compile(r"\$\([^()]*\)|\$\{?\w+\}?"), "1"), (re.compile(r"\b\d(?=>)"), "")]
"""What a shell puts in the place of its expressions, and numbers of redirected streams."""


@cache
def parser_of(program: str) -> argparse.ArgumentParser:
    """Return the parser of all commands of a program."""
    return PARSERS[program]()


def shown(text: str) -> Iterator[str]:
    """Yield the commands in the blocks of a document."""
    for kind, block in BLOCK.findall(text):
        for line in re.sub(r"\\\n>?", " ", block).splitlines() if kind in SHELLS else ():
            command = BEFORE.sub("", line.strip())
            if command.partition(" ")[0] in PARSERS:
                yield command


def words_of(command: str) -> list[str]:
    """Return a command's words, up to what the shell does with it."""
    for expression, put in SHELL:
        command = expression.sub(put, command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    words: list[str] = []
    for word in lexer:
        if re.fullmatch(r"[|&;<>()]+", word):
            break
        words.append(word)
    return words


def taken(words: list[str]) -> bool:
    """Say whether a program's parser takes the words of a command."""
    try:
        parser_of(words[0]).parse_args(words[1:])
    except SystemExit as ended:
        return not ended.code  # as `--help` ends
    return True


SHOWN = {
    command: str(path.relative_to(ROOT))
    for path, text in TEXTS.items()
    for command in shown(text)
    if "--language $" not in command  # a loop over the choices
    and "--gold-org" not in command  # of the task that docs/tasks.md adds
}


def test_commands_that_are_shown_are_taken() -> None:
    assert [one for one in SHOWN.items() if not taken(words_of(one[0]))] == []


@pytest.mark.parametrize(
    ("command", "is_taken"),
    [
        ("metaserver servers test blue-1 --only passed | head", True),
        ("metaserver serve --config hub.yaml 2> hub.log &", True),
        ("metaserver servers test", False),
        ("metaserver servers test blue-1 --nonsense", False),
        ("scoring consensus apply --model $(cat name) run.tsv", True),
        ("annotators new kit --language cobol", False),
    ],
)
def test_what_is_no_command_is_found(command: str, is_taken: bool) -> None:
    assert taken(words_of(command)) is is_taken


def test_commands_are_found_in_blocks() -> None:
    lines = ["```console", "$ for one in a; do", ">   metaserver hub \\", ">     status", "> done"]
    text = "\n".join([*lines, "nothing", "```", ""])
    assert [words_of(command) for command in shown(text)] == [["metaserver", "hub", "status"]]
    assert len(SHOWN) > 200
