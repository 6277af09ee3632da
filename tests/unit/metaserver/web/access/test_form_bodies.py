"""Bodies of forms: fields out of bytes in any pieces, within bounds."""

import random

import pytest

from metaserver.web.access.form_bodies import (
    FIELDS,
    PART_HEADERS,
    PARTS,
    TEXT_BYTES,
    CharsetError,
    FormBody,
    MultipartForm,
    Pairs,
    SentFile,
    TooLargeError,
    body_of,
    check_charset,
)

END = b"--B--\r\n"


def part(content: bytes, name: str = "a", more: str = "", headers: bytes = b"") -> bytes:
    """Return a part of a multipart form whose boundary is B."""
    disposition = f'Content-Disposition: form-data; name="{name}"{more}\r\n'.encode()
    return b"--B\r\n" + disposition + headers + b"\r\n" + content + b"\r\n"


def read(body: FormBody, data: bytes, piece: int = 2**16) -> list[tuple[str, str | SentFile]]:
    """Return the fields of a body that comes in pieces."""
    for start in range(0, len(data), piece):
        body.feed(data[start : start + piece])
    return list(body.close().items())


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64, 2**16])
def test_a_multipart_form_comes_in_any_pieces(piece: int) -> None:
    content = random.Random(1).randbytes(300) + b"\r\n--A\r\n--\r\n\r\n-" * 9
    data = b"before it\r\n" + part("tüv".encode()) + part(b"", "empty") + part(b"2", "a")
    data += part(content, "file", '; filename="C:\\a b.txt"', b"Content-Type: text/x;charset=x\r\n")
    assert read(MultipartForm("B"), data + END + b"after it", piece) == [
        ("a", "tüv"),
        ("empty", ""),
        ("a", "2"),
        ("file", SentFile(content, "a b.txt")),
    ]


@pytest.mark.parametrize("piece", [1, 2, 3, 2**16])
def test_an_urlencoded_form_comes_in_any_pieces(piece: int) -> None:
    data = b"a=1&b=%C3%BC+x&a=&c"
    expected = [("a", "1"), ("b", "ü x"), ("a", ""), ("c", "")]
    assert read(Pairs(), data, piece) == expected


def test_the_first_field_is_known_before_the_others() -> None:
    for body, beginning, end in (
        (Pairs(), b"csrf=x", b"&"),
        (MultipartForm("B"), part(b"x", "csrf")[:-2], b"\r\n--B\r\n"),
    ):
        body.feed(beginning)
        assert body.first is None
        body.feed(end)
        assert body.first == ("csrf", "x")


@pytest.mark.parametrize("data", [b"a=%FF", b"\xff=1", b"a=%ED%A0%80"])
def test_an_urlencoded_form_that_is_not_utf8(data: bytes) -> None:
    with pytest.raises(ValueError, match="utf-8"):
        read(Pairs(), data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"--B",
        part(b"cut off"),
        b"--C" + part(b"another boundary") + END,
        b"--B\r\n\r\nno headers\r\n" + END,
        b"--B\r\nContent-Disposition: attachment\r\n\r\nno form-data\r\n" + END,
        b"--B\nContent-Disposition: form-data; name=a\n\nlines of LF\n--B--\n",
        part(b"\xff") + END,
        part(b"x", headers=b"X\xff: y\r\n") + END,
    ],
)
def test_what_is_no_multipart_form(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever
        read(MultipartForm("B"), data)


PARTS_SAID = "more than 64 fields, or a field with more than 4 headers"


@pytest.mark.parametrize(
    ("body", "data", "limit"),
    [
        (Pairs(), b"&" * FIELDS, "more than 1,000 fields"),
        (Pairs(), b"a" * (TEXT_BYTES + 1), "more than 1,048,576 bytes in its fields"),
        (MultipartForm("B"), part(b"") * (PARTS + 1) + END, PARTS_SAID),
        (MultipartForm("B"), part(b"x" * (TEXT_BYTES // 2 + 1)) * 2 + END, "1,048,576 bytes"),
        (MultipartForm("B"), part(b"", headers=b"A: b\r\n" * PART_HEADERS) + END, PARTS_SAID),
        (
            MultipartForm("B"),
            part(b"", headers=b"A: " + b"b" * 5_000 + b"\r\n") + END,
            "a header above 4,096 bytes",
        ),
        (MultipartForm("B"), b"--B\r\n" + b"a" * 2**17, "a header above 4,096 bytes"),
    ],
    ids=["fields", "text", "parts", "texts", "headers", "header", "endless header"],
)
def test_a_form_is_bounded_and_the_limit_named(body: FormBody, data: bytes, limit: str) -> None:
    with pytest.raises(TooLargeError, match=limit):
        read(body, data)


def test_a_file_is_not_bounded_as_texts_are() -> None:
    content = b"\r\n" * TEXT_BYTES
    found = read(MultipartForm("B"), part(content, more='; filename="a"') + END)
    assert found == [("a", SentFile(content, "a"))]


@pytest.mark.parametrize("name", ["punycode", "latin-1", "utf-16", "nonsense", "", "utf_8_sig"])
def test_a_form_is_utf8(name: str) -> None:
    with pytest.raises(CharsetError):
        check_charset(name)
    with pytest.raises(CharsetError):
        body_of("multipart/form-data", {"boundary": "B", "charset": name})
    if name:
        with pytest.raises(CharsetError):
            read(
                MultipartForm("B"),
                part(b"", headers=f"Content-Type: a/b; charset={name}\r\n".encode()),
            )


def test_what_reads_a_body() -> None:
    assert isinstance(body_of("multipart/form-data", {"boundary": "B"}), MultipartForm)
    assert isinstance(body_of("application/x-www-form-urlencoded", {"charset": "UTF-8"}), Pairs)
    assert body_of("application/json", {}) is None
    for boundary in ("", "b" * 71, "\udcff", "a\nb"):
        with pytest.raises(ValueError):  # noqa: PT011 - whichever
            body_of("multipart/form-data", {"boundary": boundary})
