"""Work of a job in a process of its own, so that the event loop stays free."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import msgspec

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import HubError, MetaserverError
from metaserver.phases.jobs import Progress

REPORT_SECONDS = 0.2  # between two messages of how far it is

R = TypeVar("R", bound=msgspec.Struct)


async def in_process(work: Callable[..., R], arguments: tuple[Any, ...], progress: Progress) -> R:
    """Return the result of `work(*arguments, on_progress=...)`, done in a process of its own.

    Both are sent to the process, and `progress` follows it. A `MetaserverError` there is raised
    here, by its words. Cancelled, or where the hub ends, the process is killed.
    """
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_work, args=(work, arguments, theirs), daemon=True)
    try:
        await run_uncancelled(asyncio.to_thread(process.start))  # unbegun, it cannot be ended
        theirs.close()
        result: R = await asyncio.to_thread(_heard, ours, progress)
        await asyncio.to_thread(process.join)
        return result
    finally:
        _end(process)
        ours.close()


def _end(process: BaseProcess) -> None:
    if process.pid is not None:
        process.kill()
        process.join()
    process.close()


def _heard(ours: Connection, progress: Progress) -> Any:
    """Take in how far the work is until it is done; raises `MetaserverError` if it fails."""
    while True:
        try:
            message = ours.recv()
        except (EOFError, OSError) as error:
            reason = "it was ended before it was whole; the hub's log may say why"
            raise HubError(reason) from error
        match message:
            case Progress():
                progress.step, progress.done = message.step, message.done
                progress.total = message.total
            case str():
                raise MetaserverError(message)
            case _:
                return message


def _work(work: Callable[..., Any], arguments: tuple[Any, ...], theirs: Connection) -> None:
    """Do the work; send its progress, then its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the hub's to handle
    last = 0.0
    step = ""

    def report(progress: Progress) -> None:
        nonlocal last, step
        if progress.step != step or time.monotonic() - last > REPORT_SECONDS:
            last, step = time.monotonic(), progress.step
            theirs.send(progress)

    try:
        theirs.send(work(*arguments, on_progress=report))
    except MetaserverError as error:
        theirs.send(str(error))
