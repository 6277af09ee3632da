"""Files that jobs make in a hub of several processes: each process sends what another has made."""

from __future__ import annotations

import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from metaserver.model.errors import RefusedError
from metaserver.model.states import JobState, ProcessRole
from metaserver.operations import kept
from metaserver.operations.catalogue import OPERATIONS
from metaserver.operations.data_packages import KeptData
from metaserver.operations.results import KeptPackages, package_of
from metaserver.operations.table import perform
from metaserver.results.packing import FOLDER
from metaserver.store import kept_files
from metaserver.store.kept_files import KeptFile
from metaserver.store.place import PostgresUrl
from metaserver.store.tables import kept_files as files
from metaserver.store.tables import kept_parts
from metaserver.store.transfer import copy_out
from tests.hubs.inside import ORGANISER, Running, plan_phase
from tests.hubs.several import process, two
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


async def made_by(running: Running, name: str, **values: str) -> Any:
    """Return the report of a job, which its process has said to have ended."""
    begun = await perform(OPERATIONS[name], running.service, ORGANISER, values)
    job = await running.do("jobs.get", job=begun.job, wait=30.0)
    assert job.state is JobState.DONE, job.error
    return msgspec.convert(job.report, OPERATIONS[name].report)


async def frozen(running: Running) -> None:
    await plan_phase(running)
    await running.do("phases.open", phase="test")
    await running.do("phases.freeze", phase="test")


async def whole_package(running: Running) -> Path:
    path = await package_of(running.service, ORGANISER, "test")
    assert path is not None
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
    return path


async def test_a_results_package_is_had_from_any_process(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await frozen(one)
        assert await package_of(other.service, ORGANISER, "test") is None
        made = await made_by(one, "results-package.make", phase="test")
        last = await other.do("results-package.get", phase="test")
        assert (last.size, last.job.state) == (made.size, "done")
        first, second = await whole_package(one), await whole_package(other)
        assert first != second  # on two machines
        assert first.read_bytes() == second.read_bytes()
        assert second.stat().st_size == made.size
        assert await whole_package(other) == second  # it is fetched once
        content, size = b"", 1
        while len(content) < size:
            part = await other.do("results-package.read", phase="test", offset=len(content))
            content, size = content + part.content, part.size
        assert content == first.read_bytes()
        again = await made_by(other, "results-package.make", phase="test")
        assert (await whole_package(one)).stat().st_size == again.size
        assert not first.exists()  # it was replaced
        async with other.service.store.reading() as connection:
            assert await connection.scalar(sa.select(sa.func.count()).select_from(files)) == 1
        place, copy = one.service.store.place, tmp_path / "copy.sqlite"
        assert isinstance(place, PostgresUrl)
        await copy_out(place, copy)
        with closing(sqlite3.connect(copy)) as copied:  # a copy has no packages in it
            assert copied.execute("SELECT count(*) FROM kept_parts").fetchone() == (0,)


async def test_released_data_come_to_all_machines_and_go_from_all(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one, kind="training")
        async with KeptData(other.service):
            await one.do("data-package.release", phase="test", public=True)
            await until(lambda: _is_released(other))
            part = await other.do("data-package.read", phase="test", offset=0)
            assert part.content == (await one.do("data-package.read", phase="test")).content
            await other.do("data-package.withdraw", phase="test")
            await one.service.freshen()  # as before each request
            with pytest.raises(RefusedError, match="are not released"):
                await one.do("data-package.read", phase="test", offset=0)
            async with one.service.store.reading() as connection:
                assert not (await connection.execute(sa.select(kept_parts))).all()


async def test_data_that_were_released_by_a_hub_of_one_process_come_to_all(tmp_path: Path) -> None:
    async with process(tmp_path, role=ProcessRole.ALL, machine="first") as alone:
        await plan_phase(alone, kind="training")
        await alone.do("data-package.release", phase="test", public=True)
        released = (await alone.do("data-package.read", phase="test")).content
    async with (
        process(tmp_path, machine="first") as one,
        process(tmp_path) as other,
        KeptData(one.service),
        KeptData(other.service),
    ):
        await until(lambda: _is_released(other))
        part = await other.do("data-package.read", phase="test", offset=0)
        assert part.content == released


async def _is_released(running: Running) -> bool:
    return bool((await running.do("data-package.get", phase="test")).released)


async def test_a_file_that_is_too_large_is_no_part_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 10)
    async with two(tmp_path) as (one, other):
        await frozen(one)
        with pytest.raises(AssertionError, match="keeps at most 10"):
            await one.do("results-package.make", phase="test")
        assert (await other.do("results-package.get", phase="test")).size == 0
        assert not list(Path(one.service.settings.folder).rglob("*.zip"))


async def test_what_is_old_or_was_never_whole_is_swept(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, _):
        now = one.service.clock()
        ages = {"draft": 10.0, "left": kept.BEGUN_SECONDS + 1, "new": 10.0, "released": 0.0}
        ages |= {"old": kept.KEPT_SECONDS + 1, kept.DATA + "x": kept.KEPT_SECONDS + 1}
        async with one.service.store.writing() as connection:
            for name, age in ages.items():
                file = KeptFile(id=name[:16], name=name, size=1, made_at=now - age)
                await kept_files.begin(connection, file)
                await kept_files.add_part(connection, file.id, 0, b"x")
                if name not in ("draft", "left"):
                    await kept_files.finish(connection, file)
            await kept._sweep(connection, now, {"x"})
            assert await kept_files.ids(connection) == {"draft", "new", "released", "data/x"}
            found = await connection.execute(sa.select(kept_parts.c.file_id))
            assert set(found.scalars()) == {"draft", "new", "released", "data/x"}


async def test_processes_of_a_machine_leave_one_anothers_work_alone(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, _):
        own = kept.workplace(one.service, FOLDER)
        host = own.name.rpartition("-")[0]
        living, gone = (own.with_name(f"{host}-{pid}") for pid in (os.getppid(), 2**22 + 1))
        elsewhere, namesake = own.with_name("other-machine-1"), own.with_name(f"{host}-b-1")
        for folder in (own, living, gone, elsewhere, namesake):
            folder.mkdir(parents=True)
        async with KeptPackages(one.service):
            assert not own.exists()
            assert not gone.exists()
            assert living.exists()
            assert elsewhere.exists()
            assert namesake.exists()
