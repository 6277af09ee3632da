"""Announced changes of phases, compared with what the clock and organisers then do."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.errors import RefusedError
from metaserver.base.plans import DATES
from metaserver.base.states import OPEN_STATES, PhaseState
from tests.fakes.clock import FakeClock
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, Visitor, client_of
from tests.integration.kits import annotate, answer_for, served
from tests.integration.test_phase_pages import Pages, frame

BEGIN = datetime(2030, 5, 1, 12, tzinfo=UTC)


def written(hours: float) -> str:
    return (BEGIN + timedelta(hours=hours)).isoformat()


def after(hours: float) -> float:
    """Return the time so many hours after the beginning."""
    return (BEGIN + timedelta(hours=hours)).timestamp()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(BEGIN.timestamp())


@pytest.fixture
async def pages(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Pages]:
    """The pages of a hub on a clock of the test's own, with an organiser and team blue."""
    async with (
        at_work(await settings(tmp_path), clock=clock) as running,
        client_of(running) as client,
    ):
        pages = Pages(running, client)
        token = await running.do("tokens.create", role="organiser", label="o")
        pages.tokens["organiser"] = token.token
        await pages.team("blue")
        yield pages


async def announced(pages: Pages) -> str:
    """Return what all interfaces announce of phase test; they must agree."""
    detail = json.loads(await pages.get("/api/v1/phases/test"))
    first = detail["coming"][0] if detail["coming"] else None
    said = ""
    if first:
        at = datetime.fromisoformat(first["at"])
        said = f"{first['date']} {at.astimezone(UTC):%Y-%m-%d %H:%M}"
    head = re.search(
        r'<p id="phase-summary".*?</p>', await pages.get("/c/bc/test/monitor"), re.DOTALL
    )
    async with pages.stream("monitor") as response:
        streamed = (await frame(response))["html"]["phase-summary"]
    team = re.search(
        r'<ul id="phases".*?</ul>', await pages.get("/team/servers", "blue"), re.DOTALL
    )
    organise = re.search(
        r'<div id="challenges".*</div>', await pages.get("/organise", "organiser"), re.DOTALL
    )
    places = [found[0] for found in (head, team, organise) if found] + [streamed]
    assert len(places) == 4
    if detail["state"] == "closed":  # a team is shown those that are not over
        places.remove(team[0])  # type: ignore[index]
    for place in places:
        words = re.findall(r"(opens|freezes|closes)\s+<time[^>]*>([^<]+) UTC</time>", place)
        assert [f"{word} {at}" for word, at in words] == [said] * bool(said), place
    home = re.findall(r"<dt>(\w+)</dt>|<p>It (\w+) <time", await pages.get("/"))
    ahead = {one["date"] for one in detail["coming"]}
    passed = {
        name for name in DATES
        if detail["moments"].get(name) is not None  # it came, by the clock or by hand
        or (detail[name] and datetime.fromisoformat(detail[name]).timestamp()
        <= pages.running.service.clock())
    }  # fmt: skip
    assert {named or comes for named, comes in home} == ahead | passed
    return said


@pytest.mark.slow
@pytest.mark.both_stores
async def test_after_a_hand_every_page_announces_what_the_clock_then_does(pages, clock):
    running = pages.running
    await plan_phase(running, opens=written(1), freezes=written(2), closes=written(3))
    assert await announced(pages) == "opens 2030-05-01 13:00"
    await running.do("phases.open", phase="test")
    assert await announced(pages) == "freezes 2030-05-01 14:00"
    await running.do("phases.freeze", phase="test")
    assert await announced(pages) == "closes 2030-05-01 15:00"
    page = await pages.get("/organise/phases/test", "organiser")
    assert page.count("has no effect: it is frozen already") == 2
    clock.now = after(1.5)  # its date to open has passed
    await running.service.phases.scheduler.advance(running.service.phase("test"))  # it does nothing
    assert running.service.phase("test").state is PhaseState.FROZEN
    assert await announced(pages) == "closes 2030-05-01 15:00"
    await running.do("phases.open", phase="test")  # again
    assert await announced(pages) == "freezes 2030-05-01 14:00"
    clock.now = after(2)
    await running.until(lambda: running.service.phase("test").state is PhaseState.FROZEN)
    clock.now = after(0.5)  # set back, before its first date
    assert await announced(pages) == "closes 2030-05-01 15:00"
    await running.do("phases.close", phase="test")
    assert await announced(pages) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_what_is_announced_is_what_the_clock_does_whatever_was_done(pages, clock, seed):
    running, rng = pages.running, random.Random(seed)
    await plan_phase(running)
    hours = 0.0
    for _ in range(25):
        await _meddle(running, rng)
        hours += rng.choice([-3.0, 0.0, 1.0])
        clock.now = after(hours)
        await running.service.phases.scheduler.advance(running.service.phase("test"))
        detail = await running.do("phases.get", phase="test")
        running_phase = running.service.phase("test")
        assert detail.state is running_phase.state
        assert detail.state not in OPEN_STATES or detail.state is detail.kind
        if not detail.coming:
            clock.now = after(hours + 1_000)
            await running.service.phases.scheduler.advance(running_phase)
            assert running_phase.state is detail.state
            clock.now = after(hours)
            continue
        change = detail.coming[0]
        clock.now = change.at.timestamp() - 1
        await running.service.phases.scheduler.advance(running_phase)
        assert running_phase.state is detail.state
        clock.now = change.at.timestamp()
        await running.service.phases.scheduler.advance(running_phase)
        assert running_phase.state is change.state
        hours = (clock.now - BEGIN.timestamp()) / 3_600


