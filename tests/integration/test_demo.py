"""`metaserver demo` as it is stopped: what it has started ends with it."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from tests.hubs.command import start
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
