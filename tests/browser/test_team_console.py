"""The team console in a browser: from the first server to the place of a problem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.console import NOBODY, BlueHub
from tests.browser.test_accessibility import OPTIONS, SIZES

pytestmark = pytest.mark.slow

MARKUP = '<img src=x onerror="alert(1)">'
REFUSED = re.compile(r"status of (409|422)")
ARTICLES = 32
LONG = "a" * 64


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[BlueHub]:
    with BlueHub(tmp_path) as hub:
        yield hub


def signed_in(hub: BlueHub, visits: Visits, path: str = "/team", **options: object) -> Page:
    page = visits.open(f"{hub.url}{path}", **options)
    page.get_by_label("Token").fill(hub.token)
    page.locator("main button").click()
    page.wait_for_url(f"**{path}")
    return page


def forgive_refusals(visits: Visits) -> None:
    """Ignore Chromium's console messages about refused forms, in a test that provokes them."""
    visits.problems = [told for told in visits.problems if not REFUSED.search(told)]


def registered(hub: BlueHub, name: str = "blue-1", url: str = "") -> None:
    hub.ask_as_team("servers.register", server=name, url=url or hub.annotator.url)


def answered(hub: BlueHub, *, wrong: bool = True) -> None:
    """Let blue-1 go through the phase, all of its answers partial."""
    registered(hub)
    assert hub.ask_as_team("servers.test", server="blue-1").passed
    hub.annotator.wrong = wrong
    hub.ask("phases.open", phase="test")
    hub.ask_as_team("servers.start", server="blue-1")
    watch = hub.running.service.phase("test").boards.server_monitor
    hub.do(hub.running.until(lambda: watch.status("blue-1").done == ARTICLES))


@pytest.mark.slow
def test_from_the_first_server_to_the_place_of_a_problem(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(hub, visits)
    page.get_by_role("link", name="Register it").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("blue 1")
    page.get_by_label("URL").fill(NOBODY)
    page.get_by_role("button", name="Register").click()
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_have_accessible_description(re.compile("has characters that", re.IGNORECASE))
    expect(page.get_by_label("URL")).to_have_value(NOBODY)
    name.fill("blue-1")
    page.get_by_role("button", name="Register").click()
    page.wait_for_url("**/team/servers/blue-1")

    page.get_by_role("link", name="Go to its test").click()
    page.get_by_role("button", name="Test now").click()
    expect(page.locator("#verdict")).to_contain_text("failed")
    expect(page.locator("#steps")).to_contain_text("Connection refused")

    page.get_by_role("link", name="Change").click()
    page.get_by_label("URL").fill(hub.annotator.url)
    page.get_by_role("button", name="Change").click()
    page.wait_for_url("**/team/servers/blue-1")
    hub.wait(held=True)
    page.get_by_role("link", name="Test", exact=True).click()
    page.get_by_role("button", name="Test now").click()
    expect(page.locator("#verdict")).to_contain_text("testing")
    expect(page.locator("#steps > li")).to_have_count(4)
    hub.wait(held=False)
    expect(page.locator("#verdict")).to_contain_text("passed")
    expect(page.locator("#steps > li")).to_have_count(11)

    hub.annotator.wrong = True
    hub.ask("phases.open", phase="test")
    page.get_by_role("link", name="Team blue").click()
    page.get_by_role("button", name="Next blue-1").click()
    card = page.get_by_role("region", name="blue-1")
    expect(card).to_contain_text("1/32")
    expect(card).to_contain_text("paused")
    page.get_by_role("button", name="Start blue-1").click()
    expect(card).to_contain_text("finished")
    expect(card).to_contain_text("32/32")
    assert page.url.endswith("/team/servers")

    page.get_by_role("link", name="Attempts").click()
    page.get_by_label("Outcome").select_option("partial")
    page.get_by_label("Article").fill("sample03")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="sample03", exact=True).click()
    page.get_by_role("link", name="normalizations[3].confidence").click()
    place = page.locator(":target")
    expect(place).to_have_attribute("id", "answer.normalizations[3].confidence")
    expect(place).to_contain_text("expected ]0, 1], got 7.0")
    expect(place).to_be_in_viewport()

    page.get_by_role("link", name="Team blue").click()
    page.get_by_role("link", name="Tokens").click()
    page.get_by_label("Label").fill("nightly script")
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("#secret").inner_text()
    assert secret.startswith("bcms_t")
    page.get_by_role("link", name="Tokens").click()
    expect(page.get_by_text(secret)).to_have_count(0)
    page.get_by_role("button", name="Revoke nightly script").click()
    expect(page.get_by_role("row", name="nightly script")).to_contain_text("revoked")
    forgive_refusals(visits)


