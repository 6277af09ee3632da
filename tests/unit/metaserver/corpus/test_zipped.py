"""Uploaded zips: honest ones give their articles, others are refused with the reason."""

import io
import random
import stat
import tempfile
import zipfile

import pytest

from metaserver.corpus.zipped import ZipLimits, uploaded_articles
from metaserver.errors import InputError


def zipped(
    *files: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return made.getvalue()


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_a_zip_gives_its_articles_in_order_and_names_their_files() -> None:
    content = zipped(
        ("set/b.txt", b"second"),
        ("set/a.txt", b"first"),
        ("set/", b""),
        ("__MACOSX/._a.txt", b"\0\1"),
        ("README.txt", b"not an article"),
    )
    articles = uploaded_articles("corpus.zip", content)
    assert [(article.id, article.text) for article in articles] == [("a", "first"), ("b", "second")]
    assert articles[0].source == "set/a.txt"


def test_a_file_that_is_no_zip_is_read_as_it_is() -> None:
    articles = uploaded_articles("C:\\articles\\17.txt", "Ä".encode())
    assert [(article.id, article.source) for article in articles] == [("17", "17.txt")]


@pytest.mark.parametrize(
    "name",
    ["../a.txt", "x/../../a.txt", "/etc/a.txt", "a\\b.txt", "C:\\a.txt", "./a.txt", "x//a.txt",
     "a\n.txt", "\u202ea.txt", "x" * 300 + ".txt", "/".join("x" * 300) + ".txt"],
)  # fmt: skip
def test_a_name_that_is_a_way_out_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a plain name"):
        uploaded_articles("c.zip", zipped((name, b"text")))


def test_a_name_with_a_nul_is_refused() -> None:
    content = zipped(("aXb.txt", b"text")).replace(b"aXb.txt", b"a\0b.txt")
    with pytest.raises(InputError, match="not a plain name"):
        uploaded_articles("c.zip", content)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(kind: int) -> None:
    with pytest.raises(InputError, match="a link or a device"):
        uploaded_articles("c.zip", zipped((entry("a.txt", kind | 0o777), b"/etc/passwd")))


@pytest.mark.parametrize("name", ["inner.zip", "a.txt.gz", "a.tgz", "innocent.txt"])
def test_an_archive_within_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="an archive within the archive"):
        uploaded_articles("c.zip", zipped((name, zipped(("a.txt", b"text")))))


@pytest.mark.parametrize("names", [("a.txt", "a.txt"), ("a.txt", "a.txt/b.txt"), ("a/b.txt", "a")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_comes_twice_is_refused(names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="comes twice"):
        uploaded_articles("c.zip", zipped(*((name, b"text") for name in names)))


def test_other_compressions_and_encryption_are_refused() -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(InputError, match="other than deflate"):
            uploaded_articles("c.zip", zipped(("a.txt", b"text"), method=method))
    content = bytearray(zipped(("a.txt", b"text")))
    content[content.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(InputError, match="encrypted"):
        uploaded_articles("c.zip", bytes(content))


def test_too_many_files_are_refused_before_they_are_listed() -> None:
    content = zipped(*((f"{number}.txt", b"x") for number in range(11)))
    with pytest.raises(InputError, match="more than 10 files"):
        uploaded_articles("c.zip", content, ZipLimits(files=10))


def test_a_bomb_is_refused_whatever_its_directory_says() -> None:
    bomb = zipped(("a.txt", bytes(10_000_000)))
    assert len(bomb) < 20_000
    with pytest.raises(InputError, match="larger than an honest zip"):
        uploaded_articles("c.zip", bomb)
    with pytest.raises(InputError, match=r"a\.txt.*larger than 1,000 bytes"):
        uploaded_articles("c.zip", bomb, ZipLimits(file_bytes=1_000))
    lying = bomb.replace((10_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(InputError, match=r"not a whole zip|larger"):
        uploaded_articles("c.zip", lying)


def test_files_that_share_their_bytes_are_refused() -> None:
    """The bomb of D. Fifield (2019): many entries of the directory point at one large file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("00.txt", bytes(1_000_000))
        first = archive.infolist()[0]
        for number in range(1, 50):
            copy = zipfile.ZipInfo(f"{number:02}.txt")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(copy, name, getattr(first, name))
            archive.filelist.append(copy)
    with pytest.raises(InputError):
        uploaded_articles("c.zip", made.getvalue())


def test_what_is_wrong_in_an_article_is_told_with_its_place_in_the_zip() -> None:
    with pytest.raises(InputError) as caught:
        uploaded_articles("c.zip", zipped(("x/a.txt", b"text\n\xff")))
    assert str(caught.value) == "c.zip: x/a.txt:2: not UTF-8; expected UTF-8 text"
    with pytest.raises(InputError, match=r"^c.zip: no article"):
        uploaded_articles("c.zip", zipped(("a.pdf", b"%PDF")))
    with pytest.raises(InputError, match="not a plain file name"):
        uploaded_articles("..", b"text")


def test_garbled_zips_are_refused_or_read_and_nothing_else() -> None:
    content = zipped(*((f"{number}.txt", b"some text " * 50) for number in range(4)))
    rng, told = random.Random(1), []
    for _ in range(500):
        garbled = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            garbled[rng.randrange(4, len(garbled))] = rng.randrange(256)
        del garbled[rng.choice([len(garbled), rng.randrange(4, len(garbled))]) :]
        try:
            uploaded_articles("c.zip", bytes(garbled))
        except InputError as error:
            told.append(str(error))
    assert told
    assert not any(tempfile.gettempdir() in message for message in told)
