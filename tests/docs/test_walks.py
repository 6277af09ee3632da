"""Data walks of docs/architecture.md: their functions exist, no package is entered twice."""

import re
from importlib import import_module
from itertools import groupby
from typing import Any

import pytest

from tests.shared import ROOT

NAME = r"`([a-z_.]+\.[A-Za-z_.]+)`"


def walks() -> dict[str, list[str]]:
    """Return the lines of each walk by its title."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = text.split("## How data walks\n", 1)[1].split("\n## ", 1)[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        if title := re.fullmatch(r"\*\*(.+)\*\*", line):
            found[title[1]] = []
        elif re.match(r"\d+\. ", line):
            found[[*found][-1]].append(line)
    return found


WALKS = walks()


def resolved(name: str) -> Any:
    """Return what a dotted name below `metaserver` is; `AssertionError` where it is nothing."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(["metaserver", *parts[:count]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            assert hasattr(found, attribute), name
            found = getattr(found, attribute)
        return found
    raise AssertionError(name)


def test_there_are_three_walks() -> None:
    assert [*WALKS] == [
        "An article to the leaderboard", "A gold file to the boards", "A team's start to its lane",
    ]  # fmt: skip


@pytest.mark.parametrize("lines", WALKS.values(), ids=WALKS)
def test_each_step_is_a_function(lines: list[str]) -> None:
    for line in lines:
        names = re.findall(NAME, line)
        assert names, line
        assert all(callable(resolved(name)) for name in names), line


@pytest.mark.parametrize("lines", WALKS.values(), ids=WALKS)
def test_no_walk_returns_to_a_package_that_it_left(lines: list[str]) -> None:
    first = [re.findall(NAME, line)[0].split(".")[0] for line in lines]
    passed = [package for package, _ in groupby(first)]
    assert len(passed) == len(set(passed)), passed
