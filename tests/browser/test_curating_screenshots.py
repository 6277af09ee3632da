"""Screenshots of the curator's pages for the docs; they are stored only with `SCREENSHOTS=1`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.curating import CuratorHub, article, asked
from tests.browser.test_curation_sets import SetHub, visit
from tests.shared import ROOT

SHOTS = {"curate": ("light", 1360, 900), "curate-phone": ("light", 360, 780)}
KEYS = ["a", "a", "x", "j", "a", "n", "e"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOTS)
def test_screenshot(visits: Visits, tmp_path: Path, name: str) -> None:
    scheme, width, height = SHOTS[name]
    by_server = {"blue-1": range(26), "green": range(4, 30), "red-2": [*range(3, 20, 2), 1]}
    with CuratorHub(tmp_path, [*by_server, "grey"]) as hub:
        hub.answers(article(), by_server)
        hub.hold("grey")
        page = asked(
            hub,
            visits,
            article(),
            color_scheme=scheme,
            viewport={"width": width, "height": height},
        )
        expect(page.locator("#left")).to_contain_text("3 of 4 servers")
        page.keyboard.press("g")  # takes in what came after the page was opened
        expect(page.locator("#list-INT > li")).to_have_count(30)
        for key in KEYS:
            page.keyboard.press(key)
        expect(page.locator("#told")).to_contain_text("Saved")
        take(page, tmp_path, name)
        page.close()
        hub.let_go("grey")


@pytest.mark.slow
def test_screenshot_of_rulings(visits: Visits, tmp_path: Path) -> None:
    with SetHub(tmp_path) as hub:
        hub.do(hub.decided())
        size = {"width": 1100, "height": 640}
        page = visit(hub, visits, "judge", "/curate/sets/round-1", viewport=size)
        page.get_by_role("link", name="Disagreements on INT").click()
        first = page.locator(".rulings > li").first
        expect(first).to_be_focused()  # the page takes keys from now on
        page.keyboard.press("2")
        expect(first).not_to_have_attribute("data-ruling", "")
        take(page, tmp_path, "rulings")


def take(page: Page, folder: Path, name: str) -> None:
    """Store what is in sight: in the docs, or where a test may look at it."""
    path = (ROOT / "docs" / "img" if os.environ.get("SCREENSHOTS") else folder) / f"{name}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 10_000
