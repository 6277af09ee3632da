"""Boards of a phase that is frozen again, or changed after its freeze: the newest one counts."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import HubError, RefusedError
from metaserver.publication.making import PackageOrder, make_package
from tests.hubs.command import DEMO
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.waiting import patience, until

GOLD = [line.split("\t")[:2] for line in (DEMO / "gold_int.tsv").read_text().splitlines()]
GOOD = "".join(f"{article}\t{accession}\t1\t0.5\n" for article, accession in dict(GOLD).items())
FIRST = "".join(GOOD.splitlines(keepends=True)[:1])


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with a frozen phase of INT alone, and a run of blue in it."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(
            running, teams=["blue", "red"], is_open=True, visibility="public", tasks=["INT"]
        )
        await upload(running, "blue-run")
        await running.do("phases.freeze", phase="test")
        yield running


async def upload(running: Running, run: str, content: str = GOOD, team: str = "blue") -> None:
    """Upload a run as an organiser."""
    given = {"phase": "test", "task": "INT", "run": run, "content": content.encode()}
    await running.do("runs.upload", ORGANISER, **given, team=team)


async def frozen(running: Running, count: int) -> list[Any]:
    """Return the frozen boards of INT, the newest first, once there are so many.

    Those of the other tasks may not be stored yet.
    """
    async with patience():
        while True:
            found = await running.do("boards.frozen", phase="test")
            ours = [one for one in found if one.task == "INT"]
            if len(ours) >= count:
                assert len(ours) == count
                return ours
            await asyncio.sleep(0.05)


async def runs_of(running: Running, board: str) -> list[str]:
    found = await running.do("boards.get-frozen", board=board)
    return sorted(row.run for row in found.rows)


async def make(running: Running, out: Path) -> None:
    """Make the results package."""
    order, service = PackageOrder(phase="test", plots=False), running.service
    await asyncio.to_thread(
        lambda: asyncio.run(make_package(service.store.place, service.settings, order, out))
    )


async def packed(running: Running, out: Path) -> list[str]:
    """Return the runs of the results package, made as soon as the boards of all tasks are there."""

    async def made() -> bool:
        try:
            await make(running, out)
        except HubError as error:
            if "not frozen yet" not in str(error):
                raise
            return False
        return True

    await until(made)
    table = (out / "tables" / "INT" / "raw.csv").read_text()
    return sorted(row["run"] for row in csv.DictReader(io.StringIO(table)))


@pytest.mark.slow
async def test_an_upload_after_the_freeze_supersedes_the_board(running, tmp_path):
    [first] = await frozen(running, 1)
    await upload(running, "red-run", team="red")
    newest, _ = await frozen(running, 2)
    assert await runs_of(running, newest.board) == ["blue-run", "red-run"]
    assert await runs_of(running, first.board) == ["blue-run"]  # its link stays
    older = await running.do("boards.get-frozen", board=first.board)
    assert older.newer == newest.board
    assert await packed(running, tmp_path / "package") == ["blue-run", "red-run"]
    await running.do("runs.delete", phase="test", run="red-run")
    last, *_ = await frozen(running, 3)  # what there was before is another board again
    assert await runs_of(running, last.board) == ["blue-run"]
    assert await packed(running, tmp_path / "again") == ["blue-run"]


@pytest.mark.both_stores
async def test_a_phase_that_is_opened_again_is_frozen_again(running, tmp_path):
    await frozen(running, 1)
    await running.do("phases.open", phase="test")
    await upload(running, "red-run", team="red")
    await running.do("phases.update", phase="test", ranking={"measure": "f_score"})
    await running.do("phases.freeze", phase="test")
    newest, first = await frozen(running, 2)
    found = await running.do("boards.get-frozen", board=newest.board)
    assert (found.order[0], found.newer) == ("f_score", "")
    assert (await running.do("boards.get-frozen", board=first.board)).newer == newest.board
    assert await packed(running, tmp_path / "package") == ["blue-run", "red-run"]


async def test_freezing_what_has_not_changed_keeps_the_board_also_after_a_restart(tmp_path):
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue"], is_open=True, tasks=["INT"])
        await upload(running, "blue-run")
        await running.do("phases.freeze", phase="test")
        before = await frozen(running, 1)
        await running.do("phases.open", phase="test")
        await running.do("phases.freeze", phase="test")
    async with at_work(given) as running:
        await running.do("teams.create", team="red")
        await upload(running, "red-run", team="red")
        assert (await frozen(running, 2))[1:] == before


async def test_a_package_waits_for_the_board_of_what_is_there(running, tmp_path):
    await frozen(running, 1)
    async with running.service.store.writing() as connection:
        await connection.exec_driver_sql("UPDATE frozen_boards SET basis = 'of something else'")
    with pytest.raises(HubError, match=r"the boards of .* are not frozen yet: try again"):
        await make(running, tmp_path / "package")


async def test_the_rule_of_a_frozen_phase_stays(running: Running, tmp_path: Path) -> None:
    await frozen(running, 1)
    with pytest.raises(RefusedError, match=r"phase test is frozen.*open it again") as refused:
        await running.do("phases.update", phase="test", ranking={"articles": "answered"})
    assert refused.value.field == "ranking"
    await running.do("phases.update", phase="test", title="Renamed", ranking={})  # as it is
    assert await packed(running, tmp_path / "package") == ["blue-run"]


async def test_an_organisers_upload_in_place_of_a_withheld_one_is_shown(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, visibility="own", tasks=["INT"], ranking={"min_coverage": 0})
        await running.do("teams.create", team="blue")
        await running.do("phases.open", phase="test")
        blue, given = running.team("blue"), {"phase": "test", "task": "INT"}
        for run, content in (("one", GOOD), ("two", GOOD[: -len(FIRST)])):
            await running.do("runs.upload", blue, **given, run=run, content=content.encode())

        async def score(run: str) -> float | None:
            board = await running.do("boards.get", blue, **given)
            [found] = [row for row in board.rows if row.run == run]
            value: float | None = found.values["auc_ipr"]
            return value

        assert (await score("one") is None, await score("two") is None) == (False, True)
        await upload(running, "two", GOOD)
        assert await score("two") == await score("one")
