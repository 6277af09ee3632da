"""The export under way: written by a process of its own, so that the hub's loop stays free."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from metaserver.archive.writing import export_store
from metaserver.config import Settings
from metaserver.errors import MetaserverError
from metaserver.private import FOLDER_MODE

FOLDER = "export"
ARCHIVE = "export.zip"


class ExportJob:
    """At most one export at a time, and the archive that the last one left; `folder` is its own."""

    def __init__(self, store: Path, folder: Path, settings: Settings) -> None:
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self.failed = ""
        self._store = store
        self._folder = folder
        self._settings = settings
        self._process: BaseProcess | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def under_way(self) -> bool:
        """Whether an archive is being written."""
        return self._task is not None and not self._task.done()

    @property
    def archive(self) -> Path | None:
        """The archive, if one is there to be fetched."""
        path = self._folder / ARCHIVE
        return path if self.ended_at is not None and path.is_file() else None

    @property
    def written(self) -> int:
        """How many bytes of the archive under way are written, its copy of the store among them."""
        found = self._folder.rglob("*") if self.under_way else []
        size = 0
        for path in found:
            with suppress(OSError):  # gone meanwhile
                size += path.stat().st_size if path.is_file() else 0
        return size

    def begin(self) -> None:
        """Begin an export in place of the last one; where one is under way, nothing."""
        if not self.under_way:
            self.clear()
            self.began_at = time.time()
            self._task = asyncio.create_task(self._run(), name="export")

    def clear(self) -> None:
        """Delete what the last export left, also one that a killed hub began."""
        self.began_at = self.ended_at = None
        self.failed = ""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def close(self) -> None:
        """End the export under way, and delete what there is."""
        if self._process is not None:
            self._process.terminate()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self.clear()

    async def _run(self) -> None:
        self._folder.mkdir(mode=FOLDER_MODE, parents=True)
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe(duplex=False)
        given = (self._store, self._folder / ARCHIVE, self._settings, theirs)
        self._process = spawning.Process(target=_export, args=given, daemon=True)
        try:
            await asyncio.to_thread(self._process.start)
            theirs.close()
            self.failed = await asyncio.to_thread(_told, ours)
            await asyncio.to_thread(self._process.join)
        finally:
            ours.close()
            self._process.close()
            self._process = None
        self.ended_at = time.time()


def _told(ours: Connection) -> str:
    try:
        return str(ours.recv())
    except EOFError:
        return "it was ended before it was whole; the hub's log may say why"


def _export(store: Path, out: Path, settings: Settings, theirs: Connection) -> None:
    """Write the archive in a process of its own; tell why it could not be, or nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the hub's to handle
    try:
        export_store(store, out, settings)
    except MetaserverError as error:
        theirs.send(str(error))
    else:
        theirs.send("")
