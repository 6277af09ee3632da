"""A hub of several processes: each takes in what another changed, and waits for none."""

import asyncio
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from metaserver.base.boards import RAW
from metaserver.base.errors import RefusedError, UnavailableError
from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import JobState, ProcessRole
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations import kept
from metaserver.operations.table import perform
from metaserver.publication.operations.data_packages import KeptData
from metaserver.publication.operations.results import KeptPackages, package_of
from metaserver.publication.packing import FOLDER
from metaserver.store import audit, kept_files
from metaserver.store.copies import copy_out
from metaserver.store.kept_files import KeptFile
from metaserver.store.phases import set_gold
from metaserver.store.place import PostgresUrl
from metaserver.store.store import Store
from metaserver.store.tables import kept_files as files
from metaserver.store.tables import kept_parts
from tests import stores
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.hubs.several import process, two
from tests.integration.test_service_gold import INT_GOLD, run_file
from tests.waiting import patience, until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


RUN = {"phase": "test", "task": "INT", "run": "file-1"}
INT = TaskName("INT")


async def names_of(running: Running) -> list[str]:
    """Return the offline runs that a request to this process shows."""
    await running.service.reload_changes()
    return [run.run for run in await running.do("runs.list", phase="test")]


def gold_without(count: int) -> bytes:
    """Return the demo's gold without its last lines."""
    return b"".join(INT_GOLD.splitlines(keepends=True)[:-count])


@pytest.mark.slow
async def test_a_phase_is_deleted_while_a_change_is_taken_in(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        for name in ("test", "other"):
            await plan_phase(one, name)
        async with one.service.phases.scheduler.lanes.lock:
            await other.do("challenges.set", challenge="bc", title="Another title")
            taking_in = asyncio.create_task(one.service.reload_changes())
            lock = one.service.phases.scheduler.lanes.lock  # which it has before the deletion
            await until(lambda: bool(lock._waiters))
            deleting = asyncio.create_task(one.do("phases.delete", phase="test"))
            await one.until(one.service.phase("test").scoring.locked)
        async with patience():
            await asyncio.gather(taking_in, deleting)
        await other.service.reload_changes()
        assert list(other.service.phases.scheduler.phases) == ["other"]


async def test_requests_do_not_wait_for_a_gold_change(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one, teams=["blue"])
        async with patience():
            assert await names_of(other) == []
            changing = other.service.phase("test")
            async with changing.scoring:
                await one.do("runs.upload", **RUN, team="blue", content=run_file())
                assert await names_of(other) == ["file-1"]
                assert changing.is_behind
            await other.caught_up()
            made, shown = (
                running.service.phase("test").boards.scoreboard for running in (one, other)
            )
            score = await made.average(INT, RAW, ServerName("file-1"))
            assert score is not None
            assert await shown.average(INT, RAW, ServerName("file-1")) == score
            async with changing.scoring:
                await one.do("runs.delete", phase="test", run="file-1")
                await names_of(other)  # its scores may be in use
            await other.caught_up()
            assert await names_of(other) == []
            assert shown.runs(INT) == []


async def test_gold_is_shown_that_came_while_the_version_before_was_scored(tmp_path, caplog):
    async with two(tmp_path) as (one, other):
        await plan_phase(one)
        await other.service.reload_changes()
        scored = other.service.phase("test")
        async with scored.scoring:
            for count in (1, 2):
                given = {"phase": "test", "task": "INT", "source": "gold.tsv"}
                await one.do("gold.set", **given, content=gold_without(count))
                await other.service.reload_changes()
        await other.until(lambda: scored.gold[INT].version == 3)
    assert "Exception in callback" not in caplog.text  # one at a time scores a task again


@pytest.mark.slow
async def test_two_processes_do_not_replace_the_same_gold(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one)
        await other.service.reload_changes()
        given = {"phase": "test", "task": "INT", "source": "gold.tsv"}
        async with other.service.phase("test").scoring:
            second = asyncio.create_task(
                other.do("gold.set", **given, content=gold_without(2), replaces=1)
            )
            jobs = other.service.jobs.own
            await other.until(
                lambda: [job.progress.step for job in jobs.list_all()] == ["waiting for its turn"]
            )
            change = await one.do("gold.set", **given, content=gold_without(1), replaces=1)
        assert change.version == 2
        with pytest.raises(AssertionError, match="another version was set meanwhile"):
            await second
        kept = await one.do("gold.list", phase="test")
        assert [gold.version for gold in kept if gold.task == INT] == [2, 1]


async def test_a_lone_process_shows_what_was_stored_unheard_of(tmp_path: Path) -> None:
    url = stores.database_of(tmp_path / "hub").secret
    async with at_work(await settings(tmp_path, store=url)) as running:
        await plan_phase(running)
        store, phase = running.service.store, running.service.phase("test")
        with pytest.raises(UnavailableError):
            await commit_unheard_of(store, phase.phase.id)
        await running.until(lambda: phase.gold[INT].version == 2)


async def commit_unheard_of(store: Store, phase_id: int) -> None:
    """Store a gold, and break as where the connection is lost in the commit."""
    async with store.writing() as connection:
        await set_gold(connection, phase_id, INT, "gold.tsv", gold_without(1))
        await audit.add(connection, actor="ana", action="gold.set", subject="test")
        await connection.commit()
        raise UnavailableError("the connection was closed")


async def made_by(running: Running, name: str, **values: str) -> Any:
    """Return the report of a job, which its process has said to have ended."""
    begun = await perform(OPERATIONS[name], running.service, ORGANISER, values)
    job = await running.do("jobs.get", job=begun.job, wait=30.0)
    assert job.state is JobState.DONE, job.error
    return msgspec.convert(job.report, OPERATIONS[name].report)


async def frozen(running: Running) -> None:
    await plan_phase(running, is_open=True)
    await running.do("phases.freeze", phase="test")


async def whole_package(running: Running) -> Path:
    path = await package_of(running.service, ORGANISER, "test")
    assert path is not None
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
    return path


@pytest.mark.slow
async def test_a_results_package_is_had_from_any_process(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await frozen(one)
        await other.service.reload_changes()  # as before each request
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
        await made_by(one, "results-package.make", phase="test", public=True)
        assert (await other.do("results-package.get", phase="test")).public
        async with other.service.store.reading() as connection:
            assert await connection.scalar(sa.select(sa.func.count()).select_from(files)) == 1
        place, copy = one.service.store.place, tmp_path / "copy.sqlite"
        assert isinstance(place, PostgresUrl)
        await copy_out(place, copy)
        with closing(sqlite3.connect(copy)) as copied:  # a copy has no packages in it
            assert copied.execute("SELECT count(*) FROM kept_parts").fetchone() == (0,)


@pytest.mark.slow
async def test_released_data_come_to_all_machines_and_go_from_all(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await plan_phase(one, kind="training")
        async with KeptData(other.service):
            await one.do("data-package.release", phase="test", public=True)
            await until(lambda: _is_released(other))
            part = await other.do("data-package.read", phase="test", offset=0)
            assert part.content == (await one.do("data-package.read", phase="test")).content
            await other.do("data-package.withdraw", phase="test")
            await one.service.reload_changes()  # as before each request
            with pytest.raises(RefusedError, match="are not released"):
                await one.do("data-package.read", phase="test", offset=0)
            async with one.service.store.reading() as connection:
                assert not (await connection.execute(sa.select(kept_parts))).all()


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_file_that_is_too_large_is_no_part_of_the_store(tmp_path, monkeypatch):
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
