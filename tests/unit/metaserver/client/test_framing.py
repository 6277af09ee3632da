"""Heads of answers that give their length twice: which are mended, and what is held back."""

import pytest

from metaserver.client.framing import MAX_HEADER_BYTES, HeaderBuffer, without_content_length

STATUS = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 99\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
BOTH = STATUS + LENGTH + CHUNKED + b"\r\n"


@pytest.mark.parametrize(
    ("head", "mended"),
    [
        (BOTH, STATUS + CHUNKED + b"\r\n"),
        (STATUS + CHUNKED + LENGTH + b"\r\n", STATUS + CHUNKED + b"\r\n"),
        (b"HTTP/1.1 500\r\nA: b\r\ncontent-length:0\r\ntransfer-encoding:\tCHUNKED \r\n\r\n",
         b"HTTP/1.1 500\r\nA: b\r\ntransfer-encoding:\tCHUNKED \r\n\r\n"),
    ],
    ids=["length first", "chunks first", "other letters"],
)  # fmt: skip
def test_the_length_goes_where_chunks_override_it(head: bytes, mended: bytes) -> None:
    assert without_content_length(head) == mended


@pytest.mark.parametrize(
    "head",
    [
        STATUS + LENGTH + b"\r\n",
        STATUS + CHUNKED + b"\r\n",
        STATUS + LENGTH + LENGTH + CHUNKED + b"\r\n",
        STATUS + LENGTH + CHUNKED + CHUNKED + b"\r\n",
        STATUS + LENGTH + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        STATUS + LENGTH + b"Transfer-Encoding: xchunked\r\n\r\n",
        STATUS + LENGTH + b"Transfer-Encoding: chunked\x00\r\n\r\n",
        STATUS + LENGTH + b"Transfer-Encoding:\r\n chunked\r\n\r\n",
        STATUS + LENGTH + b"Transfer-Encoding : chunked\r\n\r\n",
        STATUS + b"Content-Length: +9\r\n" + CHUNKED + b"\r\n",
        STATUS + b"Content-Length: 9, 9\r\n" + CHUNKED + b"\r\n",
        STATUS + LENGTH + b"X: a\rb\r\n" + CHUNKED + b"\r\n",
        STATUS + LENGTH + b"X: a\nb\r\n" + CHUNKED + b"\r\n",
        STATUS + LENGTH + b"nonsense\r\n" + CHUNKED + b"\r\n",
        BOTH.replace(b"\r\n", b"\n"),
        BOTH.replace(b"1.1", b"1.0"),
        BOTH.replace(b"200", b"100"),
        b"",
    ],
)
def test_any_other_head_is_left_to_the_parser(head: bytes) -> None:
    assert without_content_length(head) is None


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
@pytest.mark.parametrize(
    ("head", "passed_on"),
    [
        (BOTH, STATUS + CHUNKED + b"\r\n"),
        (STATUS + LENGTH + b"\r\n", STATUS + LENGTH + b"\r\n"),
        (b"HTTP/1.1 200 OK\n\n", b"HTTP/1.1 200 OK\n\n"),
    ],
    ids=["both", "a length", "bare line feeds"],
)
def test_a_head_goes_on_when_it_is_whole(head: bytes, passed_on: bytes, size: int) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    held, taken = HeaderBuffer(), []
    for start in range(0, len(interim + head), size):
        held.add((interim + head)[start : start + size])
        while ready := held.take():
            taken.append((ready, held.interim))
    assert taken == [(interim, True), (passed_on, False)]
    assert held.overridden is (head is BOTH)


@pytest.mark.parametrize("data", [b"220 mail", b"\x15\x03\x01", b"<html>", b"\r\n" + BOTH])
def test_what_is_no_head_is_not_held_back(data: bytes) -> None:
    held = HeaderBuffer()
    held.add(data)
    assert held.take() == data
    assert held.rest() == b""


def test_a_head_without_end_is_held_back_only_so_far() -> None:
    held = HeaderBuffer()
    held.add(STATUS)
    held.add(b"X" * (MAX_HEADER_BYTES - len(STATUS) - 1))
    assert held.take() == b""
    held.add(b"X")
    assert len(held.take()) == MAX_HEADER_BYTES


def test_a_body_that_comes_with_its_head_is_not_part_of_it() -> None:
    held = HeaderBuffer()
    held.add(BOTH + b"x" * 2 * MAX_HEADER_BYTES)
    assert held.take() == STATUS + CHUNKED + b"\r\n" + b"x" * 2 * MAX_HEADER_BYTES
    assert held.overridden
