"""The outlines of all operations, from which the commands that ask a running hub are made.

Loading the operations takes much longer than asking a hub does, so their outlines are built with
the package (`hatch_build.py`), into a file that names the sources it is of. Where there is no such
file, or the sources were changed since, the operations are loaded once and the file is built again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from metaserver.operations.outline import Outline

PACKAGE = Path(__file__).parents[2]
FILE = Path(__file__).with_name("outlines.json")


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """The outlines as they are kept, with the digest of the sources that they are made from."""

    sources: str
    outlines: tuple[Outline, ...]


def outlines(file: Path = FILE) -> Sequence[Outline]:
    """Return the outlines of all operations, by noun."""
    with suppress(OSError, msgspec.MsgspecError):
        built = msgspec.json.decode(file.read_bytes(), type=Built)
        if built.sources == digest():
            return built.outlines
    made = made_outlines()
    with suppress(OSError):  # the folder is not ours: whoever installed it may build the file
        write(made, file)
    return made


def made_outlines() -> Sequence[Outline]:
    """Return the outlines, made from the operations themselves."""
    from metaserver.cli.catalogue import OPERATIONS
    from metaserver.operations import reference

    return reference.outlines(OPERATIONS)


def write(made: Sequence[Outline], file: Path = FILE) -> None:
    """Write the file in one step: others may be reading it."""
    content = msgspec.json.encode(Built(sources=digest(), outlines=tuple(made)))
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(draft).chmod(0o644)  # as the sources beside it
        Path(draft).replace(file)
    finally:
        Path(draft).unlink(missing_ok=True)


def digest() -> str:
    """Return the digest of the package's sources: operations use values of most packages."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        found.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


if __name__ == "__main__":
    write(made_outlines())
