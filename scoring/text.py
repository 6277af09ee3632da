"""Tab-separated text as it comes from anywhere: gzip, byte order marks, both kinds of line ends."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from scoring.errors import FormatError, Problem

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 19
MOST_UNPACKED = 1 << 29
"""Bytes that a compressed file may unpack to; a run of a million hits has some 30 million."""
TOO_LARGE = f"unpacks to more than {MOST_UNPACKED:,} bytes; expected less, or a plain file"


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, decompressed where they are gzip, without a UTF-8 byte order mark."""
    return b"".join(_chunks(path))


def line_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, each line ended by LF (CRLF becomes LF).

    A block and all that is computed from it stay in a processor's cache.
    """
    rest: list[bytes] = []  # of a line that has not ended
    for chunk in _chunks(path):
        end = chunk.rfind(b"\n") + 1
        if end:
            block = b"".join([*rest, chunk[:end]])
            if b"\r" in block:  # looking for one byte is cheap, for two it is not
                block = block.replace(b"\r\n", b"\n")
            yield block
            rest = []
        rest.append(chunk[end:])
    if any(rest):
        yield b"".join([*rest, b"\n"])


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes piece by piece; refuses a file that unpacks to too many."""
    size = 0
    with _opened(path) as file:
        most = max(MOST_UNPACKED, path.stat().st_size)
        while chunk := file.read(_BLOCK):
            size += len(chunk)
            if size > most:
                raise FormatError([Problem(str(path), 0, 0, TOO_LARGE)])
            yield chunk


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading after its byte order mark, through gzip where it is gzip."""
    try:
        with path.open("rb") as raw:
            packed = raw.peek(len(_GZIP)).startswith(_GZIP)
            file = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw
            if file.peek(len(_BOM)).startswith(_BOM):
                file.read(len(_BOM))
            yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read ({reason}); expected a text file, plain or gzip"
        raise FormatError([Problem(str(path), 0, 0, message)]) from error


def read_lines(path: Path) -> list[str]:
    """Return a file's lines without their ends (LF or CRLF); raises `FormatError`."""
    data = read_bytes(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; expected UTF-8 text"
        raise FormatError([Problem(str(path), line, 0, message)]) from error
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
