"""A hub's store carried from its file into PostgreSQL and back, backed up, restored."""

import stat
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from metaserver.base.errors import InputError
from metaserver.cli.folder import hub_settings
from metaserver.config import Settings, WebSettings
from metaserver.store.copies import TABLES
from metaserver.store.place import STORE_FILE, PostgresUrl, read_url
from metaserver.store.store import open_store
from metaserver.store.tables import metadata
from tests import stores
from tests.hubs.command import metaserver
from tests.hubs.inside import at_work, settings
from tests.integration.test_backup import boards_of, command, filled, write_settings

pytestmark = pytest.mark.one_store("it has databases of its own, whatever the store of other hubs")


async def rows_of(place: Path | PostgresUrl) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a store, by table."""
    async with open_store(place) as store, store.reading() as connection:
        return {
            table.name: [
                tuple(row)
                for row in await connection.execute(
                    sa.select(table).order_by(*table.primary_key.columns)
                )
            ]
            for table in metadata.sorted_tables
        }


def new_database(name: str) -> str:
    """Make an empty database; return its URL."""
    stores.server().ask(f"CREATE DATABASE {name}")
    return stores.server().url(name)


def stored_in(given: Settings, url: str) -> Settings:
    return msgspec.structs.replace(given, store=url, store_file="")


@pytest.fixture
async def given(tmp_path: Path) -> Settings:
    return await settings(tmp_path, web=WebSettings(port=0))


@pytest.mark.slow
async def test_a_store_is_carried_over_whole(given, tmp_path, capsys):
    config, store = write_settings(given, tmp_path / "config.yaml"), Path(given.folder) / STORE_FILE
    async with at_work(given) as running:
        await filled(running)
        await running.do("teams.create", team="nul")
        async with running.service.store.writing() as connection:
            await connection.execute(
                sa.text("UPDATE teams SET title = 'a' || char(0) || 'b' WHERE name = 'nul'")
            )
        before = await boards_of(running)
        url = new_database("carried")
        status = await command("move", "--config", config, "--to", url)
        assert status == 2
        assert "in use by another running hub" in capsys.readouterr().err
    secret = tmp_path / "url"
    secret.write_text(f"{url}\n")
    assert await command("move", "--config", config, "--to-file", secret) == 0
    assert "rows, compared with those of" in capsys.readouterr().out
    kept, found = await rows_of(store), await rows_of(read_url(url, "store"))
    assert "a\ufffdb" in [row[2] for row in found["teams"]]
    assert found.pop("teams") == [
        tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row)
        for row in kept.pop("teams")
    ]
    assert found == kept
    moved = stored_in(given, url)
    async with at_work(moved) as running:
        assert await boards_of(running) == before
        await running.do("teams.create", team="late")  # its id is above those that were carried
        assert await running.do("tokens.create", role="team", team="late", label="x")
    assert await command("move", "--config", config, "--to", url) == 2
    assert "expected an empty database" in capsys.readouterr().err
    await carried_back(moved, before, tmp_path, capsys)
    await backed_up(moved, tmp_path, capsys)


async def carried_back(
    moved: Settings, before: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Carry a database into a new folder, whose hub shows the same boards."""
    back = msgspec.structs.replace(moved, folder=str(tmp_path / "back"), store="")
    config = write_settings(back, tmp_path / "back.yaml")
    async with at_work(moved):
        assert await command("move", "--config", config, "--back-from", moved.store) == 2
        assert "in use by a running hub" in capsys.readouterr().err
    assert await command("move", "--config", config, "--back-from", moved.store) == 0
    assert "rows, compared with those of" in capsys.readouterr().out
    assert await rows_of(back.place()) == await rows_of(moved.place())
    assert [path.stat().st_mode & 0o077 for path in Path(back.folder).iterdir()] == [0, 0]
    async with at_work(back) as running:
        assert await boards_of(running) == before
    assert await command("move", "--config", config, "--back-from", moved.store) == 2
    assert "there is a store already" in capsys.readouterr().err


