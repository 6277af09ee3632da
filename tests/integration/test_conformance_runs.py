"""Servers are tested for a phase: with its tasks, its release and its limits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.conformance import Conformance
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.plans import LimitSettings
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.jobs import JobDetail
from metaserver.operations.table import perform
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.release import release_at
from tests.hubs.sites import token_of, visiting
from tests.integration.kits import annotate, answer_for, served, waiting
from tests.waiting import patience


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with the phases early (planned) and late (planned for later), and team blue."""
    given = await settings(tmp_path, limits=LimitSettings(timeout=20.0, connect=2.0))
    release_at(tmp_path / "releases" / "second")
    async with at_work(given) as running:
        later = {"opens": "2031-02-01T00:00", "release": "second", "tasks": ["INT"]}
        await plan_phase(running, "late", **later, limits={"timeout": 7.0, "answer_bytes": 100_000})
        await plan_phase(running, "early", opens="2031-01-01T00:00", tasks=["ACT", "INT"])
        await running.do("teams.create", team="blue")
        yield running


async def registered(running: Running, url: str, **values: Any) -> None:
    blue = running.team("blue")
    await running.do("servers.register", blue, server="blue-1", url=url, **values)


async def try_out(running: Running, phase: str | None = None) -> Conformance:
    values = {} if phase is None else {"phase": phase}
    found: Conformance = await running.do(
        "servers.test", running.team("blue"), server="blue-1", **values
    )
    return found


async def refused_test(running: Running, **values: str) -> RefusedError:
    return await running.refused("servers.test", running.team("blue"), server="blue-1", **values)


async def states_of_tests(running: Running) -> dict[str, str]:
    """Return how the tests of blue-1 stand, by phase."""
    detail = await running.do("servers.get", running.team("blue"), server="blue-1")
    return {one.phase: one.state for one in detail.tests}


async def start(running: Running, phase: str) -> None:
    await running.do("servers.start", running.team("blue"), server="blue-1", phase=phase)


async def test_a_server_is_sent_what_the_phase_asks_for(running: Running) -> None:
    contexts: list[Context] = []

    def listens(text: str, context: Context) -> Answer:
        contexts.append(context)
        return answer_for(text)

    async with served(Kit(listens)) as url:
        await registered(running, url, parameters="text+context", tasks=["INT", "IPT"])
        for phase, timeout, release in (("early", 20.0, "test"), ("late", 7.0, "second")):
            contexts.clear()
            found = await try_out(running, phase)
            assert found.passed, found.reasons()
            assert {context["timeout"] for context in contexts} == {timeout}
            assert {tuple(context["tasks"]) for context in contexts} == {("INT",)}
            assert found.terms is not None
            assert (found.terms.phase, found.terms.release) == (phase, release)
            assert (found.terms.timeout, found.terms.tasks) == (timeout, ("INT",))
    assert await states_of_tests(running) == {"early": "passed", "late": "passed"}


async def test_the_limits_of_the_phase_decide(running: Running) -> None:
    def long_winded(text: str, _context: Context) -> Answer:
        hits = [{"dbid": "P04637", "rank": 1, "confidence": 0.5}]
        return {"normalizations": hits, "remark": "x" * 150_000}  # type: ignore[typeddict-unknown-key]

    async with served(Kit(long_winded)) as url:
        await registered(running, url)
        assert (await try_out(running, "early")).passed
        found = await try_out(running, "late")
        assert not found.passed
        assert "100,000 bytes" in found.reasons()[0] or "100000" in found.reasons()[0]
    assert await states_of_tests(running) == {"late": "failed", "early": "passed"}


