"""Killed without warning at any moment, a run loses no answer, and takes none twice."""

import asyncio
import random
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from metaserver.config import Settings
from metaserver.phases.verification import verify
from metaserver.store.reader import open_reader
from tests.hubs.command import boards, metaserver, start
from tests.hubs.release import ACCESSIONS, release_at
from tests.hubs.stored import stored
from tests.integration.kits import asked_server

pytestmark = pytest.mark.one_store("the store of the command is a file")

KILLS = 20
PATIENCE = 120.0  # seconds, until a run that was started is at work
ARTICLES = 150
ANSWERS = "SELECT server_id, position, number, payloads FROM answers ORDER BY 1, 2"


def write_challenge(folder: Path) -> list[object]:
    """Write articles and gold of their own; return the options that name them."""
    articles = folder / "articles"
    articles.mkdir()
    rng = random.Random(2)
    gold: dict[str, list[str]] = {"act": [], "int": [], "ipt": []}
    for number in range(ARTICLES):
        name = f"a{number:04d}"
        (articles / f"{name}.txt").write_text(f"Article {number}\nWhat {rng.random()} binds.\n")
        a, b = rng.sample(ACCESSIONS, 2)
        gold["act"].append(f"{name}\t{number % 2}\n")
        gold["int"] += [f"{name}\t{a}\n", f"{name}\t{b}\n"]
        gold["ipt"].append(f"{name}\t{a}\t{b}\n")
    options: list[object] = ["--articles", articles]
    for task, lines in gold.items():
        (folder / f"{task}.tsv").write_text("".join(lines))
        options += [f"--gold-{task}", folder / f"{task}.tsv"]
    return options


async def answered_more(process: asyncio.subprocess.Process, out: Path, known: int) -> None:
    """Wait until a run has stored more answers, or has ended."""
    async with asyncio.timeout(PATIENCE):
        while process.returncode is None and len(stored(out, ANSWERS)) <= known:
            await asyncio.sleep(0.02)


CHECKPOINTS = (
    "SELECT lanes.server_id, lanes.serial, checkpoints.serial FROM lanes LEFT JOIN checkpoints"
    " USING (phase_id, server_id) ORDER BY 1"
)


@pytest.mark.nightly
async def test_twenty_kills_change_no_answer_and_no_board(tmp_path: Path) -> None:
    """A checkpoint is written after nearly every answer, and compared after every kill."""
    given = msgspec.convert({"uniprot": {"releases": str(tmp_path / "releases")}}, Settings)
    release = release_at(tmp_path / "releases" / "test")
    options = [*write_challenge(tmp_path), "--uniprot", release, "--concurrency", "3"]
    rng = random.Random(7)
    out, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    async with asked_server(0.01) as one, asked_server(0.02) as two:
        named = ["--server", f"one={one.url}", "--server", f"two={two.url}"]
        ended = await metaserver("run", *options, *named, "--out", undisturbed)
        assert ended.status == 0, ended.stderr
        for server, seconds in ((one, 0.05), (two, 0.08)):
            server.texts.clear()
            server.seconds = seconds
        kept: list[tuple[object, ...]] = []
        with_checkpoint, with_tail = 0, 0
        for number in range(KILLS):
            process = await start("run", *options, *named, "--out", out, module="tests.hubs.eager")
            if number % 4:  # at work; the others at any moment, mostly while they start
                await answered_more(process, out, len(kept))
            with suppress(TimeoutError):
                async with asyncio.timeout(rng.uniform(0.0, 0.2 if number % 4 else 2.0)):
                    await process.wait()
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
            now = list(stored(out, ANSWERS))
            assert set(kept) <= set(now)  # what was answered once stays as it was
            kept = now
            if not now:
                continue
            lanes = stored(out, CHECKPOINTS)
            with_checkpoint += any(covered is not None for _, _, covered in lanes)
            with_tail += any(covered is not None and covered < last for _, last, covered in lanes)
            async with open_reader(out / "metaserver.sqlite") as store:
                async for lane in verify(store, given, time.time()):
                    assert (lane.unused, list(lane.differences)) == ("", []), lane
        assert with_checkpoint >= KILLS / 2
        assert with_tail >= 3  # some kills fell between an answer and its checkpoint
        ended = await metaserver("run", *options, *named, "--out", out)
        assert ended.status == 0, ended.stderr  # it compares its boards with the stored answers
    assert boards(out) == boards(undisturbed)
    rows = stored(out, ANSWERS)
    assert len(rows) == len({row[:2] for row in rows}) == 2 * ARTICLES
    assert stored(out, "SELECT count(*) FROM attempts WHERE outcome <> 'ok'") == [(0,)]
    # An article may be sent again only because a kill took its answer in flight.
    for server in (one, two):
        assert server.texts.total() <= ARTICLES + (KILLS + 1) * 3
