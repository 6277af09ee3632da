"""Pages that keep themselves up to date, and say so when they do not."""

import re

import pytest
from playwright.sync_api import expect

from metaserver.base.states import ServerState

pytestmark = pytest.mark.slow

MARKUP = '<img src=x onerror="window.hacked = true">'
FIRST = "Team 7 · S01"


def state_of(page, name=FIRST):
    return page.locator("#servers tr", has_text=name).locator(".pill")


def test_a_change_arrives_without_a_reload_and_is_announced(site, visits):
    page = visits.open(f"{site.url}/monitor")
    expect(page.locator("#live")).to_have_text("live")
    page.evaluate("window.sameDocument = true")
    expect(state_of(page)).to_have_text("up")
    site.do(site.source.set_state(FIRST, ServerState.DOWN))
    expect(state_of(page)).to_have_text("down")
    expect(page.locator("#announce")).to_have_text(f"{FIRST} is down")
    expect(page.locator("#servers-up b")).to_have_text("8")
    assert page.evaluate("window.sameDocument")


def test_new_errors_come_on_top_of_the_log(site, visits):
    page = visits.open(f"{site.url}/monitor")
    expect(page.locator("#live")).to_have_text("live")
    site.do(site.source.step())
    newest = site.source.monitor().errors[0]
    first = page.locator("#errors li").first
    expect(first).to_contain_text(newest.article)
    expect(page.locator("#errors li")).to_have_count(len(site.source.monitor().errors))


def test_pause_holds_the_page_and_resume_brings_it_up_to_date(site, visits):
    paused, other = (visits.open(f"{site.url}/monitor") for _ in range(2))
    expect(paused.locator("#live")).to_have_text("live")
    paused.get_by_role("button", name="Pause updates").click()
    expect(paused.locator("#live")).to_have_text("paused")
    site.do(site.source.set_state(FIRST, ServerState.DOWN))
    expect(state_of(other)).to_have_text("down")
    assert state_of(paused).inner_text() == "up"
    paused.get_by_role("button", name="Resume updates").press("Enter")
    expect(state_of(paused)).to_have_text("down")
    expect(paused.locator("#live")).to_have_text("live")


