"""Packages made in jobs, each in its own process; each phase's last package is kept."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec

from metaserver.base.errors import HubError
from metaserver.base.files import FOLDER_MODE, create
from metaserver.base.zips import files_in, write_zip
from metaserver.config import Settings
from metaserver.phases.jobs import OnProgress, Progress, in_process
from metaserver.publication.making import PackageOrder, make_package
from metaserver.store.place import StorePlace

FOLDER = "results"


class PackageReport(msgspec.Struct, frozen=True, kw_only=True):
    """A finished package: its phase, files, zip size, and whether it has gold."""

    phase: str
    files: int
    size: int
    gold: bool


class Packaging:
    """Makes packages, and keeps each phase's last; `folder` is its own."""

    def __init__(self, store: StorePlace, folder: Path, settings: Settings) -> None:
        self._store = store
        self._folder = folder
        self._settings = settings

    def package(self, phase: str) -> Path:
        """Return the path of a phase's package, once it is whole."""
        return self._folder / f"{phase}.zip"

    def clear(self) -> None:
        """Delete all packages, even a package that a killed hub began."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def make(self, order: PackageOrder, progress: Progress) -> PackageReport:
        """Make a package in place of the phase's last package; a failure leaves nothing behind."""
        out = self.package(order.phase)
        draft = self._folder / f".{order.phase}"
        out.unlink(missing_ok=True)
        shutil.rmtree(draft, ignore_errors=True)
        self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        try:
            arguments = (self._store, self._settings, order, draft, out)
            return await in_process(_make, arguments, progress)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _make(
    store: StorePlace,
    settings: Settings,
    order: PackageOrder,
    draft: Path,
    out: Path,
    *,
    on_progress: OnProgress,
) -> PackageReport:
    """Make a package and zip it, in its own process."""
    files = asyncio.run(make_package(store, settings, order, draft / "package", on_progress))
    on_progress(Progress(step="packing"))
    try:
        zip_folder(draft / "package", draft / "package.zip", f"results-{order.phase}")
        size = (draft / "package.zip").stat().st_size
        (draft / "package.zip").replace(out)
    except OSError as error:
        raise HubError(f"the package cannot be written: {error.strerror}") from error
    return PackageReport(phase=order.phase, files=files, size=size, gold=order.gold)


def zip_folder(folder: Path, out: Path, top: str) -> None:
    """Write a package's folder as a zip of one folder, `top`."""
    with create(out) as file:
        write_zip(file, files_in(folder, top))
