"""A wheel has what is made or copied into it, is the same each time, and works by itself."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import msgspec
import pytest

from metaserver.cli.remote import outlines
from metaserver.web.manual.library import Library, library
from tests.shared import ROOT

pytestmark = pytest.mark.one_store("a wheel has no store")

FILE = outlines.FILE.relative_to(ROOT).as_posix()


def build(folder: Path, sources: Path = ROOT, *targets: str) -> None:
    """Build the project of a folder, as `make release` does."""
    command = [sys.executable, "-m", "hatchling", "build", *targets, "-d", str(folder)]
    epoch = {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=sources, env=os.environ | epoch, check=True, capture_output=True)


def run(folder: Path, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; it must end well."""
    ended = subprocess.run(
        command, cwd=folder, env=os.environ | more, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended


def with_the_lock(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Install a wheel with the versions of the lock file; return its commands and its Python."""
    run(folder, sys.executable, "-m", "venv", "clean")
    commands = folder / "clean" / "bin"
    pip = (commands / "pip", "install", "--quiet", "--disable-pip-version-check")
    locked = ROOT / "requirements" / "hub.lock"
    run(folder, *pip, "--no-deps", "--require-hashes", "--requirement", locked)
    run(folder, *pip, "--no-deps", wheel)
    return commands, commands / "python"


def as_a_tool(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Install a wheel as the README says, with the newest versions that it allows."""
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    uv = Path(sys.executable).with_name("uv")
    run(folder, uv, "tool", "install", "--quiet", "--python", sys.executable, wheel, **places)
    return folder / "bin", folder / "tools" / "biocreative-metaserver" / "bin" / "python"


@pytest.mark.nightly
def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    copied = tmp_path / "elsewhere"
    ignored = shutil.ignore_patterns(".venv", ".git", "build", "dist", ".*_cache", "__pycache__")
    shutil.copytree(ROOT, copied, ignore=ignored)
    build(tmp_path / "one")
    build(tmp_path / "two", copied)
    one, two = (
        {path.name: sha256(path.read_bytes()).hexdigest() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) == 2


@pytest.mark.nightly
@pytest.mark.parametrize("installed", [with_the_lock, as_a_tool])
def test_a_wheel_works_in_a_clean_environment(tmp_path, installed):
    build(tmp_path, ROOT, "-t", "wheel")
    [wheel] = tmp_path.glob("*.whl")
    commands, python = installed(tmp_path, wheel)
    for name in ("metaserver", "scoring", "annotators"):
        assert f"usage: {name}" in run(tmp_path, commands / name, "--help").stdout
    demo = run(tmp_path, commands / "metaserver", "demo", "--exit", "--port", "0")
    assert "Attempts by outcome code" in demo.stdout
    run(tmp_path, commands / "annotators", "new", "kit")
    count = "from metaserver.web.manual.library import library; print(len(library().pages))"
    found = run(tmp_path, python, "-c", count)
    assert int(found.stdout) == len(library().pages)


@pytest.mark.nightly
def test_a_wheel_has_the_outlines_of_its_operations_and_the_documentation(tmp_path, monkeypatch):
    build(tmp_path, ROOT, "-t", "wheel")
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
        assert not [name for name in packed.namelist() if name.startswith(("tests/", "hatch_"))]
    built = msgspec.json.decode((tmp_path / "site" / FILE).read_bytes(), type=outlines.Built)
    assert list(built.outlines) == outlines.made_outlines()
    monkeypatch.setattr(outlines, "PACKAGE", tmp_path / "site" / "metaserver")
    assert built.sources == outlines.digest()
    served = Library.of(tmp_path / "site" / "metaserver" / "web" / "manual")
    assert dict(served.pages) == dict(library().pages)
    assert dict(served.files) == dict(library().files)
