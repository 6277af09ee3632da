"""Results of a phase: looked at, published in one act, seen by everybody from then on."""

import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaserver.base.boards import BoardRow, RunIntervals
from metaserver.base.errors import Refusal
from metaserver.operations.caller import Caller
from metaserver.operations.kept import keep, offer, published_name
from metaserver.operations.publishing import in_words
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.jobs import Progress
from metaserver.store.tables import kept_files
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Visitor, signed_in, visiting
from tests.integration.test_service_gold import run_file

PUBLISH = "/organise/phases/test/publish"
PACKAGE = "/results/bc/test/package"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub whose open phase hides scores; two teams have uploaded a run."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, is_open=True, visibility="hidden", title="Test phase")
        for team in ("blue", "red"):
            await running.do("teams.create", team=team, title=f"Team *{team}*")
            file = {"phase": "test", "task": "INT", "run": f"{team}-1", "content": run_file()}
            await running.do("runs.upload", running.team(team), **file)
        yield running


@pytest.fixture
async def ana(running: Running) -> AsyncIterator[Visitor]:
    """A browser of an organiser."""
    async with signed_in(running) as visitor:
        yield visitor


@pytest.mark.slow
async def test_results_are_published_in_one_act(running: Running, ana: Visitor) -> None:
    page = await ana.get("/organise/phases/test/freeze")
    assert "Nothing: no server has an article left" in page.said
    await running.do("phases.update", phase="test", team_names="hidden")
    page = await ana.get(PUBLISH)
    assert page.said.count("freeze it first") == 1
    assert f'href="{PUBLISH.replace("publish", "freeze")}"' in page.text  # says what is lost
    assert "The names of teams, which are hidden until the freeze" in page.said
    await running.do("phases.freeze", phase="test")
    await running.frozen(3)
    async with visiting(running) as reader:
        assert "No results are published yet" in (await reader.get("/results/bc")).said
        assert f'href="{PUBLISH}"' in (await ana.get("/organise/phases/test")).text
        page = await ana.get(PUBLISH)
        assert "2 runs without a description of the method" in page.said
        assert page.said.count("Cannot be undone") == 7  # each step says it
        ticked = {"parts": ["tables", "abstract"]}
        await running.do("methods.describe", phase="test", run="blue-1", **ticked)
        plan = await running.do("phases.publication", phase="test")
        page = await ana.post(
            PUBLISH, title=plan.title, text=plan.text, package="true", license="not a licence"
        )
        assert (page.status, (await running.do("phases.get", phase="test")).visibility) == (
            422,
            "hidden",
        )
        said = {"title": plan.title, "text": plan.text, "license": "", "authors": "Ana\nBob"}
        page = await ana.post(PUBLISH, said, package="true")
        assert (page.status, page.path) == (200, "/results/bc")
        assert f'href="{PUBLISH.replace("publish", "close")}"' in (await ana.get(PUBLISH)).text
        page = await reader.get("/results/bc")
        assert "Team *blue* blue-1" in page.said
        assert "Parts of the articles abstract 1 1 tables 1 1" in page.said
        assert '<meta property="og:description"' in page.text
        assert re.search('og:url" content="http://127.0.0.1:[0-9]+/results/bc"', page.text)
        links = ('<a href="/c/bc/test/teams/blue">', '<a href="/c/bc/test/runs/blue-1">')
        assert [page.text.count(link) for link in links] == [2, 2]  # in podium and table
        page = await reader.get("/")
        assert "It is over, and its results are published" in page.said
        assert "1 Team *blue* blue-1" in page.said
        page = await reader.get("/c/bc")
        assert all(link in page.text for link in links)
        assert "Results of Test phase" in page.said
        assert page.said.count("place 1: ") == 2  # a numbered list would count ties on
        assert page.text.count('href="/results/bc"') == 2  # of the page, and of the announcement
        assert "Team *blue*" in page.said  # not emphasised: what a team writes is no Markdown
        assert "results are published" in page.said
        assert (await reader.get("/c/bc/test/board/INT")).said.count("blue-1") > 0
        package = await running.do("results-package.get", phase="test")
        job = running.service.jobs.own.get(package.job.job)
        assert job is not None
        await job.ended()
        assert (await running.do("results-package.get", phase="test")).public
        assert f'href="{PACKAGE}"' in (await reader.get("/results/bc")).text
        async with reader.client.get(PACKAGE) as response:
            archive = zipfile.ZipFile(io.BytesIO(await response.read()))
        files = archive.namelist()
        crate = json.loads(archive.read("results-test/ro-crate-metadata.json"))
        people = [one["name"] for one in crate["@graph"] if one["@type"] == "Person"]
        assert people == ["Ana", "Bob"]
        assert "results-test/runs/INT/blue-1.tsv" in files
        assert not [name for name in files if "/gold/" in name]
        asked = {"phase": "test", "gold": True}
        refused = await running.refused("results-package.make", public=True, **asked)
        assert refused.refusal is Refusal.INVALID
        await running.do("results-package.make", **asked)  # the last package is for organisers
        assert (await reader.get(PACKAGE)).status == 404
        assert PACKAGE not in (await reader.get("/results/bc")).text
    assert (await running.refused("phases.publish", phase="test")).refusal is Refusal.STATE


