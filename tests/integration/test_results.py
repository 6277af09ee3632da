"""Result files of a run, with the hub in the test's own process."""

import csv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from xmlrpc.client import Fault

import msgspec
import pytest

from metaserver.base.errors import HubError, InputError
from metaserver.base.records import ArticleId, ServerName, TaskName
from metaserver.boards.frozen import ATTEMPT_COLUMNS
from metaserver.cli.results import check_package, leave_package, write_results
from metaserver.cli.single_phase import work_to_end
from metaserver.config import Settings
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase
from tests.hubs.release import release_at
from tests.hubs.single import begun, single_phase
from tests.integration.peers import GOOD, answering, peer, response

SETTINGS = {
    "limits": {"attempts": 2},
    "retry": {"base": 1e-6, "cap": 1e-6},
    "circuit": {"failures": 1000},
}
FAULT = response(Fault(7, "no\tmodel:\r\n  line 2\u2028line 3"))


@asynccontextmanager
async def worked(folder: Path) -> AsyncIterator[tuple[HubContext, RunningPhase]]:
    """Run a small phase to its end: one server, which at first says twice that it failed."""
    async with peer(answering(FAULT, FAULT, FAULT, GOOD)) as there:
        settings = msgspec.convert(SETTINGS | {"folder": str(folder / "out")}, Settings)
        release = release_at(folder / "uniprot")
        phase = single_phase(release, {"one": there.url}, tasks=("INT",))
        async with begun(settings, phase) as (hub, running):
            await work_to_end(hub, running)
            yield hub, running


@pytest.mark.both_stores
async def test_attempts_are_a_table_of_what_is_stored(tmp_path: Path) -> None:
    async with worked(tmp_path) as (hub, running):
        await write_results(hub, running)
        name = ServerName("one")
        key = running.key(running.servers[name])
        kept = [row async for row in hub.store.attempts(key, name, running.corpus)]
    with (tmp_path / "out" / "attempts.tsv").open(encoding="utf-8", newline="") as file:
        table = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
        assert tuple(next(table)) == ATTEMPT_COLUMNS
        rows = [dict(zip(ATTEMPT_COLUMNS, row, strict=True)) for row in table]
    assert len(rows) == len(kept) > len(running.corpus)
    for row, (_, attempt, final) in zip(rows, kept, strict=True):
        assert (row["server"], row["article"]) == (attempt.server, attempt.article)
        assert (int(row["attempt"]), row["outcome"]) == (attempt.number, attempt.outcome)
        assert row["final"] == str(int(final))
        began = datetime.fromisoformat(row["started_at"]).timestamp()
        assert began == pytest.approx(attempt.started_at, abs=0.001)
        assert float(row["total"]) == pytest.approx(attempt.timings.total, abs=1e-6)
        assert row["dns"] == ""  # an address has no name to resolve
        assert int(row["bytes_in"]) == attempt.bytes_in > 0
    assert [row["outcome"] for row in rows].count("fault") == 3
    faults = {row["message"] for row in rows if row["outcome"] == "fault"}
    assert faults == {"7: no model: line 2 line 3"}


async def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    async with worked(tmp_path) as (hub, running):
        out = tmp_path / "out"
        (out / "leaderboard.json").mkdir()
        with pytest.raises(HubError, match=r"leaderboard\.json: .*the same command"):
            await write_results(hub, running)
        assert [path.name for path in out.iterdir() if path.name.endswith(".new")] == []
        (out / "leaderboard.json").rmdir()
        await write_results(hub, running)
    assert (out / "leaderboard.json").is_file()


async def test_boards_that_differ_from_what_is_stored_are_not_published(tmp_path: Path) -> None:
    async with worked(tmp_path) as (hub, running):
        article = ArticleId(next(iter(running.corpus.ids)))
        never_sent = {TaskName("INT"): [["P04637", 1, 1.0]]}
        running.boards.scoreboard.put(ServerName("one"), article, never_sent)
        with pytest.raises(HubError, match="the live INT board"):
            await write_results(hub, running)
    assert not (tmp_path / "out" / "leaderboard.json").exists()


@pytest.mark.slow
async def test_a_package_is_left_of_a_phase_that_is_open(tmp_path: Path) -> None:
    out = tmp_path / "package"
    async with worked(tmp_path) as (hub, running):
        await leave_package(hub, running, out)
        first = (out / "tables" / "INT" / "raw.csv").read_text()
        check_package(out)
        await leave_package(hub, running, out)
        assert (out / "tables" / "INT" / "raw.csv").read_text() == first
        (row,) = csv.DictReader(first.splitlines())
        (shown,) = running.boards.board(TaskName("INT")).rows
    assert (row["run"], float(row["auc_ipr"])) == ("one", shown.values["auc_ipr"])
    with (out / "tables" / "responses.csv").open(encoding="utf-8") as file:
        (server,) = csv.DictReader(file)
    answered, given_up = int(server["answered"]), int(server["given up"])
    assert answered + given_up == int(server["articles"])
    assert int(server["attempts"]) == answered + 3  # the faults
    assert float(server["MAD"]) > 0
    with pytest.raises(InputError, match="is no package"):
        check_package(tmp_path)
