"""The open pages of a service: first page, phases, servers, what changes while one looks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.console import BlueHub
from tests.browser.test_accessibility import OPTIONS, SIZES

pytestmark = pytest.mark.slow

ARTICLES = 32
PAGES = {
    "home": "/",
    "monitor": "/c/bc/test/monitor",
    "board": "/c/bc/test/board/INT",
    "hidden board": "/c/bc/test/board/INT",
    "server": "/c/bc/test/servers/blue-1",
    "frozen": "frozen",
    "organiser's server": "/c/bc/test/servers/blue-1",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[BlueHub]:
    """A hub with two phases; the first one is open, and server blue-1 is at work in it."""
    with BlueHub(tmp_path) as hub:
        hub.ask("phases.update", phase="test", title="Test phase", visibility="public")
        second = {"challenge": "bc", "phase": "second", "corpus": "demo", "release": "test"}
        hub.ask("phases.create", **second, title="Second <phase>", opens="2031-03-01T08:00")
        hub.ask_as_team("servers.register", server="blue-1", url=hub.annotator.url)
        assert hub.ask_as_team("servers.test", server="blue-1", phase="test").passed
        hub.ask("phases.open", phase="test")
        yield hub


def at_work(hub: BlueHub, *, wrong: bool = False) -> None:
    """Let blue-1 go through its queue."""
    hub.annotator.wrong = wrong
    hub.ask_as_team("servers.start", server="blue-1")
    watch = hub.running.service.phase("test").boards.server_monitor
    hub.do(hub.running.until(lambda: watch.status("blue-1").done == ARTICLES))


def test_from_the_first_page_to_a_servers_page_and_to_another_phase(
    hub: BlueHub, visits: Visits
) -> None:
    at_work(hub)
    page = visits.open(hub.url)
    expect(page.get_by_role("heading", name="A challenge")).to_be_visible()
    expect(page.locator(".challenge article")).to_have_count(2)
    page.locator("article", has_text="Test phase").get_by_role("link", name="Monitor").click()
    page.wait_for_url("**/c/bc/test/monitor")
    expect(page.locator("#live")).to_have_text("live")
    page.get_by_role("link", name="blue-1").click()
    page.wait_for_url("**/c/bc/test/servers/blue-1")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#server_head .pill")).to_have_text("finished")
    page.get_by_role("link", name="7d", exact=True).click()
    page.wait_for_url("**?window=7d")
    expect(page.locator("#measures")).to_contain_text("ok 32")
    page.get_by_text("Other phases").click()
    page.get_by_role("link", name="Second <phase>").press("Enter")
    page.wait_for_url("**/c/bc/second/monitor")
    expect(page.locator("#phase-summary")).to_contain_text("Second <phase>")
    expect(page.get_by_text("No server takes part")).to_be_visible()


def test_a_change_of_state_reaches_both_pages_and_is_announced(
    hub: BlueHub, visits: Visits
) -> None:
    hub.wait(held=True)
    monitor, server = (
        visits.open(f"{hub.url}/c/bc/test/{path}") for path in ("monitor", "monitor?find=blue")
    )
    hub.ask_as_team("servers.start", server="blue-1")
    server.goto(f"{hub.url}/c/bc/test/servers/blue-1")
    for page in (monitor, server):
        expect(page.locator("#live")).to_have_text("live")
    expect(monitor.locator("#servers tr")).to_have_count(1)
    hub.ask_as_team("servers.pause", server="blue-1")
    expect(monitor.locator("#servers .pill")).to_have_text("paused")
    expect(server.locator("#server_head .pill")).to_have_text("paused")
    expect(monitor.locator("#announce")).to_have_text("blue-1 is paused")
    expect(server.locator("#announce")).to_have_text("blue-1 is paused")
    hub.ask("phases.freeze", phase="test")
    expect(monitor.locator("#phase-summary .pill")).to_have_text("frozen")
    for page in (monitor, server):  # nothing is live in a phase that is frozen
        expect(page.locator("#live")).to_have_text("up to date")
    hub.wait(held=False)
    hub.ask("phases.open", phase="test")
    for page in (monitor, server):
        expect(page.locator("#live")).to_have_text("live")


def test_all_is_there_without_scripts(hub: BlueHub, visits: Visits) -> None:
    at_work(hub, wrong=True)
    page = visits.open(f"{hub.url}/c/bc/test/monitor?state=finished", java_script_enabled=False)
    expect(page.locator("#servers tr:visible")).to_have_count(1)
    page.get_by_role("link", name="blue-1").click()
    expect(page.locator("#measures")).to_contain_text("partial 32")
    expect(page.locator("#server_errors li").first).to_contain_text("partial")
    page.get_by_text("Other phases").click()
    page.get_by_role("link", name="Second <phase>").click()
    expect(page.locator("h1")).to_have_text("Annotation servers")


def test_the_deadline_is_told_in_the_readers_zone_and_in_the_challenges(
    hub: BlueHub, visits: Visits
) -> None:
    hub.ask("challenges.set", challenge="bc", title="A challenge", timezone="Europe/Madrid")
    hub.ask("phases.update", phase="test", freezes="2030-01-15T17:00+01:00")
    page = visits.open(
        f"{hub.url}/c/bc/test/monitor", timezone_id="America/New_York", locale="en-GB"
    )
    head = page.locator("#phase-summary")
    expect(head).to_contain_text("freezes 15 Jan 2030, 11:00:00")
    expect(head).to_contain_text("(2030-01-15 17:00 Europe/Madrid)")


def shown(hub: BlueHub, visits: Visits, name: str, **options: object) -> Page:
    address = PAGES[name]
    visibility = "hidden" if name.startswith("hidden") else "public"
    hub.ask("phases.update", phase="test", visibility=visibility)
    if name == "frozen":
        hub.ask("phases.freeze", phase="test")
        page = visits.open(f"{hub.url}/c/bc/test/board/INT", **options)
        link = page.get_by_role("link", name="Permanent link")
        link.wait_for()
        link.click()
        page.wait_for_url("**/b/*")
    elif name.startswith("organiser"):
        token = hub.ask("tokens.create", role="organiser", label="axe").token
        page = visits.open(f"{hub.url}/signin?next={address}", **options)
        page.get_by_label("Token").fill(token)
        page.locator("main button").click()
        page.wait_for_url(f"**{address}")
        expect(page.locator("#attempts tbody tr").first).to_be_visible()
    else:
        page = visits.open(f"{hub.url}{address}", **options)
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_text(re.compile("live|up to date"))
    return page


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    hub: BlueHub, visits: Visits, scheme: str, size: str, tmp_path: Path
) -> None:
    at_work(hub, wrong=True)
    width, height = SIZES[size]
    folder = Path(os.environ.get("LOOK", tmp_path))
    for name in PAGES:
        page = shown(
            hub, visits, name, color_scheme=scheme, viewport={"width": width, "height": height}
        )
        page.screenshot(path=folder / f"{name}-{scheme}-{size}.png".replace(" ", "-"))
        result = Axe().run(page, options=OPTIONS).response
        told = [(found["id"], found["nodes"][0]["html"]) for found in result["violations"]]
        assert (name, told) == (name, [])
        overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(overflow), f"{name} is wider than the window"
        page.context.close()
