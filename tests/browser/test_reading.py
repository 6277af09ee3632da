"""Finding one's way: sorting, filters, colours, with the keyboard and without scripts."""

import csv

import pytest
from playwright.sync_api import expect

from metaserver.model.states import ServerState
from metaserver.protocols.installed import protocol_title

PHONE = {"viewport": {"width": 360, "height": 780}}


def tab_to(page, text):
    """Press Tab until the element in focus has the text."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text} cannot be reached by Tab")


def column(page, heading):
    """Return the cells of a board's column."""
    return page.locator(f'#runs td[data-label="{heading}"]')


def test_sorting_by_keyboard(site, visits):
    page = visits.open(f"{site.url}/board/INT")
    tab_to(page, "F")
    page.keyboard.press("Enter")
    page.wait_for_url("**/board/INT?sort=-f_score#table")
    heading = page.get_by_role("columnheader", name="F", exact=True)
    expect(heading).to_have_attribute("aria-sort", "descending")
    cells = column(page, "F").all_inner_texts()
    figures = [float(cell) for cell in cells if cell != "n/a"]
    assert figures == sorted(figures, reverse=True)
    assert cells[len(figures) :] == ["n/a"]
    tab_to(page, "F")
    page.keyboard.press("Enter")
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
    page.get_by_role("link", name="Leaderboard").click()
    page.get_by_role("columnheader", name="Run").get_by_role("link").click()
    names = page.locator("#runs th").all_inner_texts()
    assert names == sorted(names)
    expect(page.locator("svg.plot")).to_have_count(2)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_readers_colours_are_kept(site, visits, scheme):
    page = visits.open(f"{site.url}/monitor", color_scheme=scheme)
    button = page.get_by_role("button", name="Dark colours")
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    expect(button).to_have_attribute("aria-pressed", str(scheme == "dark").lower())
    button.click()
    after = page.evaluate(colour)
    assert after != before
    page.goto(f"{site.url}/board/INT")
    assert page.evaluate(colour) == after
    expect(button).to_have_attribute("aria-pressed", str(scheme == "light").lower())


def test_times_are_in_the_readers_zone(site, visits):
    page = visits.open(f"{site.url}/monitor", timezone_id="Asia/Tokyo")
    expect(page.locator("[data-zone]")).to_have_text("Asia/Tokyo")
    time = page.locator("#errors time").first
    moment = time.get_attribute("datetime")
    shown = f"{(int(moment[11:13]) + 9) % 24:02}{moment[13:19]}"
    expect(time).to_have_text(shown)


CELLS = """rows => rows.map(row => [...row.cells].map(cell => {
    const text = cell.cloneNode(true);
    text.querySelectorAll(".tag, .progress").forEach(part => part.remove());
    return text.innerText.trim() || text.textContent.trim();
}))"""


def as_shown(line, main):
    """Return a line of the CSV as the page's cells have it: place, run and score come first."""
    known = line["interval"] == "current"
    ranks = "–".join(dict.fromkeys([line["rank_low"], line["rank_high"]])) if known else ""
    bounds = f" [{line[f'{main}_low']}, {line[f'{main}_high']}]" if known else ""
    place = "–" if line["place"] == "n/a" else line["place"] + ranks
    hidden = {
        "place", "rank_low", "rank_high", "team", "title", "run", "mode", "articles", main,
        f"{main}_low", f"{main}_high", "interval", "articles_in_gold", "below_min_coverage",
        "protocol",
    }  # fmt: skip
    others = [text for key, text in line.items() if key not in hidden]
    spoken = [protocol_title(line["protocol"])] if line["protocol"] else []
    mode = " ".join([line["mode"], *spoken])
    return [place, line["run"], line[main] + bounds, *others, mode, line["articles"]]


@pytest.mark.parametrize(
    "query", ["?sort=-precision_at_full_recall", "?show=best&sort=run", "?show=online"]
)
def test_csv_is_the_table_of_the_page(site, visits, query):
    site.do(site.source.upload("Team 7 · R01", skill=0.4))
    page = visits.open(f"{site.url}/board/ACT{query}")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    table = csv.DictReader(download.value.path().read_text().splitlines())
    shown = page.locator("#runs tr").evaluate_all(CELLS)
    assert [as_shown(line, "auc_ipr") for line in table] == shown


