"""`metaserver results`: the results package of a phase, made by a running hub, as a folder here.

The package is not trusted: it is bounded before anything is unpacked.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from metaserver.base import files
from metaserver.base.errors import HubError, InputError, counted
from metaserver.base.files import FOLDER_MODE
from metaserver.base.zips import CHECKSUMS
from metaserver.cli.arguments import DEFAULT_URL, URL_VARIABLE
from metaserver.cli.remote.client import AnsweredError, JobError, RemoteHub, followed, read_url
from metaserver.cli.remote.commands import DONE, REFUSED, fetch, read_token
from metaserver.cli.remote.tables import print_refusal

CHUNK = 2**16
MAX_DIRECTORY = 2**23
"""The most bytes of a zip's directory, which is read completely, with 46 bytes or more an entry."""
MAX_ENTRIES = 100_000
MAX_CHECKSUMS = 2**24
MAX_CONTENT = 2**28
"""The maximum bytes in an entry, which is read into memory."""
MAX_RATIO = 1_100
"""The most bytes that a package may unpack to per compressed byte: deflate's limit is 1,032:1.

So no hub's package is refused, however compressible its answers are; entries that share their
bytes are.
"""
SMALL = 2**26
"""How many bytes any package may unpack to."""
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError, ValueError, OSError,
    NotImplementedError,
)  # fmt: skip


class Checksum(NamedTuple):
    """The checksum and the size that an entry must have."""

    sha256: str
    size: int


class _Bounded(io.BufferedReader):
    """A file that refuses to read more bytes than a zip's directory may have."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size - self.tell()
        if size > MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory is larger than {MAX_DIRECTORY:,} bytes")
        return super().read(size)


class ZipReader:
    """Reads entries, each verified by its checksum in `sums`; raises `InputError`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        try:
            self._file = _Bounded(io.FileIO(place))
        except OSError as error:
            raise InputError(place, error.strerror or str(error)) from error
        try:
            self._zip = zipfile.ZipFile(self._file)
            self._require_plausible(place.stat().st_size)
            self._top = self._only_folder()
            self.sums = self._read_checksums()
        except InputError:
            self.close()
            raise
        except _BROKEN as error:
            self.close()
            raise InputError(place, f"not a complete zip file: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, name: str) -> bytes:
        """Return the content of an entry of `sums`, at most 256 MiB."""
        expected = self.sums[name]
        if expected.size > MAX_CONTENT:
            raise InputError(self._place, f"{name} has more than {MAX_CONTENT >> 20} MiB")
        content = bytearray()
        try:
            with self._zip.open(self._top + name) as file:
                while len(content) <= expected.size and (chunk := file.read(CHUNK)):
                    content += chunk
        except _BROKEN as error:
            raise InputError(self._place, f"{name} cannot be read: {error}") from error
        if (hashlib.sha256(content).hexdigest(), len(content)) != expected:
            raise InputError(self._place, f"{name} is not as it was written: the checksum differs")
        return bytes(content)

    def _require_plausible(self, size: int) -> None:
        """Refuse a package that no hub makes, by its directory alone."""
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise InputError(self._place, f"holds more than {MAX_ENTRIES:,} entries")
        if len({entry.filename for entry in entries}) < len(entries):
            raise InputError(self._place, "an entry comes twice")
        if any(
            entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS for entry in entries
        ):
            raise InputError(self._place, "an entry is encrypted, or not compressed by deflate")
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > max(SMALL, MAX_RATIO * size):
            message = f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO:,} times its size"
            raise InputError(self._place, message)

    def _only_folder(self) -> str:
        """Return the folder that a package consists of, with its slash."""
        tops = {name.partition("/")[0] for name in self._zip.namelist()}
        if len(tops) != 1:
            raise InputError(self._place, "not a package of a hub: expected one folder in it")
        return f"{tops.pop()}/"

    def _read_checksums(self) -> Mapping[str, Checksum]:
        try:
            if self._zip.getinfo(self._top + CHECKSUMS).file_size > MAX_CHECKSUMS:
                raise InputError(self._place, f"{CHECKSUMS} is too large")
            with self._zip.open(self._top + CHECKSUMS) as file:
                rows = [line.rstrip("\n").split("\t") for line in io.TextIOWrapper(file, "utf-8")]
            return {name: Checksum(sha256, int(size)) for sha256, size, name in rows}
        except _BROKEN as error:
            message = f"not a package of a hub: {CHECKSUMS} is missing or broken"
            raise InputError(self._place, message) from error


PATH = "/phases/{phase}/results-package"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    out: Path = args.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("--out", f"{out} is there already; expected a new or empty folder")
    hub = RemoteHub(
        url=read_url(args.hub or os.environ.get(URL_VARIABLE) or DEFAULT_URL),
        token=read_token(args.token_file),
    )
    try:
        body = {"gold": args.gold, "license": args.license, "authors": "\n".join(args.author)}
        job = hub.ask("POST", PATH, places={"phase": args.phase}, body=body)
        followed(hub, job)
        with tempfile.TemporaryDirectory(prefix="metaserver-results-") as folder:
            place = Path(folder) / "results.zip"
            with files.create(place) as file:
                fetch(hub, f"{PATH}/content", {"phase": args.phase}, file)
            count = unpack(place, out)
    except (AnsweredError, JobError) as error:
        print_refusal(error)
        return REFUSED
    print(f"{out}: {counted(count, 'file')}; open {out / 'report.html'}")
    return DONE


def unpack(place: Path, out: Path) -> int:
    """Write the files of a package into a folder, each verified; return how many there are."""
    package = ZipReader(place)
    try:
        if strange := [name for name in package.sums if not _NAME.fullmatch(name)]:
            raise InputError("--hub", f"its package has a file {strange[0]!r}: nothing is written")
        sums = []
        for name, (digest, size) in package.sums.items():
            _write(out / name, package.read(name))
            sums.append(f"{digest}\t{size}\t{name}\n")
        _write(out / CHECKSUMS, "".join(sums).encode())
    finally:
        package.close()
    return len(sums) + 1


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with files.create(path) as file:
            file.write(content)
    except OSError as error:
        raise HubError(f"{path}: {error.strerror}") from error
