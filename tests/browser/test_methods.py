"""Descriptions of methods in a browser: written by a team, read by everybody after the freeze."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.console import BlueHub
from tests.browser.test_accessibility import OPTIONS
from tests.browser.test_team_console import answered, signed_in

pytestmark = pytest.mark.slow

SUMMARY = "A dictionary of names and synonyms, made from UniProt.\nThen a classifier of pairs."


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[BlueHub]:
    with BlueHub(tmp_path) as hub:
        yield hub


def checked(page: Page, name: str) -> None:
    """Look for faults of accessibility and of width, on a desktop, on a phone, and in the dark."""
    for width, scheme in ((1360, "light"), (1360, "dark"), (360, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.reload()
        for details in page.locator("details.run-method").all():
            details.evaluate("element => element.open = true")
        found = Axe().run(page, options=OPTIONS).response["violations"]
        assert [one["id"] for one in found] == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_a_method_is_written_and_then_read(hub: BlueHub, visits: Visits) -> None:
    hub.ask("phases.update", phase="test", visibility="public")
    answered(hub)
    page = signed_in(hub, visits)
    page.get_by_role("link", name="Methods", exact=True).click()
    page.get_by_role("link", name="Describe the method of blue-1 in test").click()
    checked(page, "form")
    page.get_by_label("Method").fill(SUMMARY)
    page.get_by_label("Resources").fill("UniProt 2026_03; Entrez Gene " + "x" * 200)
    page.get_by_label("Contact").fill("Ana Blue, blue laboratory")
    page.get_by_label("Link").fill("https://example.org/" + "paper/" * 30)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/team/methods")
    checked(page, "list")
    hub.ask("phases.freeze", phase="test")
    page.goto(f"{hub.url}/team/methods/test/blue-1")
    expect(page.locator("main")).to_contain_text("The phase is over")
    checked(page, "over")
    reader = visits.open(f"{hub.url}/c/bc/test/board/INT")
    reader.get_by_role("link", name="Methods", exact=True).click()
    reader.wait_for_url("**/methods")
    expect(reader.locator("main")).to_contain_text("Then a classifier of pairs.")
    checked(reader, "public")
    reader.goto(f"{hub.url}/c/bc/test/board/INT")
    reader.get_by_role("link", name="Permanent link").click()
    expect(reader.get_by_role("heading", name="Methods")).to_be_visible()
    checked(reader, "frozen")
