"""A challenge of three teams, run through each interface: the outcome is the same."""

import asyncio
import io
import zipfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from tests.hubs.command import DEMO
from tests.hubs.inside import at_work, settings
from tests.hubs.sites import organiser_token, site_of
from tests.integration.interfaces import Command, Interface, Json, RefusedError, XmlRpc
from tests.integration.kits import answer_for, served
from tests.waiting import patience

TEAMS = ("blue", "green", "red")
OFFLINE = b"sample01\tP04637\t1\t0.9\nsample01\tP38398\t2\t0.5\nsample02\tP00533\t1\t0.7\n"


def annotator(team: str) -> Callable[[str, Context], Answer]:
    """Return a team's annotator: the same text always gets the same answer."""

    def annotate(text: str, _context: Context) -> Answer:
        return answer_for(text + team)

    return annotate


def zipped_articles() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((DEMO / "articles").iterdir()):
            archive.write(path, path.name)
    return packed.getvalue()


async def play(interface: Interface, organiser: str) -> dict[str, Any]:
    """Play the challenge; return its outcome, without times."""
    do = interface.do
    await do(organiser, "Challenges.set", challenge="bc", title="Three teams")
    imported = await do(
        organiser, "Corpora.import", corpus="demo", content=zipped_articles(), source="demo.zip"
    )
    await do(
        organiser, "Phases.create", challenge="bc", phase="test", corpus="demo", release="test",
        visibility="public", tasks=["ACT", "INT", "IPT"],
    )  # fmt: skip
    for task in ("ACT", "INT", "IPT"):
        content = (DEMO / f"gold_{task.lower()}.tsv").read_bytes()
        given = {"phase": "test", "task": task, "content": content, "source": "gold.tsv"}
        begun = await do(organiser, "Gold.set", **given)
        if "job" in begun:  # a command follows it by itself
            begun = (await do(organiser, "Jobs.get", job=begun["job"], wait=30.0))["report"]
        assert begun["version"] == 1
    async with AsyncExitStack() as servers:
        tokens = {}
        for team in TEAMS:
            url = await servers.enter_async_context(served(Kit(annotator(team))))
            await do(organiser, "Teams.create", team=team)
            made = await do(organiser, "Tokens.create", role="team", team=team, label=team)
            tokens[team] = made["token"]
            await do(tokens[team], "Servers.register", server=f"{team}-1", url=url)
            tested = await do(tokens[team], "Servers.test", server=f"{team}-1")
            if "job" in tested:
                waited = await do(tokens[team], "Jobs.get", job=tested["job"], wait=30.0)
                tested = waited["report"]
            assert tested["passed"], tested
        with pytest.raises(RefusedError, match="no phase is open"):
            await do(tokens["blue"], "Servers.start", server="blue-1")
        with pytest.raises(RefusedError, match="blue-1"):
            await do(tokens["red"], "Servers.get", server="blue-1")
        await do(organiser, "Phases.open", phase="test")
        await do(tokens["red"], "Servers.next", server="red-1")
        await do(organiser, "Servers.suspend", server="red-1", reason="a word first")
        with pytest.raises(RefusedError, match="a word first"):
            await do(tokens["red"], "Servers.start", server="red-1")
        await do(organiser, "Servers.resume", server="red-1")
        await do(tokens["blue"], "Servers.start", server="blue-1")
        await do(tokens["green"], "Servers.start", server="green-1")
        await do(tokens["green"], "Servers.pause", server="green-1")
        await do(tokens["green"], "Servers.start", server="green-1")
        await do(
            tokens["red"], "Runs.upload", phase="test", task="INT", run="red-file", content=OFFLINE
        )
        for team in TEAMS:
            await finished(interface, tokens[team], f"{team}-1")
        await do(organiser, "Phases.freeze", phase="test")
        attempts = {
            team: sorted(
                (one["article"], one["number"], one["outcome"], one["problem_count"])
                for one in await do(tokens[team], "Servers.attempts", server=f"{team}-1",
                                    phase="test", limit=500)
            )
            for team in TEAMS
        }  # fmt: skip
    boards = {
        task: await do(organiser, "Boards.get", phase="test", task=task)
        for task in ("ACT", "INT", "IPT")
    }
    log = await do(organiser, "Audit.list", limit=200)
    assert not any(secret in str(log) for secret in [organiser, *tokens.values()])
    return {
        "corpus": imported["articles"],
        "attempts": attempts,
        "boards": {task: outcome(board) for task, board in boards.items()},
        "audit": sorted((one["actor"], one["action"], one["subject"]) for one in log),
    }


async def finished(interface: Interface, token: str, server: str) -> None:
    """Wait until a server has finished its queue."""
    async with patience():
        while True:
            detail = await interface.do(token, "Servers.get", server=server)
            if [lane["state"] for lane in detail["phases"]] == ["finished"]:
                return
            await asyncio.sleep(0.1)


def outcome(board: dict[str, Any]) -> list[Any]:
    """Return what a board says of its runs: place, name and all scores that are not undefined."""
    return [
        (row["run"], row.get("place"), {k: v for k, v in row["values"].items() if v is not None})
        for row in board["rows"]
    ]


@pytest.fixture(scope="module")
def played() -> dict[str, dict[str, Any]]:
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("interface", [Json, XmlRpc, Command])
async def test_the_outcome_is_the_same_through_each_interface(tmp_path, interface, played):
    async with at_work(await settings(tmp_path)) as running, site_of(running) as site:
        address = str(site.make_url("/"))
        found = await play(interface(address), await organiser_token(running))
    assert found["corpus"] == 32
    assert [len(attempts) for attempts in found["attempts"].values()] == [32, 32, 32]
    assert {row[0] for row in found["boards"]["INT"]} == {
        "blue-1", "green-1", "red-1", "red-file",
    }  # fmt: skip
    first = played.setdefault("outcome", found)
    assert found == first
