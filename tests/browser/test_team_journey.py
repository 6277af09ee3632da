"""A team's whole way, by keyboard and on a phone: from a visitor who reads to two runs on a board.

The hub sends its mail to a real SMTP server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotators.server import Kit
from metaserver.config import NoticeSettings, WebSettings
from tests.browser.conftest import Visits
from tests.browser.console import ANA, Annotator
from tests.browser.test_front_door import PAGE, PHONE, look, press, sign_in, type_into
from tests.browser.test_team_console import ARTICLES, REFUSED, tab_to
from tests.fakes.mailbox import HOST, Mailbox, mailbox
from tests.hubs.inside import plan_phase
from tests.hubs.release import ACCESSIONS
from tests.hubs.thread import HubThread
from tests.integration.kits import served
from tests.waiting import until

pytestmark = pytest.mark.slow

NAMES = [f"sample{number:02}" for number in range(1, ARTICLES + 1)]
GOOD = "".join(
    f"{name}\t{accession}\t{rank}\t{1 / rank}\n"
    for name in NAMES
    for rank, accession in enumerate(ACCESSIONS[:3], 1)
)
WRONG = GOOD.replace("\t3\t", "\tthird\t", 2).replace("sample03\t", "", 1)


class JourneyHub(HubThread):
    """A hub with a challenge that teams sign up for, its mailbox, and an annotation server."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.mail: Mailbox
        self.annotator = Annotator()

    async def _start(self) -> None:
        self.mail = await self.stack.enter_async_context(mailbox())
        self._changes = {
            "notices": NoticeSettings(
                smtp_host=HOST, smtp_port=self.mail.port, smtp_starttls=False
            ),
            "web": WebSettings(url="http://hub.example.org"),
        }
        await super()._start()

    async def fill(self) -> None:
        """Create the hub's initial objects."""
        kit = Kit(self.annotator.annotate)
        self.annotator.url = await self.stack.enter_async_context(served(kit))
        await plan_phase(
            self.running, freezes="2031-01-15T17:00", title="Test phase", visibility="own"
        )
        await self.running.do("challenges.set", challenge="bc", title="BC", timezone="Asia/Tokyo")
        await self.running.do("challenges.edit", challenge="bc", **PAGE)
        self.token = (await self.running.do("tokens.create", **ANA)).token

    def mailed(self, count: int) -> str:
        """Wait for so many messages; return the address of the link in the last."""
        self.do(until(lambda: len(self.mail.messages) >= count))
        return f"{self.url}{self.mail.link()}"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[JourneyHub]:
    with JourneyHub(tmp_path) as hub:
        yield hub


def sign_up(hub: JourneyHub, page: Page) -> None:
    """Read the challenge's page, and sign team green up."""
    press(page, "link", "BC")
    page.wait_for_url("**/c/bc")
    look(page)
    press(page, "link", "Sign up")
    page.wait_for_url("**/sign-up/bc")
    for label, text in (("Team", "green"), ("People", "Ada"), ("E-mail", "ada@green.example")):
        type_into(page, label, text)
    page.get_by_label("I accept the terms").focus()
    page.keyboard.press("Space")
    press(page, "button", "Sign up")
    expect(page.get_by_role("status")).to_be_visible()
    page.goto(hub.mailed(1))
    press(page, "button", "Confirm")
    expect(page.get_by_role("status")).to_contain_text("your address is confirmed")


def approve(hub: JourneyHub, visits: Visits) -> None:
    """Approve the team, as an organiser."""
    organiser = visits.open(f"{hub.url}/", **PHONE)
    sign_in(organiser, hub.url, hub.token)
    organiser.goto(f"{hub.url}/organise/challenges/bc/sign-ups")
    press(organiser, "button", "Approve green")
    expect(organiser.locator("main")).to_contain_text("in, no token yet")


def take_token(hub: JourneyHub, page: Page) -> None:
    """Follow the second link, and sign in with the token that its page shows."""
    page.goto(hub.mailed(2))
    press(page, "button", "Show the token")
    token = page.locator("#secret").inner_text()
    press(page, "link", "Sign in with it")
    type_into(page, "Token", token)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{hub.url}/team")


def start_a_server(hub: JourneyHub, page: Page) -> None:
    """Register a server, test it, and start it when the phase is open."""
    tab_to(page, "Register it")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/register")
    type_into(page, "Name", "green-1")
    page.keyboard.press("Tab")
    page.keyboard.type(hub.annotator.url)
    look(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/servers/green-1")
    tab_to(page, "Go to its test")
    page.keyboard.press("Enter")
    page.wait_for_url("**/test")
    tab_to(page, "Test now for test")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("passed")
    look(page)
    hub.ask("phases.open", phase="test")
    tab_to(page, "Servers of team green")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/servers")
    tab_to(page, "Start green-1 in test")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="green-1")).to_contain_text("finished")
    look(page)


def choose(page: Page, folder: Path, text: str) -> None:
    """Let the hub look at a result file for INT."""
    file = folder / "run.tsv"
    file.write_text(text)
    page.get_by_label("Task").focus()
    page.keyboard.type("INT")
    page.get_by_role("textbox", name="Run").fill("green-file")
    page.get_by_label("Result file").set_input_files(file)
    tab_to(page, "Look at the file")
    page.keyboard.press("Enter")


def test_from_reading_to_two_runs_on_a_board(
    hub: JourneyHub, visits: Visits, tmp_path: Path
) -> None:
    page = visits.open(hub.url, **PHONE)
    sign_up(hub, page)
    approve(hub, visits)
    take_token(hub, page)
    look(page)
    start_a_server(hub, page)

    tab_to(page, "My results")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{hub.url}/team")
    results = page.get_by_role("region", name="INT in test")
    expect(results.get_by_role("row", name="green-1")).to_contain_text("1 of 1 of yours")
    expect(page.locator("#results")).to_contain_text("(2031-01-16 02:00 Asia/Tokyo)")
    look(page)

    tab_to(page, "Upload")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/upload")
    choose(page, tmp_path, WRONG)
    looked = page.locator("#looked")
    expect(looked).to_contain_text("would be refused")
    expect(looked).to_contain_text("4 errors of its format")
    for line in (3, 6, 7, 8):
        expect(looked.locator(".problems")).to_contain_text(f"line {line}")
    expect(looked.get_by_role("button")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("INT: 10 uploads left now")
    look(page)

    choose(page, tmp_path, GOOD)
    expect(looked).to_contain_text(f"would be accepted {ARTICLES} articles answered for INT")
    expect(page.locator("main")).to_contain_text("INT: 10 uploads left now")
    look(page)
    tab_to(page, "Upload it for INT")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team?uploaded=green-file")
    expect(page.get_by_text("green-file was uploaded")).to_be_visible()
    expect(results.get_by_role("row", name="green-file")).to_contain_text("of 2 of yours")
    look(page)
    assert hub.ask("uploads.list", phase="test", team="green")
    visits.problems = [said for said in visits.problems if not REFUSED.search(said)]