def test_a_refusal_is_told_at_its_button_and_stays(hub: BlueHub, visits: Visits) -> None:
    registered(hub)
    hub.ask("phases.open", phase="test")
    page = signed_in(hub, visits, "/team/servers")
    expect(page.locator("#live")).to_have_text("live")
    page.get_by_role("button", name="Start blue-1").click()
    card = page.get_by_role("region", name="blue-1")
    expect(card.get_by_role("alert")).to_have_text(
        "Start was refused: It has not been tested for phase test: test it first."
    )
    expect(page.locator("#announce")).to_contain_text("Start was refused")
    assert hub.ask_as_team("servers.test", server="blue-1").passed
    expect(card).to_contain_text("test passed")
    expect(card.get_by_role("alert")).to_be_visible()
    page.get_by_role("button", name="Start blue-1").click()
    expect(card.get_by_role("alert")).to_have_count(0)
    expect(card).to_contain_text("finished")
    forgive_refusals(visits)


def test_pausing_and_cancelling_what_is_in_flight(hub: BlueHub, visits: Visits) -> None:
    registered(hub)
    assert hub.ask_as_team("servers.test", server="blue-1").passed
    hub.ask("phases.open", phase="test")
    hub.wait(held=True)
    page = signed_in(hub, visits, "/team/servers")
    card = page.get_by_role("region", name="blue-1")
    page.get_by_role("button", name="Start blue-1").click()
    expect(card).to_contain_text("1 in flight")
    page.get_by_role("button", name="Pause blue-1").click()
    expect(card).to_contain_text("finishing 1 in flight")
    page.get_by_role("button", name="Cancel blue-1").click()
    expect(card).not_to_contain_text("in flight")
    expect(card.locator(".pill[data-state=paused]")).to_be_visible()
    hub.wait(held=False)


def test_the_hub_that_is_gone_is_told(hub: BlueHub, visits: Visits) -> None:
    registered(hub)
    hub.ask("phases.open", phase="test")
    page = signed_in(hub, visits, "/team/servers")
    page.route("**/start", lambda route: route.abort())
    page.get_by_role("button", name="Start blue-1").click()
    expect(page.locator("#notice")).to_contain_text("The hub does not answer")
    visits.problems = [told for told in visits.problems if "ERR_FAILED" not in told]


