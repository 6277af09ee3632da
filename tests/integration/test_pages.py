"""The pages of a run, where they are asked for."""

import socket
from pathlib import Path

from tests.hubs.command import DEMO, metaserver
from tests.hubs.release import release_at
from tests.integration.kits import asked_server


async def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    release = release_at(tmp_path / "uniprot")
    async with asked_server() as one:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ended = await metaserver(
                "run", "--articles", DEMO / "articles", "--server", f"one={one.url}",
                "--uniprot", release, "--out", tmp_path / "out", "--web", port,
            )  # fmt: skip
        assert ended.status == 2
        [line] = ended.stderr.splitlines()
        assert f"127.0.0.1:{port}" in line
        assert "another port" in line
        assert not one.texts
