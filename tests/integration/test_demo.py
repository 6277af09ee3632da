"""`metaserver demo`: what it leaves, and that what it has started ends with it."""

import re
import signal
from pathlib import Path
from zipfile import ZipFile

import psutil
import pytest

from metaserver.tasks.plugin import offline_tasks
from tests.hubs.command import boards, metaserver, start
from tests.hubs.stored import stored
from tests.waiting import patience

pytestmark = pytest.mark.one_store("the store of the command is a file")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_demo_that_is_told_to_stop_takes_its_servers_along(tmp_path, number):
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


async def test_its_samples_are_left_once(tmp_path: Path) -> None:
    out = tmp_path / "samples"
    ended = await metaserver("demo", "--samples", out)
    assert ended.status == 0, ended.stderr
    assert all(name in ended.stdout for name in ("articles.zip", "uniprot_names.tsv"))
    texts = {path.name: path.read_bytes() for path in (out / "articles").iterdir()}
    with ZipFile(out / "articles.zip") as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == texts
    gold = (out / "gold_int.tsv").read_text().splitlines()
    assert {f"{line.split()[0]}.txt" for line in gold} <= texts.keys()
    for name, task in offline_tasks().items():
        [gold_file] = out.glob(f"offline/{name}_gold.*")
        [run_file] = out.glob(f"offline/{name}_run.*")
        found = task.read_upload(run_file, task.read_gold(gold_file))
        assert found.payloads
        assert not [*found.problems, *found.faults]
    again = await metaserver("demo", "--samples", out)
    assert again.status == 2
    assert "expected a new or empty folder" in again.stderr


@pytest.mark.slow
async def test_the_faulty_server_leads_no_board_and_a_package_is_left(tmp_path: Path) -> None:
    out, package = tmp_path / "out", tmp_path / "package"
    ended = await metaserver("demo", "--exit", "--port", "0", "--out", out, "--package", package)
    assert ended.status == 0, ended.stderr
    _, _, crashed = ended.stdout.partition("slow crashes after 6 articles")
    assert "slow is down" in crashed
    assert "slow is back" in crashed
    _, _, asked = ended.stdout.partition("a curator asks all servers")
    assert "metaserver rehearse" in asked
    assert re.search(r"^answered: [234] of 5 servers answered$", asked, re.MULTILINE), ended.stdout
    assert re.search(
        r"^faulty +not asked: it has not passed a conformance run *$", asked, re.MULTILINE
    )
    assert re.search(r"^IPT +\d+ +P00533 P29353 ", asked, re.MULTILINE)
    assert boards(out).keys() == {"ACT", "INT", "IPT"}
    for task, board in boards(out).items():
        places = {row["server"]: row["place"] for row in board["runs"]}
        assert places["faulty"] is None, task  # it answers too few articles
        assert task == "ACT" or places["slow"] is not None  # it lost no article by its crash
        assert 1 in places.values()
    assert "faulty" in (package / "tables" / "IPT" / "raw.csv").read_text()
    assert (package / "report.html").is_file()
    [(title, page)] = stored(out, "SELECT title, page FROM challenges")
    assert title == "Demo: protein interactions"
    assert "crashes in the middle" in str(page)
    [(title, text)] = stored(out, "SELECT title, text FROM announcements")
    assert title == "Results of demo"
    assert "](/results/demo)" in text
    assert "place 1: " in text
    assert (package / "ro-crate-metadata.json").is_file()
