"""An organiser's ways by keys, from an empty hub to results; what the console does live."""

import re
import shutil
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from metaserver.operations.bundles import SAMPLES
from tests.browser.conftest import Visits
from tests.browser.console import EmptyHub, OrganisedHub, SlowHub
from tests.browser.visiting import (
    LOOKS,
    MARKUP,
    PHONE,
    WIDE,
    check,
    counted,
    counting,
    enter,
    first_signed_in,
    forgive_refusals,
    live,
    menu,
    signed_in,
    type_into,
)
from tests.hubs.command import DEMO
from tests.integration.test_control_room import ANSWERED
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

GOLD = DEMO / "gold_act.tsv"
RUN = "".join(f"pathway{number}\tP04637\t1\t0.9\n" for number in (3, 5, 6))
TELL_BUSY = """() => {
  const form = document.querySelector("form[data-busy]");
  const button = form.querySelector("button");
  const timer = setInterval(() => {
    const told = form.querySelector(".busy")?.textContent ?? "";
    if (!told.endsWith(" s")) return;
    clearInterval(timer);
    sessionStorage.busy = `${button.getAttribute("aria-disabled")} ${told}`;
    button.click();
    fetch("/healthz?told");
  }, 50);
}"""


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowHub]:
    with SlowHub(tmp_path) as hub:
        yield hub
        hub.call(hub.slow.more.set)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[EmptyHub]:
    with EmptyHub(tmp_path) as hub:
        yield hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrganisedHub]:
    with OrganisedHub(tmp_path_factory.mktemp("hub")) as hub:
        hub.at_work()
        yield hub


def written(minutes: float) -> str:
    """Return the time in so many minutes as a form takes it, in UTC."""
    return f"{datetime.now(UTC) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"


def make_a_challenge(page: Page) -> None:
    """Make the first challenge, whose title is no markup."""
    page.get_by_role("link", name="Make a challenge").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("bc")
    page.get_by_label("Title").fill(MARKUP)
    page.get_by_role("button", name="Make it").click()
    page.wait_for_url("**/organise")
    expect(page.get_by_role("region", name=MARKUP)).to_contain_text("No phase is planned yet.")


def plan(page: Page, folder: Path) -> None:
    """Plan an open phase in four steps, with its corpus and gold; its date at the second try."""
    articles = shutil.make_archive(str(folder / "sample"), "zip", DEMO / "articles")
    page.get_by_role("checkbox", name="ACT – ").check()
    page.get_by_label("Title").focus()
    page.keyboard.type("Test week")
    page.keyboard.press("Tab")
    page.keyboard.type("week")
    page.keyboard.press("Enter")
    page.wait_for_url("**step=2**")
    check(page)
    page.get_by_label("Or import a corpus now").set_input_files(articles)
    enter(page, "Next", "**step=3**")
    page.get_by_label("Opens, UTC time").fill("2021-01-01T09:00")
    page.get_by_label("Freezes, UTC time").fill(written(ANSWERED + 5))
    enter(page, "Next")
    confirm = page.get_by_label("Yes, opens is past and takes effect at once")
    expect(confirm).to_be_visible()
    check(page)
    confirm.focus()
    page.keyboard.press("Space")
    enter(page, "Next", "**step=4**")
    expect(page.get_by_role("region", name="Launch check")).to_contain_text("no team")
    check(page)
    page.get_by_label("Gold of ACT").set_input_files(GOLD)
    enter(page, "Plan it", "**/organise/phases/week")
    expect(page.locator("main")).to_contain_text("version 1, gold_act.tsv")


def hand_out_a_token(page: Page, url: str) -> str:
    """Make team blue, and return a token for it."""
    page.goto(f"{url}/organise/teams")
    page.get_by_role("textbox", name="Name", exact=True).focus()
    page.keyboard.type("blue")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/teams/blue")
    enter(page, "Make a token")
    return page.locator("#secret").inner_text()