async def backed_up(moved: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dump a database while its hub works, and restore it into another one."""
    config, dump = write_settings(moved, tmp_path / "moved.yaml"), tmp_path / "hub.dump"
    async with at_work(moved) as running:
        before = await boards_of(running)
        assert await command("backup", "--config", config, "--out", dump) == 0
    assert stat.S_IMODE(dump.stat().st_mode) == 0o600
    restored = stored_in(moved, new_database("restored"))
    elsewhere = write_settings(restored, tmp_path / "restored.yaml")
    assert await command("restore", dump, "--config", elsewhere) == 0
    async with at_work(restored) as running:
        assert await boards_of(running) == before
    kept, found = await rows_of(moved.place()), await rows_of(restored.place())
    for of_processes in ("workers", "leader"):
        del kept[of_processes], found[of_processes]
    assert found == kept
    assert await command("restore", dump, "--config", elsewhere) == 2
    assert "there is a store already" in capsys.readouterr().err
    assert await command("restore", dump, "--config", tmp_path / "config.yaml") == 2
    assert "stop the hub and put it in this place" in capsys.readouterr().err


async def test_rows_that_do_not_fit_are_not_stored_in_part(given, tmp_path, capsys):
    async with at_work(given) as running:
        await running.do("teams.create", team="blue")
    async with open_store(given.place()) as store, store.writing() as connection:
        await connection.execute(sa.text("UPDATE teams SET id = 4000000000000"))
    url = new_database("unfit")
    config = write_settings(given, tmp_path / "config.yaml")
    assert await command("move", "--config", config, "--to", url) == 70
    assert "teams: a value does not fit" in capsys.readouterr().err
    found = await rows_of(read_url(url, "store"))
    assert {name for name, rows in found.items() if rows} == {"hub_keys"}


def test_every_table_is_carried_after_those_it_refers_to() -> None:
    seen: set[str] = set()
    for table in TABLES:
        refers = {key.column.table.name for key in table.foreign_keys} - {table.name}
        assert refers <= seen
        seen.add(table.name)
    assert seen == set(metadata.tables)


async def test_the_doctor_looks_at_the_database(given, tmp_path, capsys):
    url = new_database("looked_at")
    config = write_settings(stored_in(given, url), tmp_path / "config.yaml")
    status = await command("doctor", "--config", config)
    said = capsys.readouterr().out
    assert status == 0, said
    assert "looked_at: the store will be made" in said
    assert "fsync is off" in said
    assert await command("token", "create", "--role", "organiser", "--config", config) == 0
    assert await command("doctor", "--config", config) == 0
    assert "looked_at: the store is there" in capsys.readouterr().out
    assert await command("doctor", "--deep", "--config", config) == 0
    stores.server().ask("ALTER DATABASE looked_at SET synchronous_commit = off")
    assert await command("doctor", "--config", config) == 1
    assert "synchronous_commit = off" in capsys.readouterr().out
    with pytest.raises(InputError, match="synchronous_commit = off"):
        async with open_store(read_url(url, "store")):
            pass


PASSWORD = "s3cr3t%40horse"


@pytest.mark.slow
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://hub:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://hub:{PASSWORD}@127.0.0.1:1/db?sslmode=nonsense",
        f"postgresql://hub@127.0.0.1:1/db?password={PASSWORD}",
        f"postgresql://hub:{PASSWORD}@127.0.0.1:x/db",
        f"postgresql://hub:{PASSWORD}/@127.0.0.1/db",
        f"postgresql://hub:{PASSWORD}#@127.0.0.1/db",
        f"mysql://hub:{PASSWORD}@127.0.0.1/db",
        f"hub:{PASSWORD}@127.0.0.1/db",
        f"postgresql://hub:{PASSWORD}@127.0.0.1",
        f"postgresql://hub:{PASSWORD}@a,b/db",
    ],
)
async def test_no_password_is_shown(url, given, tmp_path, capsys):
    config = write_settings(stored_in(given, url), tmp_path / "config.yaml")
    if not url.endswith(("1/db", f"={PASSWORD}")):  # for a server that is away it would wait
        ended = await metaserver("serve", "--config", config)
        assert ended.status == 2
        assert "s3cr3t" not in ended.stdout + ended.stderr
    for words in (
        ("doctor", "--config", config),
        ("backup", "--config", config, "--out", tmp_path / "x"),
        ("move", "--config", config, "--back-from", url),
        ("token", "list", "--config", config),
        ("restore", config, "--config", config),
    ):
        assert await command(*words) != 0
        said = capsys.readouterr()
        assert "s3cr3t" not in said.out + said.err
        assert "horse" not in said.out + said.err


def test_the_environment_goes_before_the_settings(tmp_path, monkeypatch):
    config, secret = tmp_path / "config.yaml", tmp_path / "url"
    secret.write_text("postgresql://file@localhost/db\n")
    config.write_text(f"store_file: {secret}")
    assert str(hub_settings(config).place()) == "postgresql://file@localhost:5432/db"
    monkeypatch.setenv("METASERVER_STORE", "postgresql://env:pw@localhost/db")
    assert str(hub_settings(config).place()) == "postgresql://env@localhost:5432/db"
    config.write_text("store: postgresql://a@b/c\nstore_file: x")
    monkeypatch.delenv("METASERVER_STORE")
    with pytest.raises(InputError, match="expected one of them"):
        hub_settings(config).place()
