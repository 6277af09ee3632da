"""Memory that a large piece of work has freed."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Give freed memory back to the system; glibc keeps what lies between blocks in use.

    It takes some hundredths of a second. Other C libraries have no such call, and need none.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
