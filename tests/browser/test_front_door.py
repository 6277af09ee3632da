"""A visitor reads a challenge's page, signs up, is approved, takes the first token and signs in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.console import ANA
from tests.browser.test_accessibility import violations
from tests.hubs.inside import plan_phase
from tests.hubs.thread import HubThread

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 360, "height": 780}}
PAGE = {
    "description": "Find **interactions**.\n\n# Why\n\n| task | asks |\n|---|---|\n| INT | names |",
    "evaluation": "By AUC iP/R.", "rules": "Be fair.", "contact": "<ana@example.org>",
    "sign_up": "approve", "terms": "Be *fair*.", "terms_version": "1",
}  # fmt: skip


class DoorHub(HubThread):
    """A hub with a challenge that teams sign up for, and an organiser; it sends no mail."""

    async def fill(self) -> None:
        """Create the hub's initial objects."""
        await plan_phase(self.running, opens="2031-01-15T17:00", title="Test phase")
        await self.running.do("challenges.set", challenge="bc", title="BC", timezone="Asia/Tokyo")
        await self.running.do("challenges.edit", challenge="bc", **PAGE)
        await self.running.do("challenges.announce", challenge="bc", title="News", text="*Soon*")
        self.token = (await self.running.do("tokens.create", **ANA)).token


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[DoorHub]:
    with DoorHub(tmp_path) as hub:
        yield hub


def press(page: Page, role: str, name: str) -> None:
    """Follow a link or press a button by the keyboard."""
    page.get_by_role(role, name=name, exact=True).first.focus()  # type: ignore[arg-type]
    page.keyboard.press("Enter")


def type_into(page: Page, label: str, text: str) -> None:
    """Write into a field by the keyboard."""
    page.get_by_label(label).first.focus()
    page.keyboard.type(text)


def look(page: Page) -> None:
    """Look at a page: nothing is wider than a phone, and axe finds nothing."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 780})


def sign_in(page: Page, url: str, token: str) -> None:
    page.goto(f"{url}/signin?next=/")
    type_into(page, "Token", token)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/")


def test_a_visitor_signs_up_is_approved_and_signs_in(hub: DoorHub, visits: Visits) -> None:
    page = visits.open(hub.url, **PHONE)
    press(page, "link", "BC")
    page.wait_for_url("**/c/bc")
    expect(page.locator("#description-why")).to_be_visible()
    look(page)
    press(page, "link", "Sign up")
    page.wait_for_url("**/sign-up/bc")
    press(page, "button", "Sign up")  # with nothing in it
    expect(page.get_by_role("alert")).to_contain_text("Team")
    visits.problems.clear()  # of the form that was refused
    look(page)
    for label, text in (("Team", "green"), ("People", "Ada"), ("E-mail", "ada@x.example")):
        type_into(page, label, text)
    page.get_by_label("I accept the terms").focus()
    page.keyboard.press("Space")
    press(page, "button", "Sign up")
    expect(page.get_by_role("status")).to_contain_text("an organiser will send you a link")

    organiser = visits.open(f"{hub.url}/", **PHONE)
    sign_in(organiser, hub.url, hub.token)
    desk = f"{hub.url}/organise/challenges/bc/sign-ups"
    organiser.goto(desk)
    press(organiser, "button", "Hand out a link green")
    page.goto(hub.url + organiser.locator("#secret").inner_text())
    expect(page.get_by_label("Team")).to_have_value("green")
    look(page)
    press(page, "button", "Confirm")
    expect(page.get_by_role("status")).to_contain_text("your address is confirmed")

    organiser.goto(desk)
    look(organiser)
    press(organiser, "button", "Approve green")
    press(organiser, "button", "Hand out a link green")
    page.goto(hub.url + organiser.locator("#secret").inner_text())
    press(page, "button", "Show the token")
    token = page.locator("#secret").inner_text()
    look(page)
    sign_in(page, hub.url, token)
    page.goto(f"{hub.url}/team")
    expect(page.get_by_role("heading", name="Team green")).to_be_visible()
    expect(page.get_by_role("heading", name="News")).to_be_visible()


def test_dates_are_in_the_readers_zone_and_right_without_scripts(
    hub: DoorHub, visits: Visits
) -> None:
    page = visits.open(f"{hub.url}/c/bc", timezone_id="America/New_York", locale="en-GB")
    date = page.locator(".timeline time")
    expect(date).to_have_attribute("title", "2031-01-16 02:00 Asia/Tokyo")
    expect(date).to_contain_text("15 Jan 2031")
    plain = visits.open(f"{hub.url}/c/bc", java_script_enabled=False)
    expect(plain.locator(".timeline time")).to_have_text("2031-01-16 02:00 Asia/Tokyo")
    expect(plain.locator("[data-countdown]")).to_contain_text("days")


def test_an_organiser_writes_the_page_with_a_preview(hub: DoorHub, visits: Visits) -> None:
    page = visits.open(f"{hub.url}/", **PHONE)
    sign_in(page, hub.url, hub.token)
    page.goto(f"{hub.url}/organise/challenges/bc/page")
    page.get_by_label("About").fill("A **bolder** plan")
    press(page, "button", "Preview")
    expect(page.locator("section strong", has_text="bolder")).to_be_visible()
    look(page)
    press(page, "button", "Change the page")
    page.wait_for_url("**/c/bc")
    expect(page.locator("strong", has_text="bolder")).to_be_visible()
