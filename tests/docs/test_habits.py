"""What CONTRIBUTING.md, CHANGELOG.md, CITATION.cff and CI say of the project is so."""

import re
import tomllib
from datetime import date
from itertools import pairwise

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
WALKS = dict(re.findall(r"^### ([^\n]+)\n(.+?)(?=^##|\Z)", CONTRIBUTING, re.MULTILINE | re.DOTALL))
RELEASES = re.findall(r"^## \[(\d[\d.]*)\] - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)


def test_there_is_a_walk_for_each_thing_that_is_added_often() -> None:
    assert list(WALKS) == [
        "An operation", "A migration", "A command", "A task", "A page", "A document format",
    ]  # fmt: skip


@pytest.mark.parametrize("walk", WALKS)
def test_the_files_of_a_walk_are_there(walk: str) -> None:
    files = re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[\w-]+\.toml)`", WALKS[walk])
    assert len(files) > 3
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert any(file.startswith("tests/") for file in files)
    assert any(file.startswith("docs/") for file in files) or walk == "A migration"


def test_the_newest_release_is_the_version_of_the_project() -> None:
    assert RELEASES[0][0] == PROJECT["version"]
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["date-released"] == date.fromisoformat(RELEASES[0][1])
    assert CITATION["license"] == PROJECT["license"]


def test_the_changelog_is_in_order() -> None:
    parts = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
    changed = parts[0].startswith("[Unreleased]\n")  # a release has nothing that is not
    assert len(parts) == changed + len(RELEASES)
    assert all(one >= other for (_, one), (_, other) in pairwise(RELEASES))
    for part in parts:
        kinds = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_ci_runs_the_versions_that_are_named() -> None:
    [job] = WORKFLOW["jobs"].values()
    versions = job["strategy"]["matrix"]["python"]
    named = re.search(r"runs `\.ci/run` on (.+)\.$", CONTRIBUTING, re.MULTILINE)
    assert named
    assert re.findall(r"3\.\d+", named[1]) == versions
    assert all(SpecifierSet(PROJECT["requires-python"]).contains(one) for one in versions)
    assert min(map(Version, versions)) == Version(PROJECT["requires-python"].removeprefix(">="))
    assert any(step.get("run") == "bash .ci/run" for step in job["steps"])


def test_the_hook_and_ci_run_what_make_has() -> None:
    """The hook needs nothing from outside the project's environment."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    entries = [hook["entry"] for repo in hooks for hook in repo["hooks"]]
    assert entries == ["make quick"]
    assert all(repo["repo"] == "local" for repo in hooks)
    run = re.findall(r"\bmake (\w+)", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert set(run) <= set(targets)
