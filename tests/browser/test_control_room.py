"""An organiser's journey: plan a phase, announce it, watch it miss its deadline, extend it, freeze
it, publish its scores, download the results package.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotators.server import Kit
from metaserver.model.states import Visibility
from tests.browser.conftest import Visits
from tests.browser.console import ANA
from tests.browser.test_organiser_console import check
from tests.browser.test_team_console import forgive_refusals, signed_in, tab_to
from tests.fakes.clock import ShiftedClock
from tests.hubs.command import DEMO
from tests.hubs.thread import HubThread
from tests.integration.kits import served
from tests.integration.test_control_room import ANSWERED, MINUTE, SlowServer

pytestmark = pytest.mark.slow

PHONE = {"width": 360, "height": 740}


class PlannedHub(HubThread):
    """A hub with a challenge, a team whose server takes a minute an article, and an organiser."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock = self.shift = ShiftedClock()
        self.slow = SlowServer(self.shift)
        self.url_of_server = ""

    async def fill(self) -> None:
        self.url_of_server = await self.stack.enter_async_context(served(Kit(self.slow.annotate)))
        await self.running.do("challenges.set", challenge="bc", title="BioCreative 2026")
        await self.running.do("teams.create", team="blue")
        self.token = (await self.running.do("tokens.create", **ANA)).token

    def work(self) -> None:
        """Let blue-1 answer some articles, and then none."""
        self.shift.ahead = -MINUTE
        self.ask_as_team("servers.register", server="blue-1", url=self.url_of_server)
        assert self.ask_as_team("servers.test", server="blue-1", phase="week").passed
        self.shift.ahead = 0.0
        self.ask_as_team("servers.start", server="blue-1", phase="week")
        monitor = self.running.service.phase("week").boards.server_monitor
        self.do(self.running.until(lambda: monitor.status("blue-1").done == ANSWERED))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[PlannedHub]:
    with PlannedHub(tmp_path) as hub:
        yield hub
        hub.call(hub.slow.more.set)


def written(minutes: float) -> str:
    """Return the time in so many minutes as a form takes it, in UTC."""
    return f"{datetime.now(UTC) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"


def plan(page: Page, folder: Path) -> None:
    """Plan an open phase with its corpus and gold in one form, without a mouse."""
    article = folder / "sample.zip"
    shutil.make_archive(str(folder / "sample"), "zip", DEMO / "articles")
    for number, title in enumerate(("What", "When", "Who sees", "Limits"), start=1):
        expect(page.get_by_role("region", name=f"{number} {title}")).to_be_visible()
    page.get_by_label("Title").focus()
    page.keyboard.type("Test week")
    page.keyboard.press("Tab")
    page.keyboard.type("week")
    page.get_by_label("Or import a corpus now").set_input_files(article)
    page.get_by_label("Gold of ACT").set_input_files(DEMO / "gold_act.tsv")
    page.get_by_role("checkbox", name="ACT – ").check()
    page.get_by_label("Opens, UTC time").fill("2021-01-01T09:00")
    page.get_by_label("Freezes, UTC time").fill(written(ANSWERED + 5))
    tab_to(page, "Plan it")
    page.keyboard.press("Enter")
    confirm = page.get_by_label("Yes, opens is past: the hub does it at once")
    expect(confirm).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Test week")
    check(page, PHONE["width"])
    confirm.focus()
    page.keyboard.press("Space")
    page.get_by_label("Or import a corpus now").set_input_files(article)
    page.get_by_label("Gold of ACT").set_input_files(DEMO / "gold_act.tsv")
    tab_to(page, "Plan it")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/week")
    expect(page.locator("main")).to_contain_text("version 1, gold_act.tsv")


def announce(page: Page, url: str, title: str) -> None:
    """Announce something on the challenge's page."""
    page.goto(f"{url}/organise/challenges/bc/page")
    check(page, PHONE["width"])
    page.get_by_label("Title").focus()
    page.keyboard.type(title)
    page.keyboard.press("Tab")
    page.keyboard.type("See *the boards*.")
    tab_to(page, "Announce")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def fetch_package(page: Page) -> None:
    """Let the hub make the phase's results package, and download it."""
    tab_to(page, "Results package")
    page.keyboard.press("Enter")
    page.wait_for_url("**/results")
    tab_to(page, "Make the package")
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="Download the package")
    expect(link).to_be_visible()
    check(page, PHONE["width"])
    link.focus()
    with page.expect_download() as fetched:
        page.keyboard.press("Enter")
    assert fetched.value.suggested_filename == "results-week.zip"
    with zipfile.ZipFile(fetched.value.path()) as package:
        assert {"report.html", "tables/ACT/raw.csv", "runs/ACT/blue-1.tsv"} <= {*package.namelist()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_from_a_plan_to_the_results_package(
    hub: PlannedHub, visits: Visits, tmp_path: Path, scheme: str
) -> None:
    page = signed_in(hub, visits, "/organise/new-phase", viewport=PHONE, color_scheme=scheme)
    plan(page, tmp_path)
    announce(page, hub.url, "The test week has begun")
    hub.work()

    page.goto(f"{hub.url}/organise/phases/week")
    tab_to(page, "Control room")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/week/watch")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#watch-findings")).to_contain_text("blue-1 needs")
    check(page, PHONE["width"])
    tab_to(page, "Extend… blue-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/extend")
    expect(page.locator("main")).to_contain_text("the date below leaves it that long")
    check(page, PHONE["width"])
    tab_to(page, "Extend it")
    page.keyboard.press("Enter")
    page.wait_for_url("**/watch")
    expect(page.locator("#watch-findings")).to_contain_text("Nothing now.")

    tab_to(page, "Freeze…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/freeze")
    tab_to(page, "Freeze it now")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/week")
    hub.call(hub.slow.more.set)
    page.goto(f"{hub.url}/organise/phases/week/watch")
    expect(page.locator("#live")).to_have_text("up to date")
    expect(page.locator("#watch-servers")).to_contain_text("ended at")
    check(page, PHONE["width"])
    page.goto(f"{hub.url}/c/bc/week/monitor")
    expect(page.locator("#phase")).to_contain_text(f"ended at {ANSWERED + 1}/32")

    page.goto(f"{hub.url}/organise/phases/week/edit")
    page.get_by_label("Who sees the scores").select_option("public")
    tab_to(page, "Change")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/week")
    assert hub.running.service.phase("week").phase.plan.visibility is Visibility.PUBLIC
    visitor = visits.open(f"{hub.url}/c/bc", viewport=PHONE)
    expect(visitor.get_by_role("heading", name="The test week has begun")).to_be_visible()
    visitor.goto(f"{hub.url}/c/bc/week/board/ACT")
    expect(visitor.get_by_role("row", name="blue-1")).to_be_visible()
    fetch_package(page)
    forgive_refusals(visits)
