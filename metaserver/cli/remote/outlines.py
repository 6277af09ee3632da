"""All operations' outlines, from which the commands that ask a running hub are made.

Loading the operations takes much longer than asking a hub, so their outlines are built with the
package (`hatch_build.py`), into a file that names its sources. Without that file, or after a change
in the sources, the operations are loaded once and the file is built again.
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
    """The outlines as stored, with the digest of their sources."""

    sources: str
    outlines: tuple[Outline, ...]


def outlines(file: Path = FILE) -> Sequence[Outline]:
    """Return all operations' outlines, by noun."""
    with suppress(OSError, msgspec.MsgspecError):
        built = msgspec.json.decode(file.read_bytes(), type=Built)
        if built.sources == digest():
            return built.outlines
    outlines_made = made_outlines()
    with suppress(OSError):  # the folder is not ours: whoever installed it may build the file
        write(outlines_made, file)
    return outlines_made


def made_outlines() -> Sequence[Outline]:
    """Return the outlines, made from the operations themselves."""
    from metaserver.cli.catalogue import OPERATIONS
    from metaserver.operations import reference

    return reference.outlines(OPERATIONS)


def write(built: Sequence[Outline], file: Path = FILE) -> None:
    """Write the file atomically: others may be reading it."""
    content = msgspec.json.encode(Built(sources=digest(), outlines=tuple(built)))
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(draft).chmod(0o644)  # as the sources beside it
        Path(draft).replace(file)
    finally:
        Path(draft).unlink(missing_ok=True)


def digest() -> str:
    """Return the digest of the package's sources: operations use values from most packages."""
    hashed = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        hashed.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()


if __name__ == "__main__":
    write(made_outlines())
