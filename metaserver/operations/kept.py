"""Files made by jobs, in a hub with several processes: shared through the store.

A process that is alone keeps them where it made them, except published packages: these outlast it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.errors import HubError
from metaserver.base.files import FOLDER_MODE, is_at_work
from metaserver.base.phases import DataPackage
from metaserver.base.states import OVER, PhaseState
from metaserver.operations.context import HubContext
from metaserver.phases.jobs import Progress
from metaserver.phases.runtime import RunningPhase
from metaserver.store import kept_files
from metaserver.store.kept_files import KeptFile

FOLDER = "kept"
DATA_FOLDER = "data"
"""The folder of data packages, which are named by their checksums."""
PART = 2**20
MOST_BYTES = 2**30
"""The maximum bytes in a file that a store keeps for several processes."""
KEPT_SECONDS = 7 * 86_400.0
BEGUN_SECONDS = 3_600.0
"""A file that is not whole by then never will be."""
PUBLISHED = "published/"
"""The names of results packages for everybody begin so: they are kept until they are replaced."""
DATA = "data/"
"""The names of data packages begin so: they are kept for as long as they are released."""


def workplace(hub: HubContext, kind: str) -> Path:
    """Return this process' folder for a kind of files, which no other process clears."""
    folder = Path(hub.settings.folder) / kind
    return (
        folder if hub.phases.member.is_alone else folder / f"{socket.gethostname()}-{os.getpid()}"
    )


def clear_workplaces(hub: HubContext, kind: str) -> None:
    """Delete what this machine's ended processes left, and what this process did."""
    shutil.rmtree(workplace(hub, kind), ignore_errors=True)
    host = f"{socket.gethostname()}-"
    for place in (Path(hub.settings.folder) / kind).glob(f"{host}*"):
        process = place.name.removeprefix(host)
        if process.isdecimal() and not is_at_work(int(process)):
            shutil.rmtree(place, ignore_errors=True)


async def offer(hub: HubContext, name: str, path: Path, progress: Progress) -> KeptFile | None:
    """Store a file's parts, for `keep`; None if this process is alone, and the file not published.

    `HubError` if it is too large.
    """
    if hub.phases.member.is_alone and not name.startswith(PUBLISHED):
        return None
    size = await asyncio.to_thread(os.path.getsize, path)
    if size > MOST_BYTES:
        raise HubError(
            f"it has {size:,} bytes: the hub's store keeps at most {MOST_BYTES:,}; "
            "make it with `metaserver results` on one of its machines"
        )
    file = KeptFile(id=secrets.token_hex(8), name=name, size=size, made_at=hub.clock())
    async with hub.store.writing() as connection:
        await _sweep(connection, file.made_at, await kept_files.package_checksums(connection))
        await kept_files.begin(connection, file)
    progress.begin("keeping", size)
    for part in range(-(-size // PART)):
        content = await asyncio.to_thread(_read, path, part * PART)
        async with hub.store.renewing() as connection:
            await kept_files.add_part(connection, file.id, part, content)
        progress.advance(len(content))
    return file


async def _sweep(connection: AsyncConnection, now: float, released: Set[str]) -> None:
    """Delete what is old or was never whole; the data packages of these checksums are kept."""
    await kept_files.sweep(
        connection,
        begun_before=now - BEGUN_SECONDS,
        made_before=now - KEPT_SECONDS,
        keep_names={DATA + checksum for checksum in released},
        keep_begin=PUBLISHED,
    )


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PART)


async def keep(connection: AsyncConnection, file: KeptFile | None) -> None:
    """Let an offered file replace the file with its name."""
    if file is not None:
        await kept_files.finish(connection, file)


async def kept_file(hub: HubContext, name: str) -> KeptFile | None:
    """Return a file by name, or None."""
    async with hub.store.reading() as connection:
        return await kept_files.find(connection, name)


async def copy_of(hub: HubContext, name: str) -> Path | None:
    """Return a copy of a named file on this machine, fetched if it is not there yet."""
    file = await kept_file(hub, name)
    if file is None:
        return None
    folder = Path(hub.settings.folder) / FOLDER
    path = folder / f"{file.id}.zip"
    if not path.is_file():
        async with hub.store.reading() as connection:
            ids = await kept_files.ids(connection)
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        for leftover in folder.glob("*.zip"):
            if leftover.stem not in ids:
                leftover.unlink(missing_ok=True)
        if not await fetch(hub, file, path):
            return None
    return path


async def fetch(hub: HubContext, file: KeptFile, path: Path) -> bool:
    """Write a file of the store to a path; return whether it was there to its end."""
    draft = path.with_name(f".{file.id}-{secrets.token_hex(4)}")
    try:
        size = 0
        while size < file.size:
            async with hub.store.reading() as connection:
                content = await kept_files.read_part(connection, file.id, size // PART)
            if not content:
                return False
            await asyncio.to_thread(_append, draft, content)
            size += len(content)
        os.utime(draft, (file.made_at, file.made_at))
        draft.replace(path)
        return True
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _append(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(content)


def published_name(running: RunningPhase) -> str:
    """Return the name of a phase's results package for everybody."""
    return f"{PUBLISHED}{running.phase.id}"


def data_file(hub: HubContext, sha256: str) -> Path:
    """Return the path of a data package by its checksum, whether it is there or not."""
    return Path(hub.settings.folder) / DATA_FOLDER / f"{sha256}.zip"


def guarded(running: RunningPhase, now: float) -> bool:
    """Return whether a phase is a test phase that is not over."""
    return running.phase.plan.kind is PhaseState.TEST and running.phase.state(now) not in OVER


def offered(hub: HubContext, running: RunningPhase) -> DataPackage | None:
    """Return a phase's released package; None without its file, or while it is secret again.

    A phase can become a test phase, be opened again, or be given another corpus. A hub restored
    from a copy of its store has no files until packages are released again.
    """
    package = running.data
    if package is None or package.corpus_id != running.phase.corpus_id:
        return None
    if guarded(running, hub.clock()) and (package.gold or not package.confirmed):
        return None
    return package if data_file(hub, package.sha256).is_file() else None
