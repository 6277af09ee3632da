"""What visitors do: sign in, go by keys, and look whether everybody can use a page."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import Visits
from tests.browser.console import EmptyHub
from tests.hubs.thread import HubThread

WIDE: ViewportSize = {"width": 1360, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 780}
LOOKS = {
    "wide, light": {"viewport": WIDE, "color_scheme": "light"},
    "phone, dark": {"viewport": PHONE, "color_scheme": "dark"},
}  # fmt: skip
MARKUP = '<img src=x onerror="alert(1)">'
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPTIONS = {"runOnly": RULES, "resultTypes": ["violations"]}
AXE = Axe().axe_script
LOOK = """async options => {
  const { passes, violations } = await axe.run(options);
  return [passes.length, violations.map(one => [one.id, one.nodes[0].html])];
}"""
"""Returns how many rules hold, and what does not."""
REFUSED = re.compile(r"status of (409|422)")


def signed_in(
    hub: HubThread, visits: Visits, path: str = "/team", token: str = "", **options: Any
) -> Page:
    """Open a page that asks for a token first; return it as it is then."""
    page = visits.open(f"{hub.url}/signin?next={path}", **options)
    page.get_by_label("Token").fill(token or hub.token)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"**{path}")
    return page


def first_signed_in(hub: EmptyHub, visits: Visits, **options: Any) -> Page:
    """Follow the first organiser's link; return the page that shows a token."""
    page = visits.open(f"{hub.url}{hub.link}", **options)
    check(page)
    counting(page)
    press(page, "button", "Sign in and show the token")
    expect(page.locator("#secret")).to_be_visible()
    return page


def live(page: Page) -> Page:
    """Wait until a page is connected, if it has a stream."""
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_text(re.compile(r"^\s*(live|up to date)\s*$"))
    return page


def fits(page: Page) -> None:
    """Look whether all of a page is within the window, its ids differ, and no text is markup."""
    width, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= window, f"{page.url}: {width} > {window}"
    assert page.locator("main img[src=x]").count() == 0, page.url
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids)), page.url


def check(page: Page) -> None:
    """Look at a page as it is: it fits, and axe finds nothing."""
    fits(page)
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE)
    passes, found = page.evaluate(LOOK, OPTIONS)
    assert passes > 10
    assert found == [], f"{page.url}: {found}"


def press(page: Page, role: Any, name: str) -> None:
    """Follow a link or press a button by the keyboard."""
    page.get_by_role(role, name=name, exact=True).first.focus()
    page.keyboard.press("Enter")


def menu(page: Page) -> None:
    """Open the links of the header, where a phone folds them away."""
    if page.get_by_role("button", name="Menu", exact=True).is_visible():
        press(page, "button", "Menu")


def type_into(page: Page, label: str, text: str) -> None:
    """Write into a field by the keyboard."""
    page.get_by_label(label).first.focus()
    page.keyboard.type(text)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element in focus says `name`."""
    for _ in range(80):
        page.keyboard.press("Tab")
        said = page.evaluate("document.activeElement.textContent.replace(/\\s+/g, ' ').trim()")
        if said == name:
            return
    pytest.fail(f"{name} cannot be reached by Tab")


def enter(page: Page, name: str, leads: str = "") -> None:
    """Go to a link or button by Tab, press Enter, and wait for the address that it leads to."""
    tab_to(page, name)
    page.keyboard.press("Enter")
    if leads:
        page.wait_for_url(leads)


COUNTING = """() => {
  const counts = (name, wanted) => event => {
    if (!event.target.closest?.(wanted)) return;
    sessionStorage[name] = 1 + Number(sessionStorage[name] ?? 0);
  };
  addEventListener("click", counts("clicks", "a, button, summary"), true);
  addEventListener("change", counts("fields", "input, select, textarea"), true);
}"""


def counting(page: Page) -> Page:
    """Count from now on what a person does in a tab."""
    page.add_init_script(f"({COUNTING})()")
    page.evaluate(COUNTING)
    return page


def counted(page: Page) -> tuple[int, int]:
    """Return how many links and buttons were pressed in a tab, and how many fields filled in."""
    clicks, fields = page.evaluate("[sessionStorage.clicks, sessionStorage.fields]")
    return int(clicks or 0), int(fields or 0)


def forgive_refusals(visits: Visits) -> None:
    """Ignore Chromium's console messages about refused forms, in a test that provokes them."""
    visits.problems = [said for said in visits.problems if not REFUSED.search(said)]
