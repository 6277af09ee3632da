"""Against gaming: what runs, boards and a public share tell of the gold, and what not."""

import difflib
import random
import re
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient

from metaserver.base.compression import pack, unpack
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.findings import FindingKind
from metaserver.base.records import Article, ArticleId, PhaseName, TaskName
from metaserver.config import WebSettings
from metaserver.operations.caller import Caller
from metaserver.phases.state_log import ServerStateRecorder
from scoring import evaluate_files
from tests.fakes.clock import FakeClock
from tests.hubs.inside import ORGANISER, Running, at_work, settings
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import client_of
from tests.integration.test_leaks import READERS, told_to
from tests.integration.test_roles import BLUE, HubOfRoles, hub_with_blue

pytestmark = pytest.mark.slow


ARTICLES = [f"article-{number:03}" for number in range(400)]
CURATED = ARTICLES[::20]  # those with gold of INT
RELEVANT = frozenset(random.Random(5).sample(ARTICLES, 200))


@asynccontextmanager
async def playing(folder: Path, visibility: str, **plan: Any) -> AsyncIterator[Running]:
    """Run a hub with an open test phase of 400 articles, and the teams good and bad."""
    async with at_work(await settings(folder)) as running:
        texts = {name: f"Title of {name}\n\nText." for name in ARTICLES}
        articles = (Article(id=ArticleId(one), text=text) for one, text in texts.items())
        await running.add_corpus("many", articles)
        await running.do("challenges.set", challenge="bc", title="A challenge")
        planned = await running.add_phase("test", "many", visibility=visibility, **plan)
        assert bool(planned.warnings) is (visibility != "hidden")
        labels = "".join(f"{name}\t{name in RELEVANT:d}\n" for name in ARTICLES)
        items = "".join(f"{name}\t{ACCESSIONS[0]}\n" for name in CURATED)
        for task, content in (("ACT", labels), ("INT", items)):
            file = {"phase": "test", "task": task, "source": "gold.tsv"}
            await running.do("gold.set", **file, content=content.encode())
        for team in ("good", "bad"):
            await running.do("teams.create", team=team)
        await running.do("phases.open", phase="test")
        yield running


def act_file(called: frozenset[str], articles: Sequence[str] = ARTICLES) -> bytes:
    """Return a run that calls some of its articles relevant; ranked as in `articles`."""
    lines, ranks = [], {True: 0, False: 0}
    for name in articles:
        ranks[name in called] += 1
        lines.append(f"{name}\t{name in called:d}\t{ranks[name in called]}\t0.5\n")
    return "".join(lines).encode()


async def upload(running: Running, team: str, run: str, content: bytes, task: str = "ACT") -> Any:
    given = {"phase": "test", "task": task, "run": run, "content": content}
    return await running.do("runs.upload", running.team(team), **given)


async def row(running: Running, caller: Caller, run: str, task: str = "ACT") -> Any:
    """Return a run's row as somebody sees it, None where it is not shown."""
    board = await running.do("boards.get", caller, phase="test", task=task)
    return next((one for one in board.rows if one.run == run), None)


@pytest.mark.parametrize("visibility", ["hidden", "own", "public"])
async def test_runs_of_one_article_reveal_no_label(tmp_path: Path, visibility: str) -> None:
    async with playing(tmp_path, visibility) as running:
        bad, seen = running.team("bad"), set()
        for name in ARTICLES[:10]:  # relevant and irrelevant ones
            await upload(running, "bad", "one", act_file(frozenset({name}), [name]))
            found = await row(running, bad, "one")
            seen.add(repr(found))
            assert found is None or (found.place, set(found.values.values())) == (None, {None})
        assert len(seen) == 1  # whatever the label
        assert {name in RELEVANT for name in ARTICLES[:10]} == {True, False}
        with pytest.raises(RefusedError, match="10 uploads of ACT") as refused:
            await upload(running, "bad", "one", act_file(frozenset(), ARTICLES[10:11]))
        assert refused.value.refusal is Refusal.TOO_MANY
        room = await running.do("phases.watch", phase="test")
        assert FindingKind.BURST in {found.kind for found in room.findings}


