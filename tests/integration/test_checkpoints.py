"""Checkpoints: a restart continues from them, and the boards say what is missing meanwhile."""

import asyncio
import atexit
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from metaserver.base.compression import unpack
from metaserver.base.errors import UnavailableError
from metaserver.base.records import ServerName, TaskName
from metaserver.boards.scoreboard import Scoreboard
from metaserver.boards.windows import Window
from metaserver.cli.hub import work
from metaserver.cli.serve import open_service, service_app
from metaserver.config import Settings
from metaserver.phases import checkpoints, follower, log_reader
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.checkpoints import DIGEST_BYTES, Content, encode
from metaserver.phases.keeper import AggregateKeeper
from metaserver.phases.state_log import ServerStateRecorder
from metaserver.phases.verification import verify
from metaserver.store import logs
from metaserver.store.logs import LogEnd
from metaserver.store.phases import delete_phase
from metaserver.store.reader import open_reader
from metaserver.store.store import open_store
from tests import stores
from tests.hubs.command import DEMO, metaserver
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.stored import change, stored
from tests.integration.kits import asked_server
from tests.integration.test_service_gold import ARTICLES, run_to_end
from tests.waiting import patience

ONE = ServerName("blue-1")


async def worked(folder: Path) -> tuple[Settings, Any]:
    """Let a server answer a phase; return the hub's settings, and what its pages showed.

    A store that is a file is made once, and copied.
    """
    given = await settings(folder)
    if stores.chosen[0] == stores.SQLITE and _made:
        [(kept, shown)] = _made
        shutil.copytree(kept, given.folder, dirs_exist_ok=True)
        return given, shown
    async with asked_server() as server, at_work(given) as running:
        await plan_phase(running, teams=["blue"], visibility="public")
        await run_to_end(running, server.url)
        await running.until(lambda: not running.service.phases.scheduler.lanes.holder.engine.count)
        shown = what_is_shown(running)
    if stores.chosen[0] == stores.SQLITE:
        kept = Path(mkdtemp())
        atexit.register(shutil.rmtree, kept)
        _made.append((shutil.copytree(given.folder, kept / "hub"), shown))
    return given, shown


_made: list[tuple[Path, Any]] = []


def what_is_shown(running: Running) -> Any:
    phase = running.service.phase("test")
    boards = phase.boards.scoreboard
    measured = phase.windows.window(ONE, Window.HOUR)
    return (
        [boards.board(task.name) for task in boards.tasks()],
        [boards.scores(task.name) for task in boards.tasks()],
        phase.boards.server_monitor.dump(ONE),
        (measured.outcomes, measured.times, measured.answered),
    )


@asynccontextmanager
async def reopened(given: Settings) -> AsyncIterator[Running]:
    """Open the hub again, and let it catch up."""
    async with open_service(given) as hub:
        phase = hub.phase("test")
        async with phase.scoring:
            await phase.catch_up()
        yield Running(hub)


async def require_shown(given: Settings, shown: Any) -> None:
    """Check what the hub shows when it is opened again and has caught up."""
    async with reopened(given) as running:
        assert what_is_shown(running) == shown


def alter(given: Settings, statement: str, *values: Any) -> None:
    assert change(Path(given.folder), statement, *values) == 1


def ask(given: Settings, query: str) -> Any:
    [(value,)] = stored(Path(given.folder), query)
    return value


def content_of(given: Settings) -> bytes:
    content = ask(given, "SELECT content FROM checkpoints")
    assert isinstance(content, bytes)
    return content


