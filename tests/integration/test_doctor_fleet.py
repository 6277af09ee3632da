"""What `metaserver doctor` finds of a hub of several processes: database, machine, processes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa

from metaserver.base.errors import InputError
from metaserver.cli.findings import (
    Finding,
    FindingSeverity,
    clock_finding,
    connection_finding,
    dump_finding,
    examine_store,
    version_finding,
)
from metaserver.config import Settings, UniprotSettings
from metaserver.store.place import POOL, read_url
from metaserver.store.store import open_store
from metaserver.store.tables import workers
from tests import stores
from tests.hubs.inside import Running, plan_phase
from tests.hubs.several import process
from tests.tools import tool
from tests.unit.metaserver.store.test_writer import record, taken
from tests.waiting import until

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


def texts(findings: object) -> list[str]:
    assert hasattr(findings, "__iter__")
    return [one.message for one in findings if one.severity is not FindingSeverity.OK]


async def examined(running: Running, **changes: object) -> list[Finding]:
    given = running.service.settings
    return await asyncio.to_thread(
        lambda: list(examine_store(Settings(store=given.store, uniprot=given.uniprot, **changes)))  # type: ignore[arg-type]
    )


def test_clocks_may_differ_by_the_time_that_it_took_to_ask() -> None:
    assert texts(clock_finding(10.0, 14.9, 14.0)) == []
    [behind] = texts(clock_finding(10.0, 14.0, 10.5))
    assert "clock is 3.5 s behind the database's" in behind
    [ahead] = texts(clock_finding(10.0, 6.0, 10.5))
    assert "clock is 4.0 s ahead of the database's" in ahead


def test_connections_are_enough_for_those_that_live() -> None:
    limits = {"the server": 97, "the role": -1, "the database": 30}
    assert texts(connection_finding(limits, 0)) == []
    assert texts(connection_finding(limits, 4)) == [
        "the database allows 30 connections; a hub of 4 processes and its commands open up to 90"
    ]


def test_versions_that_differ_are_named() -> None:
    assert list(version_finding([], "1")) == []
    assert texts(version_finding([("a", "1"), ("b", "1")], "1")) == []
    [other] = texts(version_finding([("a", "1")], "2"))
    assert "of version 1, this command of 2" in other
    [mixed] = texts(version_finding([("a", "1"), ("b", "2")], "2"))
    assert "a: 1, b: 2" in mixed


def test_the_dump_program_is_not_older_than_the_server() -> None:
    assert texts(dump_finding(15, 15)) == texts(dump_finding(15, 17)) == []
    assert "PostgreSQL 14, the server of 15" in texts(dump_finding(15, 14))[0]
    assert "not installed" in texts(dump_finding(15, None))[0]


async def test_processes_and_releases_are_those_of_the_store(tmp_path: Path) -> None:
    async with process(tmp_path) as running:
        await until(lambda: running.service.phases.member.seconds_since_renewal < 1.0)
        await plan_phase(running)
        found = await examined(running)
        assert any(str(one).startswith("ok       processes: 1 at work") for one in found)
        assert not [one for one in found if one.place == "uniprot.releases"]
        async with running.service.store.writing() as connection:
            await connection.execute(
                sa.insert(workers).from_select(
                    [column.name for column in workers.columns],
                    sa.select(
                        *(
                            sa.literal({"id": "later", "version": "99"}[column.name])
                            if column.name in ("id", "version")
                            else column
                            for column in workers.columns
                        )
                    ),
                )
            )
        found = await examined(running)
        assert any("different versions" in one and "later: 99" in one for one in texts(found))
        elsewhere = UniprotSettings(releases=str(tmp_path / "none"))
        given = Settings(store=running.service.settings.store, uniprot=elsewhere)
        found = await asyncio.to_thread(lambda: list(examine_store(given)))
        assert any("phase test needs release test, which is not in" in one for one in texts(found))


@asynccontextmanager
async def bouncer(mode: str, database: str) -> AsyncIterator[str]:
    """Run PgBouncer before the tests' server; give the URL of a database behind it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        config = Path(folder) / "bouncer.ini"
        config.write_text(
            f"[databases]\n{database} = host={stores.server().folder} user={stores.USER}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = {mode}\n"
        )
        running = await asyncio.create_subprocess_exec(
            tool("pgbouncer"), config, **stores.server().as_user, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            await until(lambda: _listens(port))
            yield f"postgresql://{stores.USER}@127.0.0.1:{port}/{database}"
        finally:
            running.terminate()
            await running.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.nightly
@pytest.mark.parametrize(("mode", "found"), [("transaction", 1), ("session", 0)])
async def test_a_pool_that_takes_the_locks_away_is_found(tmp_path, mode, found):
    database = stores.database_of(tmp_path / "hub").database
    async with bouncer(mode, database) as url:
        for _ in range(3):
            findings = await asyncio.to_thread(lambda: list(examine_store(Settings(store=url))))
            assert sum(POOL in one for one in texts(findings)) == found
            assert not any("no connection" in one for one in texts(findings))
        place = read_url(url, "store")
        if found:
            with pytest.raises(InputError, match="mode transaction"):
                async with open_store(place):
                    pass
        else:
            async with open_store(place) as store:
                await store.record(record(await taken(store, "test", "peer"), 0))