def test_views_and_kinds_of_runs_by_keyboard_and_without_scripts(site, visits):
    site.do(site.source.upload("Team 7 · R01", skill=0.95))
    page = visits.open(f"{site.url}/board/INT?sort=run", java_script_enabled=False)
    first = page.locator("#runs tr").first.locator("b")
    raw = first.inner_text()
    views = page.get_by_role("navigation", name="View of the hits")
    views.get_by_role("link", name="both").press("Enter")
    page.wait_for_url("**/board/INT?view=both&sort=run")
    expect(views.get_by_role("link", name="both")).to_have_attribute("aria-current", "true")
    assert first.inner_text() != raw
    page.get_by_role("link", name="best of team").press("Enter")
    page.wait_for_url("**/board/INT?view=both&show=best&sort=run")
    names = page.locator("#runs th")
    expect(names.first).to_have_text("Team 10 · S03")
    expect(page.locator("#runs th", has_text="Team 7")).to_have_text(["Team 7 · R01 best"])
    page.get_by_role("link", name="online").click()
    expect(page.locator("#runs th", has_text="Team 7")).to_have_text(["Team 7 · S01"])
    csv_link = page.get_by_role("link", name="CSV").get_attribute("href")
    assert csv_link == "/c/bc/test/board/INT.csv?view=both&show=online&sort=run"


def test_a_kind_of_run_that_is_not_there_leads_back_to_all(make_site, visits):
    site = make_site(["Team 1 · R01"])
    site.source.uploads, site.source.lanes = site.source.lanes, []
    page = visits.open(f"{site.url}/board/INT?show=online")
    page.get_by_role("link", name="show all runs").click()
    expect(page.locator("#runs th")).to_have_text(["Team 1 · R01"])


def test_articles_by_difficulty(site, visits):
    page = visits.open(f"{site.url}/board/ACT")
    page.get_by_role("link", name="Articles").first.click()
    page.wait_for_url("**/board/ACT/articles")
    expect(page.get_by_role("heading", name="Mean rank against")).to_be_visible()
    expect(page.locator("svg.plot .dot")).to_have_count(59)
    page.get_by_role("columnheader", name="SD").get_by_role("link").click()
    cells = page.locator("tbody tr td:nth-child(4)").all_inner_texts()
    assert [float(cell) for cell in cells] == sorted(map(float, cells), reverse=True)
    page.get_by_role("link", name="INT").click()
    expect(page.get_by_role("heading", name="Mean AUC iP/R against")).to_be_visible()
    page.get_by_role("link", name="mapped").click()
    expect(page).to_have_url(f"{site.url}/c/bc/test/board/INT/articles?view=mapped")


def test_a_permanent_link_shows_the_board_as_it_was(site, visits):
    site.source.freeze("k7Q2", "INT")
    site.do(site.source.add_run("Latecomer", skill=0.99))
    page = visits.open(f"{site.url}/board/INT", timezone_id="Asia/Tokyo")
    expect(page.locator("#runs th", has_text="Latecomer")).to_be_visible()
    page.get_by_role("link", name="Permanent link").press("Enter")
    page.wait_for_url("**/b/k7Q2")
    expect(page.locator("#runs th")).to_have_count(11)
    expect(page.locator("#runs th", has_text="Latecomer")).to_have_count(0)
    expect(page.locator("#live")).to_have_count(0)
    expect(page.locator("time")).to_contain_text("23:13:20")
    page.get_by_role("link", name="mapped").click()
    page.get_by_role("columnheader", name="Run").get_by_role("link").click()
    expect(page).to_have_url(f"{site.url}/b/k7Q2?view=mapped&sort=run#table")
    names = page.locator("#runs th").all_inner_texts()
    assert names == sorted(names)


def test_a_run_below_the_least_coverage_is_charted_where_asked_for(site, visits):
    page = visits.open(f"{site.url}/board/INT", java_script_enabled=False)
    few = "Team 18 · S07 (below 90%)"
    named = page.locator("#scatter title", has_text=few)
    expect(named).to_have_count(0)
    charted = page.get_by_role("navigation", name="Runs in the charts")
    expect(charted.locator("[aria-current]")).to_have_text("runs with a place")
    charted.get_by_role("link", name="also runs below 90%").press("Enter")
    page.wait_for_url("**/board/INT?chart=all#scatter")
    expect(named).to_have_count(1)
    expect(charted.locator("[aria-current]")).to_have_text("also runs below 90%")


def test_hidden_scores_are_told_with_what_can_be_seen(site, visits):
    site.source.hidden = "The scores are shown when the phase ends."
    page = visits.open(f"{site.url}/board/INT")
    expect(page.get_by_text(site.source.hidden)).to_be_visible()
    expect(page.locator("table, svg.plot, #live")).to_have_count(0)
    page.locator("main").get_by_role("link", name="monitor").click()
    page.wait_for_url("**/monitor")


@pytest.mark.parametrize(
    "path", ["/monitor", "/board/INT", "/board/ACT", "/board/INT/articles", "/b/k7Q2", "/nope"]
)
def test_no_page_is_wider_than_a_phone(site, visits, path):
    site.source.freeze("k7Q2", "INT")
    page = visits.open(f"{site.url}{path}", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    visits.problems = [told for told in visits.problems if "404" not in told]
