"""Files that their owner alone may read, whatever the umask is: gold and answers are in them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def create(path: Path) -> IO[bytes]:
    """Open a new file to write and read, in place of any that is there; links are not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(_open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR), "w+b")


def open_or_create(path: Path) -> IO[bytes]:
    """Open a file to write and read as it is, or a new one; it becomes its owner's alone."""
    return os.fdopen(_open(path, os.O_CREAT | os.O_RDWR), "r+b")


def _open(path: Path, flags: int) -> int:
    number = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    with suppress(PermissionError):  # it was there already, and is somebody else's
        os.fchmod(number, FILE_MODE)
    return number
