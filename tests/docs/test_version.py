"""A version is said in three files, by one command (`make version`)."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.shared import ROOT

FILES = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


def said(root: Path) -> list[tuple[str, str]]:
    """Return version and date: of the citation, of the newest section of the changelog."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    newest = RELEASED.search((root / "CHANGELOG.md").read_text("utf-8"))
    assert newest
    return [(citation["version"], str(citation["date-released"])), (newest[1], newest[2])]


def version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def test_the_newest_release_is_the_same_everywhere() -> None:
    cited, listed = said(ROOT)
    assert version(ROOT) == cited[0]
    assert cited == listed
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["license"] == project["license"]


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / ".ci" / "version.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    for name in (*FILES, ".ci/version.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_one_command_says_a_new_version(copied: Path) -> None:
    page = copied / "CHANGELOG.md"
    page.write_text(page.read_text("utf-8").replace("## [", "## [Unreleased]\n\n- x\n\n## [", 1))
    assert run(copied, "9.8.7", "2030-01-02").returncode == 0
    assert said(copied) == [("9.8.7", "2030-01-02")] * 2
    assert version(copied) == "9.8.7"
    assert "[Unreleased]" not in page.read_text("utf-8").split("\n## ")[1]


@pytest.mark.parametrize("words", [["1.2"], ["v1.2.3"], ["1.2.3", "tomorrow"]])
def test_what_is_no_version_or_date_changes_nothing(copied: Path, words: list[str]) -> None:
    before = [(copied / name).read_bytes() for name in FILES]
    assert run(copied, *words).returncode == 1
    assert [(copied / name).read_bytes() for name in FILES] == before