async def named_articles(client: TestClient[Any, Any]) -> set[str]:
    """Return the articles that the pages of their difficulty name to a visitor."""
    told = ""
    for end in ("", ".csv"):
        async with client.get(f"/c/bc/test/board/INT/articles{end}") as response:
            assert response.status == 200
            told += await response.text()
    return {name for name in ARTICLES if name in told}


@pytest.mark.parametrize("visibility", ["own", "public"])
async def test_the_articles_of_the_gold_are_not_shown(tmp_path: Path, visibility: str) -> None:
    async with playing(tmp_path, visibility) as running, client_of(running) as client:
        bad, seen = running.team("bad"), set()
        for name in (CURATED[3], ARTICLES[1]):  # one of the gold, one that is not
            hit = f"{name}\t{ACCESSIONS[0]}\t1\t0.5\n".encode()
            await upload(running, "bad", "one", hit, "INT")
            seen.add(repr(await row(running, bad, "one", "INT")))
        assert len(seen) == 1
        await running.do("teams.create", team="third")  # two would see nothing in any phase
        for team in ("good", "bad", "third"):
            every = "".join(f"{name}\t{ACCESSIONS[1]}\t1\t0.5\n" for name in ARTICLES)
            await upload(running, team, f"{team}-all", every.encode(), "INT")
        boards = running.service.phase("test").boards
        await running.until(lambda: len(boards.articles(TaskName("INT")).levels) == len(CURATED))
        assert await named_articles(client) == set()
        shown = await row(running, bad, "bad-all", "INT")
        assert (shown.articles_scored, shown.articles_in_gold) == (400, 400)
        await running.do("phases.freeze", phase="test")
        after = set(CURATED) if visibility == "public" else set()
        assert await named_articles(client) == after


@pytest.mark.parametrize("visibility", ["own", "public"])
async def test_runs_that_differ_by_an_answer_do_not_climb(tmp_path: Path, visibility: str) -> None:
    wrong = frozenset(random.Random(7).sample(ARTICLES, 121))
    called = frozenset(name for name in ARTICLES if (name in RELEVANT) is not (name in wrong))
    better = frozenset(
        name for name in ARTICLES if (name in RELEVANT) is not (name in list(wrong)[:100])
    )
    async with playing(tmp_path, visibility) as running:
        bad = running.team("bad")
        await upload(running, "good", "best", act_file(better))
        seen = set()
        for number, name in enumerate(["", *sorted(wrong)[:9]]):  # each would be an improvement
            await upload(running, "bad", f"try-{number % 5}", act_file(called ^ {name}))
            found = await row(running, bad, f"try-{number % 5}")
            seen.add((found.place, *found.values.values()))
        assert len(seen) == 2  # the first, and nothing of those that differ from it by an answer
        assert {None} in map(set, seen)
        with pytest.raises(RefusedError, match="10 uploads of ACT"):
            await upload(running, "bad", "try-1", act_file(called))
        board = await running.do("boards.get", phase="test", task="ACT")
        assert (board.rows[0].run, board.rows[0].place) == ("best", 1)
        room = await running.do("phases.watch", phase="test")
        found = {one.kind: one.subjects[0].text for one in room.findings}
        assert "differs from an earlier ACT run in 1 answer, 9 times" in found[FindingKind.NEAR]
        await running.do("phases.freeze", phase="test")
        after = await row(running, bad, "try-0")
        if visibility == "public":
            assert after.place > 1
        assert after.articles_in_gold == 400
        assert after.curve


# -- two hubs that differ in their gold alone ------------------------------------------------------

