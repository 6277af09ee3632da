"""Teams and organisers control lanes through operations, on a hub at work."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from annotators.server import Kit
from metaserver.base.errors import Refusal, RefusedError
from metaserver.store import logs
from tests.hubs.command import ARTICLES
from tests.hubs.inside import ORGANISER, Running, at_work, plan_phase, settings
from tests.integration.kits import annotate, asked_server, served, waiting
from tests.waiting import until


async def test_next_sends_one_article(running: Running) -> None:
    blue = running.team("blue")
    await running.do("phases.update", phase="test", limits={"attempts": 1})
    async with asked_server() as asked:
        await running.register(asked.url)
        await running.do("phases.open", phase="test")
        phase = running.service.phase("test")
        engine = running.service.phases.scheduler.lanes.holder.engine

        def ended() -> bool:
            return not engine.at_work(phase.key(phase.servers["blue-1"]))

        for asked.failing, over in (("", (1, 0)), ("", (2, 0)), ("not today", (2, 1))):
            await running.do("servers.next", blue, server="blue-1")
            await until(ended)
            status = running.status()
            assert (status.done, status.given_up) == over
        queue = await running.do("servers.queue", blue, server="blue-1")
        assert (queue.state, queue.waiting) == ("paused", ARTICLES - 3)
        assert queue.next == tuple(phase.corpus.ids[3:13])


async def test_the_hosts_servers_are_tested_and_started_in_a_job(running: Running) -> None:
    answering = asyncio.Event()
    await running.do("teams.create", team="red")
    await running.do("teams.update", team="red", host=True)
    refused = await running.refused("servers.start-baselines", phase="test")
    assert (refused.refusal, refused.field) == (Refusal.STATE, "phase")
    async with served(waiting(answering)) as url:
        for name in ("blue-1", "red-0", "red-1", "red-2", "red-3"):
            address = url if name != "red-3" else "http://127.0.0.1:9/"
            values = {"server": name, "url": address, "tasks": ["INT"]}
            await running.do("servers.register", running.team(name.split("-")[0]), **values)
        await running.do("servers.retire", running.team("red"), server="red-0")
        await running.do("phases.update", phase="test", limits={"servers": 1})
        await running.do("phases.open", phase="test")
        work = asyncio.create_task(running.do("servers.start-baselines", phase="test"))
        jobs = running.service.jobs.own
        await until(lambda: work.done() or any(job.progress.done for job in jobs.list_all()))
        [job] = jobs.list_all()
        seen = (job.progress.step, job.progress.done, job.progress.total)
        assert seen == ("testing", 1, 3)  # red-3 is over: nothing listens at its address
        answering.set()
        starts = (await work).servers
        expected = (("red-1", True, "^$"), ("red-2", False, "1 server per team"),
                    ("red-3", False, "its test for phase test failed"))  # fmt: skip
        for start, (name, started, why) in zip(starts, expected, strict=True):
            assert (start.server, start.started) == (name, started)
            assert re.search(why, start.refused)
        await running.done(server="red-1")


async def test_a_suspended_server_is_not_started_by_its_team(running: Running) -> None:
    blue = running.team("blue")
    async with served(Kit(annotate)) as url:
        await running.register(url)
        await running.do("phases.open", phase="test")
        await running.do("servers.next", blue, server="blue-1")
        reason = "sends other people's answers"
        await running.do("servers.suspend", server="blue-1", reason=reason)
        with pytest.raises(RefusedError, match=reason):
            await running.do("servers.start", blue, server="blue-1")
        await running.do("servers.pause", blue, server="blue-1")
        detail = await running.do("servers.get", blue, server="blue-1")
        assert [(lane.state, lane.note) for lane in detail.phases] == [("suspended", reason)]
        await running.do("servers.resume", server="blue-1")
        await running.done()


@pytest.mark.slow
@pytest.mark.both_stores
async def test_given_up_articles_are_queued_again(running, monkeypatch):
    blue = running.team("blue")
    async with asked_server() as asked:
        await running.register(asked.url)
        asked.failing = "not today"
        await running.do("phases.open", phase="test")
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: running.status().given_up == ARTICLES)
        queue = await running.do("servers.queue", blue, server="blue-1")
        assert (queue.phase, queue.waiting, queue.in_flight, queue.next) == ("test", 0, 0, ())
        refused = await running.refused("servers.requeue", server="blue-1", articles=["sample99"])
        assert (refused.refusal, refused.field) == (Refusal.UNKNOWN, "article")
        asked.failing = ""
        some = ["sample03", "sample01"]
        end, faults = logs.end, [OSError("the disk is away")]

        async def faulty(*args: Any) -> logs.LogEnd:
            if faults:
                raise faults.pop()
            return await end(*args)

        monkeypatch.setattr(logs, "end", faulty)  # they are in the queue, though it is not read
        requeued = await running.do("servers.requeue", server="blue-1", articles=some)
        assert not faults
        assert requeued.articles == 2
        await running.done(2)
        await running.caught_up()
        assert running.status().given_up == ARTICLES - 2
        requeued = await running.do("servers.requeue", server="blue-1")
        assert requeued.articles == ARTICLES - 2
        await running.done()
        assert running.status().given_up == 0


@pytest.mark.slow
async def test_what_a_phase_allows_a_team_holds_when_it_starts(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, served(Kit(annotate)) as url:
        await plan_phase(running, teams=["blue", "red"], is_open=True)
        blue, red = running.team("blue"), running.team("red")
        for name, most in (("blue-1", 3), ("blue-2", 4), ("blue-3", 1), ("red-1", 1)):
            await running.register(url, name, concurrency=most)
        limits = {"servers": 2, "concurrency": 3}
        await running.do("phases.update", phase="test", limits=limits)

        async def refused(action: str, server: str) -> tuple[Refusal, str | None]:
            caught = await running.refused(f"servers.{action}", blue, server=server)
            return caught.refusal, caught.field

        await running.do("servers.start", blue, server="blue-1")
        for action in ("start", "next"):
            assert await refused(action, "blue-2") == (Refusal.STATE, "concurrency")
        assert await refused("pause", "blue-2") == (Refusal.STATE, "server")  # it takes no part
        await running.do("servers.start", red, server="red-1")  # another team's do not count
        await running.do("servers.next", blue, server="blue-3")
        await running.do("servers.update", blue, server="blue-2", concurrency=3)
        assert (await running.do("servers.test", blue, server="blue-2")).passed
        assert await refused("start", "blue-2") == (Refusal.STATE, "server")
        await running.do("servers.pause", blue, server="blue-1")
        await running.do("servers.start", blue, server="blue-1")  # it takes part already
        for server in ("blue-2", "blue-3"):
            await running.do("servers.retire", blue, server=server)
        await running.register(url, "blue-4")
        for action in ("start", "next"):  # a retired server's run stays on the boards
            assert await refused(action, "blue-4") == (Refusal.STATE, "server")


async def test_a_cancelled_servers_requests_end_uncharged_and_are_sent_again(running):
    blue, answering = running.team("blue"), asyncio.Event()
    answering.set()

    async with served(waiting(answering)) as url:
        await running.register(url)
        answering.clear()
        await running.do("phases.open", phase="test")
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: running.status().in_flight == 1)
        queue = await running.do("servers.queue", blue, server="blue-1")
        assert (queue.waiting, queue.in_flight, queue.next[0]) == (ARTICLES, 1, "sample01")
        await running.do("servers.cancel", blue, server="blue-1")
        [attempt] = await running.do("servers.attempts", blue, server="blue-1")
        assert (attempt.outcome, attempt.message) == ("cancelled", "cancelled by team blue")
        queue = await running.do("servers.queue", blue, server="blue-1")
        assert (queue.state, queue.waiting, queue.in_flight) == ("paused", ARTICLES, 0)
        assert (len(queue.next), queue.next[0]) == (10, "sample01")
        answering.set()
        await running.do("servers.start", blue, server="blue-1")
        await running.done()


async def test_who_did_what_to_a_lane_is_in_the_audit_log(running: Running) -> None:
    blue = running.team("blue")
    async with served(Kit(annotate)) as url:
        await running.register(url)
        await running.do("phases.open", phase="test")
        begun = len(await running.do("audit.list", subject="blue-1"))
        acts = (
            (blue, "next"), (blue, "cancel"), (ORGANISER, "suspend"), (ORGANISER, "resume"),
            (blue, "pause"), (ORGANISER, "requeue"), (blue, "start"),
        )  # fmt: skip
        for caller, action in acts:
            said = {"reason": "too slow"} if action == "suspend" else {}
            await running.do(f"servers.{action}", caller, server="blue-1", **said)
        entries = await running.do("audit.list", subject="blue-1")
    noted = list(reversed(entries))[begun:]
    assert [(entry.actor, entry.action) for entry in noted] == [
        (caller.name, f"servers.{action}") for caller, action in acts
    ]
    more = {"servers.suspend": {"reason": "too slow"}, "servers.requeue": {"articles": 0}}
    assert all(dict(one.detail) == {"phase": "test"} | more.get(one.action, {}) for one in noted)


async def test_a_challenges_new_zone_is_that_of_its_phases(running: Running) -> None:
    await running.do("phases.update", phase="test", opens="2030-06-01T12:00")
    await running.do("challenges.set", challenge="bc", title="Moved", timezone="Europe/Madrid")
    told = await running.do("phases.get", phase="test")
    assert told.opens.isoformat() == "2030-06-01T14:00:00+02:00"
    assert told.timezone == "Europe/Madrid"


async def test_a_team_takes_so_many_names_at_most(running, monkeypatch):
    monkeypatch.setattr("metaserver.operations.servers.NAMES", 3)
    blue = running.team("blue")
    for number in range(3):
        await running.do("servers.register", blue, server=f"b{number}", url="http://127.0.0.1:9/")
        await running.do("servers.retire", blue, server=f"b{number}")
    with pytest.raises(RefusedError, match="may use 3 names"):
        await running.do("servers.register", blue, server="b3", url="http://127.0.0.1:9/")
