"""The phase of a run: kept in one store, worked by one runtime, whichever command opens it."""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp.test_utils import TestClient, TestServer

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.errors import HubError, InputError
from metaserver.base.records import ServerName, TaskName
from metaserver.base.states import ServerState
from metaserver.boards.frozen import boards_json
from metaserver.cli.results import leave_package, write_results
from metaserver.cli.serve import open_service, service_app
from metaserver.cli.single_phase import SinglePhase, work_to_end
from metaserver.config import CircuitSettings, MetricsReaders, Settings, WebSettings
from metaserver.lanes.events import LaneEnd
from metaserver.phases.notifications import Notifier
from metaserver.store import audit, phases, states
from metaserver.store.tables import articles, corpora
from metaserver.uniprot import build_release
from metaserver.web.public.open_pages import make_pages_app
from tests.hubs.command import ARTICLES, DEMO, GOLD, boards, metaserver
from tests.hubs.inside import at_work, settings
from tests.hubs.release import NAMES
from tests.hubs.single import begun, single_phase
from tests.integration.kits import asked_server, served
from tests.waiting import until

IMPATIENT = CircuitSettings(failures=2, probe_base=0.05, probe_cap=0.1, patience=0.5)
NOBODY = "http://127.0.0.1:9/"
INT, ONE = TaskName("INT"), ServerName("one")
PAGES = ("/", "/monitor", "/board/INT", "/board/INT/articles", "/c/run/run/monitor",
         "/c/run/run/servers/good", "/c/run/run/servers/bad")  # fmt: skip


def fail(_text: str, _context: Context) -> Answer:
    """Fail with a message."""
    raise ValueError("the model is not loaded")


async def given(folder: Path, **servers: str) -> tuple[Settings, SinglePhase]:
    """Return the settings and the phase of a run in a folder."""
    known = await settings(folder, circuit=IMPATIENT)
    return known, single_phase(folder / "releases" / "test", servers)


async def runs(client: TestClient[Any, Any]) -> list[str]:
    """Return the runs on the INT board, as anybody sees it."""
    async with client.get("/board/INT.json") as answer:
        return [row["run"] for row in (await answer.json())["runs"]]


def leaderboard(folder: Path) -> Mapping[str, Any]:
    """Return the leaderboards that a run left, with the keyed marks of its store."""
    read: Mapping[str, Any] = json.loads((folder / "leaderboard.json").read_text())["boards"]
    return read


@pytest.mark.slow
@pytest.mark.one_store("the store of the command is a file")
async def test_a_folder_of_a_run_is_served_and_goes_on_as_a_run(tmp_path: Path) -> None:
    """One store, one runtime: a service shows the run's boards and waits for who was left."""
    known, _ = await given(tmp_path)
    config = tmp_path / "run.yaml"
    config.write_text(
        "circuit: {failures: 2, probe_base: 0.05, probe_cap: 0.1, patience: 0.5}\n"
        "retry: {base: 0.05, cap: 0.1}\n"
    )
    arguments = [
        "run", "--articles", DEMO / "articles", *GOLD, "--config", config,
        "--uniprot", tmp_path / "releases" / "test", "--out", tmp_path / "hub",
    ]  # fmt: skip
    async with asked_server() as one, asked_server() as two:
        run_one = [*arguments, "--server", f"one={one.url}"]
        ended = await metaserver(*run_one, "--server", f"two={NOBODY}")
        assert ended.status == 1, ended.stderr
        left = boards(tmp_path / "hub")

        async with at_work(known) as service:
            phase = service.service.phase("run")
            assert boards_json(phase.boards.scoreboard) == leaderboard(tmp_path / "hub")
            await service.until(lambda: phase.boards.server_monitor.state("two")[0] == "down")
            details = {detail.server: detail for detail in await service.do("servers.list")}
            assert (details["one"].phases[0].done, details["two"].phases[0].done) == (ARTICLES, 0)
            app = service_app(service.service)
            async with TestClient(TestServer(app)) as client:
                assert await runs(client) == []  # nobody has said that they may be seen
                await service.do("phases.update", phase="run", visibility="public")
                assert await runs(client) == ["one"]
        assert one.texts.total() == ARTICLES  # the service asked nothing that was answered

        ended = await metaserver(*run_one)  # a server that is named no more is not waited for
        assert ended.status == 0, ended.stderr
        ended = await metaserver(*run_one, "--server", f"two={two.url}")
        assert ended.status == 0, ended.stderr
        assert (one.texts.total(), two.texts.total()) == (ARTICLES, ARTICLES)
        ended = await metaserver(*run_one)
        assert ended.status == 0, ended.stderr
    now = boards(tmp_path / "hub")
    for task, board in left.items():  # a server that is named no more keeps its run
        assert [run["server"] for run in now[task]["runs"]] == ["one", "two"]
        assert now[task]["runs"][0]["score"] == board["runs"][0]["score"]
    async with at_work(known) as service:
        phase = service.service.phase("run")
        assert boards_json(phase.boards.scoreboard) == leaderboard(tmp_path / "hub")


