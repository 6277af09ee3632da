"""Background export: a process of its own writes the archive, so that the loop stays free."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

import msgspec

from metaserver.archive.writing import Manifest, export_store
from metaserver.concurrency import run_uncancelled
from metaserver.config import Settings
from metaserver.files.private import FOLDER_MODE
from metaserver.model.errors import HubError, MetaserverError
from metaserver.phases.jobs import Progress

FOLDER = "export"
ARCHIVE = "export.zip"
REPORT_SECONDS = 0.2  # between two messages of how far it is

Message: TypeAlias = Progress | Manifest | str
"""Progress of the archive; that it is whole; or why there is none."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """An archive that was written: how many entries it has, and bytes."""

    entries: int
    size: int


class Exporting:
    """Writer of archives in jobs, which keeps the last one; `folder` is its own."""

    def __init__(self, store: Path, folder: Path, settings: Settings) -> None:
        self._store = store
        self._folder = folder
        self._settings = settings

    @property
    def archive(self) -> Path:
        """The path of the archive, once it is whole."""
        return self._folder / ARCHIVE

    def clear(self) -> None:
        """Delete what the last export left, also one that a killed hub began."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def write(self, progress: Progress) -> Exported:
        """Write an archive in place of the last one; nothing is left of one that is not whole."""
        self.clear()
        self._folder.mkdir(mode=FOLDER_MODE, parents=True)
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe(duplex=False)
        arguments = (self._store, self.archive, self._settings, theirs)
        process = spawning.Process(target=_export, args=arguments, daemon=True)
        done = False
        try:
            await run_uncancelled(
                asyncio.to_thread(process.start)
            )  # what has not begun cannot be ended
            theirs.close()
            manifest = await asyncio.to_thread(_heard, ours, progress)
            await asyncio.to_thread(process.join)
            size = self.archive.stat().st_size
            done = True
            return Exported(entries=manifest.entries, size=size)
        finally:
            _end(process)
            ours.close()
            if not done:
                self.clear()


def _end(process: BaseProcess) -> None:
    if process.pid is not None:
        process.kill()
        process.join()
    process.close()


def _heard(ours: Connection, progress: Progress) -> Manifest:
    """Take in how far the archive is until it is whole; raises `MetaserverError` if it is not."""
    while True:
        try:
            message: Message = ours.recv()
        except (EOFError, OSError) as error:
            reason = "it was ended before it was whole; the hub's log may say why"
            raise HubError(reason) from error
        match message:
            case Manifest():
                return message
            case str():
                raise MetaserverError(message)
        progress.step, progress.done, progress.total = message.step, message.done, message.total


def _export(store: Path, out: Path, settings: Settings, theirs: Connection) -> None:
    """Write the archive in a process of its own; send its progress, then its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the hub's to handle
    last = 0.0
    step = ""

    def report(progress: Progress) -> None:
        nonlocal last, step
        if progress.step != step or time.monotonic() - last > REPORT_SECONDS:
            last, step = time.monotonic(), progress.step
            theirs.send(progress)

    try:
        theirs.send(export_store(store, out, settings, on_progress=report))
    except MetaserverError as error:
        theirs.send(str(error))
