"""Finding one's way: sorting, filters, colours, with the keyboard and without scripts."""

import re

import pytest
from playwright.sync_api import expect

from metaserver.base.states import ServerState
from tests.browser.visiting import PHONE, WIDE, enter, press

pytestmark = pytest.mark.slow


def column(page, heading):
    """Return the cells of a board's column."""
    return page.locator(f'#runs td[data-label="{heading}"]')


def test_sorting_by_keyboard(site, visits):
    page = visits.open(f"{site.url}/board/INT")
    enter(page, "F", "**/board/INT?sort=-f_score#table")
    heading = page.get_by_role("columnheader", name="F", exact=True)
    expect(heading).to_have_attribute("aria-sort", "descending")
    for rows in ("tr:not(.below)", "tr.below"):  # few answers: after the others
        cells = page.locator(f'#runs {rows} td[data-label="F"]').all_inner_texts()
        figures = [float(cell) for cell in cells if cell != "n/a"]
        assert figures == sorted(figures, reverse=True)
    assert column(page, "F").last.inner_text() == "n/a"
    enter(page, "F")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert column(page, "F").last.inner_text() == "n/a"


def test_the_skip_link_leads_past_the_header(site, visits):
    page = visits.open(f"{site.url}/monitor")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_everything_is_there_without_scripts(site, visits):
    page = visits.open(f"{site.url}/monitor", java_script_enabled=False)
    expect(page.locator("#servers tr:not([hidden])")).to_have_count(11)
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.locator("#live")).to_be_hidden()
    expect(page.locator("#pause")).to_be_hidden()
    page.get_by_role("link", name="down").click()
    expect(page.locator("#servers tr:not([hidden])")).to_have_count(1)
    page.get_by_role("link", name="all", exact=True).click()
    page.get_by_role("searchbox").fill("team 1")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator("#servers tr:not([hidden])")).to_have_count(5)
    page.set_viewport_size(PHONE)
    board = page.get_by_role("link", name="Leaderboard")
    press(page, "button", "Menu")
    expect(board).to_be_visible()
    page.keyboard.press("Escape")
    expect(board).to_be_hidden()
    press(page, "button", "Menu")
    press(page, "link", "Leaderboard")
    page.wait_for_url("**/board/INT")
    folded = page.locator('#runs tr:first-child [data-label="F"]')
    expect(folded).to_be_hidden()
    page.locator("#runs summary").first.press("Enter")
    expect(folded).to_be_visible()
    page.set_viewport_size(WIDE)
    page.get_by_role("columnheader", name="Run").get_by_role("link").click()
    names = page.locator("#runs th").all_inner_texts()
    assert names == sorted(names)
    expect(page.locator("svg.plot")).to_have_count(2)
    few = page.locator("#scatter title", has_text="Team 18 · S07 (below 90%)")
    expect(few).to_have_count(0)
    page.get_by_role("link", name="also runs below 90%").press("Enter")
    page.wait_for_url(re.compile("chart=all.*#scatter$"))
    expect(few).to_have_count(1)


def test_filters_hold_while_the_page_is_live(site, visits):
    page = visits.open(f"{site.url}/monitor")
    shown = page.locator("#servers tr:visible th")
    page.get_by_role("link", name="down").click()
    expect(shown).to_have_count(1)
    assert "state=down" in page.url
    site.do(site.source.set_state("Team 7 · S01", ServerState.DOWN))
    expect(shown).to_have_count(2)
    page.get_by_role("searchbox").fill("TEAM 14")
    expect(shown).to_have_count(1)
    site.do(site.source.step())
    expect(page.locator("#count-down")).to_have_text("2")
    expect(shown).to_have_count(1)
    page.reload()
    expect(shown).to_have_count(1)


def test_the_error_log_is_filtered_by_outcome(site, visits):
    page = visits.open(f"{site.url}/monitor")
    page.locator("#outcome-http").click()
    codes = set(page.locator("#errors li:visible .code").all_inner_texts())
    assert codes == {"http"}
    site.do(site.source.step())
    expect(page.locator("#outcome-http")).to_have_attribute("aria-current", "true")
    page.locator("#outcome-http").click()
    assert len(set(page.locator("#errors li:visible .code").all_inner_texts())) > 1


def test_the_readers_colours_are_kept(site, visits):
    page = visits.open(f"{site.url}/monitor", color_scheme="dark")
    button = page.get_by_role("button", name="Dark colours")
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    after = page.evaluate(colour)
    assert after != before
    page.goto(f"{site.url}/board/INT")
    assert page.evaluate(colour) == after
    expect(button).to_have_attribute("aria-pressed", "false")
