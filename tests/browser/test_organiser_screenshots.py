"""Screenshots of the organiser console; they are stored only with `SCREENSHOTS=1`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visits
from tests.browser.console import OrganisedHub
from tests.browser.test_organiser_console import changed_gold
from tests.browser.test_team_console import signed_in
from tests.shared import ROOT

SHOTS = {"organise": ("light", 900), "gold": ("dark", 660)}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[OrganisedHub]:
    with OrganisedHub(tmp_path) as hub:
        yield hub


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOTS)
def test_screenshot(hub: OrganisedHub, visits: Visits, tmp_path: Path, name: str) -> None:
    scheme, height = SHOTS[name]
    hub.at_work()
    viewport = {"width": 1360, "height": height}
    page = signed_in(hub, visits, "/organise", color_scheme=scheme, viewport=viewport)
    expect(page.locator("#live")).to_have_text("live")
    if name == "gold":
        page.goto(f"{hub.url}/organise/phases/test/gold/ACT")
        page.get_by_label("Gold file").set_input_files(changed_gold(tmp_path))
        page.get_by_role("button", name="Show what it changes").click()
        expect(page.get_by_role("region", name="Runs")).to_be_visible()
    folder = ROOT / "docs" / "img" if os.environ.get("SCREENSHOTS") else tmp_path
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000
