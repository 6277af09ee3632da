"""Uploaded zips: valid ones give their files, others are refused with the reason."""

import io
import random
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.corpus.files import ZipLimits, unpack

LIMITS = ZipLimits()


def zipped(*files, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return made.getvalue()


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def files(content: bytes, limits: ZipLimits = LIMITS) -> dict[str, bytes]:
    """Return the files of a zip, by path."""
    with tempfile.TemporaryDirectory() as folder:
        unpack("c.zip", content, Path(folder), limits)
        found = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_zip_gives_its_files_at_their_places() -> None:
    content = zipped(("set/b.txt", b"second"), ("set/a.txt", b"first"), ("set/", b""))
    assert files(content) == {"set/a.txt": b"first", "set/b.txt": b"second"}


@pytest.mark.parametrize(
    "name",
    ["../a.txt", "x/../../a.txt", "/etc/a.txt", "a\\b.txt", "C:\\a.txt", "./a.txt", "x//a.txt",
     "a\n.txt", "\u202ea.txt", "x" * 300 + ".txt", "/".join("x" * 300) + ".txt"],
)  # fmt: skip
def test_a_name_that_is_a_way_out_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a plain name"):
        files(zipped((name, b"text")))


KINDS = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK)
NAMES = [("a.txt", "a.txt"), ("a.txt", "a.txt/b.txt"), ("a/b.txt", "a")]


@pytest.mark.parametrize(
    ("said", "contents"),
    [
        ("not a plain name", [zipped(("aXb.txt", b"text")).replace(b"aXb.txt", b"a\0b.txt")]),
        ("a link or a device", [zipped((entry("a.txt", k | 0o777), b"/etc/x")) for k in KINDS]),
        ("a zip inside a zip", [
            zipped((name, zipped(("a.txt", b"text"))))
            for name in ("inner.zip", "a.txt.gz", "a.tgz", "innocent.txt")
        ]),
    ],
    ids=["a NUL in a name", "links and devices", "an archive within"],
)  # fmt: skip
def test_what_is_no_plain_file_is_refused(said: str, contents: list[bytes]) -> None:
    for content in contents:
        with pytest.raises(InputError, match=said):
            files(content)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_repeated_ids_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="comes twice"):
        files(zipped(*((name, b"text") for name in names)))


def test_other_compressions_and_encryption_are_refused() -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(InputError, match="other than deflate"):
            files(zipped(("a.txt", b"text"), method=method))
    content = bytearray(zipped(("a.txt", b"text")))
    content[content.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(InputError, match="encrypted"):
        files(bytes(content))


def test_too_many_files_and_folders_are_refused_before_they_are_made() -> None:
    content = zipped(*((f"{number}.txt", b"x") for number in range(11)))
    with pytest.raises(InputError, match="more than 10 files"):
        files(content, ZipLimits(files=10))
    with pytest.raises(InputError, match="more than 10 folders"):
        files(zipped((f"{'a/' * 11}a.txt", b"x")), ZipLimits(files=10))


def test_a_bomb_is_refused_whatever_its_directory_says() -> None:
    bomb = zipped(("a.txt", bytes(10_000_000)))
    assert len(bomb) < 20_000
    with pytest.raises(InputError, match="larger than an honest zip"):
        files(bomb)
    with pytest.raises(InputError, match=r"a\.txt.*larger than 1,000 bytes"):
        files(bomb, ZipLimits(file_bytes=1_000))
    lying = bomb.replace((10_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(InputError, match=r"not a complete zip|larger"):
        files(lying)


def test_files_that_share_their_bytes_are_refused() -> None:
    """The zip bomb of D. Fifield (2019): many entries of the directory refer to one large file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("00.txt", bytes(1_000_000))
        first = archive.infolist()[0]
        for number in range(1, 50):
            copy = zipfile.ZipInfo(f"{number:02}.txt")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(copy, name, getattr(first, name))
            archive.filelist.append(copy)
    with pytest.raises(InputError, match=r"01\.txt.*shares its bytes with another file"):
        files(made.getvalue())


@pytest.mark.slow
def test_garbled_zips_are_refused_or_read_and_nothing_else() -> None:
    content = zipped(*((f"{number}.txt", b"some text " * 50) for number in range(4)))
    rng, messages = random.Random(1), []
    for _ in range(500):
        garbled = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            garbled[rng.randrange(4, len(garbled))] = rng.randrange(256)
        del garbled[rng.choice([len(garbled), rng.randrange(4, len(garbled))]) :]
        try:
            files(bytes(garbled))
        except InputError as error:
            messages.append(str(error))
    assert messages
    assert not any(tempfile.gettempdir() in message for message in messages)
