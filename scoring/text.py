"""Tab-separated text as it comes from anywhere: gzip, byte order marks, both kinds of line ends."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from scoring.errors import FormatError, Problem

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, decompressed where they are gzip, without a UTF-8 byte order mark."""
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read ({reason}); expected a text file, plain or gzip"
        raise FormatError([Problem(str(path), 0, 0, message)]) from error
    return data.removeprefix(_BOM)


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
