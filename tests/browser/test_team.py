"""A team's way from a visitor to runs on a board; what the console does at a button's press."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from yarl import URL

from tests.browser.conftest import Visits
from tests.browser.console import ARTICLES, BlueHub, JourneyHub
from tests.browser.visiting import (
    LOOKS,
    PHONE,
    check,
    counted,
    counting,
    enter,
    forgive_refusals,
    live,
    menu,
    press,
    signed_in,
    tab_to,
    type_into,
)
from tests.hubs.release import ACCESSIONS

pytestmark = pytest.mark.slow

NAMES = [f"sample{number:02}" for number in range(1, ARTICLES + 1)]
GOOD = "".join(
    f"{name}\t{accession}\t{rank}\t{1 / rank}\n"
    for name in NAMES
    for rank, accession in enumerate(ACCESSIONS[:3], 1)
)
WRONG = GOOD.replace("\t3\t", "\tthird\t", 2).replace("sample03\t", "", 1)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[JourneyHub]:
    with JourneyHub(tmp_path) as hub:
        yield hub


@pytest.fixture(scope="module")
def blue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlueHub]:
    with BlueHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def hub(blue: BlueHub) -> Iterator[BlueHub]:
    """The hub of this module, with a team for this test alone."""
    blue.join()
    yield blue
    blue.wait(held=False)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[BlueHub]:
    """A hub whose phase a test may end."""
    with BlueHub(tmp_path) as hub:
        yield hub


def sign_up(hub: JourneyHub, page: Page) -> None:
    """Read the challenge's page, and sign team green up at the second try."""
    press(page, "link", "BC")
    page.wait_for_url("**/c/bc")
    press(page, "link", "Sign up")
    page.wait_for_url("**/sign-up/bc")
    press(page, "button", "Sign up")  # with nothing in it
    expect(page.get_by_role("alert")).to_contain_text("Team")
    check(page)
    for label, text in (("Team", "green"), ("People", "Ada"), ("E-mail", "ada@green.example")):
        type_into(page, label, text)
    page.get_by_label("I accept the terms").focus()
    page.keyboard.press("Space")
    press(page, "button", "Sign up")
    expect(page.get_by_role("status")).to_be_visible()
    page.goto(hub.mailed(1))
    check(page)
    press(page, "button", "Confirm")
    expect(page.get_by_role("status")).to_contain_text("your address is confirmed")


def approve(hub: JourneyHub, visits: Visits) -> None:
    """Approve the team, as an organiser."""
    organiser = signed_in(hub, visits, "/organise/challenges/bc/sign-ups", viewport=PHONE)
    check(organiser)
    press(organiser, "button", "Approve green")
    expect(organiser.locator("main")).to_contain_text("in, no token yet")


def take_token(hub: JourneyHub, page: Page) -> None:
    """Follow the second link, which shows the token and signs its browser in."""
    page.goto(hub.mailed(2))
    press(page, "button", "Sign in and show the token")
    expect(page.locator("#secret")).to_contain_text("bcms_t")
    check(page)
    press(page, "link", "To the team console")
    page.wait_for_url(f"{hub.url}/team")


def sign_in_and_up(hub: JourneyHub, page: Page) -> None:
    """Sign in at a provider that tells no address, and sign team green up as that person."""
    menu(page)
    press(page, "link", "Sign in")
    page.wait_for_url("**/signin?**")
    check(page)
    enter(page, "Sign in with ORCID", f"{hub.url}/c/bc")
    enter(page, "Sign up", "**/sign-up/bc")
    expect(page.get_by_label("People")).to_have_value("Josiah Carberry")
    type_into(page, "Team", "green")
    type_into(page, "E-mail", "josiah@green.example")
    page.get_by_label("I accept the terms").focus()
    page.keyboard.press("Space")
    enter(page, "Sign up")
    expect(page.get_by_role("status")).to_be_visible()
    page.goto(hub.mailed(1))
    enter(page, "Confirm", f"{hub.url}/team")


def start_a_server(hub: JourneyHub, page: Page) -> None:
    """Register a server, test it at once, and start it."""
    enter(page, "Register it", "**/team/register")
    type_into(page, "Name", "green-1")
    page.keyboard.press("Tab")
    page.keyboard.type(hub.annotator.url)
    expect(page.locator("#looked-at")).to_contain_text("It answers XML-RPC: Running")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/servers/green-1/test")
    expect(page.locator("#verdict")).to_contain_text("passed")
    enter(page, "Servers of team green", "**/team/servers")
    enter(page, "Start green-1 in Test phase")
    expect(page.get_by_role("region", name="green-1")).to_contain_text("finished")


def choose(page: Page, folder: Path, text: str) -> None:
    """Let the hub look at a result file for INT."""
    file = folder / "run.tsv"
    file.write_text(text)
    page.get_by_label("Task").focus()
    page.keyboard.type("INT")
    page.get_by_role("textbox", name="Run").fill("green-file")
    page.get_by_label("Result file").set_input_files(file)
    enter(page, "Look at the file")


def sign_in_by_mail(hub: JourneyHub, page: Page) -> None:
    """Sign in by a link, on the page of an invitation, which is led back to."""
    check(page)
    invitation = page.url
    enter(page, "Sign in", "**/signin?**")
    type_into(page, "Your e-mail address", "bob@green.example")
    enter(page, "Send the link", "**/signin/code")
    check(page)
    page.goto(hub.mailed(2))
    check(page)
    press(page, "button", "Sign in")
    page.wait_for_url(invitation)
    expect(page.get_by_role("button", name="Accept")).to_be_visible()


