"""The walks of CONTRIBUTING.md lead to files that are there."""

import re

import pytest

from tests.shared import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WALKS = dict(re.findall(r"^### ([^\n]+)\n(.+?)(?=^##|\Z)", CONTRIBUTING, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("walk", WALKS)
def test_the_files_of_a_walk_are_there(walk: str) -> None:
    files = re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[\w-]+\.toml)`", WALKS[walk])
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