CHANGING = re.compile(
    r"'(Date|X-Request-ID|Content-Length|Set-Cookie)': '[^']*'|name=\"csrf\" value=\"[^\"]*\""
    r"|127\.0\.0\.1:\d+|nonce[-=][\w\"'+/=-]*|\"request_id\": ?\"[^\"]*\"|[0-9a-f]{16,}",
    re.IGNORECASE,
)
"""What differs from request to request on one hub, or names when a token was used."""


OF_REQUESTS = ("tokens.", "/team/tokens", "/api/v1/tokens", "/metrics")
"""Pages and operations that say when a token was used, or the process was started."""


def other_gold(task: TaskName, content: str) -> str:
    """Return gold with other labels: for other articles, or turned round."""
    lines = content.splitlines(keepends=True)
    if task == "ACT":
        return "".join(line[:-2] + str(1 - int(line[-2])) + "\n" for line in lines)
    return "".join(lines[::2])


def change_gold(store: Path) -> None:
    """Replace the gold in a store, under the same versions."""
    connection = sqlite3.connect(store)
    kept = connection.execute("SELECT rowid, task, content, checksum FROM gold").fetchall()
    for row_id, task, content, checksum in kept:
        changed = other_gold(task, unpack(content).decode()).encode()
        assert changed != unpack(content)
        values = (pack(changed), checksum[::-1], row_id)
        connection.execute("UPDATE gold SET content=?, checksum=? WHERE rowid=?", values)
    connection.execute("DELETE FROM checkpoints")
    connection.commit()
    connection.close()


async def finished(running: Running) -> None:
    """Wait until the server has answered all articles, and the log of its states says so."""
    watch = running.service.phase("test").boards.server_monitor
    await running.until(lambda: watch.status(BLUE).state == "finished")
    await running.service.part(ServerStateRecorder).record()  # it looks once a second


async def seen_in(folder: Path, hub: HubOfRoles, at: float) -> Mapping[str, str]:
    """Open the hub in a folder at a moment; return what readers and teams are answered there."""
    given = await settings(folder.parent, web=WebSettings(requests_a_minute=10**6))
    given = msgspec.structs.replace(given, folder=str(folder))
    async with at_work(given, clock=FakeClock(at)) as running, client_of(running) as client:
        await finished(running)
        again = replace(hub, running=running, client=client)
        return {
            f"{who} {place}": CHANGING.sub("", text)
            for who in READERS
            for place, text in (await told_to(again, who)).items()
            if not place.startswith(OF_REQUESTS)
        }


@pytest.mark.one_store("it copies a file with all that a hub has, and changes the gold in the copy")
async def test_a_hidden_phase_is_the_same_whatever_its_gold(tmp_path: Path) -> None:
    async with hub_with_blue(tmp_path) as hub:
        await finished(hub.running)  # else each of the two finds it out by itself
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "hub", other)
    change_gold(other / "metaserver.sqlite")
    at = time.time()
    first, second = await seen_in(tmp_path / "hub", hub, at), await seen_in(other, hub, at)
    assert first.keys() == second.keys()
    differing = {
        place: "\n".join(difflib.unified_diff(first[place].split(), second[place].split(), n=1))
        for place in first
        if first[place] != second[place]
    }
    assert not differing, differing
    assert len(first) > 200


CALLED = frozenset(
    name for place, name in enumerate(ARTICLES) if (name in RELEVANT) ^ (place % 7 == 0)
)


@asynccontextmanager
async def half_public(folder: Path) -> AsyncIterator[Running]:
    """Run a hub whose open phase shows scores of half of its gold, with a run of a team."""
    async with playing(folder, "public", public_share=0.5) as running:
        await upload(running, "good", "run", act_file(CALLED))
        yield running


def drawn(running: Running) -> Collection[ArticleId]:
    """Return the articles of ACT's gold that are public."""
    part = running.service.phases.scheduler.phases[PhaseName("test")].part
    return part.draw(map(ArticleId, ARTICLES))


