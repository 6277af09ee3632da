"""Result files of a run, with the hub in the test's own process."""

from __future__ import annotations

import csv
import gc
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from xmlrpc.client import Fault

import msgspec
import pytest

from metaserver.cli.app import Hub, Plan, open_hub
from metaserver.cli.options import read_gold, read_servers
from metaserver.cli.results import write_results
from metaserver.config import Settings
from metaserver.corpus import read_articles
from metaserver.lanes.engine import work_lanes
from metaserver.leaderboards.result_files import ATTEMPT_COLUMNS
from metaserver.model.errors import HubError
from metaserver.model.records import ArticleId, ServerName, TaskName
from metaserver.uniprot import Release
from tests.hubs.command import DEMO
from tests.hubs.release import release_at
from tests.integration.peers import GOOD, answering, peer, response

SETTINGS = {
    "limits": {"attempts": 2},
    "retry": {"base": 1e-6, "cap": 1e-6},
    "circuit": {"failures": 1000},
}
FAULT = response(Fault(7, "no\tmodel:\r\n  line 2\u2028line 3"))


@pytest.fixture(autouse=True)
def process_as_it_was() -> Iterator[None]:
    """Undo what a hub sets for its whole process."""
    files, thresholds = resource.getrlimit(resource.RLIMIT_NOFILE), gc.get_threshold()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    gc.set_threshold(*thresholds)


@asynccontextmanager
async def worked(folder: Path) -> AsyncIterator[Hub]:
    """Run a small phase to its end: one server, which at first says twice that it failed."""
    async with peer(answering(FAULT, FAULT, FAULT, GOOD)) as there:
        plan = Plan(
            phase="test",
            servers=read_servers([f"one={there.url}"], 1),
            gold=read_gold({TaskName("INT"): DEMO / "gold_int.tsv"}),
            release=Release.open(release_at(folder / "uniprot")),
            folder=folder / "out",
            settings=msgspec.convert(SETTINGS, Settings),
        )
        async with open_hub(plan, read_articles([DEMO / "articles"])) as hub:
            await work_lanes(hub.lanes)
            yield hub


async def test_attempts_are_a_table_of_what_is_stored(tmp_path: Path) -> None:
    async with worked(tmp_path) as hub:
        await write_results(hub)
        name = ServerName("one")
        kept = [row async for row in hub.store.attempts(hub.keys[name], name, hub.corpus)]
    with (tmp_path / "out" / "attempts.tsv").open(encoding="utf-8", newline="") as file:
        table = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
        assert tuple(next(table)) == ATTEMPT_COLUMNS
        rows = [dict(zip(ATTEMPT_COLUMNS, row, strict=True)) for row in table]
    assert len(rows) == len(kept) > len(hub.corpus)
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
    async with worked(tmp_path) as hub:
        out = tmp_path / "out"
        (out / "leaderboard.json").mkdir()
        with pytest.raises(HubError, match=r"leaderboard\.json: .*the same command"):
            await write_results(hub)
        assert [path.name for path in out.iterdir() if path.name.endswith(".new")] == []
        (out / "leaderboard.json").rmdir()
        await write_results(hub)
    assert (out / "leaderboard.json").is_file()


async def test_boards_that_differ_from_what_is_stored_are_not_published(tmp_path: Path) -> None:
    async with worked(tmp_path) as hub:
        article = ArticleId(next(iter(hub.corpus.ids)))
        never_sent = {TaskName("INT"): [["P04637", 1, 1.0]]}
        hub.boards.scoreboard.put(ServerName("one"), article, never_sent)
        with pytest.raises(HubError, match="the live INT board"):
            await write_results(hub)
    assert not (tmp_path / "out" / "leaderboard.json").exists()