async def _meddle(running: Running, rng: random.Random) -> None:
    """Change a phase manually; it may be refused."""
    act = rng.choice(["open", "freeze", "close", "update", "update", "kind", ""])
    values: dict[str, Any] = {}
    if act == "update":
        values = {rng.choice(DATES): rng.choice(["", written(rng.randint(-5, 30))])}
    elif act == "kind":
        act, values = "update", {"kind": rng.choice(["training", "test"])}
    try:
        if act:
            await running.do(f"phases.{act}", phase="test", **values)
    except RefusedError as error:
        assert "its dates" in error.message or "must be after" in error.message  # noqa: PT017


@pytest.mark.slow
async def test_a_zone_that_the_machine_does_not_know_breaks_no_page(pages: Pages) -> None:
    """As where the hub is moved to a machine with other time zones."""
    running = pages.running
    await plan_phase(running, opens=written(1))
    async with running.service.store.writing() as connection:
        await connection.exec_driver_sql("UPDATE challenges SET timezone = 'Mars/Base'")
    await running.do("phases.update", phase="test", title="Far away")
    assert (await running.do("phases.get", phase="test")).timezone == "UTC"
    assert await announced(pages) == "opens 2030-05-01 13:00"
    assert "Opens, UTC time" in await pages.get("/organise/phases/test/edit", "organiser")
    with pytest.raises(RefusedError, match="write an offset, such as 2030-05-02T09:00Z"):
        await running.do("phases.update", phase="test", opens="2030-05-02T09:00")
    await running.do("phases.update", phase="test", opens="2030-05-02T09:00Z")


# -- the phase that is named -----------------------------------------------------------------------

PHASE_PAGES = (
    "/monitor", "/board/INT", "/board/INT.csv", "/board/INT.json", "/board/INT/articles",
    "/board/INT/articles.csv", "/servers/blue-1", "/servers/blue-1/badge.svg",
    "/events?page=monitor", "/events?page=board/INT", "/events?page=servers/blue-1",
)  # fmt: skip


@pytest.mark.slow
async def test_a_page_answers_for_the_phase_that_is_named_and_for_no_other(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, "test", title="Test phase", visibility="public")
    await plan_phase(running, "other", title="Other phase", visibility="public")
    await running.do("phases.open", phase="test")
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
        await running.until(lambda: running.status().done > 0)
    await running.do("challenges.set", challenge="next")
    other = await pages.get("/c/bc/other/monitor?state=up")
    assert "<strong>Other phase</strong>" in other
    assert "<title>Monitor of Other phase" in other
    assert 'href="?' not in other
    assert json.loads(await pages.get("/c/bc/other/board/INT.json"))["phase"] == "other"
    assert len(json.loads(await pages.get("/c/bc/test/board/INT.json"))["runs"]) == 1
    assert json.loads(await pages.get("/c/bc/other/board/INT.json"))["runs"] == []
    await pages.get("/c/bc/other/servers/blue-1", status=404)
    await pages.get("/c/bc/other/servers/blue-1/badge.svg", status=404)
    for page in PHASE_PAGES:
        for base in ("/c/bc/none", "/c/bc/Test", "/c/next/test", "/c/none/test", "/c/BC/test"):
            await pages.get(base + page, status=404)
        if "/events" not in page:
            await pages.get(f"/c/bc/test{page}")


