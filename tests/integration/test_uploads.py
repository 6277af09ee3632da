"""Uploads of result files are counted in the store: no way of uploading passes a phase's limit."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.compression import pack_json
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import DAY
from metaserver.base.records import ArticleId
from metaserver.operations.uploads import READS, compared, digests_of
from tests.fakes.clock import ShiftedClock
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import visiting

HOUR = 3_600.0
ACT = {"phase": "test", "task": "ACT"}


def act_file(wrong: int = 0) -> bytes:
    """Return an ACT result file of ten articles."""
    return "".join(
        f"sample{number:02}\t{number == wrong:d}\t{number}\t0.{number:02}\n"
        for number in range(1, 11)
    ).encode()


async def opened(running: Running, **limits: Any) -> None:
    await plan_phase(running, teams=["blue", "red"], is_open=True, limits={"uploads": limits})


async def left(running: Running, team: str = "blue") -> Mapping[str, Any]:
    """Return what a team has left, by task."""
    found = await running.do("uploads.list", running.team(team), phase="test")
    return {one.task: one for one in found}


async def test_files_that_count_nothing_are_read_a_number_of_times_an_hour(tmp_path: Path) -> None:
    clock = ShiftedClock()
    async with at_work(await settings(tmp_path), clock=clock) as running:
        await opened(running)
        blue, red = running.team("blue"), running.team("red")
        file = {**ACT, "run": "a", "content": b"no result file"}
        for number in range(READS):
            with pytest.raises(RefusedError) if number % 2 else nullcontext():
                await running.do("runs.upload" if number % 2 else "runs.preview", blue, **file)
        for name in ("runs.upload", "runs.preview"):
            with pytest.raises(RefusedError, match="120 result files in an hour") as refused:
                await running.do(name, blue, **file)
            assert refused.value.refusal is Refusal.TOO_MANY
        await running.do("runs.preview", red, **file)
        await running.do("runs.preview", **file, team="blue")  # organisers are not counted
        clock.ahead += HOUR
        await running.do("runs.preview", blue, **file)
        assert (await left(running))["ACT"].used == 0


@pytest.mark.both_stores
async def test_teams_and_tasks_share_a_name_of_runs_but_never_a_run(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await opened(running)
        blue, red = running.team("blue"), running.team("red")
        ranked = b"sample01\tP04637\t1\t0.5\n"
        first, second = (b"sample01\t1\t1\t0.%d\n" % number for number in (8, 9))
        files = {("red", "ACT"): first, ("blue", "ACT"): second, ("blue", "INT"): ranked}
        for (team, task), content in files.items():
            file = {"phase": "test", "task": task, "run": "R01", "content": content}
            await running.do("runs.upload", running.team(team), **file)
        uploaded = await running.do("runs.list", phase="test")
        assert [(one.run, one.own_name, one.team, one.task) for one in uploaded] == [
            ("R01", "R01", "red", "ACT"),
            ("blue.R01", "R01", "blue", "ACT"),
            ("blue.INT.R01", "R01", "blue", "INT"),
        ]
        again = {**ACT, "run": "R01", "content": first}
        assert (await running.do("runs.upload", blue, **again)).run == "blue.R01"
        of_name = {"phase": "test", "run": "R01"}
        assert (await running.do("runs.get", red, **of_name)).content == first
        with pytest.raises(RefusedError, match=r"blue\.R01, blue\.INT\.R01") as refused:
            await running.do("runs.get", blue, **of_name)
        assert refused.value.field == "run"
        await running.do("runs.delete", blue, phase="test", run="blue.R01")
        assert (await running.do("runs.get", blue, **of_name)).run.task == "INT"
        assert [one.run for one in await running.do("runs.list", phase="test")] == [
            "R01",
            "blue.INT.R01",
        ]


async def test_a_run_that_was_deleted_is_named_on_frozen_boards_without_a_link(tmp_path) -> None:
    async with at_work(await settings(tmp_path)) as running:
        await opened(running)
        await running.do("runs.upload", running.team("blue"), **ACT, run="a", content=act_file())
        await running.do("phases.update", phase="test", visibility="public")
        await running.do("phases.freeze", phase="test")
        board = next(one.board for one in await running.frozen(3) if one.task == "ACT")
        async with visiting(running) as reader:
            for deleted in (False, True):
                page = await reader.get(f"/b/{board}")
                assert ("/runs/a" in page.text, "a deleted" in page.said) == (not deleted, deleted)
                if not deleted:
                    await running.do("phases.open", phase="test")
                    await running.do("runs.delete", phase="test", run="a")
                    await running.do("phases.freeze", phase="test")


@pytest.mark.both_stores
async def test_uploads_are_counted_for_good(tmp_path: Path) -> None:
    given, clock = await settings(tmp_path), ShiftedClock()
    async with at_work(given, clock=clock) as running:
        await opened(running, a_day=3, total=5)
        blue = running.team("blue")
        begun = clock()
        told = await running.do("runs.upload", blue, **ACT, run="a", content=act_file())
        assert (told.uploads.left, told.uploads.next_at) == (2, None)
        with pytest.raises(RefusedError):
            await running.do("runs.upload", blue, **ACT, run="a", content=b"no result file")
        strange = b"elsewhere\t1\t1\t0.5\n"
        with pytest.raises(RefusedError, match="no valid line"):
            await running.do("runs.upload", blue, **ACT, run="a", content=strange)
        assert (await left(running))["ACT"].left == 2
        clock.ahead += HOUR
        await running.do("runs.upload", blue, **ACT, run="a", content=act_file())  # in its place
        await running.do("runs.delete", blue, phase="test", run="a")
        assert (await left(running))["ACT"].left == 1
    async with at_work(given, clock=clock) as running:  # after a restart
        answers = await asyncio.gather(
            *(
                running.do("runs.upload", blue, **ACT, run="a", content=act_file(number))
                for number in range(50)
            ),
            return_exceptions=True,
        )
        refused = [one for one in answers if isinstance(one, RefusedError)]
        assert len(refused) == 49
        # Which of them are read before the last free place is taken depends on the store's pace.
        assert {one.refusal for one in refused} <= {Refusal.TOO_MANY, Refusal.INVALID}
        [full, *_] = [str(one) for one in refused if one.refusal is Refusal.TOO_MANY]
        assert (
            "3 uploads of ACT in phase test in the last 24 hours, which is the limit: the next is"
            in full
        )
        found = (await left(running))["ACT"]
        assert (found.left, found.today, found.used) == (0, 3, 3)
        assert found.next_at == pytest.approx(begun + DAY, abs=HOUR / 2)
        assert (await left(running))["INT"].left == 3
        assert (await left(running, "red"))["ACT"].left == 3
        await running.do("runs.upload", **ACT, run="o", content=act_file(), team="blue")
        assert (await left(running))["ACT"].used == 3  # an organiser's upload is none of the team's
        clock.ahead += 2 * DAY
        for _ in range(2):
            await running.do("runs.upload", blue, **ACT, run="b", content=act_file())
        assert (await left(running))["ACT"].next_at is None
        with pytest.raises(RefusedError, match="used all of its 5 uploads") as over:
            await running.do("runs.upload", blue, **ACT, run="b", content=act_file())
        assert over.value.refusal is Refusal.STATE
        changed = {"uploads": {"a_day": 3, "total": 6}}
        await running.do("phases.update", phase="test", limits=changed)
        assert (await left(running))["ACT"].left == 1


def test_an_upload_is_near_to_any_earlier_one_that_was_not() -> None:
    first = {ArticleId(str(number)): [True, 0.5] for number in range(100)}
    other = {article: [False, 0.5] for article in first}
    near = first | {ArticleId("0"): [False, 0.5]}
    known = [pack_json(digests_of(one)) for one in (first, other)]
    found = compared(near, known)
    assert (found.changed, found.digests) == (1, None)
    assert compared(first, known) == (100, None, None)  # equal to one: it says nothing new
    assert compared({article: [True, 0.6] for article in first}, known).changed == 0
    far = {article: [int(article) < 90, 0.5] for article in first}
    assert compared(far, known).changed == 10
    assert compared(far, known).digests is not None
