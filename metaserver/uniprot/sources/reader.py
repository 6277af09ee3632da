"""Sequential reading of a source file, plain or gzip, into records; it is hashed meanwhile."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISFIFO
from typing import Any, NamedTuple, TypeAlias

from isal import igzip
from isal.isal_zlib import error as UnpackError  # noqa: N812

from metaserver.base.errors import InputError

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of bytes read since the last call."""

_BUFFER = 1 << 20
_PIECE = 1 << 13
"""The bytes unpacked at a time, and so the precision of a truncated file's line."""
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def unwatched(size: int) -> None:
    """Ignore the progress."""


class _Watched(io.RawIOBase):
    """A raw file that hashes the bytes read from it, and reports their number."""

    def __init__(self, file: io.FileIO, advance: Advance) -> None:
        self._file = file
        self._advance = advance
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._file.readinto(buffer) or 0
        self.sha256.update(memoryview(buffer)[:size])
        self._advance(size)
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """A gzip stream unpacked in pieces: the data before a cut is returned before the error."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._stream: Any = igzip.IGzipFile(fileobj=file)  # type: ignore[no-untyped-call]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(min(_PIECE, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


class SourceFile:
    """A source file being read, a context manager; `line` is the number of the last line."""

    def __init__(self, path: Path, advance: Advance = unwatched) -> None:
        self.path = path
        self.line = 0
        try:
            status = path.stat()
            if S_ISFIFO(status.st_mode):
                raise InputError(path, "a pipe; expected a file: its beginning is read twice")
            file = path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror}") from error
        self.size = status.st_size
        self._raw = _Watched(file, advance)
        self._file: io.BufferedReader[Any] = io.BufferedReader(self._raw, _BUFFER)
        if self._file.peek(2)[:2] == _GZIP:
            self._file = io.BufferedReader(_Unpacked(self._file), _BUFFER)
        if self.start()[:3] == _BYTE_ORDER_MARK:
            self._file.read(3)

    def __enter__(self) -> SourceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    @property
    def sha256(self) -> str:
        """The stored (compressed) file's checksum, after it was read to its end."""
        return self._raw.sha256.hexdigest()

    def start(self) -> bytes:
        """Return the (unpacked) text's beginning without consuming it."""
        with _unpacking(self):
            return self._file.peek(1)

    def lines(self) -> Iterator[bytes]:
        """Yield the remaining lines without their ends, keeping `line` up to date."""
        with _unpacking(self):
            for line in self._file:
                self.line += 1
                yield line.rstrip(b"\r\n")

    def block(self, size: int) -> bytes:
        """Return the next complete lines, about `size` bytes; empty at the end."""
        with _unpacking(self):
            return self._file.read(size) + self._file.readline()

    def error(self, message: str, line: int | None = None) -> InputError:
        """Return the error for a line, by default the last line read."""
        return InputError(self.path, message, line=self.line if line is None else line)


@contextmanager
def _unpacking(source: SourceFile) -> Iterator[None]:
    """Convert errors of a damaged gzip file into an `InputError` with its line."""
    try:
        yield
    except EOFError as error:
        raise source.error("truncated: the gzip stream ends too early") from error
    except (OSError, UnpackError) as error:  # type: ignore[misc]
        raise source.error(f"cannot be read: {error}") from error


# -- records that source files are read into -------------------------------------------------------


class ProteinEntry(NamedTuple):
    """A UniProtKB entry, as far as its source has it; `line` is its accession's line.

    `names` are its own protein and gene names, without its parts' names; `symbols` are the gene
    names alone, `genes` its NCBI Gene ids. `organism` is its name; if `taxon` is 0 the taxon
    follows from it.
    """

    line: int
    accession: str
    entry_name: str = ""
    taxon: int = 0
    organism: str = ""
    names: Sequence[str] = ()
    secondaries: Sequence[str] = ()
    cluster: str = ""
    symbols: Sequence[str] = ()
    genes: Sequence[int] = ()


class Secondary(NamedTuple):
    """A secondary accession and an entry that it was merged or split into."""

    line: int
    accession: str
    successor: str


class Deleted(NamedTuple):
    """An accession whose entry was removed."""

    line: int
    accession: str


class Membership(NamedTuple):
    """An entry's UniRef50 cluster."""

    line: int
    accession: str
    cluster: str


# -- parsing protein and gene names in UniProt's notation ------------------------------------------

_EVIDENCE = re.compile(r"(?<!\s)\s*\{[^{}]*\}")
_PARTS = re.compile(r"(?<!\s)\s*\[(?:Includes|Contains|Cleaved into):.*", re.DOTALL)
_EC = re.compile(r"EC \d")
_FIELD_END = re.compile(r";(?:\s+|$)")  # names such as `HvPIP2;8` have semicolons of their own
_FLAGS = frozenset({"Fragment", "Fragments", "Precursor"})


def without_evidence(text: str) -> str:
    """Return the text without evidence tags: `doxA {ECO:0000303|PubMed:8226631}` is `doxA`."""
    return _EVIDENCE.sub("", text) if "{" in text else text


def protein_names(text: str) -> list[str]:
    """Return the names in `Full name (Synonym) (Other one) (EC 1.2.3.4) [Cleaved into: ...]`.

    Brackets inside a name stay; EC numbers, flags and part names are left out.

    Example: `protein_names("Cellular tumor antigen p53 (Phosphoprotein p53)")` returns `["Cellular
    tumor antigen p53", "Phosphoprotein p53"]`.
    """
    text = _PARTS.sub("", text).strip().removesuffix(".")
    names = [text]
    while text.endswith(")") and (start := _opening(text)) > 0 and text[start - 1] == " ":
        names[-1:] = [text[start + 1 : -1], text[: start - 1].rstrip()]
        text = names[-1]
    return [name for name in reversed(names) if name not in _FLAGS and not _EC.match(name)]


def _opening(text: str) -> int:
    """Return the index of the bracket closed at the end of `text`, or -1."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if not depth:
            return i
    return -1


def gene_names(text: str) -> Iterator[str]:
    """Yield the names in a flat file's `GN` text: `Name=` and `Synonyms=`, no locus or ORF tags."""
    for field in _FIELD_END.split(without_evidence(text)):
        key, _, value = field.partition("=")
        if key.strip() in ("Name", "Synonyms"):
            yield from filter(None, map(str.strip, value.split(", ")))
