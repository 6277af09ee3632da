"""Phases and challenges without answers are deleted, with all that refers to them."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from annotators.server import Kit
from metaserver.base.errors import RefusedError
from metaserver.base.records import ServerName
from metaserver.store.tables import metadata
from tests.hubs.inside import Running, plan_phase
from tests.hubs.sites import signed_in
from tests.integration.kits import annotate, asked_server, served


async def rows(running: Running, column: str) -> dict[str, int]:
    """Return the tables with a column that have rows, with their number."""
    found = {}
    async with running.service.store.reading() as connection:
        for table in metadata.sorted_tables:
            if column in table.c and table.name != "phases":
                count = (
                    await connection.execute(sa.select(sa.func.count(table.c[column])))
                ).scalar()
                found |= {table.name: count} if count else {}
    return found


@pytest.mark.both_stores
async def test_a_phase_is_deleted_with_its_gold_and_the_tests_for_it(running: Running) -> None:
    async with served(Kit(annotate)) as url:
        await running.register(url)
    await running.do("phases.freeze", phase="test")
    assert {"gold", "trials"} <= (await rows(running, "phase_id")).keys()
    before = running.service.phase("test").phase.id
    await running.do("phases.delete", phase="test")
    assert await rows(running, "phase_id") == {}
    assert await running.do("phases.list") == []
    with pytest.raises(RefusedError, match="there is no phase 'test'"):
        await running.do("phases.get", phase="test")
    await plan_phase(running)  # the name is free again, the number is not: caches have it
    assert running.service.phase("test").phase.id > before
    actions = [one.action for one in await running.do("audit.list", limit=20)]
    assert "phases.delete" in actions


async def test_one_with_answers_is_refused_with_the_reason(running: Running) -> None:
    async with served(Kit(annotate)) as url:
        await running.register(url)
        await running.do("phases.open", phase="test")
        await running.do("servers.next", running.team("blue"), server="blue-1")
        await running.done(1)
    with pytest.raises(RefusedError, match="has answers of servers: it can be closed, not deleted"):
        await running.do("phases.delete", phase="test")
    with pytest.raises(RefusedError, match="phase test has answers of servers"):
        await running.do("challenges.delete", challenge="bc")
    async with signed_in(running) as ana:
        page = await ana.post("/organise/phases/test/delete")
        assert page.status == 409
        assert "has answers of servers" in page.said
    assert running.service.phase("test").name == "test"


async def test_one_with_uploads_of_organisers_alone_is_deleted_with_them(running: Running) -> None:
    await running.do("phases.open", phase="test")
    await running.do("teams.create", team="ours")
    run = {"phase": "test", "task": "INT", "run": "words", "team": "ours"}
    await running.do("runs.upload", **run, content=b"sample01\tP04637\t1\t0.9\n")
    with pytest.raises(RefusedError, match="has uploaded runs: it can be closed, not deleted"):
        await running.do("phases.delete", phase="test")
    await running.do("teams.update", team="ours", host=True)
    await running.do("phases.delete", phase="test")
    assert await rows(running, "phase_id") == {}


async def test_one_whose_servers_only_failed_is_deleted_with_their_attempts(running):
    async with asked_server() as asked:
        await running.register(asked.url)
        asked.failing = "the model is not loaded"
        await running.do("phases.open", phase="test")
        await running.do("servers.next", running.team("blue"), server="blue-1")
        await running.until(lambda: sum(running.status().outcomes.values()) > 0)
        await running.do("phases.freeze", phase="test")
        engine = running.service.phases.scheduler.lanes.holder.engine
        phase = running.service.phase("test")
        key = phase.key(phase.servers[ServerName("blue-1")])
        await running.until(lambda: not engine.at_work(key))
    assert "attempts" in await rows(running, "phase_id")
    await running.do("phases.delete", phase="test")
    assert await rows(running, "phase_id") == {}


async def test_a_challenge_goes_with_its_phases(running: Running, tmp_path: Path) -> None:
    given = {"challenge": "bc", "corpus": "demo", "release": "test"}
    await running.do("phases.create", phase="second", **given)
    async with signed_in(running) as ana:
        assert "its phases (test, second)" in (await ana.get("/organise/challenges/bc/delete")).said
        page = await ana.post("/organise/challenges/bc/delete")
        assert page.path == "/organise"
        assert "No challenge yet." in page.said
    assert await rows(running, "challenge_id") == {}
    assert await running.do("challenges.list") == []
    await running.do("challenges.set", challenge="next")
    await running.do("phases.create", phase="test", **given | {"challenge": "next"})