async def test_a_server_that_is_left_half_way_is_scored_on_all_articles(tmp_path: Path) -> None:
    """On the boards that a run leaves; while its phase is open, what is over for it counts."""
    package = tmp_path / "package"
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(asked_server(0.2))
        known, phase = await given(tmp_path, one=one.url)
        async with begun(known, phase) as (hub, running):
            working = asyncio.create_task(work_to_end(hub, running))
            await until(lambda: running.boards.server_monitor.status(ONE).done >= 3)
            await stack.aclose()  # the server is gone
            assert (await working)[ONE] is LaneEnd.ABANDONED
            assert running.boards.server_monitor.status(ONE).done < ARTICLES
            board = (await write_results(hub, running))[INT]
            await leave_package(hub, running, package)
    [row] = board.rows
    assert (row.place, row.below, row.counted) == (None, True, row.articles_in_gold)
    assert not board.provisional
    assert json.loads((package / "boards" / "INT.json").read_text())["provisional"] is False
    async with open_service(known) as service:  # nothing works: as it was left
        running = service.phase("run")
        async with running.scoring:
            await running.catch_up()
        live = running.boards.scoreboard
        [row] = live.board(INT).rows
        assert row.counted < row.articles_in_gold


@pytest.mark.slow
async def test_the_pages_of_a_run_show_all_to_everybody_without_sign_in(tmp_path: Path) -> None:
    async with asked_server() as good, served(Kit(fail)) as bad:
        known, phase = await given(tmp_path, good=good.url, bad=bad)
        async with begun(known, phase) as (hub, running):
            await work_to_end(hub, running)
            async with TestClient(TestServer(make_pages_app(hub))) as client:

                async def text(path: str, status: int = 200) -> str:
                    async with client.get(path) as answer:
                        assert answer.status == status, path
                        return await answer.text()

                pages = [await text(path) for path in PAGES]
                for path in ("/signin", "/team", "/organise", "/api/v1/phases", "/xmlrpc"):
                    await text(path, 404)
                await text("/c/run/other/monitor", 404)
                for path in ("/healthz", "/readyz", "/metrics"):
                    await text(path)
                monitor, server = await text("/monitor"), await text("/c/run/run/servers/bad")
                async with client.get("/c/run/run/events?page=servers/bad") as stream:
                    frame = await stream.content.readuntil(b"\n\n")
                board = await text("/c/run/run/board/INT.json")
    for page in pages:
        assert not re.search(r'href="/(signin|team|organise|api)', page)
    assert f"{ARTICLES} articles · 2 servers" in pages[PAGES.index("/")]
    assert "0 teams" not in pages[PAGES.index("/")]
    assert "the model is not loaded" in monitor
    assert bad.rstrip("/") in server
    assert "Newest attempts" in server
    assert b"the model is not loaded" in frame
    assert b"/team/" not in frame
    assert '"good"' in board


@pytest.mark.parametrize(
    ("readers", "here", "by_proxy"),
    [
        (MetricsReaders.LOOPBACK, 200, 403),
        (MetricsReaders.HOLDERS, 403, 403),
        (MetricsReaders.PUBLIC, 200, 200),
    ],
)
async def test_the_metrics_of_a_run_are_for_whom_the_setting_names(
    tmp_path: Path, readers: MetricsReaders, here: int, by_proxy: int
) -> None:
    known = await settings(tmp_path, web=WebSettings(metrics=readers))
    phase = single_phase(tmp_path / "releases" / "test", {"one": NOBODY})
    async with (
        begun(known, phase) as (hub, _),
        TestClient(TestServer(make_pages_app(hub))) as client,
    ):
        for status, headers in ((here, {}), (by_proxy, {"X-Forwarded-For": "203.0.113.7"})):
            async with client.get("/metrics", headers=headers) as answer:
                assert answer.status == status
                assert ("metaserver_attempts_total" in await answer.text()) is (status == 200)


