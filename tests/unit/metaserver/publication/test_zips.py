"""Zips as they are written: read by zipfile, also where they are large."""

import hashlib
import random
import zipfile
from pathlib import Path

from metaserver.publication import zips
from metaserver.publication.zips import CHECKSUMS, ZipWriter

SOME = random.Random(7)
CONTENTS = {
    "empty": b"",
    "folder/small.txt": b"one\ntwo\n",
    "Überraschung.tsv": b"\xff\0" * 10,
    "blank": b" " * 3_000_000,
    "noise": SOME.randbytes(1_000_000),
    "lines": b"".join(b"line %d\n" % number for number in range(100_000)),
}


def write(path: Path) -> None:
    """Write `CONTENTS`, in writes of many sizes."""
    out = ZipWriter(path)
    for name, content in CONTENTS.items():
        with out.entry(name) as file:
            start = 0
            while start < len(content):
                size = SOME.choice((1, 1_000, 700_000))
                file.write(content[start : start + size])
                start += size
    out.finish()


def test_zipfile_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as found:
        assert found.namelist() == [*CONTENTS, CHECKSUMS]
        assert {name: found.read(name) for name in CONTENTS} == CONTENTS
        sums = [line.split("\t") for line in found.read(CHECKSUMS).decode().splitlines()]
        modes = {one.external_attr >> 16 for one in found.infolist()}
    assert modes == {0o600}
    assert sums == [
        [hashlib.sha256(content).hexdigest(), str(len(content)), name]
        for name, content in CONTENTS.items()
    ]


def test_the_same_contents_make_the_same_zip(tmp_path: Path) -> None:
    for name in ("first.zip", "second.zip"):
        out = ZipWriter(tmp_path / name)
        out.write_lines("lines", (f"{number}\n" for number in range(50_000)))
        out.finish()
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_large_sizes_and_places_have_64_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(zips, "LARGE", 1_000)  # as if these were more than 4 GiB
    path = tmp_path / "all.zip"
    write(path)
    with zipfile.ZipFile(path) as found:
        assert {name: found.read(name) for name in CONTENTS} == CONTENTS
        assert [bool(one.extra) for one in found.infolist()] == [
            name != "empty" and name != "folder/small.txt" and name != "Überraschung.tsv"
            for name in found.namelist()
        ]


def test_an_abandoned_zip_is_none(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    out = ZipWriter(path)
    out.write("small", b"content")
    out.abandon()
    out.abandon()
    assert not zipfile.is_zipfile(path)