def fetch_package(page: Page, visits: Visits, folder: Path) -> None:
    """Let the hub make the phase's results package, download it, and read its report offline."""
    enter(page, "Results package", "**/results")
    enter(page, "Make the package")
    link = page.get_by_role("link", name="Download the package")
    expect(link).to_be_visible(timeout=1000 * PATIENCE)
    link.focus()
    with page.expect_download() as fetched:
        page.keyboard.press("Enter")
    assert fetched.value.suggested_filename == "results-week.zip"
    with zipfile.ZipFile(fetched.value.path()) as package:
        package.extractall(folder)
    place = folder / "results-week"
    assert (place / "tables/ACT/raw.csv").is_file()
    assert (place / "runs/ACT/blue-1.tsv").is_file()
    report = visits.open((place / "report.html").as_uri(), viewport=WIDE)
    for details in report.locator("details").all():
        details.evaluate("details => details.open = true")
    assert report.locator("figure svg").count()
    check(report)
    report.emulate_media(color_scheme="dark")
    report.set_viewport_size(PHONE)
    check(report)


def sign_up_without_mail(hub: EmptyHub, organiser: Page, team: Page) -> None:
    """Sign team blue up; the organiser lets it in, and hands out one link, which signs it in."""
    enter(team, "Sign up", "**/sign-up/interactions")
    for label, text in (("Team", "blue"), ("People", "Bo"), ("E-mail", "bo@blue.example")):
        type_into(team, label, text)
    enter(team, "Sign up")
    expect(team.get_by_role("status")).to_be_visible()
    enter(organiser, "Sign-ups of Protein interactions", "**/sign-ups")
    enter(organiser, "Approve blue")
    expect(organiser.locator("main")).to_contain_text("in, no token yet")
    enter(organiser, "Hand out a link blue")
    link = organiser.locator("#secret").inner_text()
    assert link.startswith(hub.url)
    team.goto(link)
    check(team)
    enter(team, "Sign in and show the token")
    expect(team.locator("#secret")).to_be_visible()
    check(team)


@pytest.mark.parametrize(
    ("look", "clicks"),
    [("wide, light", 15), pytest.param("phone, dark", 16, marks=pytest.mark.nightly)],
)
def test_from_a_bundle_to_published_results(empty, visits, tmp_path, look, clicks):
    hub = empty
    bundle = shutil.make_archive(str(tmp_path / "bundle"), "zip", SAMPLES / "interactions")
    page = first_signed_in(hub, visits, **LOOKS[look])
    enter(page, "To the organiser console", "**/organise")
    enter(page, "Make one from a bundle", "**/organise/bundle")
    page.get_by_label("Bundle").set_input_files(bundle)
    enter(page, "Make it", "**/organise")
    team = counting(visits.open(f"{hub.url}/c/interactions", **LOOKS[look]))
    sign_up_without_mail(hub, page, team)

    menu(page)
    enter(page, "Organise", "**/organise")
    enter(page, "Test", "**/organise/phases/test")
    enter(page, "Open…", "**/open")
    enter(page, "Open it now", "**/organise/phases/test")
    run = {"phase": "test", "task": "INT", "run": "blue-1"}
    hub.ask_as_team("runs.upload", **run, content=RUN.encode())
    enter(page, "Freeze…", "**/freeze")
    enter(page, "Freeze it now", "**/organise/phases/test")
    hub.do(hub.running.frozen(3, "test"))
    enter(page, "Publish results…", "**/publish")
    check(page)
    enter(page, "Publish the results", "**/results/interactions")
    expect(page.get_by_role("row", name="blue-1").first).to_contain_text("1")
    assert (counted(page), counted(team)) == ((clicks, 1), (3, 3))
    reader = visits.open(page.url, **LOOKS[look])
    expect(reader.get_by_role("row", name="blue-1").first).to_be_visible()
    for place in reader.locator(".podium li").filter(has_text="Baselines").all():
        expect(place.locator(".tag")).to_have_text("baseline")
    expect(reader.locator(".podium .tag")).to_have_count(3)


