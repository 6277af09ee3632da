"""Folders that are named after the process that works in them, which may have ended meanwhile."""

from __future__ import annotations

import os


def is_at_work(pid: int) -> bool:
    """Return whether another process has this id; processes in containers may share ids."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()
