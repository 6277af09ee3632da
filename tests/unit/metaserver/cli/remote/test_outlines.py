"""The outlines of the operations, kept in a file with the digest of their sources."""

from pathlib import Path

import msgspec
import pytest

from metaserver.cli.catalogue import OPERATIONS
from metaserver.cli.remote import outlines
from metaserver.operations import reference
from metaserver.operations.outline import metavar

TRUE = reference.outlines(OPERATIONS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "outlines.json"


def test_they_are_those_of_the_operations() -> None:
    assert list(outlines.outlines()) == TRUE


def test_no_secret_has_to_be_on_a_command_line() -> None:
    secrets = [
        (outline.name, metavar(parameter))
        for outline in TRUE
        for parameter in outline.by_name
        if parameter.name == "secret"
    ]
    assert ("servers.register", "TEXT|@FILE") in secrets
    assert {words for _, words in secrets} == {"TEXT|@FILE"}


def test_without_a_file_they_are_made_and_the_file_is_built(file: Path) -> None:
    assert list(outlines.outlines(file)) == TRUE
    built = msgspec.json.decode(file.read_bytes(), type=outlines.Built)
    assert list(built.outlines) == TRUE
    assert built.sources == outlines.digest()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_of_these_sources_is_read(file: Path) -> None:
    """One outline is enough to see where it comes from."""
    outlines.write(TRUE[:1], file)
    assert list(outlines.outlines(file)) == TRUE[:1]


@pytest.mark.parametrize("kept", [b"", b"{}", b'{"sources": "other", "outlines": []}'])
def test_a_file_of_other_sources_is_built_again(file: Path, kept: bytes) -> None:
    file.write_bytes(kept)
    assert list(outlines.outlines(file)) == TRUE
    assert outlines.outlines(file) == tuple(TRUE)


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    assert list(outlines.outlines(tmp_path / "nowhere" / "outlines.json")) == TRUE


def test_the_digest_is_of_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(outlines, "PACKAGE", tmp_path)
    found = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        (tmp_path / name).write_text(text)
        found.add(outlines.digest())
    (tmp_path / "notes.txt").write_text("no source")
    assert len(found) == 3
    assert outlines.digest() in found