@pytest.mark.slow
async def test_the_queue_names_the_phase_that_a_test_is_missing_for(running: Running) -> None:
    async with served(Kit(annotate)) as url:
        await registered(running, url)
        assert (await try_out(running)).terms.phase == "early"  # type: ignore[union-attr]  # the next
        await running.do("phases.update", phase="early", opens="")
        assert "late, early are planned" in (await refused_test(running)).message
        for phase in ("early", "late"):
            await running.do("phases.open", phase=phase)
        await start(running, "early")
        with pytest.raises(RefusedError, match="not been tested for phase late: test it first"):
            await start(running, "late")
        assert "late, early are open" in (await refused_test(running)).message
        assert (await try_out(running, "late")).passed
        await start(running, "late")
        await running.do("phases.close", phase="early")
        await running.do("phases.close", phase="late")
        assert (await try_out(running)).terms.phase == ""  # type: ignore[union-attr]
        for phase in ("none", ""):
            refused = await refused_test(running, phase=phase)
            assert (refused.refusal, refused.field) == (Refusal.UNKNOWN, "phase")


async def test_a_test_holds_until_the_phase_asks_for_more(running: Running) -> None:
    async with served(Kit(annotate)) as url:
        await registered(running, url)
        assert (await try_out(running, "late")).passed
        await running.do("phases.open", phase="late")
        looser = {"timeout": 9.0, "answer_bytes": 200_000}
        await running.do("phases.update", phase="late", limits=looser)
        assert (await states_of_tests(running))["late"] == "passed"
        await running.do("phases.update", phase="late", limits=looser | {"timeout": 5.0})
        assert (await states_of_tests(running))["late"] == "outdated"
        with pytest.raises(
            RefusedError,
            match=r"phase late has changed since its test \(5 s an article instead of 7 s\)",
        ):
            await start(running, "late")
        await running.do("phases.update", phase="late", tasks=["INT", "IPT"], release="test")
        detail = await running.do("servers.get", running.team("blue"), server="blue-1")
        assert detail.tested == "outdated"
        assert detail.reasons == (
            "it is asked for IPT too",
            "accessions are checked by test, not by second",
            "5 s an article instead of 7 s",
        )
        assert (await try_out(running, "late")).passed
        await start(running, "late")


async def test_a_change_of_the_server_forgets_its_tests_also_one_under_way(running):
    blue, held = running.team("blue"), asyncio.Event()

    async with served(Kit(annotate)) as good, served(waiting(held)) as slow:
        await registered(running, good)
        assert (await try_out(running, "early")).passed
        await running.do("servers.update", blue, server="blue-1", url=slow)
        assert await states_of_tests(running) == {"late": "never", "early": "never"}
        await running.do("phases.update", phase="early", title="First phase")
        under_way = asyncio.create_task(try_out(running, "early"))
        await running.until(
            lambda: running.service.servers.conformance.under_way("blue-1") is not None
        )
        with pytest.raises(RefusedError, match="it is being tested for First phase: wait"):
            await try_out(running, "late")
        for change in ({"concurrency": 3}, {"tasks": ["INT"]}):
            await running.do("servers.update", blue, server="blue-1", **change)
            with pytest.raises(RefusedError, match="as it was before a change"):
                await try_out(running, "early")
        held.set()
        assert (await under_way).passed  # the caller gets the result; nothing of it is stored
    assert await states_of_tests(running) == {"late": "never", "early": "never"}


async def begin(running: Running) -> JobDetail:
    blue = running.team("blue")
    begun: JobDetail = await perform(
        OPERATIONS["servers.test"], running.service, blue, {"server": "blue-1", "phase": "early"}
    )
    return begun


async def test_the_same_test_is_the_same_job_which_the_team_may_read(running: Running) -> None:
    held, blue = asyncio.Event(), running.team("blue")

    async with served(waiting(held)) as url:
        await registered(running, url)
        begun, again = await begin(running), await begin(running)
        assert (begun.state, begun.job) == ("running", again.job)
        held.set()
        done = begun
        async with patience():
            while done.ended_at is None:
                done = await running.do("jobs.get", blue, job=begun.job, wait=30.0)
        assert done.report["passed"], done
        assert done.report["terms"]["phase"] == "early"
        assert [one.kind for one in await running.do("jobs.list", blue)] == ["servers.test"]
        assert await running.do("jobs.list") == []
        await running.do("teams.create", team="red")
        with pytest.raises(RefusedError, match="no such job"):
            await running.do("jobs.get", running.team("red"), job=begun.job)
        assert (await begin(running)).job != begun.job


