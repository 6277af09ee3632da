"""Sets in a browser: a curator's articles, rulings by keys, and the gold that comes of them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from metaserver.operations.caller import Caller
from tests.browser.conftest import Visits
from tests.browser.curating import CuratorHub
from tests.browser.visiting import check, signed_in
from tests.hubs.inside import plan_phase
from tests.integration.curating import curator
from tests.integration.test_curation_sets import ARTICLES, FIRST, SECOND, decide, made

pytestmark = pytest.mark.slow


class SetHub(CuratorHub):
    """A hub with four sets of two curators, who differ on each article, and a judge."""

    tokens: dict[str, str]
    callers: dict[str, Caller]

    async def fill(self) -> None:
        await plan_phase(self.running)
        self.tokens, self.callers = {}, {}
        for name in ("ana", "bob", "judge"):
            issued = await self.running.do("tokens.create", role="curator", label=name)
            self.tokens[name] = issued.token
            caller = await curator(self.running, name)
            self.callers[name] = Caller(role=caller.role, token_id=issued.id, name=caller.name)
        issued = await self.running.do("tokens.create", role="organiser", label="eve")
        self.tokens["eve"] = issued.token
        pair = [self.callers["ana"], self.callers["bob"]]
        for name in ("round-1", "round-2", "round-3", "round-4"):
            judge = self.callers["judge"].token_id
            await made(self.running, pair, set=name, adjudicators=(judge,))

    async def decided(self, name: str) -> None:
        """Let both curators decide on all articles of a set."""
        for article in ARTICLES:
            await decide(self.running, self.callers["ana"], article, [FIRST], set_=name)
            await decide(self.running, self.callers["bob"], article, [FIRST, SECOND], set_=name)

    async def detected(self, name: str) -> None:
        """Let both accept a pair in an article, detected by other methods."""
        for curator_name, method in (("ana", "MI:0096"), ("bob", "MI:0018")):
            caller = self.callers[curator_name]
            items = [FIRST, SECOND]
            await decide(self.running, caller, ARTICLES[0], items, set_=name, method=method)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SetHub]:
    with SetHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


def visit(hub: SetHub, visits: Visits, name: str, path: str = "/curate", **options: Any) -> Page:
    return signed_in(hub, visits, path, hub.tokens[name], **options)


def test_a_curator_goes_through_the_own_articles(hub: SetHub, visits: Visits) -> None:
    page = visit(hub, visits, "ana")
    page.get_by_role("link", name="round-1").click()
    expect(page.locator("main")).to_contain_text("blind")
    expect(page.get_by_role("heading", name="Agreement")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^Begin")).first.click()
    page.wait_for_url("**/curate/curations/*")
    page.keyboard.press("t")
    expect(page.locator("#told")).to_contain_text("Saved")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/submit")
    expect(page.get_by_role("button", name="Submit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="JSON, all that is known")).to_be_visible()
    page.get_by_role("link", name="Set round-1").click()
    expect(page.locator("main")).to_contain_text(f"1 of {len(ARTICLES)} submitted")
    check(page)


def test_rulings_by_keys_become_gold(hub: SetHub, visits: Visits) -> None:
    hub.do(hub.decided("round-2"))
    page = visit(hub, visits, "judge", "/curate/sets/round-2")
    page.get_by_role("link", name="Disagreements on INT").click()
    rows = page.locator(".rulings > li")
    expect(rows).to_have_count(len(ARTICLES))
    expect(rows.first).to_be_focused()
    for number, key in enumerate(["2", "0", "b", "1"][: len(ARTICLES)]):
        page.keyboard.press(key)
        expect(rows.nth(number)).not_to_have_attribute("data-ruling", "")
    for number in range(4, len(ARTICLES)):
        rows.nth(number).get_by_role("button", name="As the second").click()
        expect(rows.nth(number)).to_have_attribute("data-ruling", "2")
    expect(page.locator("#left")).to_have_text("0")
    page.keyboard.press("k")
    page.get_by_role("link", name="with those that are ruled on").click()
    expect(rows).to_have_count(len(ARTICLES))
    expect(rows.first).to_contain_text("by curator judge")
    page.reload()
    expect(page.locator(".rulings [aria-pressed=true]")).to_have_count(len(ARTICLES))

    eve = visit(hub, visits, "eve", "/curate/sets/round-2")
    check(eve)
    expect(eve.get_by_role("region", name="Agreement on INT").first).to_contain_text("ana, bob")
    eve.get_by_role("button", name="Preview the gold of INT").click()
    expect(eve.locator("main")).to_contain_text("Nothing is set yet.")
    eve.goto(f"{hub.url}/curate/sets/round-2")
    eve.get_by_role("button", name="Set the gold of INT").click()
    expect(eve.locator("main [role=status]")).to_contain_text("Version 2 is set")
    expect(eve.locator("main")).to_contain_text("set round-2, ana + bob adjudicated by")


def test_methods_are_ruled_on_in_context(hub: SetHub, visits: Visits) -> None:
    hub.do(hub.detected("round-4"))
    page = visit(hub, visits, "judge", "/curate/sets/round-4/adjudicate?task=IPT",
                 viewport={"width": 390, "height": 844})  # fmt: skip
    row = page.locator(".rulings > li")
    expect(row).to_contain_text("P53_HUMAN – MDM2_HUMAN")
    expect(row).to_contain_text("which methods?")
    expect(row).to_contain_text("Cellular tumor antigen p53")
    check(page)
    page.keyboard.press("b")
    expect(row).to_have_attribute("data-ruling", "both")
    row.get_by_role("link", name="bob").click()
    expect(page.locator("#article p").first).to_be_visible()
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    expect(page.locator(".helm")).to_have_count(0)  # no bar without a button


def test_a_ruling_without_scripts(hub: SetHub, visits: Visits) -> None:
    hub.do(hub.decided("round-3"))
    path = "/curate/sets/round-3/adjudicate"
    page = visit(hub, visits, "judge", path, java_script_enabled=False)
    page.locator("nav").get_by_role("link", name="INT").click()
    page.get_by_role("button", name="As the first").first.click()
    expect(page.locator("main")).to_contain_text(f"{len(ARTICLES) - 1} of {len(ARTICLES)} without")
