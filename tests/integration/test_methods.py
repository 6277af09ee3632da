"""Methods of runs: described by their teams, seen by others from the freeze on, kept for good."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from metaserver.base.errors import RefusedError
from metaserver.operations.caller import Caller
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import token_of, visiting
from tests.integration.test_results_package import made, rows
from tests.integration.test_service_gold import run_file, run_to_end

SUMMARY = "=A <b>dictionary</b> of names.\nThen a classifier."
FORM = {
    "parts": ["full text", "abstract"],
    "learning": "maximum entropy",
    "summary": SUMMARY.replace("\n", "\r\n"),
    "resources": "UniProt 2026_03",
    "corpora": "BioCreative II.5",
    "contact": "ana@blue.example",
    "link": "https://example.org/paper?a=1&b=2",
}
PAGE = "/team/methods/test/blue-1"
NOBODY = Caller()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """A hub whose open phase hides names; team blue has a server's run and an uploaded one."""
    async with at_work(await settings(tmp_path)) as running:
        await plan_phase(running, teams=["blue"], visibility="public", team_names="hidden")
        await run_to_end(running)
        await running.do("teams.create", team="red")
        file = {"phase": "test", "task": "INT", "run": "file", "content": run_file()}
        await running.do("runs.upload", running.team("blue"), **file)
        yield running


async def listed(running: Running, caller: Caller) -> dict[str, str | None]:
    """Return the summaries that somebody sees, by run; None where there is no description."""
    found = await running.do("methods.list", caller, phase="test")
    return {one.run: one.method and one.method.summary for one in found}


async def freeze(running: Running) -> str:
    """Freeze the phase; return the link of the board of INT once it is kept."""
    await running.do("phases.freeze", phase="test")
    return next(f"/b/{one.board}" for one in await running.frozen(3) if one.task == "INT")


@pytest.mark.slow
async def test_a_method_is_the_teams_until_the_freeze_and_then_everybodys(running, tmp_path):
    blue, red = running.team("blue"), running.team("red")
    public = ("/c/bc/test/methods", "/c/bc/test/board/INT")
    async with visiting(running) as team, visiting(running) as reader:
        await team.sign_in(await token_of(running, "blue"))
        assert (await team.get("/team/methods")).said.count("not described") == 2
        page = await team.post(PAGE, FORM | {"link": "javascript:alert(1)"})
        assert page.status == 422
        assert "beginning with http:// or https://" in page.said
        assert "UniProt 2026_03" in page.said  # what was written is kept
        page = await team.post(PAGE, FORM)
        assert (page.status, page.path) == (200, "/team/methods")
        assert await listed(running, blue) == {"blue-1": SUMMARY, "file": None}
        assert await listed(running, red) == await listed(running, NOBODY) == {}
        for path in public:
            page = await reader.get(path)
            assert "dictionary" not in page.text
            assert "ana@blue" not in page.text
        room = await running.do("phases.watch", phase="test")
        assert room.undescribed == 1

        link = await freeze(running)
        for path in (public[0], link):
            page = await reader.get(path)
            assert "=A &lt;b&gt;dictionary&lt;/b&gt; of names." in page.text
            assert 'href="https://example.org/paper?a=1&amp;b=2"' in page.text
        assert await listed(running, red) == await listed(running, NOBODY) == {"blue-1": SUMMARY}
        assert (await team.post(PAGE, FORM | {"summary": "Better."})).status == 409
        assert "ask an organiser for a change" in (await team.get(PAGE)).said
    with pytest.raises(RefusedError, match="only organisers may change"):
        await running.do("methods.describe", blue, phase="test", run="file", summary="Late.")
    await running.do("methods.describe", phase="test", run="file", summary="By hand.")
    ticked = {"parts": ["abstract"], "training": ["none", "none"]}
    await running.do("methods.describe", phase="test", run="file", **ticked)
    with pytest.raises(RefusedError) as refused:
        await running.do("methods.describe", phase="test", run="file", learning=["magic"])
    assert refused.value.field == "learning[0]"
    newest = (await running.do("audit.list", limit=1))[0]
    assert (newest.action, newest.subject) == ("methods.describe", "file")

    files = await made(running, tmp_path / "package")
    told = {row["run"]: row for row in rows(files["tables/methods.csv"])}
    assert told["blue-1"]["summary"] == f"'{SUMMARY}"  # no formula
    assert (told["blue-1"]["contact"], told["file"]["summary"]) == ("ana@blue.example", "By hand.")
    assert (told["blue-1"]["parts"], told["file"]["training"]) == ("abstract; full text", "none")
    counted = [tuple(row.values()) for row in rows(files["tables/questionnaire.csv"])]
    assert counted == [
        ("Parts of the articles", "abstract", "2", "1"),
        ("Parts of the articles", "full text", "1", "1"),
        ("Machine learning", "maximum entropy", "1", "1"),
        ("Trained on", "none", "1", "1"),
    ]
    report = files["report.html"].decode()
    assert "=A &lt;b&gt;dictionary&lt;/b&gt; of names." in report


@pytest.mark.slow
async def test_a_method_goes_with_its_run(running: Running) -> None:
    blue = running.team("blue")
    of = {"phase": "test", "run": "file"}
    with pytest.raises(RefusedError, match="U\\+0007"):
        await running.do("methods.describe", blue, **of, contact="a\x07")
    with pytest.raises(RefusedError, match="your team has no run 'file' in phase test"):
        await running.do("methods.describe", running.team("red"), **of, summary="Mine.")
    await running.do("methods.describe", blue, **of, summary="One.", contact="ana")
    await running.do("methods.describe", blue, **of, summary="Two.")  # the contact is kept
    file = {"task": "INT", "content": run_file()}
    await running.do("runs.upload", blue, **of, **file)  # in its place
    kept = await running.do("methods.get", blue, **of)
    assert (kept.method.summary, kept.method.contact) == ("Two.", "ana")

    await running.do("runs.delete", blue, **of)
    await running.do("runs.upload", **of, **file, team="red")
    assert await listed(running, running.team("red")) == {"file": None}
