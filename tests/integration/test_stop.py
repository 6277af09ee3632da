"""Interruptions: signals, a second hub, a full disk. A run goes on from where it was."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hubs.command import ARTICLES, DEMO, GOLD, metaserver, start
from tests.hubs.release import release_at
from tests.hubs.stored import stored
from tests.integration.kits import Asked, asked_server
from tests.waiting import patience, until

pytestmark = [pytest.mark.one_store("the store of the command is a file"), pytest.mark.slow]

STOPPED = 130


@pytest.fixture
async def release(tmp_path: Path) -> Path:
    return release_at(tmp_path / "uniprot")


@pytest.fixture
async def slow() -> AsyncIterator[Asked]:
    async with asked_server(0.2) as asked:
        yield asked


def given(release: Path, out: Path, url: str) -> list[object]:
    return [
        "run", "--articles", DEMO / "articles", *GOLD, "--uniprot", release, "--out", out,
        "--server", f"one={url}",
    ]  # fmt: skip


def answered(out: Path) -> int:
    rows = stored(out, "SELECT count(*) FROM answers")
    return rows[0][0] if rows else 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_run_that_is_told_to_stop_stops_and_goes_on_later(release, tmp_path, slow, number):
    out = tmp_path / "out"
    process = await start(*given(release, out, slow.url))
    await until(lambda: answered(out) > 1)
    process.send_signal(number)
    async with patience():
        _, stderr = await process.communicate()
    assert process.returncode == STOPPED
    assert stderr.decode() == "metaserver: stopped\n"
    kept = answered(out)
    assert 1 < kept < ARTICLES
    assert stored(out, "SELECT count(*) FROM attempts") == [(kept,)]  # nothing is charged

    slow.seconds = 0.0
    ended = await metaserver(*given(release, out, slow.url))
    assert ended.status == 0, ended.stderr
    assert answered(out) == ARTICLES
    assert slow.texts.total() <= ARTICLES + 1  # but for the one in flight, none was sent again


async def test_no_secret_of_a_url_is_told(release: Path, tmp_path: Path) -> None:
    out, config = tmp_path / "out", tmp_path / "config.yaml"
    config.write_text("circuit: {failures: 1, probe_base: 0.05, probe_cap: 0.1, patience: 0.3}\n")
    down = "http://team:hunter2@127.0.0.1:9/x?token=hunter2"
    async with asked_server() as one:
        up = one.url.replace("http://", "http://team:hunter2@")
        arguments = [*given(release, out, up), "--server", f"down={down}", "--config", config]
        ended = await metaserver(*arguments)
    assert ended.status == 1, ended.stderr
    assert "hunter2" not in ended.stdout + ended.stderr
    written = [path for path in out.iterdir() if not path.name.startswith("metaserver.sqlite")]
    assert len(written) == 5  # three result files, leaderboards, attempts
    for path in written:
        assert "hunter2" not in path.read_text("utf-8")
