"""Visitors without a token: from the first page to a server and a board, and through the docs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visits
from tests.browser.console import BlueHub
from tests.browser.visiting import LOOKS, counted, counting, enter, fits, live, menu, press
from tests.integration.test_service_gold import run_file

pytestmark = pytest.mark.slow

SECOND = "Second <phase>"
LATER = "2031-01-15T17:00"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlueHub]:
    """A hub with two phases; server blue-1 is at work in the first, which is open."""
    with BlueHub(tmp_path_factory.mktemp("hub")) as hub:
        second = {"challenge": "bc", "phase": "second", "corpus": "demo", "release": "test"}
        hub.ask("phases.create", **second, title=SECOND, opens=LATER)
        hub.ask("challenges.set", challenge="bc", title="A challenge", timezone="Asia/Tokyo")
        hub.answered("blue-1")
        run = {"phase": "test", "task": "INT", "run": "blue-file", "content": run_file()}
        hub.ask_as_team("runs.upload", **run)
        yield hub


def test_spectator_on_a_phone_goes_from_the_first_page_to_every_kind_of_page(hub, visits):
    page = counting(visits.open(hub.url, **LOOKS["phone, dark"]))
    enter(page, "What it is, and how to take part in A challenge", "**/c/bc")
    enter(page, "INT leaderboard of Test phase", "**/c/bc/test/board/INT")
    live(page)
    row = page.get_by_role("row", name="blue-1")
    expect(row.get_by_text("32/32")).to_be_hidden()
    enter(page, "All figures of blue-1")
    expect(row.get_by_text("32/32")).to_be_visible()
    fits(page)
    press(page, "link", "blue-1")
    page.wait_for_url("**/c/bc/test/runs/blue-1")
    expect(page.get_by_role("region", name="Interactor")).to_contain_text("1 of 1")
    page.get_by_role("region", name="Interactor").get_by_role("button", name="Compare").press(
        "Enter"
    )
    page.wait_for_url("**/board/INT/compare?first=blue-1&second=blue-file")
    expect(page.get_by_role("row", name="Place")).to_be_visible()
    fits(page)
    menu(page)
    enter(page, "Monitor", "**/c/bc/test/monitor")
    live(page)
    enter(page, "blue-1")  # opens its square
    press(page, "link", "blue-1")
    page.wait_for_url("**/c/bc/test/servers/blue-1")
    expect(live(page).locator("#server_head .pill")).to_have_text("finished")
    enter(page, "7d", "**?window=7d")
    expect(page.locator("#measures")).to_contain_text("ok 32")
    enter(page, "Other phases")
    enter(page, f"{SECOND} setup", "**/c/bc/second/monitor")
    expect(page.locator("#phase-summary")).to_contain_text(SECOND)
    expect(page.get_by_text("No server takes part")).to_be_visible()
    assert counted(page) == (12, 0)


def test_a_change_of_state_reaches_both_pages_and_is_announced(hub, visits):
    hub.join()
    server = f"{hub.team}-1"
    hub.tested(server)
    hub.wait(held=True)
    hub.ask_as_team("servers.start", server=server, phase="test")
    monitor, shown = (
        live(visits.open(f"{hub.url}/c/bc/test/{path}"))
        for path in (f"monitor?find={server}", f"servers/{server}")
    )
    hub.ask_as_team("servers.pause", server=server, phase="test")
    expect(monitor.locator("#servers tr:visible .pill")).to_have_text("paused")
    expect(shown.locator("#server_head .pill")).to_have_text("paused")
    for page in (monitor, shown):
        expect(page.locator("#announce")).to_have_text(f"{server} is paused")
    hub.ask("phases.freeze", phase="test")
    expect(monitor.locator("#phase-summary .pill")).to_have_text("frozen")
    for page in (monitor, shown):  # nothing is live in a phase that is frozen
        expect(page.locator("#live")).to_have_text("up to date")
    hub.wait(held=False)
    hub.ask("phases.open", phase="test")
    for page in (monitor, shown):
        expect(page.locator("#live")).to_have_text("live")


def test_dates_are_in_the_zones_of_the_reader_and_of_the_challenge(hub, visits):
    options = {"timezone_id": "America/New_York", "locale": "en-GB"}
    page = visits.open(f"{hub.url}/c/bc", **options)
    date = page.locator(".timeline time").last
    expect(date).to_have_attribute("title", "2031-01-16 02:00 Asia/Tokyo")
    expect(date).to_contain_text("15 Jan 2031, 12:00 GMT-5")
    page.goto(f"{hub.url}/c/bc/second/monitor")
    expect(page.locator("#phase-summary")).to_contain_text("(2031-01-16 02:00 Asia/Tokyo)")
    plain = visits.open(f"{hub.url}/c/bc", java_script_enabled=False)
    expect(plain.locator(".timeline time").last).to_have_text("2031-01-16 02:00 Asia/Tokyo")
    expect(plain.locator("[data-countdown]").last).to_contain_text("days")


def test_a_page_of_the_docs_is_found_and_read_by_keys(hub: BlueHub, visits: Visits) -> None:
    page = visits.open(f"{hub.url}/docs")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("frozen board")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs?q=frozen+board*")
    found = page.locator("main li a").first
    title = found.inner_text()
    found.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/**")
    page.wait_for_load_state("networkidle")  # a picture that is left half way leaves a file open
    expect(page.locator("main")).to_contain_text(title.split(" › ")[-1])
    expect(page.locator(":target" if "#" in page.url else "main h1")).to_be_in_viewport()
    press(page, "link", "Docs")
    page.wait_for_url("**/docs")
