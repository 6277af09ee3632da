"""Tokens and costs that teams declare: kept, shown to whom the plan says, the same after all."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.usage import RunUsage
from metaserver.config import Settings
from tests.hubs.command import ARTICLES
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import signed_in, token_of, visiting
from tests.integration.kits import answer_for, served
from tests.integration.test_results_package import made, rows

DEAR = RunUsage(
    articles=ARTICLES, tokens_in=1500.0, tokens_out=50.0, cost=0.5, currency="USD", priced=ARTICLES
)


def dear(text: str, _context: Context) -> Answer:
    """Answer as a language model does that has a price."""
    answer = answer_for(text)
    answer["meta"] = {
        "model": "m-1", "requests": 1, "tokens_in": 1500, "tokens_out": 50, "cost": 0.5,
        "currency": "USD",
    }  # fmt: skip
    return answer


def plain(text: str, _context: Context) -> Answer:
    """Answer without a word on what it took."""
    return answer_for(text + "x")


async def answer_all(running: Running, team: str, server: str, url: str) -> None:
    """Have a server of a team answer the whole phase."""
    caller = running.team(team)
    await running.do("servers.register", caller, server=server, url=url, concurrency=8)
    assert (await running.do("servers.test", caller, server=server)).passed
    await running.do("servers.start", caller, server=server)
    await running.done(server=server)


@pytest.fixture
async def given(tmp_path: Path) -> Settings:
    """The settings of a hub whose training phase was answered by two teams."""
    given = await settings(tmp_path)
    async with at_work(given) as running:
        await plan_phase(
            running, teams=["blue", "red"], is_open=True, kind="training", visibility="public"
        )
        async with served(Kit(dear)) as one, served(Kit(plain)) as other:
            await answer_all(running, "blue", "asks-a-model", one)
            await answer_all(running, "red", "looks-up", other)
    return given


async def boards_of(running: Running) -> list[Any]:
    """Wait until the boards of all tasks are frozen; return those of INT."""
    return [one for one in await running.frozen(3) if one.task == "INT"]


async def usages(running: Running, caller: str = "") -> dict[str, RunUsage | None]:
    """Return what the runs of a board took, as a team or else an organiser sees it."""
    given = [running.team(caller)] if caller else []
    board = await running.do("boards.get", *given, phase="test", task="INT")
    return {row.run: row.usage for row in board.rows}


@pytest.mark.slow
@pytest.mark.both_stores
async def test_declared_usage_is_shown_as_the_plan_says(given: Settings) -> None:
    everything = {"asks-a-model": DEAR, "looks-up": None}
    nothing = dict.fromkeys(everything)
    async with at_work(given) as running:
        assert await usages(running) == await usages(running, "blue") == everything
        assert await usages(running, "red") == nothing
        attempts = await running.do(
            "servers.attempts", running.team("blue"), server="asks-a-model", phase="test"
        )
        assert {one.usage.tokens_in for one in attempts} == {1500}
        mine = await running.do("runs.mine", running.team("blue"), phase="test")
        assert {one.usage == DEAR for one in mine} == {True}
        await running.do("phases.update", phase="test", usage={"boards": "shown"})
        assert await usages(running, "red") == everything
        await running.do(
            "phases.update", phase="test", usage={"boards": "shown", "currency": "EUR"}
        )
        [euros] = [one for one in (await usages(running)).values() if one]
        assert (euros.cost, euros.currency, euros.tokens_in) == (None, "", 1500.0)


@pytest.mark.slow
async def test_pages_say_who_declares_it(given: Settings) -> None:
    async with at_work(given) as running:
        await running.do("phases.update", phase="test", usage={"boards": "shown"})
        async with visiting(running) as visitor:
            page = await visitor.get("/c/bc/test/board/INT")
            assert "as declared by the teams" in page.text
            assert "0.5 USD" in page.text
            assert "1,550" in page.text
            table = await visitor.get("/c/bc/test/board/INT.csv?sort=cost")
            rows = {row["run"]: row for row in csv.DictReader(io.StringIO(table.text))}
            assert rows["asks-a-model"]["declared_cost"] == "0.5"
            assert rows["asks-a-model"]["protocol"] == "xmlrpc"
            assert rows["looks-up"]["declared_articles"] == ""
            await visitor.sign_in(await token_of(running, "blue"))
            attempt = await visitor.get("/team/servers/asks-a-model/attempts/sample01/1?phase=test")
            assert "1,500 tokens sent, 50 received" in attempt.text
            assert "model m-1" in attempt.text
            results = await visitor.get("/team")
            assert "1,550 tokens, 0.5 USD an article, as you declare" in results.text
            await running.do("phases.update", phase="test", usage={"boards": "hidden"})
        async with signed_in(running, "red") as visitor:
            page = await visitor.get("/c/bc/test/board/INT")
            assert "declared by the teams" not in page.text
            assert "0.5 USD" not in page.text
            assert "0.5 USD" not in (await visitor.get("/c/bc/test/board/INT.json")).text
        async with signed_in(running) as visitor:
            assert "0.5 USD" in (await visitor.get("/c/bc/test/board/INT")).text


@pytest.mark.slow
async def test_packages_have_what_may_be_seen(given: Settings, tmp_path: Path) -> None:
    async with at_work(given) as running:
        await running.do("phases.freeze", phase="test")
        await boards_of(running)
        hidden = await made(running, tmp_path / "hidden")
        await running.do("phases.update", phase="test", usage={"boards": "shown"})
        shown = await made(running, tmp_path / "shown")
    assert not any(b"declared" in content for name, content in hidden.items() if "INT" in name)
    assert b'"tokens_in"' not in hidden["boards/INT.json"]
    table = {row["run"]: row for row in rows(shown["tables/INT/raw.csv"])}
    assert table["asks-a-model"]["declared_cost"] == "0.5"
    assert table["looks-up"]["declared_cost"] == ""
    assert json.loads(shown["boards/INT.json"])["views"]["raw"]["rows"][0].keys() >= {"usage"}


@pytest.mark.slow
async def test_a_frozen_board_keeps_it_and_hides_it_as_the_plan_says(given: Settings) -> None:
    async with at_work(given) as running:
        await running.do("phases.freeze", phase="test")
        found = await boards_of(running)

        async def frozen(caller: str) -> dict[str, RunUsage | None]:
            board = await running.do(
                "boards.get-frozen", running.team(caller), board=found[0].board
            )
            return {row.run: row.usage for row in board.rows}

        assert (await frozen("blue"))["asks-a-model"] == DEAR
        assert (await frozen("red"))["asks-a-model"] is None
        await running.do("phases.update", phase="test", usage={"boards": "shown"})
        assert (await frozen("red"))["asks-a-model"] == DEAR
