"""`metaserver demo`: what it leaves, and that what it has started ends with it."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from tests.hubs.command import boards, metaserver, start
from tests.waiting import patience


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_demo_that_is_told_to_stop_takes_its_servers_along(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = await start("demo", "--port", "0", "--out", tmp_path / "out")
    assert process.stdout is not None
    try:
        async with patience():
            while b"watch it live" not in await process.stdout.readline():
                pass
        servers = psutil.Process(process.pid).children(recursive=True)
        assert len(servers) == 5
        process.send_signal(number)
        async with patience():
            await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 130
    assert not any(server.is_running() for server in servers)


@pytest.mark.slow
async def test_the_faulty_server_leads_no_board_and_a_package_is_left(tmp_path: Path) -> None:
    out, package = tmp_path / "out", tmp_path / "package"
    ended = await metaserver("demo", "--exit", "--port", "0", "--out", out, "--package", package)
    assert ended.status == 0, ended.stderr
    assert boards(out).keys() == {"ACT", "INT", "IPT"}
    for task, board in boards(out).items():
        places = {row["server"]: row["place"] for row in board["runs"]}
        assert places["faulty"] is None, task  # it answers too few articles
        assert 1 in places.values()
    assert "faulty" in (package / "tables" / "IPT" / "raw.csv").read_text()
    assert (package / "report.html").is_file()
    assert (package / "ro-crate-metadata.json").is_file()
