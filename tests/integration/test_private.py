"""Files with gold, answers or digests of tokens are readable by their owner only."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotators.server import Kit
from metaserver.base import files
from metaserver.base.errors import InputError
from metaserver.store.copies import copy_store
from metaserver.store.sqlite import open_sqlite
from tests.hubs.command import metaserver
from tests.hubs.inside import at_work, settings
from tests.hubs.release import release_at
from tests.integration.kits import annotate, served

pytestmark = pytest.mark.slow


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of all there is in a folder."""
    found = {}
    for path in folder.rglob("*"):
        try:
            found[str(path.relative_to(folder))] = stat.S_IMODE(path.lstat().st_mode)
        except FileNotFoundError:
            continue
    return found


def open_to_others(found: dict[str, int]) -> dict[str, str]:
    return {name: oct(mode) for name, mode in found.items() if mode & 0o077}


def test_a_private_file_is_new_and_follows_no_link(tmp_path: Path, umask: int) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"of somebody else")
    link.symlink_to(target)
    with files.create(link) as file:
        file.write(b"gold")
    assert (target.read_bytes(), link.read_bytes()) == (b"of somebody else", b"gold")
    assert stat.S_IMODE(link.lstat().st_mode) == files.FILE_MODE
    with files.open_or_create(tmp_path / "lock"):
        pass
    assert modes(tmp_path)["lock"] == files.FILE_MODE


async def test_a_store_and_its_lock_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        lock = tmp_path / "hub.sqlite.lock"
        lock.touch(0o644)  # of an earlier release
        async with open_sqlite(tmp_path / "hub.sqlite"):
            found = modes(tmp_path)
    finally:
        os.umask(before)
    assert {"hub.sqlite", "hub.sqlite.lock"} <= found.keys()
    assert set(found.values()) == {0o600}


async def test_a_copy_of_a_store_is_private_from_its_first_byte(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    before = os.umask(0)
    try:
        async with at_work(given) as running:
            place = running.service.store.place
            copying = asyncio.create_task(asyncio.to_thread(copy_store, place, out / "copy.sqlite"))
            seen: dict[str, int] = {}
            while not copying.done():
                seen |= modes(out)
                await asyncio.sleep(0.001)
            await copying
        seen |= modes(out) | modes(tmp_path / "hub")
    finally:
        os.umask(before)
    assert "copy.sqlite" in seen
    assert open_to_others(seen) == {}


@pytest.mark.one_store("the store of the command is a file")
async def test_what_a_run_leaves_is_private(tmp_path: Path) -> None:
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "a1.txt").write_text("A title\n\nTP53 binds MDM2.\n")
    (tmp_path / "gold.tsv").write_text("a1\t1\n")
    release = release_at(tmp_path / "release")
    before = os.umask(0)
    try:
        async with served(Kit(annotate)) as url:
            ended = await metaserver(
                "run", "--articles", tmp_path / "articles", "--gold-act", tmp_path / "gold.tsv",
                "--uniprot", release, "--server", f"one={url}", "--out", tmp_path / "made" / "out",
            )  # fmt: skip
    finally:
        os.umask(before)
    assert ended.status == 0, ended.stderr
    found = modes(tmp_path / "made")
    assert {"out/leaderboard.json", "out/attempts.tsv", "out/metaserver.sqlite"} <= found.keys()
    assert open_to_others(found) == {}


def test_a_file_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        copy_store(_store(tmp_path), tmp_path / "nowhere" / "copy.sqlite")


def _store(folder: Path) -> Path:
    async def made() -> None:
        async with open_sqlite(folder / "hub.sqlite"):
            pass

    asyncio.run(made())
    return folder / "hub.sqlite"
