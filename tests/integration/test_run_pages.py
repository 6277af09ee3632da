"""Pages of runs and teams, and two runs compared: what each reader may see of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from annotators.server import Kit
from metaserver.base.errors import Refusal
from metaserver.publication.pages import PAGES
from metaserver.web.public.open_pages import make_pages_app
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Visitor, organiser_token, token_of, visiting
from tests.integration.kits import annotate, served

GOLD = dict(line.split("\t")[:2] for line in (DEMO / "gold_int.tsv").read_text().splitlines())
PAIR = {"phase": "test", "task": "INT", "first": "good", "second": "poor"}


def run_file(right: int) -> bytes:
    """Return an INT run that is right on the first articles with gold."""
    hits = list(GOLD.items())[:right]
    hits += [(article, "P38398") for article in list(GOLD)[right:]]
    return "".join(f"{article}\t{answer}\t1\t0.5\n" for article, answer in hits).encode()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """An open test phase with public scores: `good` of team blue, `poor` of red."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, visibility="public")
        for team, title in (("blue", "Blue"), ("red", "")):
            await running.do("teams.create", team=team, title=title)
        await running.do("phases.open", phase="test")
        for team, run, right in (("blue", "good", len(GOLD)), ("red", "poor", 5)):
            file = {"phase": "test", "task": "INT", "run": run, "content": run_file(right)}
            await running.do("runs.upload", running.team(team), **file)
        yield running


async def test_two_runs_are_tested_and_compared_by_article_after_the_freeze(
    running: Running,
) -> None:
    blue = running.team("blue")
    early = await running.do("runs.compare", blue, **PAIR)
    assert (early.test, "rounded" in early.untested) == (None, True)
    await running.do("phases.freeze", phase="test")
    test = (await running.do("runs.compare", blue, **PAIR)).test
    assert 0 < test.low <= test.difference <= test.high
    assert test.p < 0.05
    gaps = [abs((one.first or 0) - (one.second or 0)) for one in test.pairs]
    assert gaps == sorted(gaps, reverse=True)
    other = PAIR | {"first": "poor", "second": "good"}
    turned = (await running.do("runs.compare", blue, **other)).test
    assert (turned.difference, turned.low, turned.high) == (-test.difference, -test.high, -test.low)


async def test_an_open_phase_shows_no_team_the_articles_of_another(running: Running) -> None:
    await running.do("phases.update", phase="test", kind="training")
    pair = await running.do("runs.compare", running.team("blue"), **PAIR)
    assert (pair.test.pairs, bool(pair.articles_hidden)) == ((), True)
    weakest = {}
    for team in ("blue", "red"):
        card = await running.do("runs.show", running.team(team), phase="test", run="good")
        weakest[team] = sum(len(one.weakest) for one in card.tasks)
    assert weakest == {"blue": 20, "red": 0}
    await running.do("phases.update", phase="test", visibility="own")
    for name, values in (("runs.compare", PAIR), ("runs.show", {"phase": "test", "run": "poor"})):
        refused = await running.refused(name, running.team("blue"), **values)
        assert refused.refusal is Refusal.UNKNOWN


async def test_hidden_names_lead_to_no_run(running: Running) -> None:
    blue = running.team("blue")
    await running.do("phases.update", phase="test", team_names="hidden")
    refused = await running.refused("runs.show", blue, phase="test", run="poor")
    assert refused.refusal is Refusal.UNKNOWN
    board = await running.do("boards.get", blue, phase="test", task="INT")
    other = next(row for row in board.rows if row.run != "good")
    card = await running.do("runs.show", blue, phase="test", run=other.run)
    assert (card.team, card.uploads, card.own) == (other.team, (), False)
    async with visiting(running) as visitor:
        assert (await visitor.get("/c/bc/test/teams/red")).status == 404
        assert "poor" not in (await visitor.get(f"/c/bc/test/runs/{other.run}")).text


async def test_pages_of_runs_and_teams_have_the_figures_of_the_board(running: Running) -> None:
    """The measure is that which gives the places; an open test phase tells nothing of the gold."""
    await running.do("phases.update", phase="test", ranking={"measure": "f_score"})
    board = await running.do("boards.get", running.team("red"), phase="test", task="INT")
    [f_score] = [row.values["f_score"] for row in board.rows if row.run == "poor"]
    async with visiting(running) as visitor:
        team = await visitor.get("/c/bc/test/teams/red")
        assert ">F<" in team.text
        assert f"<b>{f_score:.2f}</b>" in team.text
        run = await visitor.get("/c/bc/test/runs/poor")
        assert f"Articles answered {len(GOLD)} of" in run.said
        await running.do("phases.freeze", phase="test")
        run = await visitor.get("/c/bc/test/runs/poor")
        assert f"Articles in the score {len(GOLD)} of {len(GOLD)}" in run.said