async def test_consoles_answer_for_the_phase_that_is_named_and_for_no_other(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, "test")
    await plan_phase(running, "other")
    await running.do("phases.open", phase="test")
    async with served(Kit(annotate)) as url:
        await pages.register("blue", "blue-1", url)
    server = "/team/servers/blue-1"
    for page in ("/team/servers", server, f"{server}/attempts", f"{server}/test"):
        for query in ("phase=none", "phase=", "phase=test&phase=other"):
            await pages.get(f"{page}?server=blue-1&{query}", "blue", status=404)
    for query in ("phase=none", "phase=test&phase=other"):
        await pages.get(f"/organise/servers?{query}", "organiser", status=404)
        await pages.get(f"/organise/uploads?{query}", "organiser", status=404)
    await pages.get("/organise/uploads?phase=", "organiser", status=404)
    await pages.get("/organise/servers?phase=", "organiser")  # the form's choice of all
    await pages.get("/organise/new-phase?challenge=none", "organiser", status=404)


async def test_a_frozen_phase_has_no_time_left_and_nothing_live(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running, "test", visibility="public")
    assert "<strong>finished</strong>" not in await pages.get("/c/bc/test/monitor")
    await running.do("phases.open", phase="test")
    assert "<strong>finished</strong>" not in await pages.get("/c/bc/test/monitor")  # no server yet
    held, blue = asyncio.Event(), running.team("blue")
    count = 0

    async def at_first(text: str, _context: Context) -> Answer:
        nonlocal count
        count += 1
        if count > 12:  # those of its test, and some of the phase's
            await held.wait()
        return answer_for(text)

    async def told() -> tuple[Any, ...]:
        queue = await running.do("servers.queue", blue, server="blue-1", phase="test")
        [progress] = (await running.do("servers.get", blue, server="blue-1")).phases
        texts = [
            await pages.get("/c/bc/test/monitor"),
            await pages.get("/c/bc/test/servers/blue-1"),
            await pages.get("/team/servers", "blue"),
            await pages.get("/team/servers/blue-1", "blue"),
        ]
        async with pages.stream("monitor") as response:
            texts.append(json.dumps((await frame(response))["html"]))
        left = [bool(re.search(r"\d (s|min|h|d) left", text)) for text in texts]
        still = ["data-still" in text for text in texts]
        return queue.eta is not None, progress.eta is not None, any(left), all(still), any(still)

    async with served(Kit(at_first)) as url:
        await running.do("servers.register", blue, server="blue-1", url=url)
        assert (await running.do("servers.test", blue, server="blue-1")).passed
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: count > 12 and running.status().done > 0)
        assert await told() == (True, True, True, False, False)
        await running.do("phases.freeze", phase="test")
        assert await told() == (False, False, False, True, True)
        held.set()


# -- dates in forms --------------------------------------------------------------------------------


async def test_a_form_tells_of_a_skipped_time_at_its_field_and_keeps_what_was_written(pages):
    running = pages.running
    await plan_phase(running)
    await running.do("challenges.set", challenge="bc", timezone="Europe/Madrid")
    visitor = Visitor(pages.client)
    await visitor.sign_in(pages.tokens["organiser"])
    edit = "/organise/phases/test/edit"
    page = await visitor.get(edit)
    form = dict(re.findall(r'name="(title|kind|visibility|timezone)" value="([^"]*)"', page.text))
    form |= {"kind": "test", "visibility": "hidden", "corpus": "demo@1", "release": "test"}
    assert form["timezone"] == "Europe/Madrid"
    page = await visitor.post(edit, form, opens="2031-03-30T02:30")
    assert page.wrong == (422, {"opens"})
    assert 'value="2031-03-30T02:30"' in page.text
    page = await visitor.post(edit, form, opens="2030-10-27T02:30")
    assert "2030-10-27 02:30 comes twice in Europe/Madrid" in page.said
    first, second = re.findall(r'<option value="(2030-10-27T02:30\|[^"]+)"', page.text)
    assert (first[-6:], second[-6:]) == ("+02:00", "+01:00")
    question = {"opens-reading": first}
    page = await visitor.post(edit, form | question, opens="2030-10-28T02:30")  # another time
    assert (await running.do("phases.get", phase="test")).opens.day == 28
    page = await visitor.post(edit, form | question, opens="2030-10-27T02:30")
    assert page.path == "/organise/phases/test"
    assert "2030-10-27 02:30 Europe/Madrid, UTC+02:00" in page.said
    # The second of the two: a form that leaves it as shown does not make it the first.
    await running.do("phases.update", phase="test", opens="2030-10-27T02:30+01:00")
    page = await visitor.post(edit, form, opens="2030-10-27T02:30", title="Renamed")
    detail = await running.do("phases.get", phase="test")
    assert (detail.title, detail.opens.isoformat()) == ("Renamed", "2030-10-27T02:30:00+01:00")
    await running.do("challenges.set", challenge="bc", timezone="UTC")
    page = await visitor.post(edit, form, opens="2030-11-01T09:00")  # a form of before
    assert page.status == 409
    after = await running.do("phases.get", phase="test")
    assert after.opens.timestamp() == detail.opens.timestamp()


