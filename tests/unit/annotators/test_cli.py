"""The `annotators` command: its help loads no HTTP library."""

import annotators
from annotators.cli import parser
from annotators.server import serve
from tests.loading import commands, loaded


def test_help_of_every_command_loads_no_library() -> None:
    lines = [[*words, "--help"] for words in commands(parser())]
    assert len(lines) > 4
    for words, libraries in zip(lines, loaded("annotators.cli", lines), strict=True):
        assert not libraries, words


def test_the_kit_has_its_server() -> None:
    assert annotators.serve is serve
    assert not hasattr(annotators, "anything_else")
