"""The organiser console in a browser: from an empty hub to gold, tokens, suspended servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.console import EmptyHub, OrganisedHub
from tests.browser.test_accessibility import OPTIONS, SIZES
from tests.browser.test_team_console import forgive_refusals, signed_in, tab_to
from tests.hubs.command import DEMO

pytestmark = pytest.mark.slow

MARKUP = '<img src=x onerror="alert(1)">'
GOLD = DEMO / "gold_act.tsv"
ARTICLES = 32
LONG = "a" * 64


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
def empty(tmp_path: Path) -> Iterator[EmptyHub]:
    with EmptyHub(tmp_path) as hub:
        yield hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[OrganisedHub]:
    with OrganisedHub(tmp_path) as hub:
        yield hub


def changed_gold(folder: Path) -> Path:
    """Return a gold file with one label turned round."""
    first, *rest = GOLD.read_text("utf-8").splitlines(keepends=True)
    turned = first.replace("\t1", "\t0") if "\t1" in first else first.replace("\t0", "\t1")
    path = folder / "gold2.tsv"
    path.write_text("".join([turned, *rest]), "utf-8")
    return path


def plan_from_nothing(page: Page, folder: Path) -> str:
    """Go from an empty hub to an open phase with gold; return a team's token."""
    page.get_by_role("link", name="Make a challenge").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("bc")
    page.get_by_label("Title").fill(MARKUP)
    page.get_by_label("Time zone").fill("Europe/Madrid")
    page.get_by_role("button", name="Make it").click()
    page.wait_for_url("**/organise")
    expect(page.get_by_role("region", name=MARKUP)).to_contain_text("No phase is planned yet.")

    page.get_by_role("link", name="Import a corpus").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("small")
    article = folder / "sample01.txt"
    article.write_bytes((DEMO / "articles" / "sample01.txt").read_bytes())
    page.get_by_label("File", exact=True).set_input_files(article)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status", name="Imported")).to_contain_text("version 1: 1 article.")

    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Plan a phase").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("test")
    page.get_by_label("Opens, Europe/Madrid time").fill("2029-07-01T09:00")
    page.get_by_label("Freezes, Europe/Madrid time").fill("2029-06-01T09:00")
    page.get_by_role("checkbox", name="ACT – ").check()
    page.get_by_role("button", name="Plan it").click()
    freezes = page.get_by_label("Freezes, Europe/Madrid time")
    expect(freezes).to_have_attribute("aria-invalid", "true")
    expect(freezes).to_have_accessible_description(re.compile("Must be after opens"))
    freezes.fill("2029-08-01T09:00")
    page.get_by_role("button", name="Plan it").click()
    page.wait_for_url("**/organise/phases/test")
    expect(page.locator("main")).to_contain_text("2029-07-01 09:00 Europe/Madrid")

    page.get_by_role("link", name="Set gold of ACT").click()
    page.get_by_label("Gold file").set_input_files(GOLD)
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.locator("main")).to_contain_text("Nothing is set yet.")
    page.get_by_role("button", name="Set it as version 1").click()
    expect(page.locator("main [role=status]")).to_contain_text("Version 1 is set")

    page.goto("/".join(page.url.split("/")[:3]) + "/organise/teams")
    page.get_by_role("textbox", name="Name", exact=True).fill("blue")
    page.get_by_role("button", name="Add the team").click()
    page.wait_for_url("**/organise/teams/blue")
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("#secret").inner_text()

    page.goto("/".join(page.url.split("/")[:3]) + "/organise/phases/test")
    page.get_by_role("link", name="Open…").click()
    page.get_by_role("button", name="Open it now").click()
    page.wait_for_url("**/organise/phases/test")
    expect(page.locator("#state")).to_contain_text("test")
    expect(page.locator("[data-phase=test]")).to_be_visible()
    return secret


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_from_an_empty_hub_to_an_open_phase(
    empty: EmptyHub, visits: Visits, tmp_path: Path, scripts: bool
) -> None:
    page = signed_in(empty, visits, "/organise", java_script_enabled=scripts)
    secret = plan_from_nothing(page, tmp_path)
    assert secret.startswith("bcms_t")
    page.get_by_role("link", name="Organise").first.click()
    expect(page.locator("#needs")).to_contain_text("count in no score")  # one article, all gold
    expect(page.get_by_text("From an empty hub")).to_have_count(0)
    empty.token = secret
    blue = signed_in(empty, visits, "/team")
    expect(blue.get_by_role("heading", name="Team blue")).to_be_visible()
    expect(blue.get_by_role("link", name="Organise")).to_have_count(0)
    forgive_refusals(visits)


