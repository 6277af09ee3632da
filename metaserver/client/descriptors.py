"""Open files: how many the system allows the hub, and for what it takes them.

A request in flight is a socket, and so is every viewer. What the store, the releases and the logs
open comes first: without it nothing works. The rest is shared in thirds: requests in flight,
connections kept for the next requests, and connections of clients.
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
"""How the system says that there is no more to be had, not only of files."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """How many files may be open, and what follows; `None` where the system sets no bound."""

    allowed: int | None

    @property
    def calls(self) -> int | None:
        """How many requests to servers may be in flight, over all lanes."""
        return self._third

    @property
    def clients(self) -> int | None:
        """How many connections of clients may be open."""
        return self._third

    @property
    def _third(self) -> int | None:
        return None if self.allowed is None else max(1, (self.allowed - RESERVED) // 3)

    def shortage(self, planned: int | None = None) -> str | None:
        """Return one line where there are too few, None where there are enough.

        Enough is for so many requests at a time, or as most hubs need.
        """
        if self.allowed is None or self._third is None:
            return None
        if self.allowed >= ENOUGH if planned is None else self._third >= planned:
            return None
        wanted = ENOUGH if planned is None else RESERVED + 3 * planned
        cap = f"{self.calls}" if planned is None else f"{self.calls} of {planned}"
        return (
            f"{self.allowed} open files are allowed: at most {cap} requests are in flight at a"
            f" time, and {self.clients} connections of clients are open;"
            f" allow {wanted} (ulimit -n {wanted}) for more"
        )


def raise_limit() -> Descriptors:
    """Take as many as the system allows, where it lets us; return how many these are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # it has another bound, as macOS
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return current()


def current() -> Descriptors:
    """Return how many are allowed now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Descriptors(None if soft == resource.RLIM_INFINITY else soft)


def possible() -> Descriptors:
    """Return how many `raise_limit` would take; nothing is changed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Descriptors(None if hard == resource.RLIM_INFINITY else hard)


def exhausted() -> bool:
    """Whether no file can be opened at this moment: what a failed look-up of a name hides."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in SHORTAGES
    return False