async def test_only_boards_made_since_the_freeze_are_published(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = (DEMO / "gold_int.tsv").read_bytes().split(b"\n", 1)[1]
    await running.do("gold.set", phase="test", task="INT", source="gold.tsv", content=gold)
    await running.frozen(1)  # by the gold before
    with monkeypatch.context() as patch:
        patch.setattr(BoardArchiver, "_is_final", lambda *_: False)
        await running.do("phases.freeze", phase="test")
        plan = await running.do("phases.publication", phase="test")
        assert plan.boards == ()
        assert "the final board of ACT, INT, IPT is not made yet" in plan.refused
        refused = await running.refused("phases.publish", phase="test")
        assert refused.message == plan.refused
    boards = await running.frozen(4)
    plan = await running.do("phases.publication", phase="test")
    assert {*plan.boards} == {board.board for board in boards if board.reason == "frozen"}
    await running.do("phases.publish", phase="test")


async def test_what_is_hidden_again_or_opened_again_is_not_published(running: Running) -> None:
    await running.do("phases.freeze", phase="test")
    await running.frozen(3)
    await running.do("phases.publish", phase="test")
    anybody = Caller()
    assert len(await running.do("challenges.results", anybody, challenge="bc")) == 1
    assert await running.do("challenges.announcements", anybody, challenge="bc") == []
    hidden = await running.do("phases.update", phase="test", visibility="hidden")
    assert hidden.moments.published is None
    assert await running.do("challenges.results", anybody, challenge="bc") == []
    await running.do("phases.publish", phase="test")
    opened = await running.do("phases.open", phase="test")
    assert (opened.moments.freezes, opened.moments.published) == (None, None)
    assert await running.do("challenges.results", anybody, challenge="bc") == []


async def test_a_package_for_everybody_is_had_while_results_are_public(
    running: Running, tmp_path: Path
) -> None:
    do, service = running.do, running.service
    await do("phases.freeze", phase="test")
    await running.frozen(3)
    path = tmp_path / "made.zip"
    path.write_bytes(b"PK" + bytes(2**20))  # of two parts
    file = await offer(service, published_name(service.phase("test")), path, Progress())
    async with service.store.writing() as connection:
        await keep(connection, file)

    async def had() -> tuple[int, bytes]:
        async with reader.client.get(PACKAGE) as response:
            return response.status, await response.read()

    async with visiting(running) as reader:
        assert (await had())[0] == 404  # its scores are hidden
        await do("phases.publish", phase="test")
        assert await had() == (200, path.read_bytes())
        async with reader.client.get(PACKAGE, headers={"Range": "bytes=0-1"}) as response:
            assert (response.status, await response.read()) == (206, b"PK")
            assert response.headers["Content-Disposition"].endswith('"results-test.zip"')
        async with service.store.writing() as connection:
            await connection.execute(sa.update(kept_files).values(made_at=1.0))
        assert (await had())[0] == 404  # it is of boards before
        async with service.store.writing() as connection:
            await connection.execute(sa.update(kept_files).values(made_at=file.made_at))
        [published] = await do("challenges.results", Caller(), challenge="bc")
        assert published.package == path.stat().st_size
        await do("challenges.edit", challenge="bc", announced="2999-01-01T00:00")
        assert (await had())[0] == 404
        await do("challenges.edit", challenge="bc", announced="")
        await do("phases.update", phase="test", visibility="hidden")
        assert (await had())[0] == 404
        await do("phases.update", phase="test", visibility="public")
        assert (await had())[0] == 200
        await do("phases.open", phase="test")
        assert (await had())[0] == 404
        assert (await reader.get("/results/bc/other/package")).status == 404


async def test_an_early_freeze_stays_in_the_timeline(running: Running, ana: Visitor) -> None:
    await running.do("phases.update", phase="test", freezes="2998-01-01T00:00")
    before = (await ana.get("/c/bc")).said
    await running.do("phases.freeze", phase="test")
    after = (await ana.get("/c/bc")).said
    assert "Test phase freezes 2998-01-01 00:00 UTC" in before
    moment = r"20\d\d-\d\d-\d\d \d\d:\d\d UTC .*?"
    passed = re.search(f"Test phase freezes {moment}planned for 2998-01-01 00:00 UTC Now", after)
    assert passed, after


def row(run: str, place: int | None, best: int = 0) -> BoardRow:
    interval = RunIntervals(score=1, low=0, high=1, best_rank=best, worst_rank=9) if best else None
    return BoardRow(
        run=run, place=place, articles_scored=1, articles_in_gold=1, values={}, interval=interval
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("a", None)], "No run has a place."),
        ([row("a", 1), row("b", 1)], "a and b share the first place."),
        ([row("a", 1, 1), row("b", 1, 1), row("c", 3, 3)], "no other run's rank includes it"),
        ([row("a", 1, 1), row("b", 2, 2)], "no other run's rank includes it"),
        ([row("a", 1, 1), row("b", 2, 1), row("c", 3, 2)], "2 runs, a and b: these do not differ"),
        ([row(name, 1) for name in "abcdefg"], "a, b, c, d, e and 2 more share"),
    ],
)
def test_ties_are_said_in_words(rows: list[BoardRow], said: str) -> None:
    assert said in in_words(rows)
