"""Tab-separated text from any source: gzip, byte order marks, both kinds of line ends."""

from __future__ import annotations

import gzip
import io
import re
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from scoring.errors import FileProblem, FormatError

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress (.Z)",
}
"""The first bytes of files of other compressions; bzip2 begins as text could (`_BZIP2`)."""
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 19
MOST_UNPACKED = 1 << 29
"""Bytes that a compressed file may unpack to; a run of a million hits has some 30 million."""
MOST_RATIO = 200
"""Bytes that a compressed file may unpack to for each of its own, above a first MiB."""
MOST_LINE = 1 << 16
"""Bytes of one line; a mention or an accession has some tens."""
TOO_LARGE = f"unpacks to more than {MOST_UNPACKED:,} bytes; expected less, or a plain file"
TOO_DENSE = f"unpacks to more than {MOST_RATIO} times its size; expected less, or a plain file"
TOO_LONG = f"a line of more than {MOST_LINE:,} bytes; expected lines of tab-separated text"


def hidden(text: str) -> bool:
    """Return whether a text has control characters or invisible ones (U+200B, U+202E, U+FEFF)."""
    return not text.isprintable() and any(unicodedata.category(one) in _HIDDEN for one in set(text))


_HIDDEN = ("Cc", "Cf")  # control; format, which is shown by nothing or by the order of others


class Piped:
    """The content of a pipe, which can be read only once, kept in memory to be read again."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.name, path
        with path.open("rb") as pipe:
            self.content = pipe.read(MOST_UNPACKED + 1)

    def __str__(self) -> str:
        return str(self._path)

    def open(self) -> io.BufferedReader:
        """Return the bytes as an open file."""
        return io.BufferedReader(io.BytesIO(self.content))


Source: TypeAlias = Path | Piped
"""A file, or a pipe's content: both can be read more than once."""


def rereadable(path: Source | str) -> Source:
    """Return a path as it is, or what comes through a pipe; raises `FormatError`."""
    path = Path(path) if isinstance(path, str) else path
    if isinstance(path, Piped) or path.is_file() or not path.exists() or path.is_dir():
        return path  # what cannot be read is reported where it is read
    try:
        return Piped(path)
    except OSError as error:
        message = f"cannot be read ({error.strerror}); expected a text file, plain or gzip"
        raise FormatError([FileProblem(str(path), 0, 0, message)]) from error


def read_bytes(path: Source) -> bytes:
    """Return a file's bytes, decompressed where they are gzip, without a UTF-8 byte order mark."""
    return b"".join(_chunks(path))


def line_blocks(path: Source) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, each line ended by LF (CRLF becomes LF).

    A block and all that is computed from it stay in a processor's cache. Raises `FormatError` for
    a line beyond `MOST_LINE` that reaches into a second block.
    """
    rest = b""  # of a line that has not ended
    for chunk in _chunks(path):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield _with_plain_ends(rest + chunk[:end])
            rest = b""
        rest += chunk[end:]
        if len(rest) > _BLOCK:
            raise FormatError([FileProblem(str(path), 0, 0, TOO_LONG)])
    if rest:
        yield _with_plain_ends(rest + b"\n")


def _with_plain_ends(block: bytes) -> bytes:
    """Return a block with LF for CRLF; looking for one byte is cheap, for two it is not."""
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block


def _chunks(path: Source) -> Iterator[bytes]:
    """Yield a file's bytes piece by piece; refuses a file that unpacks to too many."""
    size = 0
    with _opened(path) as (file, packed):
        most, message = _most(_size(path), packed=packed)
        while chunk := file.read(_BLOCK):
            size += len(chunk)
            if size > most:
                raise FormatError([FileProblem(str(path), 0, 0, message)])
            yield chunk


def _size(path: Source) -> int:
    return path.stat().st_size if isinstance(path, Path) else len(path.content)


def _most(size: int, *, packed: bool) -> tuple[int, str]:
    """Return how many bytes a file of `size` may give, and the message for one with more.

    A pipe has no size; what comes through it is bounded all the same.
    """
    dense = (1 << 20) + MOST_RATIO * size
    if packed and size and dense < MOST_UNPACKED:
        return dense, TOO_DENSE
    return max(MOST_UNPACKED, size), TOO_LARGE


@contextmanager
def _opened(path: Source) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file after its byte order mark; say whether it is gzip, which is read through."""
    try:
        with path.open("rb") if isinstance(path, Path) else path.open() as raw:
            begin = raw.peek(_LONGEST_BEGIN)
            packed = begin.startswith(_GZIP)
            if kind := _other_compression(begin):
                message = f"compressed by {kind}; expected a text file, plain or gzip"
                raise FormatError([FileProblem(str(path), 0, 0, message)])
            file = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw
            if file.peek(len(_BOM)).startswith(_BOM):
                file.read(len(_BOM))
            yield file, packed
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read ({reason}); expected a text file, plain or gzip"
        raise FormatError([FileProblem(str(path), 0, 0, message)]) from error


_LONGEST_BEGIN = 10


def _other_compression(begin: bytes) -> str | None:
    """Return the name of a compression that is not read, by the first bytes of a file."""
    if _BZIP2.match(begin):
        return "bzip2"
    return next((kind for magic, kind in _OTHERS.items() if begin.startswith(magic)), None)


def read_lines(path: Source) -> Iterator[str]:
    r"""Yield a file's lines without their ends (LF or CRLF); raises `FormatError`.

    One block of the file is held at a time.

    >>> _ = Path("run.tsv").write_text("10.1\tP04637\n10.2\tQ00987\r\n")
    >>> list(read_lines(Path("run.tsv")))
    ['10.1\tP04637', '10.2\tQ00987']
    """
    first = 1
    for block in line_blocks(path):
        for number, line in decoded_lines(path, block, first):
            first = number + 1
            yield line


def decoded_lines(path: Source, block: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a block of a file, numbered from `first`; raises `FormatError`."""
    for number, line in enumerate(block[:-1].split(b"\n"), start=first):
        if len(line) > MOST_LINE:
            raise FormatError([FileProblem(str(path), number, 0, TOO_LONG)])
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            message = f"byte 0x{line[error.start]:02x} is not UTF-8; expected UTF-8 text"
            raise FormatError([FileProblem(str(path), number, 0, message)]) from error