def test_gold_is_set_after_a_look_at_what_it_changes(
    hub: OrganisedHub, visits: Visits, tmp_path: Path
) -> None:
    hub.at_work()
    page = signed_in(hub, visits, "/organise/phases/test/gold/ACT")
    page.get_by_label("Gold file").set_input_files(changed_gold(tmp_path))
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.get_by_role("region", name="ACT: in place of version 1")).to_be_visible()
    expect(page.get_by_role("region", name="Runs")).to_contain_text("blue-1")
    expect(page.get_by_role("region", name="Articles with other labels")).to_contain_text(
        "sample01"
    )
    assert hub.running.service.phase("test").gold["ACT"].version == 1
    page.get_by_role("button", name="Set it as version 2").click()
    expect(page.locator("main [role=status]")).to_contain_text("Version 2 is set")
    page.get_by_role("link", name="The board before").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ACT")


def test_a_form_that_takes_long_is_sent_once(
    hub: OrganisedHub, visits: Visits, tmp_path: Path
) -> None:
    page = signed_in(hub, visits, "/organise/phases/test/gold/ACT")
    page.get_by_label("Gold file").set_input_files(changed_gold(tmp_path))
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    lock = hub.running.service.phase("test").scoring
    hub.do(lock.acquire())
    # Playwright waits for the answer, which is held back; until then the page itself records it.
    page.evaluate(TELL_BUSY)
    with page.expect_request("**/healthz?told"):
        page.get_by_role("button", name="Show what it changes").click(no_wait_after=True)
    hub.do(_release(lock))
    expect(page.get_by_role("heading", level=1)).to_have_text("What gold2.tsv changes")
    told = page.evaluate("sessionStorage.busy")
    assert re.fullmatch(r"true Scoring every run again… \d+ s", told)
    assert len(sent) == 1


async def _release(lock: object) -> None:
    lock.release()  # type: ignore[attr-defined]


def test_a_server_is_suspended_and_resumed_live(hub: OrganisedHub, visits: Visits) -> None:
    hub.at_work()
    page = signed_in(hub, visits, "/organise/servers")
    expect(page.locator("#live")).to_have_text("live")
    row = page.get_by_role("row", name="blue-1")
    expect(row).to_contain_text("paused")
    page.get_by_role("link", name="Suspend… blue-1 in test").click()
    page.get_by_role("button", name="Suspend", exact=True).click()
    reason = page.get_by_label("Reason")
    expect(reason).to_have_accessible_description(re.compile("Is required"))
    reason.fill(MARKUP)
    page.get_by_role("button", name="Suspend", exact=True).click()
    expect(page.locator("#notice")).to_have_text(f"blue-1 is suspended in phase test ({MARKUP}).")
    expect(row).to_contain_text("suspended")
    page.get_by_role("button", name="Resume blue-1 in test").click()
    expect(page.locator("#notice")).to_contain_text("blue-1 is")
    expect(row).to_contain_text("32/32")
    expect(row).to_contain_text("finished")
    page.get_by_role("link", name="Attempts of blue-1 in test").click()
    page.get_by_role("link", name="sample03", exact=True).click()
    expect(page.locator("[id='answer.normalizations[0].dbid']")).to_be_visible()

    page.goto(f"{hub.url}/organise/audit")
    page.get_by_label("Who").fill("organiser ana")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row", name="servers.suspend")).to_contain_text(MARKUP)
    page.get_by_role("row", name="servers.resume").get_by_role("link", name="blue-1").click()
    page.wait_for_url("**subject=blue-1")
    forgive_refusals(visits)


def test_the_overview_is_live(hub: OrganisedHub, visits: Visits) -> None:
    page = signed_in(hub, visits, "/organise")
    expect(page.locator("#live")).to_have_text("up to date")  # no phase is open
    expect(page.locator("#needs")).to_contain_text("no token")
    hub.ask("tokens.create", team="blue", role="team")
    expect(page.locator("#needs")).not_to_contain_text("no token")
    hub.ask("phases.open", phase="test")
    expect(page.locator("#challenges [data-phase=test]")).to_be_visible()
    expect(page.locator("#live")).to_have_text("live")


