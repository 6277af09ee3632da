"""Headers that state the length twice: those that are corrected, and the bytes held back."""

import pytest

from metaserver.exchange.http.connections import (
    MAX_HEADER_BYTES,
    HeaderBuffer,
    without_content_length,
)

STATUS = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 99\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
BOTH = STATUS + LENGTH + CHUNKED + b"\r\n"


@pytest.mark.parametrize(
    ("header", "corrected"),
    [
        (BOTH, STATUS + CHUNKED + b"\r\n"),
        (STATUS + CHUNKED + LENGTH + b"\r\n", STATUS + CHUNKED + b"\r\n"),
        (b"HTTP/1.1 500\r\nA: b\r\ncontent-length:0\r\ntransfer-encoding:\tCHUNKED \r\n\r\n",
         b"HTTP/1.1 500\r\nA: b\r\ntransfer-encoding:\tCHUNKED \r\n\r\n"),
    ],
    ids=["length first", "chunks first", "other letters"],
)  # fmt: skip
def test_a_length_that_chunks_override_is_removed(header: bytes, corrected: bytes) -> None:
    assert without_content_length(header) == corrected


@pytest.mark.parametrize(
    "header",
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
def test_any_other_header_is_left_to_the_parser(header: bytes) -> None:
    assert without_content_length(header) is None


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
@pytest.mark.parametrize(
    ("header", "passed_on"),
    [
        (BOTH, STATUS + CHUNKED + b"\r\n"),
        (STATUS + LENGTH + b"\r\n", STATUS + LENGTH + b"\r\n"),
        (b"HTTP/1.1 200 OK\n\n", b"HTTP/1.1 200 OK\n\n"),
        (b"HTTP/1.1 200\n\n", b"HTTP/1.1 200\n\n"),
    ],
    ids=["both", "a length", "bare line feeds", "shorter than the interim one"],
)
def test_a_header_is_passed_on_when_it_is_complete(header, passed_on, size):
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    held, taken = HeaderBuffer(), []
    for start in range(0, len(interim + header), size):
        held.add((interim + header)[start : start + size])
        while ready := held.take():
            taken.append((ready, held.interim))
    assert taken == [(interim, True), (passed_on, False)]
    assert held.overridden is (header is BOTH)


@pytest.mark.parametrize("data", [b"220 mail", b"\x15\x03\x01", b"<html>", b"\r\n" + BOTH])
def test_other_bytes_are_not_held_back(data: bytes) -> None:
    held = HeaderBuffer()
    held.add(data)
    assert held.take() == data
    assert held.rest() == b""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    held = HeaderBuffer()
    held.add(interim + data)
    assert (held.take(), held.interim) == (interim, True)
    assert (held.take(), held.interim) == (data, False)


def test_a_header_without_end_is_held_back_up_to_a_limit() -> None:
    held = HeaderBuffer()
    held.add(STATUS)
    held.add(b"X" * (MAX_HEADER_BYTES - len(STATUS) - 1))
    assert held.take() == b""
    held.add(b"X")
    assert len(held.take()) == MAX_HEADER_BYTES


def test_a_body_received_with_its_header_is_not_part_of_it() -> None:
    held = HeaderBuffer()
    held.add(BOTH + b"x" * 2 * MAX_HEADER_BYTES)
    assert held.take() == STATUS + CHUNKED + b"\r\n" + b"x" * 2 * MAX_HEADER_BYTES
    assert held.overridden


def test_a_short_header_behind_an_interim_one_goes_on_at_once() -> None:
    interim, short = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200\n\n"
    held = HeaderBuffer()
    held.add(interim[:-1])
    assert held.take() == b""
    held.add(interim[-1:] + short)
    assert held.take() == interim
    assert held.take() == short