def test_from_a_phase_that_is_planned_to_a_package_of_its_results(slow, visits, tmp_path):
    hub = slow
    page = signed_in(hub, visits, "/organise", viewport=PHONE)
    make_a_challenge(page)
    page.get_by_role("link", name="Plan a phase").first.click()
    counting(page)
    plan(page, tmp_path)
    assert counted(page) == (5, 8)  # with a second try
    token = hand_out_a_token(page, hub.url)
    blue = signed_in(hub, visits, "/team", token)
    expect(blue.get_by_role("heading", name="Team blue")).to_be_visible()
    expect(blue.get_by_role("link", name="Organise")).to_have_count(0)
    page.goto(f"{hub.url}/organise/challenges/bc/page")
    page.get_by_label("Title").focus()
    page.keyboard.type("It has begun")
    page.keyboard.press("Tab")
    page.keyboard.type("See *the boards*.")
    enter(page, "Announce")
    expect(page.get_by_role("heading", name="It has begun")).to_be_visible()
    hub.work()

    page.goto(f"{hub.url}/organise/phases/week")
    enter(page, "Control room", "**/organise/phases/week/watch")
    live(page)
    expect(page.locator("#watch-findings")).to_contain_text("blue-1 needs")
    check(page)
    enter(page, "Extend… blue-1", "**/extend")
    enter(page, "Extend it", "**/watch")
    expect(page.locator("#watch-findings")).to_contain_text("Nothing now.")
    enter(page, "Freeze…", "**/freeze")
    enter(page, "Freeze it now", "**/organise/phases/week")
    hub.call(hub.slow.more.set)
    page.goto(f"{hub.url}/organise/phases/week/watch")
    expect(page.locator("#live")).to_have_text("up to date")
    expect(page.locator("#watch-servers")).to_contain_text("ended at")

    page.goto(f"{hub.url}/organise/phases/week")
    fetch_package(page, visits, tmp_path)
    forgive_refusals(visits)


def test_gold_is_looked_at_once_however_often_it_is_sent_and_then_set(hub, visits, tmp_path):
    version = hub.running.service.phase("test").gold["ACT"].version
    page = signed_in(hub, visits, "/organise/phases/test/gold/ACT")
    page.get_by_label("Gold file").set_input_files(hub.other_gold(tmp_path))
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    lock = hub.running.service.phase("test").scoring
    hub.do(lock.acquire())
    # Playwright waits for the answer, which is held back; until then the page itself records it.
    page.evaluate(TELL_BUSY)
    with page.expect_request("**/healthz?told"):
        page.get_by_role("button", name="Show what it changes").click(no_wait_after=True)
    hub.call(lock.release)
    expect(page.get_by_role("heading", level=1)).to_contain_text("changes")
    assert re.fullmatch(
        r"true Scoring every run again… \d+ s", page.evaluate("sessionStorage.busy")
    )
    assert len(sent) == 1
    expect(page.get_by_role("region", name="Runs")).to_contain_text("blue-1")
    changed = page.get_by_role("region", name="Articles whose labels change")
    expect(changed).to_contain_text("sample01")
    page.get_by_role("button", name=f"Set it as version {version + 1}").click()
    expect(page.locator("main [role=status]")).to_contain_text(f"Version {version + 1} is set")
    page.get_by_role("link", name="The board before").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ACT")


def test_the_overview_is_live(hub: OrganisedHub, visits: Visits) -> None:
    hub.ask("teams.create", team="red")
    page = live(signed_in(hub, visits, "/organise"))
    expect(page.locator("#needs")).to_contain_text("Teams without a token: red")
    hub.ask("tokens.create", team="red", role="team")
    expect(page.locator("#needs")).not_to_contain_text("Teams without a token: red")
    plan = {"challenge": "bc", "phase": "later", "corpus": "demo", "release": "test"}
    hub.ask("phases.create", **plan)
    expect(page.locator("#challenges")).to_contain_text("later")
