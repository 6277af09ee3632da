"""A hub's store copied while it is at work."""

import asyncio
from pathlib import Path

import msgspec
import pytest
import yaml

from annotators.server import Kit
from metaserver.cli import main
from metaserver.config import Settings
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.integration.kits import annotate, served
from tests.integration.test_service_gold import run_file, run_to_end

SECRET = "hunter2"


async def filled(running: Running) -> None:
    """Have a phase with answers, an offline run, two versions of gold and frozen boards."""
    await plan_phase(running, teams=["blue"])
    async with served(Kit(annotate)) as url:
        await run_to_end(running, url.replace("http://", f"http://blue:{SECRET}@"))
    given = {"phase": "test", "task": "INT"}
    content = run_file().replace(b"\t0.5\n", b"\t0.5\twas \x0cpulled down\n")
    await running.do("runs.upload", running.team("blue"), **given, run="file", content=content)
    changed = (DEMO / "gold_int.tsv").read_bytes() + b"sample01\tP99999\n"
    await running.do("gold.set", **given, content=changed, source="late.tsv")
    await running.add_phase("next")
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
        for view in phase.boards.scoreboard.views(task.name)
    ]
    attempts = await running.do("servers.attempts", server="blue-1", phase="test", limit=1000)
    one = attempts[0]
    raw = await running.do(
        "servers.answer", server="blue-1", phase="test", article=one.article, number=one.number
    )
    return [*boards, attempts, raw, await running.do("boards.frozen", phase="test")]


@pytest.mark.one_store("a database is backed up by pg_dump: test_machines.py")
async def test_a_backup_of_a_hub_at_work_is_a_whole_store(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    config = write_settings(given, tmp_path / "config.yaml")
    copy = tmp_path / "copies" / "hub.sqlite"
    copy.parent.mkdir()
    async with at_work(given) as running:
        await plan_phase(running, teams=["blue"])
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
async def test_a_backup_says_what_is_wrong(tmp_path, capsys):
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
