"""Screenshots of a challenge for the docs, as its visitors, a team and its organisers see it.

They are stored only with `SCREENSHOTS=1`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.test_control_room import PlannedHub, written
from tests.browser.test_team_console import signed_in
from tests.browser.test_team_journey import GOOD, WRONG, JourneyHub
from tests.hubs.command import DEMO
from tests.integration.test_control_room import ANSWERED
from tests.shared import ROOT

pytestmark = pytest.mark.slow

PAGE = {
    "description": "Find the **proteins** that an article says interact, as curators of"
    " interaction databases do.\n\nThree tasks: classify articles (ACT), name the interactors"
    " (INT), name the pairs (IPT).",
    "evaluation": "By AUC iP/R over all articles; a run has to answer 90 % of them for a place.",
    "rules": "No person may read the test articles before the freeze.",
    "contact": "<ana@example.org>", "sign_up": "approve",
}  # fmt: skip
NEWS = "Articles and gold of the training phase can be downloaded now."


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[JourneyHub]:
    with JourneyHub(tmp_path) as hub:
        hub.ask(
            "challenges.set", challenge="bc", title="BioCreative 2026", timezone="Europe/Madrid"
        )
        hub.ask("challenges.edit", challenge="bc", terms="", terms_version="", **PAGE)
        hub.ask("challenges.announce", challenge="bc", title="Training data", text=NEWS)
        yield hub


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[PlannedHub]:
    with PlannedHub(tmp_path) as hub:
        yield hub
        hub.call(hub.slow.more.set)


def keep(page: Page, name: str, folder: Path) -> None:
    """Store a screenshot, in the docs where that is asked for."""
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_text("live")
    page.evaluate("scrollTo(0, 0)")
    place = (ROOT / "docs" / "img" if os.environ.get("SCREENSHOTS") else folder) / f"{name}.png"
    page.screenshot(path=place)
    assert place.stat().st_size > 10_000


def viewed(height: int, scheme: str = "light", width: int = 1360) -> dict[str, object]:
    return {"viewport": {"width": width, "height": height}, "color_scheme": scheme}


def test_the_page_of_a_challenge(hub: JourneyHub, visits: Visits, tmp_path: Path) -> None:
    keep(visits.open(f"{hub.url}/c/bc", **viewed(760)), "challenge", tmp_path)


def test_results_and_an_upload(hub: JourneyHub, visits: Visits, tmp_path: Path) -> None:
    hub.ask("phases.update", phase="test", kind="training", title="Training phase")
    hub.ask("teams.create", team="blue", title="The blue team")
    hub.token = hub.ask("tokens.create", team="blue", role="team", label="browser").token
    for server in ("blue-1", "blue-2"):
        hub.ask_as_team("servers.register", server=server, url=hub.annotator.url)
        assert hub.ask_as_team("servers.test", server=server).passed
    hub.ask("phases.open", phase="test")
    monitor = hub.running.service.phase("test").boards.server_monitor
    for server in ("blue-1", "blue-2"):
        hub.ask_as_team("servers.start", server=server)
        hub.do(hub.running.until(lambda server=server: monitor.status(server).done == 32))
    hub.ask_as_team("runs.upload", phase="test", task="INT", run="blue-file", content=GOOD.encode())
    page = signed_in(hub, visits, **viewed(900))
    expect(page.locator("#results")).to_contain_text("blue-file")
    keep(page, "results", tmp_path)
    page.goto(f"{hub.url}/team/upload")
    (tmp_path / "run.tsv").write_text(WRONG)
    page.get_by_label("Task").select_option("INT")
    page.get_by_role("textbox", name="Run").fill("blue-2nd")
    page.get_by_label("Result file").set_input_files(tmp_path / "run.tsv")
    page.get_by_role("button", name="Look at the file").click()
    expect(page.locator("#looked")).to_contain_text("would be refused")
    keep(page, "upload", tmp_path)
    visits.problems.clear()


def test_a_phase_that_will_miss_its_deadline(
    planned: PlannedHub, visits: Visits, tmp_path: Path
) -> None:
    hub, gold = planned, DEMO / "gold_act.tsv"
    articles = Path(shutil.make_archive(str(tmp_path / "articles"), "zip", DEMO / "articles"))
    hub.ask("corpora.import", corpus="news", content=articles.read_bytes(), source=articles.name)
    freezes = written(ANSWERED + 5)
    hub.ask(
        "phases.create", challenge="bc", phase="week", title="Test week", corpus="news@1",
        release="test", tasks=("ACT",), opens="2021-01-01T09:00", freezes=freezes,
    )  # fmt: skip
    hub.ask("gold.set", phase="week", task="ACT", content=gold.read_bytes(), source=gold.name)
    hub.work()
    page = signed_in(hub, visits, "/organise/phases/week/watch", **viewed(900, "dark"))
    expect(page.locator("#watch-findings")).to_contain_text("blue-1 needs")
    keep(page, "control-room", tmp_path)
