"""Tables of hundreds of rows: figures for those in sight, all of them to be found."""

import re

import pytest
from playwright.sync_api import expect

from metaserver.base.states import ServerState
from metaserver.web.public.monitor import server_id
from tests.browser.visiting import PHONE

COUNT = 300
NAMES = [f"Server {number:03}" for number in range(COUNT)]
LAST = NAMES[-1]
WHOLE = "#servers tr:not(.brief)"
pytestmark = pytest.mark.slow


@pytest.fixture
def many(make_site):
    return make_site(NAMES)


def row_of(page, name):
    return page.locator(f"#{server_id(name)}")


def done_of(page, name):
    return row_of(page, name).locator("[data-slot=done]")


def lane_of(site, name):
    return next(lane for lane in site.source.lanes if lane.name == name)


def live(visits, site, path="/monitor", **options):
    page = visits.open(f"{site.url}{path}", **options)
    expect(page.locator("#live")).to_have_text("live")
    return page


def test_figures_come_with_scrolling_and_go_again(many, visits):
    page = live(visits, many)
    expect(page.locator("#servers tr")).to_have_count(COUNT)
    expect(row_of(page, LAST)).to_have_class("brief")
    expect(row_of(page, LAST).locator("th")).to_contain_text(LAST)
    expect(page.get_by_title(LAST)).to_have_text(LAST)  # also where it is cut off
    row_of(page, LAST).scroll_into_view_if_needed()
    expect(done_of(page, LAST)).to_have_text(f"{lane_of(many, LAST).done}/595")
    expect(row_of(page, NAMES[0])).to_have_class("brief")
    assert page.locator(WHOLE).count() <= 100
    many.do(many.source.step())
    expect(done_of(page, LAST)).to_have_text(f"{lane_of(many, LAST).done}/595")
    row_of(page, NAMES[0]).scroll_into_view_if_needed()
    expect(done_of(page, NAMES[0])).to_have_text(f"{lane_of(many, NAMES[0]).done}/595")
    expect(row_of(page, LAST)).to_have_class("brief")


def test_a_stream_names_only_rows_near_the_window(many, visits):
    page = live(visits, many)
    with page.expect_request(lambda request: "/events" in request.url) as asked:
        row_of(page, LAST).scroll_into_view_if_needed()
    rows = re.search(r"rows=([^&]*)", asked.value.url)[1].split("%2C")
    assert server_id(LAST) in rows
    assert len(rows) <= 100
    assert "seen=" in asked.value.url


def test_the_state_of_a_server_out_of_sight_changes_and_is_announced(many, visits):
    page = live(visits, many)
    many.do(many.source.set_state(LAST, ServerState.SUSPENDED))
    expect(page.locator("#announce")).to_have_text(f"{LAST} is suspended")
    expect(row_of(page, LAST).locator(".pill")).to_have_text("suspended")
    expect(row_of(page, LAST)).to_have_class("brief")
    page.get_by_role("link", name="suspended").click()
    expect(page.locator("#servers tr:visible")).to_have_count(1)
    expect(done_of(page, LAST)).to_be_visible()


def test_what_is_found_gets_its_figures(many, visits):
    page = live(visits, many)
    page.get_by_role("searchbox").fill("server 29")
    expect(page.locator("#servers tr:visible")).to_have_count(10)
    expect(page.locator("#servers tr:visible [data-slot=done]")).to_have_count(10)
    page.get_by_role("searchbox").fill("")
    expect(page.locator("#servers tr:visible")).to_have_count(COUNT)


def test_a_square_of_a_phone_opens_into_a_card_with_its_figures(many, visits):
    page = live(visits, many, viewport=PHONE)
    shown = page.locator("#servers [data-slot=done]:visible")
    expect(row_of(page, LAST).locator("summary")).to_have_text(LAST)
    expect(page.locator(WHOLE)).to_have_count(0)  # none is asked for
    lines = "one => (one.textContent = 'cooccurrence', one.getBoundingClientRect().height)"
    line = row_of(page, LAST).locator("summary span").evaluate(lines)
    assert line < 20  # px: a name of 12 letters is not broken
    row_of(page, LAST).locator("summary").press("Enter")
    expect(shown).to_have_text(f"{lane_of(many, LAST).done}/595")
    many.do(many.source.step())
    expect(shown).to_have_text(f"{lane_of(many, LAST).done}/595")
    row_of(page, LAST).locator("summary").press("Enter")
    expect(shown).to_have_count(0)


def test_a_sorted_table_keeps_its_order_while_it_is_live(many, visits):
    page = live(visits, many)
    page.get_by_role("columnheader", name="p95").get_by_role("link").press("Enter")
    page.wait_for_url("**/monitor?sort=-p95#table")
    expect(page.locator("#live")).to_have_text("live")
    heading = page.get_by_role("columnheader", name="p95")
    expect(heading).to_have_attribute("aria-sort", "descending")
    names = page.locator("#servers th a")
    before = names.all_inner_texts()
    values = [float(text) for text in page.locator("[data-slot=p95]").all_inner_texts()]
    assert len(values) > 15
    assert values == sorted(values, reverse=True)
    many.do(many.source.step())
    many.do(many.source.add_run("A new one", skill=0.5))
    expect(names).to_have_count(COUNT + 1)
    assert names.all_inner_texts() == [*before, "A new one"]
    page.get_by_role("link", name="down").click()
    assert "sort=-p95" in page.url
    heading.get_by_role("link").click()
    page.wait_for_url("**/monitor?**sort=p95#table")