def test_by_keyboard_alone(hub: OrganisedHub, visits: Visits) -> None:
    page = signed_in(hub, visits, "/organise")
    tab_to(page, "Test phase")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/test")
    tab_to(page, "Open…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/open")
    tab_to(page, "Open it now")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/test")
    expect(page.locator("[data-phase=test]")).to_be_visible()
    page.goto(f"{hub.url}/organise/teams")
    page.get_by_role("textbox", name="Name", exact=True).focus()
    page.keyboard.type("red")
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/teams/red")
    tab_to(page, "Make a token")
    page.keyboard.press("Enter")
    expect(page.locator("#secret")).to_be_visible()


PAGES = {
    "overview": "/organise",
    "challenge": "/organise/new-challenge",
    "new phase": "/organise/new-phase",
    "phase": "/organise/phases/test",
    "control room": "/organise/phases/test/watch",
    "phase, extended": "/organise/phases/test/extend",
    "phase, changed": "/organise/phases/test/edit",
    "phase, closed": "/organise/phases/test/close",
    "phase, deleted": "/organise/phases/test/delete",
    "phase, data for teams": "/organise/phases/test/data",
    "phase, data withdrawn": "/organise/phases/test/data/withdraw",
    "phase, data as all see them": "/c/bc/test/data",
    "challenge, page": "/organise/challenges/bc/page",
    "challenge, sign-ups": "/organise/challenges/bc/sign-ups",
    "challenge, as all see it": "/c/bc",
    "challenge, deleted": "/organise/challenges/bc/delete",
    "gold": "/organise/phases/test/gold/ACT",
    "corpora": "/organise/corpora",
    "corpus": "/organise/corpora/demo",
    "teams": "/organise/teams",
    "team": "/organise/teams/blue",
    "team, retired": "/organise/teams/blue/retire",
    "tokens": "/organise/tokens",
    "servers": "/organise/servers",
    "servers, none": "/organise/servers?state=down",
    "suspension": "/organise/servers/blue-1/suspend?phase=test",
    "requeue": "/organise/servers/blue-1/requeue?phase=test",
    "uploads": "/organise/uploads",
    "audit": "/organise/audit",
    "machines": "/organise/machines",
    "alerts": "/organise/alerts",
    "jobs": "/organise/jobs",
}


def check(page: Page, width: int) -> None:
    result = Axe().run(page, options=OPTIONS).response
    assert len(result["passes"]) > 10
    found = [(one["id"], one["nodes"][0]["html"]) for one in result["violations"]]
    assert found == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    hub: OrganisedHub, visits: Visits, tmp_path: Path, scheme: str, size: str
) -> None:
    width, height = SIZES[size]
    hub.at_work()
    hub.ask("servers.suspend", server="blue-1", reason=f"{MARKUP} {'a' * 64}", phase="test")
    hub.ask("data-package.release", phase="test", test_articles=True, license=f"https://{LONG}/")
    viewport = {"width": width, "height": height}
    page = visits.open(f"{hub.url}/signin?next=/organise", color_scheme=scheme, viewport=viewport)
    check(page, width)
    page.get_by_label("Token").fill("wrong")
    page.locator("main button").click()
    check(page, width)
    page.get_by_label("Token").fill(hub.token)
    page.locator("main button").click()
    page.wait_for_url("**/organise")
    for path in PAGES.values():
        page.goto(f"{hub.url}{path}")
        check(page, width)
    page.goto(f"{hub.url}/organise/phases/test/gold/ACT")
    page.get_by_label("Gold file").set_input_files(changed_gold(tmp_path))
    page.get_by_role("button", name="Show what it changes").click()
    page.wait_for_selector("text=Set it as version 2")
    check(page, width)
    page.goto(f"{hub.url}/organise/teams")
    page.get_by_role("textbox", name="Name", exact=True).fill("a b")
    page.get_by_role("button", name="Add the team").click()
    page.wait_for_selector("[aria-invalid=true]")
    check(page, width)
    page.goto(f"{hub.url}/organise/teams/blue")
    page.get_by_role("button", name="Make a token").click()
    page.wait_for_selector("#secret")
    check(page, width)
    visits.problems = [told for told in visits.problems if "status of 4" not in told]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_an_empty_hub(empty: EmptyHub, visits: Visits, scheme: str) -> None:
    page = signed_in(empty, visits, "/organise", color_scheme=scheme)
    for path in ("", "/new-phase", "/corpora", "/teams", "/servers", "/uploads"):
        page.goto(f"{empty.url}/organise{path}")
        check(page, 1280)
