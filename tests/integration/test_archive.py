"""A hub's store copied while it is at work, exported as one zip, and read back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import sys
import zipfile
from contextlib import closing
from copy import copy
from pathlib import Path

import msgspec
import pytest
import yaml

from annotators.server import Kit
from metaserver.archive import counting, reading
from metaserver.archive.layout import CHECKSUMS, LEFT_OUT, MANIFEST, TABLES
from metaserver.archive.reading import import_archive
from metaserver.archive.writing import export_store
from metaserver.cli import main
from metaserver.config import Settings
from metaserver.files.compression import pack
from metaserver.model.errors import InputError
from metaserver.model.records import ServerName
from metaserver.phases.jobs import Progress
from metaserver.store.tables import metadata
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.stored import change
from tests.integration.kits import served
from tests.integration.test_service_gold import ARTICLES, annotate, run_file, run_to_end

SECRET = "hunter2"


async def filled(running: Running) -> None:
    """Have a phase with answers, an offline run, two versions of gold and frozen boards."""
    await plan_phase(running)
    async with served(Kit(annotate)) as url:
        await run_to_end(running, url.replace("http://", f"http://blue:{SECRET}@"))
    given = {"phase": "test", "task": "INT"}
    await running.do("runs.upload", running.team("blue"), **given, run="file", content=run_file())
    changed = (DEMO / "gold_int.tsv").read_bytes() + b"sample01\tP99999\n"
    await running.do("gold.set", **given, content=changed, source="late.tsv")
    await running.do("phases.create", challenge="bc", phase="next", corpus="demo", release="test")
    await running.do("phases.freeze", phase="test")
    await running.frozen(4)


async def command(*words: object) -> int:
    """Run a command of `metaserver` in a thread; return its exit status."""
    return await asyncio.to_thread(main.main, [str(word) for word in words])


def write_settings(given: Settings, path: Path) -> Path:
    """Return a settings file."""
    path.write_text(yaml.safe_dump(msgspec.to_builtins(given)))
    return path


async def boards_of(running: Running) -> list[object]:
    """Return all boards of the phase in all views, and the attempts."""
    phase = running.service.phase("test")
    boards: list[object] = [
        phase.boards.scoreboard.board(task.name, view)
        for task in phase.boards.tasks()
        for view in phase.boards.views(task.name)
    ]
    attempts = await running.do("servers.attempts", server="blue-1", phase="test", limit=1000)
    one = attempts[0]
    raw = await running.do(
        "servers.answer", server="blue-1", phase="test", article=one.article, number=one.number
    )
    return [*boards, attempts, raw, await running.do("boards.frozen", phase="test")]


async def test_an_archive_is_read_back_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = await settings(tmp_path)
    config = write_settings(given, tmp_path / "config.yaml")
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    async with at_work(given) as running:
        await filled(running)
        before = await boards_of(running)
        status = await command("export", "--config", config, "--out", first)  # while it works
        assert status == 0
    other = msgspec.structs.replace(given, folder=str(tmp_path / "other"), store="")
    elsewhere = write_settings(other, tmp_path / "other.yaml")
    status = await command("import", first, "--config", elsewhere)
    assert status == 0
    store = tmp_path / "other" / "metaserver.sqlite"
    await asyncio.to_thread(export_store, store, second, other)
    assert first.read_bytes() == second.read_bytes()
    async with at_work(other) as running:
        assert await boards_of(running) == before
        registered = running.service.phase("test").servers[ServerName("blue-1")]
        assert f"blue:{SECRET}@" in registered.server.url
    status = await command("import", first, "--config", elsewhere)
    assert status == 2
    assert "there is a store already" in capsys.readouterr().err
    check_contents(first)


def check_contents(archive: Path) -> None:
    """Look into an archive: what people read is there, no secret is."""
    with zipfile.ZipFile(archive) as found:
        names = found.namelist()
        contents = {name: found.read(name) for name in names}
    assert json.loads(contents[MANIFEST])["phases"] == ["test", "next"]
    assert contents["phases/test/attempts.tsv"].count(b"\n") == ARTICLES + 1
    assert contents["phases/test/gold/INT.1"] == (DEMO / "gold_int.tsv").read_bytes()
    assert contents["phases/test/offline/file.INT.tsv"] == run_file()
    assert contents["phases/test/raw/blue-1.records"].count(b"<methodResponse>") == ARTICLES
    assert contents["phases/test/runs/blue-1.INT.tsv"].startswith(b"sample01\t")
    boards = json.loads(contents["phases/test/leaderboard.json"])["boards"]
    assert {run["server"] for run in boards["INT"]["runs"]} == {"blue-1", "file"}
    assert sum(name.startswith("phases/test/frozen/") for name in names) == 4
    assert b"gold.set" in contents["tables/audit.jsonl"]
    told = [name for name, content in contents.items() if SECRET.encode() in content]
    assert told == ["tables/servers.jsonl"]  # where it is read back from, and nowhere else
    assert len(contents[CHECKSUMS].splitlines()) == len(names) - 1


async def test_some_phases_alone(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running)
        await running.do(
            "phases.create", challenge="bc", phase="next", corpus="demo", release="test"
        )
    store, out = given.place(), tmp_path / "next.zip"
    with pytest.raises(InputError, match="'last' is none of test, next"):
        await asyncio.to_thread(export_store, store, out, given, ["last"])
    assert not out.exists()
    await asyncio.to_thread(export_store, store, out, given, ["next"])
    with zipfile.ZipFile(out) as found:
        assert not [name for name in found.namelist() if name.startswith("phases/test")]
        assert found.read("tables/audit.jsonl") == b""
    copy = tmp_path / "copy.sqlite"
    await asyncio.to_thread(import_archive, out, copy)
    assert sqlite3.connect(copy).execute("SELECT name FROM phases").fetchall() == [("next",)]


async def test_a_damaged_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running)
    out, store = tmp_path / "all.zip", tmp_path / "new" / "metaserver.sqlite"
    await asyncio.to_thread(export_store, given.place(), out, given)
    store.parent.mkdir()
    with zipfile.ZipFile(out) as found:
        entries = {name: found.read(name) for name in found.namelist()}
    gold = "phases/test/gold/INT.1"
    manifest = entries[MANIFEST].replace(b'"format": 3', b'"format": 9')
    for changed, told in (
        ({gold: entries[gold] + b"x"}, "INT.1 is not as it was written"),
        ({CHECKSUMS: b""}, "there is no manifest.json in it"),
        ({CHECKSUMS: b"nonsense"}, "checksums.tsv is missing or broken"),
        ({MANIFEST: manifest}, "manifest.json is not as it was written"),
    ):
        bad = tmp_path / "bad.zip"
        with zipfile.ZipFile(bad, "w") as archive:
            for name, content in (entries | changed).items():
                archive.writestr(name, content)
        with pytest.raises(InputError, match=told):
            await asyncio.to_thread(import_archive, bad, store)
        assert list(store.parent.iterdir()) == []
    (tmp_path / "no.zip").write_bytes(b"PK no")
    with pytest.raises(InputError, match="not a complete zip file"):
        await asyncio.to_thread(import_archive, tmp_path / "no.zip", store)


async def test_blank_answers_are_read_back(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running)
        async with served(Kit(annotate)) as url:
            await run_to_end(running, url)
    out, back = tmp_path / "a.zip", tmp_path / "b"
    blank = pack(b" " * 5_000_000)
    assert change(tmp_path / "hub", "UPDATE raw_answers SET body = $1", blank) == ARTICLES
    await asyncio.to_thread(export_store, given.place(), out, given)
    with zipfile.ZipFile(out) as found:
        assert sum(one.file_size for one in found.infolist()) > 500 * out.stat().st_size
    await asyncio.to_thread(import_archive, out, back)
    with closing(sqlite3.connect(back)) as connection:
        query = "SELECT count(*) FROM raw_answers WHERE body = ?"
        assert connection.execute(query, (blank,)).fetchone() == (ARTICLES,)


def changed_entry(path: Path, out: Path, name: str, old: bytes, new: bytes) -> Path:
    """Write an archive with something else in one entry, and checksums that fit."""
    with zipfile.ZipFile(path) as found:
        entries = {one: found.read(one) for one in found.namelist() if one != CHECKSUMS}
    assert old in entries[name]
    entries[name] = entries[name].replace(old, new, 1)
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}\t{len(content)}\t{one}\n"
        for one, content in entries.items()
    )
    with zipfile.ZipFile(out, "w") as archive:
        for one, content in {**entries, CHECKSUMS: sums.encode()}.items():
            archive.writestr(one, content)
    return out


CORPUS = "corpora/1.records"
PHASES = "tables/phases.jsonl"
KEYS = "tables/hub_keys.jsonl"


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (MANIFEST, b'"format": 3', b'"format": 1', "is of format 1; this hub reads 3"),
        (MANIFEST, b'"schema": "', b'"schema": "9', "is of schema 9"),
        (PHASES, b'"id":1', b'"id":"1"', "id is of another type than int"),
        (PHASES, b'"id":1', b'"id":true', "id is of another type than int"),
        (PHASES, b'"id":1', b'"id":99999999999999999999', "does not fit"),
        (PHASES, b'"id":1', b'"id":[[]]', "id is of another type"),
        (PHASES, b'"id":1', b'"id":1,"secret":2', "unknown field `secret`"),
        (PHASES, b'"corpus_id":1', b'"corpus_id":7', "does not fit: FOREIGN KEY"),
        (PHASES, b'"release":"test"', b'"release":"\\ud800"', "not a row|does not fit"),
        (PHASES, b'"kind":"test"', b'"kind":"none"', "Invalid enum value 'none'"),
        (PHASES, b"2030-01-01T", b"9999-12-31T", "opens is not from 1970 to 2999"),
        (PHASES, b"{", b"[", "not a row of an archive"),
        (PHASES, b"}\n", b"}", "is cut off"),
        (CORPUS, b'"corpus_id":1', b'"corpus_id":2', "record 1 is of another entry"),
        (CORPUS, b'"position":1', b'"position":0', "does not fit: UNIQUE"),
        (CORPUS, b'"bytes":', b'"bytes":9', "is cut off|longer than"),
        (CORPUS, b'"bytes":', b'"text":"x","bytes":', "twice"),
        (KEYS, b'"digests"', b'"other"', "is not one key 'digests' of 64 hex"),
        (KEYS, b'{"name":"', b'{"name":"x","value":""}\n{"name":"', "is not one key"),
        (KEYS, b'"value":"', b'"value":"z', "is not one key"),
    ],
)
async def test_an_archive_of_what_is_no_store_is_refused(
    archived: Path, tmp_path: Path, name: str, old: bytes, new: bytes, told: str
) -> None:
    bad = changed_entry(archived, tmp_path / "bad.zip", name, old, new)
    with pytest.raises(InputError, match=told):
        await asyncio.to_thread(import_archive, bad, tmp_path / "new.sqlite")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


@pytest.mark.parametrize("row", [b"", b'{"name":"digests","value":""}\n'])
async def test_an_archive_without_a_key_is_refused(
    archived: Path, tmp_path: Path, row: bytes
) -> None:
    with zipfile.ZipFile(archived) as found:
        kept = found.read(KEYS)
    bad = changed_entry(archived, tmp_path / "bad.zip", KEYS, kept, row)
    with pytest.raises(InputError, match="is not one key 'digests' of 64 hex"):
        await asyncio.to_thread(import_archive, bad, tmp_path / "new.sqlite")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a hub with a phase."""
    folder = tmp_path_factory.mktemp("archived")

    async def make() -> None:
        given = await settings(folder)
        async with at_work(given) as running:
            await plan_phase(running, opens="2030-01-01T00:00")
        out = folder / "all.zip"
        await asyncio.to_thread(export_store, given.place(), out, given)

    asyncio.run(make())
    return folder / "all.zip"