def test_a_hidden_tab_lets_go_of_its_stream(site, visits):
    hidden, other = (visits.open(f"{site.url}/monitor") for _ in range(2))
    expect(hidden.locator("#live")).to_have_text("live")
    turn = """hidden => {
        Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    hidden.evaluate(turn, True)
    site.do(site.source.set_state(FIRST, ServerState.DOWN))
    expect(state_of(other)).to_have_text("down")
    assert state_of(hidden).inner_text() == "up"
    hidden.evaluate(turn, False)
    expect(state_of(hidden)).to_have_text("down")


def test_a_lost_stream_is_told_and_regained(site, visits):
    page = visits.open(f"{site.url}/monitor")
    expect(page.locator("#live")).to_have_text("live")
    site.stop()
    expect(page.locator("#live")).to_have_text("lost")
    site.do(site.source.set_state(FIRST, ServerState.PAUSED))
    site.start()
    expect(page.locator("#live")).to_have_text("live")
    expect(state_of(page)).to_have_text("paused")
    # Chromium reports each failed connection; anything else is a problem.
    visits.problems = [told for told in visits.problems if "net::ERR_" not in told]


def test_a_page_of_another_release_is_loaded_again(site, visits):
    page = visits.open(f"{site.url}/monitor")
    expect(page.locator("#live")).to_have_text("live")

    def older(route):
        body = route.fetch().text()
        route.fulfill(body=re.sub('data-release="[0-9a-f]+"', 'data-release="older"', body))

    page.route(f"{site.url}/monitor", older, times=1)
    with page.expect_event("load"):
        page.evaluate("location.reload()")
    expect(page.locator("body")).not_to_have_attribute("data-release", "older")
    expect(page.locator("#live")).to_have_text("live")


def test_a_page_of_another_release_is_left_where_something_was_typed(site, visits):
    page = visits.open(f"{site.url}/monitor")
    page.locator("input[type=search]").first.fill("blue")
    page.evaluate("""async () => {
        const { startStream } = await import(
            document.querySelector('script[type=module]').src.replace('page.js', 'live.js'));
        startStream(document.body.dataset.stream, 'older', () => {});
    }""")
    expect(page.locator("#live")).to_have_text("reload the page")
    assert page.locator("input[type=search]").first.input_value() == "blue"


def test_a_server_name_made_of_markup_is_inert(make_site, visits):
    site = make_site([MARKUP, "plain"])
    monitor, board = (visits.open(f"{site.url}{path}") for path in ("/monitor", "/board/INT"))
    expect(monitor.locator("#live")).to_have_text("live")
    site.do(site.source.add_run(MARKUP * 2, skill=0.5))
    expect(monitor.locator("#servers th").last).to_contain_text(MARKUP * 2)
    expect(board.locator("#runs th", has_text=MARKUP)).to_have_count(2)
    for page in (monitor, board):
        assert page.locator("main img").count() == 0
        assert page.evaluate("window.hacked") is None


def test_rows_of_a_leaderboard_do_not_jump_until_asked(site, visits):
    page = visits.open(f"{site.url}/board/INT?sort=run")
    expect(page.locator("#live")).to_have_text("live")
    names = page.locator("#runs th")
    before = names.all_inner_texts()
    site.do(site.source.add_run("Another", skill=0.99))
    expect(page.locator("#news")).to_have_text("1 new result")
    expect(page.locator("#announce")).to_have_text("1 new result")
    expect(page.locator("#count-INT")).to_have_text("12 runs")
    assert names.all_inner_texts() == before
    page.locator("#news").press("Enter")
    expect(names.first).to_have_text("Another")
    expect(page.locator("#news")).to_be_hidden()
    assert page.url.endswith("/board/INT?sort=run")


def test_a_leaderboard_in_its_own_order_moves_its_rows_and_marks_them(site, visits):
    page = visits.open(f"{site.url}/board/INT")
    expect(page.locator("#live")).to_have_text("live")
    _, second = page.locator("#runs th").all_inner_texts()[:2]
    for lane in site.source.lanes:
        if lane.name in second:
            lane.skill, lane.answered = 0.99, 60
    site.do(site.source.tell())
    expect(page.locator("#runs tr").first).to_contain_text(second.split()[-1])
    expect(page.locator("#runs tr").first).to_have_attribute("data-moved", "up")
    expect(page.locator("#runs tr").nth(1)).to_have_attribute("data-moved", "down")
    expect(page.locator("#announce")).to_have_text("New order")
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0


def test_figures_of_a_leaderboard_are_refreshed_in_place(site, visits):
    page = visits.open(f"{site.url}/board/INT?sort=run")
    expect(page.locator("#live")).to_have_text("live")
    row = page.locator("#runs tr", has_text="Team 18")
    expect(row).to_contain_text("21/61")
    row.get_by_role("checkbox").check()
    expect(row.locator(".few")).to_have_text("below 90%")
    for lane in site.source.lanes:
        if lane.name.startswith("Team 18"):
            lane.answered = 60
    site.do(site.source.tell())
    expect(row).to_contain_text("60/61")
    expect(row.locator(".few")).to_have_count(0)
    expect(row.get_by_role("checkbox")).to_be_checked()


def test_the_first_results_fill_an_empty_board(make_site, visits):
    seed = make_site().source.lanes[0]
    site = make_site([])
    page = visits.open(f"{site.url}/board/INT")
    expect(page.get_by_text("No run yet")).to_be_visible()
    expect(page.locator("#live")).to_have_text("live")
    site.source.lanes.append(seed)
    site.do(site.source.tell())
    expect(page.locator("#runs th")).to_have_text([FIRST])
    expect(page.get_by_text("No run yet")).to_be_hidden()
    expect(page.locator("#scatter svg.plot")).to_be_visible()


def test_a_page_stays_live_in_its_view_and_choice(site, visits):
    page = visits.open(f"{site.url}/board/INT?view=mapped&show=best&sort=run")
    expect(page.locator("#live")).to_have_text("live")
    before = page.locator("#runs th").all_inner_texts()
    site.do(site.source.upload("Team 7 · R01", skill=0.99))
    expect(page.locator("#news")).to_have_text("1 new result")
    assert page.locator("#runs th").all_inner_texts() == before
    page.locator("#news").click()
    expect(page.locator("#runs th", has_text="Team 7")).to_have_text(["Team 7 · R01 best"])
    expect(page.locator("#runs tr")).to_have_count(11)
    expect(page.locator("#runs tr", has_text="Team 7")).to_contain_text("offline")


def test_intervals_come_when_they_are_computed_and_are_marked_while_they_are_not(site, visits):
    site.source.compared = False
    page = visits.open(f"{site.url}/board/INT")
    expect(page.locator("#live")).to_have_text("live")
    row = page.locator("#runs tr").first
    expect(row.locator(".interval")).to_have_text("[…]")
    expect(row.locator(".ranks")).to_have_text("…")
    site.source.compared = True
    site.do(site.source.tell())
    expect(row.locator(".ranks")).to_have_text("1–2")
    interval = row.locator(".interval").inner_text()
    score = float(row.locator("b").inner_text())
    low, high = map(float, interval.strip("[]").split(", "))
    assert low < score < high
    site.source.behind = 0.01
    site.do(site.source.tell())
    expect(row.locator(".ranks")).to_have_text("…")  # the old ones belong to other scores
    expect(page.locator("#runs tr", has_text="n/a").locator(".interval")).to_have_count(0)


def test_the_chart_of_quality_and_cost_comes_when_a_run_declares_something(site, visits):
    page = visits.open(f"{site.url}/board/INT?chart=all")
    expect(page.locator("#usage svg")).to_have_count(0)
    site.declare()
    site.do(site.source.step())
    chart = page.locator("#usage")
    expect(chart.locator(".plot .point, .plot .dot")).to_have_count(3)
    chart.locator("summary").click()
    expect(chart.locator("tbody tr")).to_have_count(3)
    expect(chart.locator("table")).to_contain_text("0.002 USD")
    expect(page.locator('#runs td[data-label="Cost"]').first).to_be_visible()
