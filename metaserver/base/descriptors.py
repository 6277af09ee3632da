"""Open files: the number that the system allows the hub, and its use.

Each request in flight and each viewer takes a socket. The store's files, the releases and the logs
come first: nothing works without them. The rest is shared in thirds: requests in flight,
connections reused for later requests, and client connections.
"""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from dataclasses import dataclass

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
