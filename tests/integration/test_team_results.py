"""A team's results and uploads: through operations, and as a browser without scripts uses them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from annotators.server import Kit
from metaserver.base.errors import Refusal, RefusedError
from tests.hubs.command import DEMO
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, Visitor, organiser_token, signed_in, token_of, visiting
from tests.integration.kits import annotate, served
from tests.waiting import patience

GOLD = [line.split("\t")[:2] for line in (DEMO / "gold_int.tsv").read_text().splitlines()]
GOOD = "".join(f"{article}\t{accession}\t1\t0.5\n" for article, accession in dict(GOLD).items())
PARTLY = GOOD + "sample01\tP0XXX0\t2\t0.4\nsample01\tP0YYY0\t3\t0.3\nelsewhere\tP04637\t1\t0.5\n"
BROKEN = GOOD + "sample02\tP04637\tfirst\t0.5\nsample03 P04637 1 0.5\n"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub with an open training phase whose scores are public, and teams blue and red."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(
            running, teams=["blue", "red"], is_open=True, kind="training", visibility="public"
        )
        yield running


async def preview(running: Running, content: str, **changes: str) -> object:
    """Look at a file of team blue."""
    given = {"phase": "test", "task": "INT", "run": "blue-run"} | changes
    return await running.do("runs.preview", running.team("blue"), **given, content=content.encode())


async def upload(running: Running, run: str, content: str = GOOD, team: str = "blue") -> None:
    """Upload a run."""
    given = {"phase": "test", "task": "INT", "run": run, "content": content.encode()}
    await running.do("runs.upload", running.team(team), **given)


@pytest.mark.slow
async def test_a_preview_names_each_problem_by_its_line_and_counts_nothing(running):
    good = await preview(running, GOOD)
    assert (good.accepted, good.articles, good.problem_count) == (True, len(dict(GOLD)), 0)
    assert good.missing == 32 - len(dict(GOLD))
    partly = await preview(running, PARTLY)
    assert partly.accepted
    assert partly.problem_count == 3
    assert {one.path.split(",")[0] for one in partly.problems} == {
        f"line {GOOD.count(chr(10)) + number}" for number in (1, 2, 3)
    }
    assert max(kind.times for kind in partly.kinds) == 2  # two unknown accessions
    broken = await preview(running, BROKEN)
    assert (broken.accepted, broken.fault_count) == (False, 2)
    assert await running.do("runs.list", running.team("blue"), phase="test") == []
    [left] = [
        one
        for one in await running.do("uploads.list", running.team("blue"), phase="test")
        if one.task == "INT"
    ]
    assert left.used == 0 == broken.uploads.used


async def test_a_preview_says_what_an_upload_would_be_refused_for(running: Running) -> None:
    await running.do("phases.update", phase="test", limits={"runs": 1})
    await upload(running, "first")
    full = await preview(running, GOOD, run="second")
    assert (full.accepted, full.replaces) == (False, False)
    assert "a team may have 1 offline run per task (limits.runs)" in full.refused
    assert (await preview(running, GOOD, run="first")).replaces
    with pytest.raises(RefusedError) as refused:
        await preview(running, GOOD, task="NER")
    assert refused.value.refusal is Refusal.INVALID


async def test_a_file_is_not_read_where_no_upload_could_come(running: Running) -> None:
    """What is wrong in a file tells which articles the phase has."""
    await running.add_phase("coming", tasks=["INT"])
    with pytest.raises(RefusedError, match="phase coming is setup") as refused:
        await preview(running, BROKEN, phase="coming")
    assert refused.value.refusal is Refusal.STATE
    await running.do("phases.freeze", phase="test")
    with pytest.raises(RefusedError, match="phase test is frozen"):
        await preview(running, BROKEN)


async def test_results_have_score_place_change_coverage_and_curve(running: Running) -> None:
    blue = running.team("blue")
    async with served(Kit(annotate)) as url:
        await running.do("servers.register", blue, server="blue-1", url=url, tasks=["INT"])
        assert (await running.do("servers.test", blue, server="blue-1")).passed
        await running.do("servers.start", blue, server="blue-1")
        await running.until(lambda: running.status().state == "finished")
    await upload(running, "blue-run")
    await upload(running, "red-run", team="red")
    newest, first = await running.do("runs.mine", blue)
    assert [(one.run, one.offline) for one in (newest, first)] == [
        ("blue-run", True), ("blue-1", False),
    ]  # fmt: skip
    assert (first.answered, first.articles, first.runs) == (32, 32, 3)
    assert (newest.before, newest.change) == ("blue-1", pytest.approx(newest.score - first.score))
    counts = [count for count, _ in first.curve]
    assert counts == sorted(set(counts))
    assert first.curve[-1] == (32, pytest.approx(first.score))
    assert await running.do("runs.mine", running.team("red"), phase="test") != [newest, first]
    with pytest.raises(RefusedError, match="only for your own team"):
        await running.do("runs.mine", running.team("red"), team="blue")
    assert {one.run for one in await running.do("runs.mine", team="blue")} == {
        "blue-1", "blue-run",
    }  # fmt: skip


async def test_a_curve_ends_at_the_score_of_the_board_by_its_measure(running: Running) -> None:
    first = GOOD.splitlines(keepends=True)[:3]
    await running.do("phases.update", phase="test", ranking={"measure": "recall"})
    await upload(running, "blue-run", "".join(first))
    board = await running.do("boards.get", phase="test", task="INT")
    [row] = board.rows
    [found] = await running.do("runs.mine", running.team("blue"))
    assert (found.measure, found.score) == ("R", row.values["recall"])
    assert found.curve[-1] == (32, pytest.approx(row.values["recall"]))
    highest = max(score for _, score in found.curve)
    assert highest > found.curve[-1][1]  # articles without a hit are zero
    published = {"measure": "recall", "articles": "answered"}
    await running.do("phases.update", phase="test", ranking=published)
    [found] = await running.do("runs.mine", running.team("blue"))
    assert found.curve[-1][1] == pytest.approx(found.score)
    assert found.score > row.values["recall"]


async def test_what_is_hidden_says_when_it_is_shown_and_a_test_phase_has_no_curve(running):
    await upload(running, "blue-run")
    change = {"phase": "test", "visibility": "hidden", "freezes": "2031-02-03T04:05"}
    await running.do("phases.update", **change)
    [found] = await running.do("runs.mine", running.team("blue"))
    assert (found.score, found.place, found.curve) == (None, None, ())
    assert found.hidden == "Hidden until the organisers publish the scores, after the freeze"
    assert found.freezes_at == datetime(2031, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    assert found.answered == len(dict(GOLD))
    await running.do("phases.update", phase="test", visibility="public", kind="test")
    [found] = await running.do("runs.mine", running.team("blue"))
    assert found.curve == ()  # it would give the gold away, article by article
    assert (found.scored, found.in_gold) == (0, 0)  # n of N would be of the corpus
    await running.do("phases.freeze", phase="test")
    [found] = await running.do("runs.mine", running.team("blue"))
    assert len(found.curve) > 1


async def send_file(visitor: Visitor, content: str, **fields: str) -> Page:
    """Send the form of an upload."""
    sent = {"phase": "test", "task": "INT", "run": "blue-run"} | fields
    return await visitor.send("/team/upload", {"content": ("run.tsv", content.encode())}, **sent)


def held_key(page: Page) -> str:
    """Return the key of the file that a page would send."""
    return page.text.partition('name="held" value="')[2].partition('"')[0]


async def test_the_page_looks_at_a_file_first_and_sends_the_same_bytes(running: Running) -> None:
    async with signed_in(running, "blue") as blue:
        assert (
            "Your team has no run yet. It takes three steps to the first score"
            in (await blue.get("/team")).said
        )
        assert "INT : 10 uploads left now" in (await blue.get("/team/upload")).said
        page = await send_file(blue, BROKEN)
        assert "would be refused" in page.said
        assert held_key(page) == ""
        for line in (1, 2):
            assert f"line {GOOD.count(chr(10)) + line}" in page.said
        page = await send_file(blue, PARTLY)
        assert "would be accepted" in page.said
        assert "3 problems left out" in page.said
        assert await running.do("runs.list", phase="test") == []
        key = held_key(page)
        assert held_key(await blue.get(page.path)) == key  # a page of its own: one can come back
        page = await blue.post("/team/upload/send?phase=test", held=key)
        assert page.path == "/team?uploaded=blue-run"
        assert "blue-run has been uploaded and is listed below" in page.said
        assert "1 of 1" in page.said
        kept = await running.do("runs.get", running.team("blue"), phase="test", run="blue-run")
        assert kept.content == PARTLY.encode()
        async with blue.client.get("/team/events?page=results") as response, patience():
            assert b"blue-run" in await response.content.readuntil(b"\n\n")
        assert (await blue.post("/team/upload/send?phase=test", held=key)).status == 409
        assert "Choose a file that is not empty" in (await send_file(blue, "")).said


async def test_a_held_file_is_of_its_team_and_organisers_may_act_for_one(running: Running) -> None:
    async with visiting(running) as blue, visiting(running) as red, visiting(running) as ana:
        await blue.sign_in(await token_of(running, "blue"))
        await red.sign_in(await token_of(running, "red"))
        async with ana.client.post("/signin", data={"token": await organiser_token(running)}):
            pass
        page = await ana.get("/team?team=blue")
        ana.csrf = page.text.partition('name="csrf" value="')[2].partition('"')[0]
        key = held_key(await send_file(blue, GOOD))
        assert (await red.post("/team/upload/send", held=key)).status == 409
        assert await running.do("runs.list", phase="test") == []
        page = await send_file(ana, GOOD, team="blue", run="by-ana")
        page = await ana.post("/team/upload/send", held=held_key(page), team="blue")
        assert page.path == "/team?team=blue&uploaded=by-ana"
        assert "by-ana" in page.said