def test_everything_works_without_scripts(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(hub, visits, java_script_enabled=False)
    page.get_by_role("link", name="Register it").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("blue-1")
    page.get_by_label("URL").fill(hub.annotator.url)
    page.get_by_role("checkbox", name="INT – ").check()
    page.get_by_role("button", name="Register").click()
    hub.wait(held=True)
    page.get_by_role("link", name="Go to its test").click()
    page.get_by_role("button", name="Test now").click()
    expect(page.locator("#verdict")).to_contain_text("testing")
    hub.wait(held=False)
    while "passed" not in page.locator("#verdict").inner_text():
        page.reload()
    hub.ask("phases.open", phase="test")
    page.get_by_role("link", name="Team blue").click()
    page.get_by_role("button", name="Start blue-1").click()
    expect(page.locator("#notice")).to_contain_text("blue-1 is")
    page.wait_for_url("**/team/servers?**")
    while "32/32" not in page.locator("main").inner_text():
        page.reload()
    page.get_by_role("link", name="Attempts").click()
    page.get_by_role("link", name="sample03", exact=True).click()
    expect(page.locator("[id='answer.normalizations[0].dbid']")).to_be_visible()
    page.goto(f"{hub.url}/team/snippets")
    page.get_by_text("Perl", exact=True).click()
    expect(page.get_by_label("Server in Perl")).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element in focus says `name`."""
    for _ in range(80):
        page.keyboard.press("Tab")
        said = page.evaluate("document.activeElement.textContent.replace(/\\s+/g, ' ').trim()")
        if said == name:
            return
    pytest.fail(f"{name} cannot be reached by Tab")


def test_by_keyboard_alone(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(hub, visits)
    tab_to(page, "Register it")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/register")
    page.get_by_role("textbox", name="Name", exact=True).focus()
    page.keyboard.type("blue-1")
    page.keyboard.press("Tab")
    page.keyboard.type(hub.annotator.url)
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/servers/blue-1")
    tab_to(page, "Go to its test")
    page.keyboard.press("Enter")
    page.wait_for_url("**/test")
    tab_to(page, "Test now for test")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("passed")
    hub.ask("phases.open", phase="test")
    hub.wait(held=True)
    page.goto(f"{hub.url}/team/servers")
    tab_to(page, "Start blue-1 in test")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause blue-1")).to_be_focused()
    expect(page.locator("#announce")).to_contain_text("blue-1 is")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Start blue-1")).to_be_focused()
    hub.wait(held=False)


def test_a_deadline_is_told_in_both_zones(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(hub, visits, "/team/servers", timezone_id="Asia/Tokyo")
    phases = page.locator("#phases")
    expect(phases).to_contain_text("02:00:00")
    expect(phases).to_contain_text("(2030-01-15 17:00 UTC)")


def test_a_snippet_is_copied(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(
        hub, visits, "/team/snippets", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy the Python server").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "from annotators import" in copied


def test_markup_is_text_everywhere(hub: BlueHub, visits: Visits) -> None:
    hub.annotator.markup = MARKUP
    answered(hub)
    registered(hub, "blue-2", f"http://127.0.0.1:9/{MARKUP.replace(' ', '%20')}")
    hub.ask_as_team("teams.update", team="blue", title=MARKUP)
    hub.ask_as_team("tokens.create", label=MARKUP)
    page = signed_in(hub, visits)
    for path in ("/team", "/team/servers/blue-1", "/team/servers/blue-2", "/team/tokens",
                 "/team/settings", "/team/servers/blue-2/edit",
                 "/team/servers/blue-1/attempts/sample03/1?phase=test"):  # fmt: skip
        page.goto(f"{hub.url}{path}")
        expect(page.locator("main img")).to_have_count(0)
        expect(page.locator("main h1")).to_be_visible()
    page.goto(f"{hub.url}/team")
    expect(page.locator(".lead").first).to_have_text(MARKUP)


PAGES = (
    "/team", "/team/servers", "/team/upload", "/team/register",
    "/team/tokens", "/team/settings", "/team/snippets",
    "/team/servers/blue-1", "/team/servers/blue-1/test", "/team/servers/blue-2/test",
    "/team/servers/blue-1/edit", "/team/servers/blue-1/retire", "/team/servers/blue-1/attempts",
    "/team/servers/blue-2/attempts", f"/team/servers/{LONG}",
    "/team/servers/blue-1/attempts/sample03/1?phase=test",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(hub: BlueHub, visits: Visits, scheme: str, size: str) -> None:
    answered(hub)
    registered(hub, "blue-2", NOBODY)
    registered(hub, LONG, f"http://{'long.' * 30}example/")
    hub.ask_as_team("servers.test", server="blue-2")
    width, height = SIZES[size]
    page = signed_in(hub, visits, color_scheme=scheme, viewport={"width": width, "height": height})
    found = []
    for path in PAGES:
        page.goto(f"{hub.url}{path}")
        found += _violations(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    hub.ask_as_team("servers.register", server="blue-4", url=NOBODY, protocol="becalm")
    page.goto(f"{hub.url}/team/servers/blue-4/callbacks")
    found += _violations(page, "no callback key")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_role("heading", name="New callback key")).to_be_visible()
    found += _violations(page, "callback key")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{hub.url}/team/register")
    page.get_by_role("button", name="Register").click()
    found += _violations(page, "refused form")
    page.goto(f"{hub.url}/team/servers")
    page.get_by_role("button", name="Start blue-2").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found += _violations(page, "refused action")
    assert found == []
    forgive_refusals(visits)


def _violations(page: Page, path: str) -> list[tuple[str, str, str]]:
    result = Axe().run(page, options=OPTIONS).response
    assert len(result["passes"]) > 10
    return [(path, v["id"], v["nodes"][0]["html"]) for v in result["violations"]]


def test_results_fit_and_the_header_is_one_line_whatever_is_in_them(
    hub: BlueHub, visits: Visits
) -> None:
    hub.ask("phases.update", phase="test", visibility="hidden")
    answered(hub, wrong=False)
    page = signed_in(hub, visits, viewport={"width": 1360, "height": 800})
    assert page.locator(".results").count() > 0
    assert page.locator(".scroll").evaluate_all(
        "regions => regions.every(one => one.scrollWidth <= one.clientWidth)"
    )
    label = "Ana María González-Ruiz, Barcelona, for the whole committee"
    issued = hub.ask("tokens.create", role="organiser", label=label)
    page = visits.open(f"{hub.url}/signin", viewport={"width": 1360, "height": 800})
    page.get_by_label("Token").fill(issued.token)
    page.locator("main button").click()
    home, theme = (page.locator(one).bounding_box() for one in (".home", "#theme"))
    assert home
    assert theme
    assert theme["y"] < home["y"] + home["height"]  # beside it, not below