async def test_a_date_in_the_past_is_to_be_confirmed(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running)
    visitor = Visitor(pages.client)
    await visitor.sign_in(pages.tokens["organiser"])
    form = {"challenge": "bc", "phase": "past", "corpus": "demo@1", "release": "test"}
    form |= {"title": "Kept", "opens": "2021-01-01T09:00", "step": "3"}
    page = await visitor.post("/organise/new-phase", form)
    assert page.wrong == (422, {"opens"})
    assert 'value="Kept"' in page.text
    assert "past" not in running.service.phases.scheduler.phases
    form |= {"opens-reading": "true"}
    page = await visitor.post("/organise/new-phase", form)
    assert "By its dates, it is at once in the state test." in page.said
    page = await visitor.post("/organise/new-phase", form | {"step": "4"})
    assert page.path == "/organise/phases/past"
    assert running.service.phase("past").state is PhaseState.TEST


async def test_corpus_and_gold_are_given_in_the_steps_of_the_phase(pages: Pages) -> None:
    running = pages.running
    await plan_phase(running)
    visitor = Visitor(pages.client)
    await visitor.sign_in(pages.tokens["organiser"])
    fields = {"challenge": "bc", "phase": "small", "release": "test", "title": "A & <b>"}

    async def imported(corpus: bytes, **changes: str) -> Page:
        files = {"corpus-file": ("a.txt", corpus)}
        return await visitor.send("/organise/new-phase", files, **fields, step="2", **changes)

    async def sent(gold: bytes, **changes: str) -> Page:
        files = {"gold-ACT": ("a.txt", gold)}
        sent = fields | {"step": "4", "corpus": "small@1"} | changes
        return await visitor.send("/organise/new-phase", files, **sent)

    page = await imported(b"\xff\xfe broken")
    assert page.status == 422
    assert "The corpus was not imported" in page.said
    page = await imported(b"A title\n\nSome text.\n", **{"limits.servers": "none"})
    assert page.wrong == (422, {"limits.servers"})
    assert re.search(r'<option value="small@1" selected', page.text)  # it is there by now
    assert "small" not in running.service.phases.scheduler.phases
    page = await imported(b"A title\n\nSome text.\n")
    assert 'aria-current="step"><span class="number">3</span>' in page.text
    page = await sent(b"a\t1\n", freezes="2020-01-01")
    assert page.wrong == (422, {"freezes"})
    assert "small" not in running.service.phases.scheduler.phases
    page = await sent(b"nothing like gold", visibility="own")
    assert page.wrong == (422, {"gold-ACT"})
    assert "Nothing was planned, as a gold cannot be used: see its file" in page.said
    assert "a.txt:1: " in page.said  # and why
    assert 'name="visibility" value="own"' in page.text  # what was written is kept
    assert "It has no date on which it opens" in page.said
    assert "small" not in running.service.phases.scheduler.phases
    assert (await sent(b"a\t1\n")).path == "/organise/phases/small"
    assert running.service.phase("small").gold["ACT"].version == 1
    log = {one.action: one for one in await running.do("audit.list", subject="small")}
    assert log["phases.create"].detail["gold"] == {
        "ACT": "a.txt"
    }  # its source, and nothing of its content
    twice = [{"task": "ACT", "content": b"a\t1\n"}] * 2
    plan = {"challenge": "bc", "phase": "other", "corpus": "small", "release": "test"}
    refused = await running.refused("phases.create", **plan, gold=twice)
    assert (refused.field, refused.message) == ("gold.ACT", "there are two gold files of it")