@pytest.mark.slow
async def test_boards_lead_to_runs_teams_and_comparisons(running: Running) -> None:
    await running.do("teams.update", team="red", host=True)
    refused = await running.refused("teams.update", running.team("red"), team="red", host=False)
    assert refused.refusal is Refusal.NOT_YOURS
    await running.do("phases.freeze", phase="test")
    async with visiting(running) as visitor:
        await visitor.sign_in(await token_of(running, "blue"))
        board = await visitor.get("/c/bc/test/board/INT")
        assert 'href="/c/bc/test/runs/poor"' in board.text
        assert board.text.count(">yours<") == board.text.count(">baseline<") == 1
        run = await visitor.get("/c/bc/test/runs/good")
        assert 'href="/c/bc/test/teams/blue"' in run.text
        assert ("Where it lost" in run.said, ">yours<" in run.text) == (True, True)
        assert "Score over its answers so far" in run.said
        assert "so far" not in (await visitor.get("/c/bc/test/runs/poor")).said
        assert 'href="/c/bc/test/runs/good"' in (await visitor.get("/c/bc/test/teams/blue")).text
        path = "/c/bc/test/board/INT/compare"
        pair = await visitor.get(f"{path}?first=good&second=poor")
        assert "Such a difference is unlikely by chance." in pair.said
        assert 'name="run" value="good" form="compare"' in (await visitor.get(path[:-8])).text
        ticked = await visitor.get(f"{path}?run=good&run=poor")
        assert "Such a difference is unlikely by chance." in ticked.said
        assert "<option selected>poor" in (await visitor.get(f"{path}?run=poor")).text
        assert (await visitor.get(path)).status == 200
        assert (await visitor.get(f"{path}?first=good&second=none")).status == 404


@pytest.mark.slow
async def test_the_pages_of_a_run_show_its_owner_what_is_hidden(running: Running) -> None:
    await running.do("phases.update", phase="test", visibility="hidden")
    app = make_pages_app(running.service, [PAGES])
    assert {route.method for route in app.router.routes()} == {"GET", "HEAD"}  # no sign-in, no acts
    async with TestClient(TestServer(app)) as client:
        owner = Visitor(client)
        pair = await owner.get("/c/bc/test/board/INT/compare?first=good&second=poor")
        assert "Such a difference is unlikely by chance." in pair.said
        same = run_file(len(GOLD))
        file = {"phase": "test", "task": "INT", "run": "same", "content": same}
        await running.do("runs.upload", running.team("red"), **file)
        pair = await owner.get("/c/bc/test/board/INT/compare?first=good&second=same")
        assert "The articles do not tell the two apart." in pair.said
        run = await owner.get("/c/bc/test/runs/good")
        assert ("Where it lost" in run.said, ">yours<" in run.text) == (True, False)
        assert 'href="/organise' not in (await owner.get("/c/bc")).text  # a run has no console
        async with client.get("/c/bc/test/events?page=monitor") as stream:
            assert stream.status == 200
        async with client.get("/metrics", headers={"Via": "proxy"}) as metrics:
            assert metrics.status == 403
    async with visiting(running) as visitor:
        assert (await visitor.get("/c/bc/test/runs/good")).status == 404


@pytest.mark.slow
async def test_the_page_of_a_phase_tests_and_starts_its_baselines(running: Running) -> None:
    async with served(Kit(annotate)) as url, visiting(running) as visitor:
        for name, address in (("red-1", url), ("red-2", "http://127.0.0.1:9/")):
            server = {"server": name, "url": address, "tasks": ["INT"]}
            await running.do("servers.register", running.team("red"), **server)
        await visitor.sign_in(await organiser_token(running))
        assert "Start all baselines" not in (await visitor.get("/organise/phases/test")).said
        page = await visitor.post("/organise/teams/red/host", host="1")
        assert (page.status, page.path) == (200, "/organise/teams/red")
        assert "Start all baselines" in (await visitor.get("/organise/phases/test")).said
        page = await visitor.post("/organise/phases/test/baselines")
        [job] = running.service.jobs.own.list_all()
        await job.ended()
        page = await visitor.get(f"/organise/jobs/{job.id}")
        assert "red-2: its test for phase test failed" in page.said
        assert "red-1: " not in page.said
        assert (await running.do("servers.get", server="red-1")).tested == "passed"
