"""The lock files hold what pyproject.toml asks for, each version by its hashes."""

import json
import re
import tomllib
from collections.abc import Mapping

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ASKED = {
    "hub": PROJECT["dependencies"],
    "dev": PROJECT["dependencies"] + EXTRAS["dev"],
    "docs": PROJECT["dependencies"] + EXTRAS["docs"],
    "release": PROJECT["dependencies"] + EXTRAS["release"],
    "bench": PROJECT["dependencies"]
    + [one for name, extra in EXTRAS.items() if name not in ("docs", "release") for one in extra],
}
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;]+)", re.MULTILINE)


def locked(name: str) -> Mapping[str, set[Version]]:
    """Return the versions of each library: several where platforms or Pythons have their own."""
    found: dict[str, set[Version]] = {}
    for library, version in PINNED.findall((ROOT / f"requirements/{name}.lock").read_text()):
        found.setdefault(canonicalize_name(library), set()).add(Version(version))
    return found


@pytest.mark.parametrize("name", ASKED)
def test_a_lock_file_has_what_the_project_asks_for(name: str) -> None:
    versions = locked(name)
    for asked in map(Requirement, ASKED[name]):
        found = versions.get(canonicalize_name(asked.name))
        assert found, f"{asked.name} is not in {name}.lock: run `make lock`"
        assert all(asked.specifier.contains(one) for one in found), f"{asked}: run `make lock`"


@pytest.mark.parametrize("name", [*ASKED, "peers"])
def test_every_version_is_held_by_a_hash(name: str) -> None:
    text = (ROOT / f"requirements/{name}.lock").read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if PINNED.match(entry)]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)


def test_every_package_of_npm_is_held_by_a_hash() -> None:
    folder = ROOT / "requirements" / "peers"
    locked_packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    asked, *rest = locked_packages.values()
    assert rest
    assert all(one["integrity"].startswith("sha512-") for one in rest)
    package = json.loads((folder / "package.json").read_text())
    assert all(asked[name] == package[name] for name in ("dependencies", "devDependencies"))


def test_the_lock_files_agree() -> None:
    bench = locked("bench")
    for name in ("hub", "dev"):
        assert all(versions == bench[library] for library, versions in locked(name).items())


def test_the_licence_of_every_library_is_listed() -> None:
    """If it fails, run `make release`."""
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    listed = {canonicalize_name(row[0].removeprefix("| ")): row[1] for row in rows}
    elsewhere = {"colorama", "pywin32", "tzdata"}  # of other systems than the one it was made on
    assert set(locked("hub")) ^ set(listed) <= elsewhere
    assert not {name: one for name, one in listed.items() if re.search(r"\bA?GPL|UNKNOWN", one)}
