"""Starter kits as they are written; tests/conformance/test_kits.py runs them."""

from pathlib import Path

import pytest

from annotators.errors import BadInputError
from annotators.starter import KITS, kit_files, server_text, write_kit


@pytest.mark.parametrize("language", KITS)
def test_a_kit_is_whole(language: str, tmp_path: Path) -> None:
    write_kit(tmp_path / "new" / "kit", language)
    kit = KITS[language]
    folder = tmp_path / "new" / "kit"
    names = {path.name for path in folder.iterdir()}
    assert names == {*kit.files, "contract.json", "README.md", "Dockerfile", "annotator.service"}
    for path in folder.iterdir():
        assert "${" not in path.read_text("utf-8") or path.suffix == ".js", path
    readme = (folder / "README.md").read_text("utf-8")
    assert kit.run in readme
    assert kit.test in readme
    program = (kit.program or kit.run).split()[-1]
    assert program in (folder / "Dockerfile").read_text("utf-8")
    unit = (folder / "annotator.service").read_text("utf-8")
    (start,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert start.startswith("ExecStart=/")


@pytest.mark.parametrize("language", KITS)
def test_a_server_listens_where_the_environment_says(language: str) -> None:
    text = server_text(language)
    assert text.count("8100") == 1
    assert "127.0.0.1" in text


@pytest.mark.parametrize("name", ["server.rb", "contract.json", "Dockerfile"])
def test_nothing_is_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("ours")
    with pytest.raises(BadInputError, match="is there already"):
        write_kit(tmp_path, "ruby")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "ours"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="cannot be written"):
        write_kit(tmp_path / "file" / "kit", "perl")


def test_each_kit_has_the_same_contract() -> None:
    assert len({dict(kit_files(language))["contract.json"] for language in KITS}) == 1