def opened(content: bytes) -> Content:
    return msgspec.msgpack.decode(unpack(content[DIGEST_BYTES:]), type=Content)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the followers have warned of."""
    known = (follower.__name__, logging.WARNING)
    return [one.message for one in caplog.records if (one.name, one.levelno) == known]


async def test_a_restart_reads_no_attempt_again(tmp_path, monkeypatch):
    given, shown = await worked(tmp_path)
    monkeypatch.setattr(log_reader, "count", None)  # whoever reads the log fails
    await require_shown(given, shown)


async def test_a_restart_reads_what_its_checkpoint_lacks(tmp_path, monkeypatch):
    given, shown = await worked(tmp_path)
    counted: list[int] = []
    count = log_reader.count

    def counting(logged: Any, *others: Any) -> None:
        counted.extend(one.serial for one in logged)
        count(logged, *others)

    monkeypatch.setattr(log_reader, "count", counting)
    monkeypatch.setattr(log_reader, "WORTH", 1)
    change(Path(given.folder), "DELETE FROM checkpoints")
    async with open_service(given) as hub:
        lane = hub.phase("test").follower._lanes[ONE]
        lane.end = lane.end._replace(serial=20)  # as it was after 20 answers
        with monkeypatch.context() as patch:
            patch.setattr(log_reader, "CHUNK", 20)
            await hub.phase("test").catch_up()
        await hub.part(AggregateKeeper).close()
    assert counted == list(range(1, 21))
    await require_shown(given, shown)
    assert counted == list(range(1, ARTICLES + 1))


async def test_the_reading_of_a_long_log_goes_on_from_its_last_part(tmp_path, monkeypatch):
    given, shown = await worked(tmp_path)
    alter(given, "DELETE FROM checkpoints")
    monkeypatch.setattr(log_reader, "CHUNK", 5)
    monkeypatch.setattr(log_reader, "PART", 10)
    rows, asked = logs.rows_after, list[int]()
    interrupted = [10, 25]  # the second in the middle of a part

    async def rows_after(connection: Any, key: Any, serial: int, **options: Any) -> Any:
        asked.append(serial)
        if serial in interrupted:
            interrupted.remove(serial)
            raise UnavailableError("the disk is away")
        return await rows(connection, key, serial, **options)

    monkeypatch.setattr(logs, "rows_after", rows_after)
    async with open_service(given) as hub:
        phase = hub.phase("test")
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await phase.catch_up()
    assert asked == [0, 5, 10, 10, 15, 20, 25]
    asked.clear()
    await require_shown(given, shown)  # as after a kill: the last part was kept
    assert asked[:2] == [20, 25]


Breakage = Callable[[bytes], bytes]


def _with(**changes: Any) -> Breakage:
    return lambda content: encode(msgspec.structs.replace(opened(content), **changes))


def _of_basis(**changes: Any) -> Breakage:
    def broken(content: bytes) -> bytes:
        kept = opened(content)
        basis = msgspec.structs.replace(kept.basis, **changes)
        return encode(msgspec.structs.replace(kept, basis=basis))

    return broken


BROKEN: dict[str, tuple[Breakage, str]] = {
    "empty": (lambda _: b"", "damaged"),
    "cut": (lambda content: content[:-1], "damaged"),
    "flipped": (lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], "damaged"),
    "other form": (lambda _: checkpoints._digest(b"x") + b"x", "another format"),
    "other version": (_of_basis(format=99), "made with"),
    "other limit": (_of_basis(time_limit=1.0), "made with"),
    "other release": (_of_basis(release="another"), "made with"),
    "no runs": (_with(runs=()), "no dump"),
}


@pytest.mark.slow
async def test_a_checkpoint_that_cannot_be_used_is_left_and_written_again(tmp_path, caplog):
    given, shown = await worked(tmp_path)
    for name, (broken, reason) in BROKEN.items():
        caplog.clear()
        alter(given, "UPDATE checkpoints SET content = $1", broken(content_of(given)))
        async with reopened(given) as running:
            assert what_is_shown(running) == shown, name
            await running.service.part(AggregateKeeper).close()
        [line] = warnings(caplog)
        assert line.startswith(f"the checkpoint of {ONE} is not used")
        assert reason in line
    caplog.clear()
    await require_shown(given, shown)
    assert warnings(caplog) == []
    for column in ("revision", "serial"):  # of another log
        alter(given, f"UPDATE checkpoints SET {column} = {column} + 1")
        caplog.clear()
        async with reopened(given) as running:
            assert what_is_shown(running) == shown
            await running.service.part(AggregateKeeper).close()
        assert f"the checkpoint of {ONE} is not used" in caplog.text


async def test_a_checkpoint_that_another_process_has_just_made_is_used(tmp_path, caplog):
    given, shown = await worked(tmp_path)
    async with open_service(given) as hub:
        phase = hub.phase("test")
        lane = phase.follower._lanes[ONE]
        lane.end = LogEnd(lane.end.serial - 2, lane.end.revision - 1)  # as it was a moment before
        async with phase.scoring:
            await phase.catch_up()
        assert what_is_shown(Running(hub)) == shown
    assert warnings(caplog) == []


async def test_a_checkpoint_of_another_gold_is_left(tmp_path, caplog):
    given, _ = await worked(tmp_path)
    content = b"".join((DEMO / "gold_int.tsv").read_bytes().splitlines(keepends=True)[:-3])
    async with open_service(given) as hub:
        phase = hub.phase("test").phase
        await hub.store.set_gold(phase.id, TaskName("INT"), "gold.tsv", content)
    async with reopened(given) as running:
        after = what_is_shown(running)
    assert "is of another gold" in caplog.text
    change(Path(given.folder), "DELETE FROM checkpoints")
    await require_shown(given, after)


@asynccontextmanager
async def held(given: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """Run the hub without its checkpoints, and hold it before it reads the first log."""
    change(Path(given.folder), "DELETE FROM checkpoints")
    release = asyncio.Event()
    async with open_service(given) as hub:
        phase = hub.phase("test")
        read = phase.follower._read

        async def waiting(lane: Any) -> None:
            await release.wait()
            await read(lane)

        monkeypatch.setattr(phase.follower, "_read", waiting)
        task = asyncio.create_task(work(hub))
        try:
            yield Running(hub), release
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_an_answer_that_could_not_be_scored_is_counted_once(tmp_path, monkeypatch):
    """A fault of a scorer stops the lane; the stored answer is read again."""
    given = await settings(tmp_path)
    put, faults = Scoreboard.put, [RuntimeError("a fault of a scorer"), None, None]

    def faulty(*args: Any) -> None:
        if faults and (fault := faults.pop()):
            raise fault
        put(*args)

    monkeypatch.setattr(Scoreboard, "put", faulty)
    async with asked_server() as server, at_work(given) as running:
        await plan_phase(running, teams=["blue"], visibility="public")
        answering = asyncio.create_task(run_to_end(running, server.url))
        engine = running.service.phases.scheduler.lanes.holder.engine
        await running.until(lambda: not faults and not engine.count)
        await running.caught_up()
        await running.do("servers.start", running.team("blue"), server=ONE)
        await answering
        await running.until(lambda: not engine.count)
        await running.caught_up()
        shown = what_is_shown(running)
    alter(given, "DELETE FROM checkpoints")
    await require_shown(given, shown)


async def test_a_hub_stops_though_a_checkpoint_cannot_be_made(tmp_path, monkeypatch, caplog):
    given = await settings(tmp_path)

    def fault(_: object) -> bytes:
        raise RuntimeError("a fault of a dump")

    async with asked_server() as server, at_work(given) as running:
        monkeypatch.setattr(follower, "encode", fault)
        await plan_phase(running, teams=["blue"], visibility="public")
        await run_to_end(running, server.url)
        await running.until(lambda: not running.service.phases.scheduler.lanes.holder.engine.count)
        caplog.clear()
    assert "checkpoints of phase test cannot be stored" in caplog.text


async def test_pages_say_that_they_are_catching_up(tmp_path, monkeypatch):
    given, shown = await worked(tmp_path)
    words = "catching up: 0 of 1 servers"
    async with held(given, monkeypatch) as (running, release):
        app = service_app(running.service)
        async with TestClient(TestServer(app)) as client:

            async def page(path: str) -> str:
                return await (await client.get(path)).text()

            assert words in await page("/c/bc/test/monitor")
            assert words in await page("/c/bc/test/board/INT")
            assert (await (await client.get("/c/bc/test/board/INT.json")).json())[
                "catching_up"
            ] == words
            assert "metaserver_lanes_behind 1.0" in await page("/metrics")
            assert (await client.get("/readyz")).status == 200
            board = await running.do("boards.get", phase="test", task="INT")
            assert (board.catching_up, board.rows) == (words, ())
            assert (await running.do("phases.get", phase="test")).catching_up == words
            assert (await running.do("hub.status")).lanes_behind == 1
            release.set()
            await running.caught_up()
            assert what_is_shown(running) == shown
            assert "catching up" not in await page("/c/bc/test/monitor")
            assert "catching up" not in await page("/c/bc/test/board/INT")
            assert "metaserver_lanes_behind 0.0" in await page("/metrics")
            assert (await running.do("phases.get", phase="test")).catching_up == ""


async def test_nothing_is_decided_by_boards_that_are_behind(tmp_path, monkeypatch):
    """No board is frozen, no state is stored, and a change of gold waits."""
    given, _ = await worked(tmp_path)
    query = "SELECT count(*) FROM state_changes"
    known = ask(given, query)
    async with held(given, monkeypatch) as (running, release):
        await running.do("phases.freeze", phase="test")
        phase = running.service.phase("test")
        await running.service.part(BoardArchiver).look(phase)
        await running.service.part(ServerStateRecorder).record()
        assert await running.do("boards.frozen", phase="test") == []
        assert ask(given, query) == known
        content = (DEMO / "gold_int.tsv").read_bytes().splitlines(keepends=True)[:-1]
        wanted = {"phase": "test", "task": "INT", "content": b"".join(content), "source": "g.tsv"}
        setting = asyncio.create_task(running.do("gold.set", **wanted))
        jobs = running.service.jobs.own
        async with patience():
            while not any("catching up" in job.progress.step for job in jobs.list_all()):
                await asyncio.sleep(0.01)
        assert not setting.done()
        release.set()
        changed = await setting
        assert [run.run for run in changed.runs] == [ONE]
        for frozen in await running.frozen(4):  # three tasks, and the gold before
            board = await running.do("boards.get-frozen", board=frozen.board)
            assert [row.articles_scored for row in board.rows] == [board.rows[0].articles_in_gold]


async def test_a_hub_that_is_stopped_while_it_catches_up_goes_on(tmp_path, monkeypatch):
    given, shown = await worked(tmp_path)
    for _ in range(2):
        async with held(given, monkeypatch) as (running, _release):
            assert running.service.phase("test").is_behind
        assert ask(given, "SELECT count(*) FROM checkpoints") == 0  # nothing of what was not read
    await require_shown(given, shown)


@pytest.mark.slow
async def test_the_doctor_finds_and_repairs_a_checkpoint_that_differs(tmp_path: Path) -> None:
    given, shown = await worked(tmp_path)
    config = tmp_path / "hub.json"
    config.write_bytes(msgspec.json.encode(given))
    arguments = ("doctor", "--deep", "--config", config)
    found = await metaserver(*arguments)
    assert (found.status, found.stderr) == (0, "")
    assert f"1 checkpoints of {ARTICLES} attempts, 0 differ from the log" in found.stdout

    kept = opened(content_of(given))
    monitor = msgspec.structs.replace(kept.monitor, answered=kept.monitor.answered - 1)
    runs = list(kept.runs)
    empty = {run.task: run for run in runs}["INT"]._replace(data=b"")
    runs = [empty if (run.task, run.view) == (empty.task, empty.view) else run for run in runs]
    wrong = msgspec.structs.replace(kept, monitor=monitor, runs=tuple(runs))
    alter(given, "UPDATE checkpoints SET content = $1", encode(wrong))
    async with at_work(given) as running:  # it need not be stopped to be checked
        found = await metaserver(*arguments)
        assert found.status == 1
        place = f"phase test, {ONE}: "
        assert f"{place}the monitor's answered differs" in found.stdout
        assert f"{place}the INT run (raw): " in found.stdout
        assert "to repair: stop the hub" in found.stdout
        refused = await metaserver(*arguments, "--repair")
        assert refused.status != 0
        assert "in use by another running hub" in refused.stderr
        assert what_is_shown(running) != shown
    repaired = await metaserver(*arguments, "--repair")
    assert (repaired.status, repaired.stderr) == (0, "")
    await require_shown(given, shown)


async def test_a_phase_that_is_deleted_beside_the_doctor_does_not_differ(tmp_path, monkeypatch):
    given, _ = await worked(tmp_path)
    rows_after = logs.rows_after

    async def deleted_before(connection, key, serial, *, limit):
        async with open_store(given.place()) as store, store.writing() as writing:
            await delete_phase(writing, key.phase_id)
        return await rows_after(connection, key, serial, limit=limit)

    monkeypatch.setattr(logs, "rows_after", deleted_before)
    async with open_reader(given.place()) as reader:
        assert [lane async for lane in verify(reader, given, time.time())] == []