async def test_entries_do_not_grow_with_articles_and_answers(archived: Path) -> None:
    with zipfile.ZipFile(archived) as found:
        names = found.namelist()
        assert found.read(CORPUS).count(b'"article_id"') == ARTICLES
    assert [name for name in names if name.startswith("corpora/")] == [CORPUS]
    assert len(names) < 40


async def test_an_import_tells_how_far_it_is(
    archived: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with zipfile.ZipFile(archived) as found:
        rows = json.loads(found.read(MANIFEST))["rows"]
        lines = [found.read(name) for name in found.namelist() if name.startswith("tables/")]
    assert rows == sum(content.count(b"\n") for content in lines) + ARTICLES
    told: list[Progress] = []
    store = tmp_path / "new.sqlite"
    await asyncio.to_thread(import_archive, archived, store, lambda one: told.append(copy(one)))
    assert [(one.step, one.total) for one in told] == [("tables", rows), ("storing", 0)]
    given = msgspec.structs.replace(Settings(), folder=str(tmp_path / "other"))
    config = write_settings(given, tmp_path / "config.yaml")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status = await command("import", archived, "--config", config)
    assert status == 0
    shown = capsys.readouterr().err.split("\r\x1b[K")
    assert shown == ["", f"tables: 0 of {rows:,} rows", "storing", ""]


async def test_an_import_tells_of_rows_as_it_reads_them(
    archived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "REPORT_ROWS", 1)
    monkeypatch.setattr(reading, "BATCH", 5)
    told: list[Progress] = []
    store = tmp_path / "new.sqlite"
    await asyncio.to_thread(import_archive, archived, store, lambda one: told.append(copy(one)))
    done = [one.done for one in told if one.step == "tables"]
    assert done == sorted(set(done))
    assert done[-1] == told[0].total


async def test_an_archive_that_does_not_tell_its_rows_is_read(
    archived: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(archived) as found:
        manifest = found.read(MANIFEST)
    older = {key: value for key, value in json.loads(manifest).items() if key != "rows"}
    content = json.dumps(older).encode()
    path = changed_entry(archived, tmp_path / "older.zip", MANIFEST, manifest, content)
    done = await asyncio.to_thread(import_archive, path, tmp_path / "new.sqlite")
    assert (done.rows, done.phases) == (0, ("test",))


def test_an_archive_marks_the_gold_of_its_boards(archived: Path) -> None:
    with zipfile.ZipFile(archived) as found:
        boards = json.loads(found.read("phases/test/leaderboard.json"))["boards"]
        rows = map(json.loads, found.read("tables/gold.jsonl").splitlines())
        marks = {row["task"]: row["checksum"][:16] for row in rows}
    assert boards.keys() == marks.keys() != set()
    for task, board in boards.items():
        assert "|gold:1|" in board["signature"]
        assert board["signature"].endswith(f"|mark:{marks[task]}")


def test_every_table_is_archived_or_left_out_on_purpose() -> None:
    archived = {one.table.name for one in TABLES}
    assert archived | LEFT_OUT == set(metadata.tables)
    assert not archived & LEFT_OUT


@pytest.mark.one_store("a database is backed up by pg_dump: test_machines.py")
async def test_a_backup_of_a_hub_at_work_is_a_whole_store(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    config = write_settings(given, tmp_path / "config.yaml")
    copy = tmp_path / "copies" / "hub.sqlite"
    copy.parent.mkdir()
    async with at_work(given) as running:
        await plan_phase(running)
        async with served(Kit(annotate)) as url:
            work = asyncio.create_task(run_to_end(running, url))
            await running.until(lambda: bool(running.service.phase("test").servers))
            status = await command("backup", "--config", config, "--out", copy)
            assert status == 0
            await work
    assert list(copy.parent.iterdir()) == [copy]
    assert copy.stat().st_mode & 0o777 == 0o600
    back = tmp_path / "back"
    back.mkdir()
    copy.rename(back / "metaserver.sqlite")
    async with at_work(msgspec.structs.replace(given, folder=str(back))) as running:
        assert running.service.phase("test").corpus.ids[0] == "sample01"


@pytest.mark.one_store("a database is backed up by pg_dump: test_machines.py")
async def test_a_backup_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = msgspec.structs.replace(Settings(), folder=str(tmp_path / "none"))
    config = write_settings(given, tmp_path / "config.yaml")
    status = await command("backup", "--config", config, "--out", tmp_path / "copy.sqlite")
    assert status == 2
    assert (
        "metaserver.sqlite: there is no store; expected one that a hub" in capsys.readouterr().err
    )
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "metaserver.sqlite").write_bytes(b"not a database at all" * 100)
    status = await command("backup", "--config", config, "--out", tmp_path / "copy.sqlite")
    assert status == 70
    assert "cannot be copied" in capsys.readouterr().err
    assert not (tmp_path / "copy.sqlite").exists()
