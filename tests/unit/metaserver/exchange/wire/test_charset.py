"""Precedence of encodings: the byte order mark's, the HTTP header's, the declaration's."""

import encodings

import pytest

from metaserver.base.states import Outcome
from metaserver.exchange.wire.charset import charset_of
from metaserver.exchange.wire.values import Value, WireError
from metaserver.exchange.wire.xmlrpc import Decoder


def read(body: bytes, charset: str | None, size: int = 10**6) -> Value:
    decoder = Decoder(charset=charset)
    for start in range(0, len(body), size):
        decoder.feed(body[start : start + size])
    return decoder.response()


def message(encoding: str, declared: str | None, text: str = "é") -> bytes:
    said = f" encoding='{declared}'" if declared else ""
    params = f"<params><param><value>{text}</value></param></params>"
    return f"<?xml version='1.0'{said}?><methodResponse>{params}</methodResponse>".encode(encoding)


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/xml", None),
        ("", None),
        ("text/xml; charset=utf-8", "utf-8"),
        ("text/xml;charset=UTF-8", "utf-8"),
        ("text/xml; Charset = 'ISO-8859-1'; x=y", "iso-8859-1"),
        ('application/xml; x=y; charset="windows-1252"', "windows-1252"),
        ("text/html; charset=x; charset=utf-8", "x"),
        ("text/xml; charset=", None),
        ("text/xml; xcharset=utf-8", None),
        ("charset=utf-8", None),
        ("text/xml; charset=" + "a" * 8_000, "a" * 40),
        (";" * 8_000, None),
        ("; charset" * 900, None),
        (";" + " " * 8_000, None),
    ],
)
def test_the_header_names_a_charset(content_type: str, charset: str | None) -> None:
    assert charset_of(content_type) == charset


@pytest.mark.parametrize("size", [1, 3, 10**6])
@pytest.mark.parametrize(
    ("charset", "declared", "encoding"),
    [
        # Only one of them says something, or both the same.
        ("iso-8859-1", None, "latin-1"),
        ("ISO_8859-15".lower(), None, "iso-8859-15"),
        ("windows-1252", None, "cp1252"),
        ("utf-8", None, "utf-8"),
        ("utf8", "UTF-8", "utf-8"),
        ("iso-8859-1", "iso-8859-1", "latin-1"),
        ("shift_jis", None, "utf-8"),
        # The header counts (RFC 7303).
        ("iso-8859-1", "utf-8", "latin-1"),
        ("windows-1252", "utf-8", "cp1252"),
        ("utf-16le", "utf-8", "utf-16-le"),
        # UTF-8 and ASCII are added by frameworks: bytes that are none are the declaration's.
        ("utf-8", "iso-8859-1", "utf-8"),
        ("utf-8", "iso-8859-1", "latin-1"),
        ("utf-8", "windows-1252", "cp1252"),
        ("us-ascii", None, "utf-8"),
        ("us-ascii", "utf-8", "utf-8"),
        ("us-ascii", "iso-8859-1", "latin-1"),
        # Byte order marks and UTF-16 are detected, whatever the header says.
        ("iso-8859-1", "iso-8859-1", "utf-8-sig"),
        ("utf-8", "utf-16", "utf-16"),
        ("iso-8859-1", "utf-16", "utf-16"),
        ("utf-16", "utf-16", "utf-16-be"),
    ],
)
def test_the_encoding_that_counts(charset, declared, encoding, size):
    text = "ASCII" if charset == "shift_jis" else "é"
    assert read(message(encoding, declared, text), charset, size) == text


@pytest.mark.parametrize("size", [1, 2, 5, 10**6])
def test_utf_8_is_read_up_to_the_first_invalid_byte(size: int) -> None:
    head, _, tail = message("utf-8", "iso-8859-1", "|").partition(b"|")
    mixed = head + "α é ".encode() + "é à".encode("latin-1") + tail
    assert read(mixed, "utf-8", size) == "α é é à"
    with pytest.raises(WireError, match="invalid token"):
        read(mixed.replace(b"iso-8859-1", b"utf-8"), "utf-8", size)


ODD = ["utf-7", "punycode", "idna", "zlib", "hex", "rot13", "unicode_escape", "raw_unicode_escape",
       "undefined", "mbcs", "utf-32", "x-none", "a" * 40, "base64", "bz2", "charmap"]  # fmt: skip


@pytest.mark.parametrize("charset", ODD)
@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1"])
def test_a_charset_that_is_not_known_says_nothing_and_is_not_looked_for(charset, declared):
    before = set(encodings._cache)
    encoding = declared or "utf-8"
    assert read(message(encoding, declared), charset) == "é"
    with pytest.raises(WireError) as caught:
        read(message("latin-1", "utf-8"), charset)
    assert caught.value.outcome is Outcome.SYNTAX
    assert set(encodings._cache) == before


@pytest.mark.parametrize("charset", ["utf8mb4", "utf-8-sig", "windows-31j"])
def test_names_that_databases_and_windows_have_are_known(charset: str) -> None:
    encoding = "cp932" if charset == "windows-31j" else "utf-8"
    assert read(message(encoding, None, "日本"), charset) == "日本"


@pytest.mark.parametrize("declared", ODD)
def test_nor_is_one_that_is_only_declared(declared: str) -> None:
    before = set(encodings._cache)
    for charset in (None, "us-ascii"):
        with pytest.raises(WireError, match="is not known"):
            read(message("utf-8", declared), charset)
    assert read(message("utf-8", declared), "utf-8") == "é"  # the header counts
    assert set(encodings._cache) == before
