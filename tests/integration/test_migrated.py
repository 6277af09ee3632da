"""A store that an earlier release has written: its schema is brought up to date, its data stays.

`schema_0001.sql` was dumped from a run of the release with that schema, beside what it reported.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from metaserver.files.compression import pack, unpack
from metaserver.store.keys import keyed_digest
from metaserver.store.schema import alembic_config
from metaserver.store.sqlite import migrate, sqlite_engine
from scoring.cells import inert
from tests.hubs.command import boards, metaserver
from tests.hubs.release import release_at

pytestmark = [
    pytest.mark.one_store("the dump of the earlier release is of a file"),
    pytest.mark.slow,
]

RELEASED = Path(__file__).parents[1] / "unit" / "metaserver" / "store"
STORE = "metaserver.sqlite"
SCHEMAS = ("0001",)
REWRITTEN = {("gold", "checksum")}
"""What a migration changes: digests of gold are keyed since schema 0003."""


def restore(schema: str, path: Path) -> None:
    """Make a store of an earlier schema from its dump."""
    path.parent.mkdir(parents=True)
    store = sqlite3.connect(path)
    store.executescript((RELEASED / f"schema_{schema}.sql").read_text("utf-8"))
    store.close()


def rows(path: Path) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return all rows of a store, by table."""
    store = sqlite3.connect(path)
    store.row_factory = sqlite3.Row
    tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    found = {
        table: [dict(row) for row in store.execute(f"SELECT * FROM {table} ORDER BY rowid")]
        for table in tables
        if table != "alembic_version"
    }
    store.close()
    return found


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_every_row_is_still_there(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "run" / STORE
    restore(schema, path)
    before = rows(path)
    engine = sqlite_engine(path)
    await migrate(engine, path)
    await engine.dispose()
    after = rows(path)
    for table, kept in before.items():
        assert kept, f"the dump says nothing of {table}"
        same = [name for name in kept[0] if (table, name) not in REWRITTEN]
        assert [[row[name] for name in same] for row in after[table]] == [
            [row[name] for name in same] for row in kept
        ]
    store = sqlite3.connect(path)
    assert store.execute("PRAGMA foreign_key_check").fetchall() == []
    assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()


async def test_no_digest_of_gold_stays_that_a_guess_could_be_checked_by(tmp_path: Path) -> None:
    """Schema 0002 kept plain digests of gold: beside the gold, and in boards for everybody."""
    path = tmp_path / "run" / STORE
    restore("0001", path)
    engine = sqlite_engine(path)
    async with engine.begin() as connection:
        await connection.run_sync(_upgraded_to, "0002")
    old = b'{"views":{"raw":{"signature":"ACT|gold:0123456789ab|articles:answered|release:r"}}}'
    store = sqlite3.connect(path)
    known = {"id": "b1", "phase_id": 1, "task": "ACT", "gold_version": 3, "reason": "frozen"}
    row = known | {"created_at": 0.0, "document": pack(old)}
    marks = ", ".join(f":{name}" for name in row)
    store.execute(f"INSERT INTO frozen_boards ({', '.join(row)}) VALUES ({marks})", row)
    store.commit()
    store.close()
    await migrate(engine, path)
    await engine.dispose()
    after = rows(path)
    [board] = after["frozen_boards"]
    assert unpack(board["document"]) == old.replace(b"gold:0123456789ab", b"gold:3")
    [key] = after["hub_keys"]
    for gold in after["gold"]:
        content = unpack(gold["content"])
        assert gold["checksum"] == keyed_digest(bytes.fromhex(key["value"]), content)
        assert hashlib.sha256(content).hexdigest() not in repr(after)


def _upgraded_to(connection: sa.Connection, revision: str) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_run_goes_on_and_reports_the_same(schema: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    restore(schema, out / STORE)
    words: list[object] = ["run", "--articles", tmp_path / "articles", "--out", out]
    words += ["--uniprot", release_at(tmp_path / "release"), "--attempts", 2]
    (tmp_path / "articles").mkdir()
    found = rows(out / STORE)
    for article in found["articles"]:
        (tmp_path / article["source"]).write_bytes(unpack(article["text"]))
    for gold in found["gold"]:
        (tmp_path / gold["source"]).write_bytes(unpack(gold["content"]))
        words += [f"--gold-{gold['task'].lower()}", tmp_path / gold["source"]]
    for server in found["servers"]:  # nobody is there any more: nothing may be asked again
        words += ["--server", f"{server['name']}={server['url']}"]

    refused = await metaserver("attempts", "--out", out)
    assert refused.status == 2
    assert f"has schema {schema}" in refused.stderr
    ended = await metaserver(*words)
    assert ended.status == 0, ended.stderr
    reported = [line.split("\t") for line in _reported(schema, "attempts.tsv").split("\n")]
    written = [line.split("\t") for line in (out / "attempts.tsv").read_text().split("\n")]
    width = len(reported[0])  # later releases added columns behind
    assert [cells[:width] for cells in written] == [
        list(map(inert, cells))
        for cells in reported  # that release left formulas in it
    ]
    assert not any("".join(cells[width:]) for cells in written[1:])
    scored = json.loads(_reported(schema, "boards.json"))
    assert set(boards(out)) == set(scored)
    for task, board in boards(out).items():
        scores = {run["server"]: run["score"] for run in board["runs"]}
        assert set(scores) == set(scored[task])
        for server, score in scored[task].items():
            assert {name: scores[server][name] for name in score} == score
    shown = await metaserver("attempts", "--out", out)
    assert shown.status == 0, shown.stderr
    assert "normalizations[11].dbid" in shown.stdout
    assert len(rows(out / STORE)["attempts"]) == len(found["attempts"])


def _reported(schema: str, name: str) -> str:
    return (RELEASED / f"schema_{schema}_{name}").read_text("utf-8")
