"""Screenshots of the team console for the docs; they are stored only with `SCREENSHOTS=1`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visits
from tests.browser.console import NOBODY, BlueHub
from tests.browser.test_team_console import signed_in
from tests.shared import ROOT

ATTEMPT = "/team/servers/blue-1/attempts/sample03/1?phase=test"
SHOTS = {
    "team": ("/team/servers", "light", 860),
    "attempt": (f"{ATTEMPT}#answer.normalizations%5B3%5D.confidence", "dark", 1180),
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[BlueHub]:
    with BlueHub(tmp_path) as hub:
        yield hub


def at_work(hub: BlueHub) -> None:
    """Bring three servers into three states: at work, refused, not tested."""
    for name, url in (("blue-1", hub.annotator.url), ("blue-2", NOBODY), ("blue-3", NOBODY)):
        hub.ask_as_team("servers.register", server=name, url=url)
    for name in ("blue-1", "blue-2"):
        hub.ask_as_team("servers.test", server=name)
    hub.annotator.wrong, hub.annotator.enough = True, 11
    hub.ask("phases.open", phase="test")
    hub.ask_as_team("servers.start", server="blue-1")
    watch = hub.running.service.phase("test").boards.server_monitor
    hub.do(hub.running.until(lambda: watch.status("blue-1").done == hub.annotator.enough))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOTS)
def test_screenshot(hub: BlueHub, visits: Visits, tmp_path: Path, name: str) -> None:
    path, scheme, height = SHOTS[name]
    at_work(hub)
    page = signed_in(hub, visits, color_scheme=scheme, viewport={"width": 1360, "height": height})
    expect(page.locator("#live")).to_have_text("live")
    page.goto(f"{hub.url}{path}")
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_text("live")
    page.evaluate("scrollTo(0, 0)")
    folder = ROOT / "docs" / "img" if os.environ.get("SCREENSHOTS") else tmp_path
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000
    hub.wait(held=False)