def test_the_focus_stays_in_a_row_whose_figures_change_or_go(many, visits):
    page = live(visits, many)
    link = row_of(page, NAMES[3]).get_by_role("link")
    link.focus()
    many.do(many.source.step())
    expect(done_of(page, NAMES[3])).to_have_text(f"{lane_of(many, NAMES[3]).done}/595")
    expect(link).to_be_focused()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(row_of(page, NAMES[3])).to_have_class("brief")
    expect(link).to_be_focused()


def test_going_back_leads_to_the_same_rows(many, visits):
    page = live(visits, many)
    row_of(page, NAMES[200]).scroll_into_view_if_needed()
    expect(done_of(page, NAMES[200])).to_be_visible()
    position = page.evaluate("scrollY")
    page.get_by_role("link", name="Leaderboard").dispatch_event("click")
    page.wait_for_url("**/board/INT")
    page.go_back()
    expect(done_of(page, NAMES[200])).to_be_visible()
    assert abs(page.evaluate("scrollY") - position) < 60


def test_a_paused_page_gets_the_figures_of_other_rows_but_no_news(many, visits):
    page, other = live(visits, many), live(visits, many)
    page.get_by_role("button", name="Pause updates").click()
    shown = done_of(page, NAMES[0]).inner_text()
    many.do(many.source.step())
    many.do(many.source.set_state(NAMES[0], ServerState.DOWN))
    expect(row_of(other, NAMES[0]).locator(".pill")).to_have_text("down")
    row_of(page, LAST).scroll_into_view_if_needed()
    expect(done_of(page, LAST)).to_have_text(f"{lane_of(many, LAST).done}/595")
    expect(page.locator("#live")).to_have_text("paused")
    assert done_of(page, NAMES[0]).inner_text() == shown
    expect(row_of(page, NAMES[0]).locator(".pill")).to_have_text("up")
    page.get_by_role("button", name="Resume updates").dispatch_event("click")
    expect(row_of(page, NAMES[0]).locator(".pill")).to_have_text("down")


def test_servers_that_came_while_the_hub_was_lost_are_there_afterwards(many, visits):
    page = live(visits, many)
    many.stop()
    expect(page.locator("#live")).to_have_text("lost")
    many.do(many.source.add_run("A new one", skill=0.5))
    many.start()
    expect(page.locator("#live")).to_have_text("live")
    expect(row_of(page, "A new one")).to_have_count(1)
    expect(page.locator("#servers tr")).to_have_count(COUNT + 1)
    visits.problems = [told for told in visits.problems if "net::ERR_" not in told]


def test_frames_that_come_while_the_page_is_asked_for_take_no_server_away(many, visits):
    page = live(visits, many)
    many.stop()
    expect(page.locator("#live")).to_have_text("lost")
    many.do(many.source.add_run("A new one", skill=0.5))
    asked = []

    def hold(route):
        asked.append(route)

    page.route(f"{many.url}/c/bc/test/monitor", hold)
    many.start()
    expect(page.locator("#live")).to_have_text("live")
    many.do(many.source.add_run("A newer one", skill=0.5))
    expect(row_of(page, "A newer one")).to_have_count(1)
    while len(asked) < 2:
        page.wait_for_timeout(20)
    first, second = asked
    second.continue_()
    expect(page.locator("#servers tr")).to_have_count(COUNT + 2)
    with page.expect_response(f"{many.url}/c/bc/test/monitor") as answer:
        first.continue_()
    answer.value.finished()
    page.wait_for_timeout(500)  # for what the page makes of it
    assert page.locator("#servers tr").count() == COUNT + 2
    expect(row_of(page, "A new one")).to_have_count(1)
    expect(row_of(page, "A newer one")).to_have_count(1)
    visits.problems = [told for told in visits.problems if "net::ERR_" not in told]


def test_all_servers_are_there_without_scripts_a_hundred_a_page(many, visits):
    page = visits.open(f"{many.url}/monitor?sort=server", java_script_enabled=False)
    shown = page.locator("#servers tr:visible th a")
    pages = page.get_by_role("navigation", name="Pages of servers")
    for number, name in enumerate(("1–100", "101–200", "201–300")):
        pages.get_by_role("link", name=name).press("Enter")
        expect(pages.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        expect(shown).to_have_text(NAMES[100 * number : 100 * number + 100])
        expect(page.locator("#servers tr:visible [data-slot=done]")).to_have_count(100)
    page.get_by_role("columnheader", name="Server").get_by_role("link").press("Enter")
    expect(shown).to_have_text(NAMES[:-101:-1])
    page.get_by_role("searchbox").fill("server 1")
    page.get_by_role("searchbox").press("Enter")
    expect(shown).to_have_count(100)
    expect(shown.first).to_have_text("Server 199")


def test_all_rows_are_in_what_is_printed(many, visits):
    page = live(visits, many)
    expect(page.locator("[data-paged]")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#servers tr:visible")).to_have_count(COUNT)


def test_a_board_of_many_runs_has_pages_that_stay_live(many, visits):
    page = live(visits, many, "/board/INT?sort=run")
    names = page.locator("#runs th")
    pages = page.get_by_role("navigation", name="Pages of runs")
    pages.get_by_role("link", name="101–200").press("Enter")
    page.wait_for_url("**/board/INT?sort=run&rows=101#table")
    expect(page.locator("#table")).to_be_in_viewport()
    expect(page.locator("#live")).to_have_text("live")
    assert names.all_inner_texts() == NAMES[100:200]
    many.do(many.source.add_run("Server 150b", skill=0.5))
    expect(page.locator("#news")).to_have_text("1 new result")
    page.locator("#news").click()
    expect(names.nth(51)).to_have_text("Server 150b")
    assert page.url.endswith("rows=101#table")
    page.get_by_role("columnheader", name="Run").get_by_role("link").click()
    page.wait_for_url("**/board/INT?sort=-run#table")
    expect(names.first).to_have_text(LAST)
