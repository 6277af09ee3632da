"""Files that only their owner may read, whatever the umask is: they hold gold and answers."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def create(path: Path) -> IO[bytes]:
    """Open a new file to write and read, replacing any existing file; links are not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(_open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR), "w+b")


def open_or_create(path: Path) -> IO[bytes]:
    """Open an existing or new file to write and read; only its owner may read it then."""
    return os.fdopen(_open(path, os.O_CREAT | os.O_RDWR), "r+b")


def _open(path: Path, flags: int) -> int:
    number = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    with suppress(PermissionError):  # it existed, and another user owns it
        os.fchmod(number, FILE_MODE)
    return number
