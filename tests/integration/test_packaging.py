"""A wheel has what the commands that ask a hub are made from, of the sources that are in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import msgspec
import pytest

from metaserver.cli.remote import outlines
from tests.shared import ROOT

FILE = outlines.FILE.relative_to(ROOT).as_posix()


@pytest.mark.slow
def test_a_wheel_has_the_outlines_of_its_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
        assert not [name for name in packed.namelist() if name.startswith(("tests/", "hatch_"))]
    built = msgspec.json.decode((tmp_path / "site" / FILE).read_bytes(), type=outlines.Built)
    assert list(built.outlines) == outlines.made_outlines()
    monkeypatch.setattr(outlines, "PACKAGE", tmp_path / "site" / "metaserver")
    assert built.sources == outlines.digest()
