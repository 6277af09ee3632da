"""Malicious packages: refused by their directory, or while they are unpacked."""

import hashlib
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Mapping
from contextlib import closing
from copy import copy
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.base.zips import CHECKSUMS
from metaserver.cli import package
from metaserver.cli.package import MAX_DIRECTORY, MAX_ENTRIES, ZipReader

MEMORY = 2**26  # bytes: no archive below may take more


def written(path: Path, contents: Mapping[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write a zip of one folder with correct checksums."""
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}\t{len(content)}\t{name}\n"
        for name, content in contents.items()
    )
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in contents.items():
            archive.writestr(f"top/{name}", content)
        archive.writestr(f"top/{CHECKSUMS}", sums)
    return path


def refused(path: Path, name: str = "") -> str:
    """Read an archive or one entry of it in bounded memory; return the reason of the refusal."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught, closing(ZipReader(path)) as reader:
            reader.read(name)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_an_honest_archive(tmp_path: Path) -> None:
    path = written(tmp_path / "x.zip", {"a": b"1\n2\n", "b": b""})
    with closing(ZipReader(path)) as reader:
        assert reader.read("a") == b"1\n2\n"
        assert reader.read("b") == b""
        assert list(reader.sums) == ["a", "b"]


def test_a_size_below_0_does_not_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("top/a", bytes(MEMORY))
        archive.writestr(f"top/{CHECKSUMS}", f"{'0' * 64}\t-2\ta\n")
    assert "checksum differs" in refused(path, "a")


def test_entries_that_share_their_bytes_are_refused_by_the_directory(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2**20))
        for number in range(512):
            info = copy(archive.getinfo("a"))
            info.filename = str(number)
            archive.filelist.append(info)
        archive.writestr(CHECKSUMS, "")
    assert "more than 1,100 times its size" in refused(path)


@pytest.mark.slow
def test_the_most_compressible_content_is_read(tmp_path: Path) -> None:
    content = b" " * (2**27 - 1) + b"\n"
    path = written(tmp_path / "x.zip", {"a": content})
    assert len(content) > 1_000 * path.stat().st_size
    assert len(content) > package.SMALL
    with closing(ZipReader(path)) as reader:
        assert reader.read("a") == content


def test_an_entry_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_CONTENT", 2**20)
    path = written(tmp_path / "x.zip", {"a": bytes(2**20 + 1)})
    assert "has more than 1 MiB" in refused(path, "a")


def test_a_bomb_that_lies_of_its_size_ends_where_it_said(tmp_path: Path) -> None:
    content = b"x\n" * 2**24
    path = written(tmp_path / "x.zip", {"a": content})
    said = path.read_bytes()
    lied = said.replace(struct.pack("<L", len(content)), struct.pack("<L", 4))
    assert lied != said
    path.write_bytes(lied.replace(b"\t33554432\t", b"\t4\t"))
    assert "checksum differs" in refused(path, "a") or "cannot be read" in refused(path, "a")


def test_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.zip", {str(number): b"" for number in range(20)})
    monkeypatch.setattr(package, "MAX_ENTRIES", 20)
    assert "holds more than 20 entries" in refused(path)
    assert MAX_ENTRIES >= 10_000


def test_a_directory_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    entry = b"PK\x01\x02" + bytes(42)
    directory = entry * (MAX_DIRECTORY // len(entry) + 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(directory), 0, 0)
    path.write_bytes(directory + end)
    assert "its directory is larger" in refused(path)


def test_repeated_entries_and_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"")
    assert "comes twice" in refused(path)
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "not compressed by deflate" in refused(written(path, {"a": b"1"}, kind))


@pytest.mark.parametrize(
    "sums", [b"\xff\t1\ta\n", b"x\n", b"x\ty\tz\n", b"a\t1\tb\tc\n", b"\xed\xa0\x80\t1\ta\n"]
)
def test_broken_checksums(tmp_path: Path, sums: bytes) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"top/{CHECKSUMS}", sums)
    assert "checksums.tsv is missing or broken" in refused(path)


@pytest.mark.parametrize("names", [[], [CHECKSUMS], ["a/a", f"b/{CHECKSUMS}"]])
def test_another_zip_is_not_taken_for_a_package(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    assert "not a package of a hub" in refused(path)


def test_checksums_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.zip", {"a": b""})
    monkeypatch.setattr(package, "MAX_CHECKSUMS", 10)
    assert "checksums.tsv is too large" in refused(path)


@pytest.mark.parametrize("cut", [1, 30, 100, 200])
def test_a_zip_that_is_cut_or_flipped_is_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "x.zip", {"a": b"1\n" * 1000})
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert "zip" in refused(path, "a")
    flipped = bytearray(whole)
    flipped[40] ^= 0xFF
    path.write_bytes(flipped)
    assert "a " in refused(path, "a")


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError):
            ZipReader(path)
    io.FileIO(tmp_path / "empty", "w").close()
    assert "not a complete zip file" in refused(tmp_path / "empty")