def scored(folder: Path, articles: Collection[str]) -> Mapping[str, float]:
    """Return what `scoring` says of the run on the gold of some articles."""
    gold, run = folder / "gold.tsv", folder / "run.tsv"
    gold.write_text("".join(f"{n}\t{n in RELEVANT:d}\n" for n in ARTICLES if n in articles))
    run.write_bytes(act_file(CALLED))
    card: Any = evaluate_files("ACT", gold, run)
    return {"auc_ipr": card.auc_ipr, "mcc": card.confusion.mcc}


async def board(running: Running, caller: Caller, **more: str) -> Any:
    return await running.do("boards.get", caller, phase="test", task="ACT", **more)


def values(found: Any) -> Mapping[str, Any]:
    [row] = found.rows
    return {name: row.values[name] for name in ("auc_ipr", "mcc")}


async def test_open_scores_are_of_the_drawn_half_and_frozen_ones_of_all(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running, client_of(running) as client:
        team, half = running.team("bad"), drawn(running)
        assert len(half) == len(ARTICLES) / 2
        part, whole = scored(tmp_path, half), scored(tmp_path, ARTICLES)
        assert part != whole
        seen = await board(running, team)
        assert values(seen) == {name: round(value, 2) for name, value in part.items()}
        assert (seen.view, seen.views) == ("public", ("public",))
        for view in ("raw", "both"):
            with pytest.raises(RefusedError, match="view"):
                await board(running, team, view=view)
        board_of = "board/ACT"
        for address in (
            board_of,
            f"{board_of}.csv",
            f"{board_of}?view=public",
            "runs/run",
            "teams/good",
        ):
            async with client.get(f"/c/bc/test/{address}") as response:
                assert response.status == 200
                text = await response.text()
                assert re.search(rf"\b{part['auc_ipr']:.2f}\b", text), address  # not 0.800
                assert not re.search(r"\b[01]\.\d\d\d\b", text), address
        async with client.get(f"/c/bc/test/{board_of}.json") as response:
            [found] = (await response.json())["runs"]
            assert found["auc_ipr"] == round(part["auc_ipr"], 2)
        async with client.get("/c/bc/test/board/ACT/articles?view=public") as response:
            text = await response.text()
            assert not [name for name in ARTICLES if name in text]
        [mine] = await running.do("runs.mine", running.team("good"), phase="test")
        assert mine.score in {round(value, 2) for value in part.values()}
        assert values(await board(running, ORGANISER)) == pytest.approx(whole, abs=1e-12)
    async with at_work(await settings(tmp_path)) as running:
        team = running.team("bad")
        assert drawn(running) == half
        assert values(await board(running, team)) == values(seen)

        await running.do("phases.freeze", phase="test")
        assert values(await board(running, team)) == pytest.approx(whole, abs=1e-12)
        assert values(await board(running, team, view="public")) == pytest.approx(part, abs=1e-12)


async def test_gold_that_is_replaced_keeps_its_draw(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running:
        before, team = drawn(running), running.team("bad")
        seen = values(await board(running, team))
        turned = "".join(f"{name}\t{name not in RELEVANT:d}\n" for name in ARTICLES)
        gold = {"phase": "test", "task": "ACT", "source": "gold.tsv", "content": turned.encode()}
        await running.do("gold.set", **gold)
        assert drawn(running) == before
        after = await board(running, team)
        assert after.view == "public"
        assert values(after) != seen


async def test_a_share_is_refused_where_it_cannot_be_applied(tmp_path: Path) -> None:
    async with half_public(tmp_path) as running:
        with pytest.raises(RefusedError, match="public_share") as refused:
            await running.do("phases.update", phase="test", public_share=0.7)
        assert refused.value.field == "public_share"
        refused = await running.refused("phases.update", phase="test", public_share=0)
        assert refused.field == "public_share"
        with pytest.raises(RefusedError, match="scored whole") as refused:
            await running.add_phase("relations", "many", tasks=["BB-cat"], public_share=0.5)
        assert refused.value.field == "public_share"
