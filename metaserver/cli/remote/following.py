"""A background job that a command began, followed to its end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from metaserver.base.errors import InputError
from metaserver.cli.remote.client import RemoteHub

WAIT = 10.0  # seconds that the hub may hold an answer back
PATH = "/jobs/{job}"
RUNNING, DONE = "running", "done"

Job = Mapping[str, Any]


class JobError(Exception):
    """A job that has changed nothing, and why."""


def followed(hub: RemoteHub, job: Job) -> Any:
    """Return a job's report when it is done; raises `JobError`, or what asking the hub raises.

    The job continues in the hub without this process, which prints how to ask when it is stopped.
    """
    try:
        while job["state"] == RUNNING:
            _print_progress(job)
            wait = 1.0 if sys.stderr.isatty() else WAIT
            job = hub.ask("GET", PATH, places={"job": job["job"]}, query={"wait": wait})
    except (InputError, KeyboardInterrupt):
        print(f"metaserver: not waited for: metaserver jobs get {job['job']}", file=sys.stderr)
        raise
    finally:
        if sys.stderr.isatty():
            print(end="\r\x1b[K", file=sys.stderr)
    if job["state"] != DONE:
        raise JobError(job["error"] or f"the job was {job['state']}")
    return job["report"]


def _print_progress(job: Job) -> None:
    """Show how far a job is, on a terminal alone."""
    if sys.stderr.isatty():
        of = f" {job['done']:,} of {job['total']:,}" if job["total"] else ""
        print(f"\r\x1b[K{job['step']}{of}", end="", file=sys.stderr, flush=True)
