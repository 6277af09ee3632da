"""A hub's process: its signals, its threads, its open files, its garbage."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from metaserver.base import files
from metaserver.base.files import Descriptors

THREADS = 64
STOP_SECONDS = 3.0
STOPPED = 130  # the exit status of a command that was stopped by a signal


def run_to_end(command: Coroutine[Any, Any, int]) -> int:
    """Run a command that works a hub; SIGTERM stops it as Ctrl-C does: by `KeyboardInterrupt`.

    What has not come to an end `STOP_SECONDS` later is dropped, and so it is by a second signal:
    that is no more than a kill, which loses nothing.
    """

    async def stoppable() -> int:
        task = asyncio.current_task()
        assert task is not None
        stop = _Stop(asyncio.get_running_loop(), task)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)  # not the loop's own: it may be busy
        return await command

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        gc.freeze()  # the process ends: no need to look for garbage in all that it has


def prepare_process() -> Descriptors:
    """Prepare the process and its event loop for a hub; return how many files it may open.

    It takes as many files as the system allows, and collects garbage less often: an answer is
    thousands of small objects that live for a millisecond, and Python's own thresholds cost a tenth
    of the time. Names are looked up in threads: a few that are never answered must not hold up the
    others.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "hub"))
    gc.set_threshold(10_000, 10, 10)
    return files.raise_limit()


def say_ready(said: str) -> None:
    """Say that the process works: on standard error, and to systemd if it started it."""
    print(f"metaserver: {said}", file=sys.stderr, flush=True)
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        if address.startswith("@"):  # a name of Linux that is no file
            address = f"\0{address[1:]}"
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.sendto(b"READY=1", address)


async def end_process(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Ask a process of ours to stop, and kill it if it has not within some seconds."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class _Stop:
    """Handles signals: the first cancels the task, the second ends the process at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        self._loop = loop
        self._task = task
        self._stopping = False

    def __call__(self, _number: int, _frame: object) -> None:
        if self._stopping:
            self._leave()
        self._stopping = True
        timer = threading.Timer(STOP_SECONDS, self._leave)
        timer.daemon = True
        timer.start()
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._task.cancel)

    def _leave(self) -> None:
        os.write(2, b"metaserver: stopped\n")  # not by `print`, which the signal may have cut off
        os._exit(STOPPED)
