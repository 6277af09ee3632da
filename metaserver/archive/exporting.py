"""Background export: a process of its own writes the archive, so that the loop stays free."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from metaserver.archive.counting import OnProgress
from metaserver.archive.writing import Manifest, export_store
from metaserver.config import Settings
from metaserver.files.private import FOLDER_MODE
from metaserver.phases.jobs import Progress
from metaserver.phases.processes import in_process
from metaserver.store.place import StorePlace

FOLDER = "export"
ARCHIVE = "export.zip"


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """An archive that was written: how many entries it has, and bytes."""

    entries: int
    size: int


class Exporting:
    """Writer of archives in jobs, which keeps the last one; `folder` is its own."""

    def __init__(self, store: StorePlace, folder: Path, settings: Settings) -> None:
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
        done = False
        try:
            arguments = (self._store, self.archive, self._settings)
            manifest = await in_process(_export, arguments, progress)
            size = self.archive.stat().st_size
            done = True
            return Exported(entries=manifest.entries, size=size)
        finally:
            if not done:
                self.clear()


def _export(
    store: StorePlace, out: Path, settings: Settings, *, on_progress: OnProgress
) -> Manifest:
    """Write the archive, in a process of its own."""
    return export_store(store, out, settings, on_progress=on_progress)
