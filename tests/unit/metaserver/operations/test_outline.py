"""Outlines: what interfaces have to know of an operation's result before they answer."""

import pytest

from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.outline import Outline, metavar


@pytest.mark.parametrize(
    ("name", "rows", "file"),
    [
        ("boards.get", True, False),
        ("boards.get-frozen", True, False),
        ("servers.list", True, False),
        ("gold.set", False, False),
        ("gold.get", False, True),
    ],
)
def test_results_that_may_be_large_are_known_by_their_types(name, rows, file):
    outline = Outline.of(OPERATIONS[name])
    assert (outline.gives_rows, outline.gives_file) == (rows, file)


def test_an_empty_text_is_allowed_but_not_offered() -> None:
    outline = Outline.of(OPERATIONS["challenges.make"])
    [sample] = [parameter for parameter in outline.parameters if parameter.name == "sample"]
    assert metavar(sample) == "biotopes|interactions|names"
    assert "[--sample biotopes|interactions|names]" in outline.command