@pytest.mark.slow
async def test_what_does_not_fit_to_a_begun_phase_is_refused_and_nothing_kept(tmp_path):
    known, phase = await given(tmp_path, one=NOBODY)
    async with begun(known, phase):
        pass
    fewer = tmp_path / "articles"
    fewer.mkdir()
    (fewer / "sample01.txt").write_text("another text")
    with pytest.raises(InputError, match="begun with other articles; give the same ones"):
        async with begun(known, phase, fewer):
            pass
    build_release([NAMES], name="other", out=tmp_path / "other")
    with pytest.raises(InputError, match="release test, not other"):
        async with begun(known, single_phase(tmp_path / "other", {"one": NOBODY})):
            pass
    async with at_work(known) as service:
        async with service.service.store.reading() as connection:
            assert await connection.scalar(sa.select(sa.func.count()).select_from(corpora)) == 1
        await service.do("teams.create", team="blue")
        await service.do("servers.register", service.team("blue"), server="blue-1", url=NOBODY)
        await service.do("phases.freeze", phase="run")
    taken = single_phase(tmp_path / "releases" / "test", {"blue-1": NOBODY})
    with pytest.raises(InputError, match="its phase run is frozen; give another --out"):
        async with begun(known, phase):
            pass
    async with at_work(known) as service:
        await service.do("phases.open", phase="run")
    with pytest.raises(InputError, match="the name 'blue-1' is taken here"):
        async with begun(known, taken):
            pass


async def test_another_gold_is_a_new_version_and_scores_all_again(tmp_path: Path) -> None:
    async with asked_server() as one:
        known, phase = await given(tmp_path, one=one.url)
        async with begun(known, phase) as (hub, running):
            await work_to_end(hub, running)
            [before] = running.boards.board(INT).rows
        content = phase.gold[INT].content
        gold = phase.gold[INT]._replace(content=b"".join(content.splitlines(keepends=True)[:5]))
        changed = replace(phase, gold={**phase.gold, INT: gold})
        async with begun(known, changed) as (hub, running):
            ends = await work_to_end(hub, running)
            await write_results(hub, running)
            [after] = running.boards.board(INT).rows
            async with hub.store.reading() as connection:
                entries = await audit.entries(connection, action="gold.set")
        assert one.texts.total() == ARTICLES
    assert ends == {"one": LaneEnd.FINISHED}
    assert {task: version.version for task, version in running.gold.items()} == {
        "ACT": 1, "INT": 2, "IPT": 1,
    }  # fmt: skip
    assert after.articles_in_gold < before.articles_in_gold
    assert [(entry.actor, entry.detail["version"]) for entry in entries] == [
        ("run", 2), ("run", 1), ("run", 1), ("run", 1),
    ]  # fmt: skip


async def test_a_lane_that_our_fault_stops_is_told_when_the_others_have_ended(tmp_path):
    async with asked_server() as one:
        known, phase = await given(tmp_path, one=one.url, two=NOBODY)
        async with begun(known, phase) as (hub, running):
            text = articles.c.corpus_id == running.corpus.id, articles.c.position == 5
            async with hub.store.writing() as connection:
                await connection.execute(sa.update(articles).where(*text).values(text=b"not zstd"))
            with pytest.raises(HubError, match="lane one stopped by a fault of the hub"):
                await work_to_end(hub, running)
            assert (await hub.phases.scheduler.lanes.ended(running))["two"].end is LaneEnd.ABANDONED


async def test_the_last_state_of_each_server_is_stored(tmp_path: Path) -> None:
    async with asked_server() as one:
        known, phase = await given(tmp_path, one=one.url)
        async with begun(known, phase) as (hub, running):
            await work_to_end(hub, running)
            async with hub.store.reading() as connection:
                changes = await states.list_changes(connection, running.key(running.servers[ONE]))
    assert changes[-1].state is ServerState.FINISHED


async def test_a_run_keeps_to_the_decisions_of_a_service(tmp_path: Path) -> None:
    """A suspension, a challenge of the same name, a notice that waits to be sent."""
    known, phase = await given(tmp_path, one=NOBODY)
    async with at_work(known) as service:
        await service.do("challenges.set", challenge="run", title="Ours", timezone="Europe/Vienna")
    async with begun(known, phase) as (hub, running):
        ends = await work_to_end(hub, running)
        async with hub.store.reading() as connection:
            [challenge] = await phases.list_challenges(connection)
            entries = await audit.entries(connection, actor="run")
    assert ends == {"one": LaneEnd.ABANDONED}
    assert (challenge.title, challenge.timezone) == ("Ours", "Europe/Vienna")
    assert {entry.action for entry in entries} == {
        "corpora.import", "phases.create", "gold.set", "servers.register", "servers.start",
    }  # fmt: skip
    async with at_work(known) as service:
        await service.do("servers.suspend", server="one", phase="run", reason="broken data")
    with pytest.raises(InputError, match=r"server one is suspended \(broken data\); leave it out"):
        async with begun(known, phase):
            pass


async def test_a_run_sends_no_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Teams give their addresses, and a run has no guard of addresses."""

    async def never(_self: Notifier) -> None:
        pytest.fail("notices are sent")

    monkeypatch.setattr(Notifier, "run", never)
    known, phase = await given(tmp_path, one=NOBODY)
    async with begun(known, phase) as (hub, running):
        assert await work_to_end(hub, running) == {"one": LaneEnd.ABANDONED}
