"""Files: those that only their owner may read, folders of ended processes, how many may be open."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# -- files that only their owner may read, whatever the umask is: they hold gold and answers -------

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


# -- folders that are named after the process that works in them -----------------------------------


def is_at_work(pid: int) -> bool:
    """Return whether another process has this id; processes in containers may share ids."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


# -- open files: the number that the system allows the hub, and its use ----------------------------
# Each request in flight and each viewer takes a socket. The store's files, the releases and the
# logs come first: nothing works without them. The rest is shared in thirds: requests in flight,
# connections reused for later requests, and client connections.

RESERVED = 96  # for the store, releases, logs, look-ups of names
ENOUGH = 4_096
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The system's errors for exhausted resources, such as files."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The number of files that may be open; `None` if the system sets no bound."""

    allowed: int | None

    @property
    def calls(self) -> int | None:
        """The most requests to servers that may be in flight, over all lanes."""
        return self._third

    @property
    def clients(self) -> int | None:
        """The maximum number of open client connections."""
        return self._third

    @property
    def _third(self) -> int | None:
        return None if self.allowed is None else max(1, (self.allowed - RESERVED) // 3)

    def shortage(self, planned: int | None = None) -> str | None:
        """Return a line if too few files are allowed, None if there are enough.

        `planned` is the number of concurrent requests; None: as most hubs need.
        """
        if self.allowed is None or self._third is None:
            return None
        if self.allowed >= ENOUGH if planned is None else self._third >= planned:
            return None
        needed = ENOUGH if planned is None else RESERVED + 3 * planned
        cap = f"{self.calls}" if planned is None else f"{self.calls} of {planned}"
        return (
            f"{self.allowed} open files are allowed: at most {cap} requests are in flight at a"
            f" time, and {self.clients} connections of clients are open;"
            f" allow {needed} (ulimit -n {needed}) for more"
        )


def raise_limit() -> Descriptors:
    """Raise the limit to the most that the system allows; return the limit that holds then."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # it has another bound, as macOS
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return current()


def current() -> Descriptors:
    """Return the number of files that may be open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Descriptors(None if soft == resource.RLIM_INFINITY else soft)


def possible() -> Descriptors:
    """Return the limit that `raise_limit` would set; nothing is changed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Descriptors(None if hard == resource.RLIM_INFINITY else hard)


def exhausted() -> bool:
    """Return whether no file can be opened now, which a failed look-up of a name may hide."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in SHORTAGES
    return False