async def test_a_test_that_is_cancelled_stores_nothing(running: Running) -> None:
    held, blue = asyncio.Event(), running.team("blue")

    async with served(waiting(held)) as url:
        await registered(running, url)
        begun = await begin(running)
        assert (await running.do("jobs.cancel", blue, job=begun.job)).state == "cancelled"
        await running.until(lambda: running.service.servers.conformance.under_way("blue-1") is None)
        held.set()
    assert await states_of_tests(running) == {"late": "never", "early": "never"}


async def test_before_there_is_a_phase_a_test_is_for_none(tmp_path: Path) -> None:
    async with at_work(await settings(tmp_path)) as running, served(Kit(annotate)) as url:
        await running.do("teams.create", team="blue")
        await registered(running, url)
        found = await try_out(running)
        assert found.passed
        assert found.terms is not None
        assert (found.terms.phase, found.terms.release) == ("", "")
        detail = await running.do("servers.get", running.team("blue"), server="blue-1")
        assert (detail.tested, detail.tested_for, detail.tests) == ("passed", "", ())
        await plan_phase(running, is_open=True)
        with pytest.raises(RefusedError, match="not been tested for phase test"):
            await start(running, "test")


@pytest.mark.both_stores
async def test_tests_outlive_the_hub(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    async with served(Kit(annotate)) as url:
        async with at_work(given) as running:
            await plan_phase(running, teams=["blue"])
            await registered(running, url)
            before = await try_out(running)
        async with at_work(given) as running:
            await running.do("phases.open", phase="test")
            phase = running.service.phase("test")
            [kept] = await running.do("servers.list")
            assert [one.state for one in kept.tests] == ["passed"]
            known = await running.service.server(running.team("blue"), "blue-1")
            report = await running.service.servers.conformance.report(known, phase.phase.id)
            assert msgspec.to_builtins(report) == msgspec.to_builtins(before)
            await start(running, "test")


async def test_the_console_tests_for_the_phase_that_is_chosen(running: Running) -> None:
    token = await token_of(running, "blue")
    async with served(Kit(annotate)) as url, visiting(running) as blue:
        await registered(running, url)
        await blue.sign_in(token)
        page = await blue.get("/team/servers/blue-1/test")
        assert "For phase early: ACT, INT · UniProt release test · 20 s per article" in page.said
        assert "Test now for phase early" in page.said
        page = await blue.get("/team/servers/blue-1/test?phase=late")
        assert "For phase late: INT · UniProt release second · 7 s per article" in page.said
        assert "answers up to 100,000 bytes" in page.said
        page = await blue.post("/team/servers/blue-1/test", phase="late")
        assert page.path == "/team/servers/blue-1/test?phase=late"
        await running.until(lambda: running.service.servers.conformance.under_way("blue-1") is None)
        page = await blue.get("/team/servers/blue-1/test?phase=late")
        assert "It can be started when phase late is open." in page.said
        assert "late test passed" in page.said
        assert "early not tested" in page.said
        for phase in ("early", "late"):
            await running.do("phases.open", phase=phase)
        page = await blue.get("/team/servers")
        assert 'href="/team/servers/blue-1/test?phase=early">not tested' in page.text
        assert "/test?phase=late" not in page.text
        stream = "/team/events?page=test&server=blue-1&phase=late"
        async with blue.client.get(stream) as response:
            first = await response.content.readuntil(b"\n\n")
        assert b"Test of blue-1 for phase late: test passed" in first
        assert b"late <small>test passed" in first
        await running.do("phases.update", phase="late", limits={"timeout": 3.0})
        page = await blue.get("/team/servers/blue-1/test?phase=late")
        assert "but phase late has changed since then. Test it again." in page.said
        assert "3 s an article instead of 7 s" in page.said