@pytest.mark.parametrize(
    ("look", "clicks"),
    [("wide, light", 11), pytest.param("phone, dark", 12, marks=pytest.mark.nightly)],
)
def test_from_a_provider_to_the_page_of_a_run(door, visits, look, clicks):
    """The account, an invitation and signing in by mail are looked at too, after the count."""
    hub = door
    hub.ask("challenges.edit", challenge="bc", sign_up="automatic")
    hub.ask("phases.open", phase="test")
    page = counting(visits.open(f"{hub.url}/c/bc", **LOOKS[look]))
    sign_in_and_up(hub, page)
    start_a_server(hub, page)
    enter(page, "My results", f"{hub.url}/team")
    enter(page, "green-1", "**/c/bc/test/runs/green-1")
    expect(page.get_by_role("region", name="Interactor")).to_contain_text("1 of 1")
    check(page)
    assert counted(page) == (clicks, 5)

    menu(page)
    press(page, "link", "Josiah Carberry, team green")
    page.wait_for_url("**/account")
    check(page)
    invitation = hub.ask("memberships.invite", team="green")
    page.goto(f"{hub.url}{URL(invitation.link).path}")
    expect(page.get_by_role("button", name="Accept")).to_be_visible()
    check(page)
    sign_in_by_mail(hub, visits.open(page.url, **LOOKS[look]))
    visits.problems = [said for said in visits.problems if hub.provider.issuer not in said]


def test_from_reading_to_an_uploaded_run(door, visits, tmp_path):
    hub = door
    hub.ask("phases.open", phase="test")
    page = visits.open(hub.url, viewport=PHONE)
    sign_up(hub, page)
    approve(hub, visits)
    take_token(hub, page)
    check(page)
    enter(page, "Upload", "**/team/upload")
    choose(page, tmp_path, WRONG)
    looked = page.locator("#looked")
    expect(looked).to_contain_text("4 errors in its format")
    for line in (3, 6, 7, 8):
        expect(looked.locator(".problems")).to_contain_text(f"line {line}")
    expect(looked.get_by_role("button")).to_have_count(0)
    check(page)
    choose(page, tmp_path, GOOD)
    expect(looked).to_contain_text(f"would be accepted {ARTICLES} articles answered for INT")
    expect(page.locator("main")).to_contain_text("INT: 10 uploads left now")
    check(page)
    enter(page, "Upload it for INT", "**/team?uploaded=green-file")
    results = page.get_by_role("region", name="INT in Test phase")
    expect(results.get_by_role("row", name="green-file")).to_contain_text("1 of 1 of yours")
    expect(page.locator("#results")).to_contain_text("(2031-01-16 02:00 Asia/Tokyo)")
    check(page)
    assert hub.ask("uploads.list", phase="test", team="green")
    forgive_refusals(visits)


def test_a_refusal_stays_at_its_button_until_the_next(hub: BlueHub, visits: Visits) -> None:
    server = f"{hub.team}-1"
    hub.ask_as_team("servers.register", server=server, url=hub.annotator.url)
    page = live(signed_in(hub, visits, "/team/servers"))
    page.get_by_role("button", name=f"Start {server}").click()
    card = page.get_by_role("region", name=server)
    expect(card.get_by_role("alert")).to_contain_text("Start was refused")
    expect(page.locator("#announce")).to_contain_text("Start was refused")
    assert hub.ask_as_team("servers.test", server=server).passed
    expect(card).to_contain_text("test passed")
    expect(card.get_by_role("alert")).to_be_visible()
    page.get_by_role("button", name=f"Start {server}").click()
    expect(card.get_by_role("alert")).to_have_count(0)
    expect(card).to_contain_text("finished")
    forgive_refusals(visits)


def test_the_focus_goes_on_to_the_button_in_the_place_of_the_one_that_was_pressed(hub, visits):
    server = f"{hub.team}-1"
    hub.tested(server)
    hub.wait(held=True)
    page = live(signed_in(hub, visits, "/team/servers"))
    card = page.get_by_role("region", name=server)
    tab_to(page, f"Start {server} in Test phase")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=f"Pause {server}")).to_be_focused()
    expect(page.locator("#announce")).to_contain_text(f"{server} is")
    expect(card).to_contain_text("1 in flight")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name=f"Start {server}")).to_be_focused()
    expect(card).to_contain_text("finishing 1 in flight")
    page.get_by_role("button", name=f"Cancel {server}").click()
    expect(card).not_to_contain_text("in flight")
    expect(card.locator(".pill[data-state=paused]")).to_be_visible()


def test_a_hub_that_is_gone_is_announced(hub: BlueHub, visits: Visits) -> None:
    server = f"{hub.team}-1"
    hub.tested(server)
    page = signed_in(hub, visits, "/team/servers")
    page.route("**/start", lambda route: route.abort())
    page.get_by_role("button", name=f"Start {server}").click()
    expect(page.locator("#notice")).to_contain_text("The hub does not answer")
    visits.problems = [said for said in visits.problems if "ERR_FAILED" not in said]


def test_a_snippet_is_copied(hub: BlueHub, visits: Visits) -> None:
    page = signed_in(
        hub, visits, "/team/snippets", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy the Python server").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "from annotators import" in page.evaluate("navigator.clipboard.readText()")


def said(page: Page) -> str:
    """Return the text of a page's main part but for the state of its stream and notices."""
    return str(
        page.evaluate(
            "() => [...document.querySelectorAll("
            "'main > *:not(.top, #notice), .top > :first-child')]"
            ".map(one => one.innerText).join('|')"
        )
    )
